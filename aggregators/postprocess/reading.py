# SPDX-License-Identifier: Apache-2.0
"""A release read for one kind of question: the post-processing that suits it, applied by whoever reads.

Contract: a function of one release and the question, so that it costs no privacy and every reader gets the same.  What
is shaped is the release's `estimate`: with post = "base" in the deployment file that is the raw one, with the default
the nearest shares, from which nothing can be taken back but what was below zero.  Sums and differences over releases
take `unbiased`, since any bias would add up.  Where nothing was measured there is nothing to read: None for each name.
Not here: which method suits which question (query.py); several releases of one period, of which the one with the
highest revision holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.postprocess.query import Query, for_query, method_for
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping, context_of
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown
from murmurate.topics.release import Release

Known = Mapping[str, float | None]
"""Figures by name; None where a figure is not known."""


@dataclass(frozen=True)
class Read:
    """The figures of a release for one kind of query."""

    query: Query
    method: str
    """The post-processing that was applied; "unbiased" where the release's own raw figures are the answer."""
    values: Known
    """The figures by name; for the most frequent values the largest first, and as many as were asked for."""


def read_for(query: Query, release: Release, *, k: int | None = None) -> Read:
    """The figures of a release for this kind of question.

    k: of "top-k" how many are wanted; of "point" how many values somebody holds, where that is known.
    """
    kind = KINDS.get(release.measure)
    if kind is None or not kind.shaped:
        raise ParameterError(f"query: found a release of a {release.measure}; allowed: of a frequency")
    return read_figures(query, release.estimate, release.stderr, release.unbiased, k=k)


def read_figures(query: Query, estimate: Known, stderr: Known, unbiased: Known, *, k: int | None = None) -> Read:
    """What `read` does, from the three tables of a release."""
    names = list(estimate)
    if k is not None and (query not in ("point", "top-k") or not 1 <= k <= len(names)):
        raise ParameterError(f"query: k: found {shown(k)} for {query}; allowed: 1 to {len(names)}, for point and top-k")
    raw = [value for value in estimate.values() if value is not None]
    errors = [value for value in stderr.values() if value is not None]
    if len(raw) < len(names) or len(errors) < len(names):
        method_for(query, np.zeros(2), context_of(None, np.ones(2)))  # a question that there is not is refused
        return Read(query, "nothing yet", dict.fromkeys(names))
    if query == "arithmetic":
        return Read(query, "unbiased", dict(unbiased))
    shaping = Shaping(NORM_SUB.name, k=k if query == "point" else None)
    said, context = np.array(raw), context_of(None, np.array(errors) ** 2, shaping)
    shares = for_query(query, said, context)
    found: dict[str, float | None] = dict(zip(names, shares.tolist(), strict=True))
    if query == "top-k":
        order = np.argsort(-shares, kind="stable").tolist()
        found = {names[place]: found[names[place]] for place in order[:k]}
    return Read(query, method_for(query, said, context), found)
