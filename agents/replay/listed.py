# SPDX-License-Identifier: Apache-2.0
"""Truth and figures of streams whose releases list few of very many values: of each period what its release lists.

Contract: a period is scored by the first figures of the items that its release lists, named ones and found ones, which
are as many in each release that measured something.  The truth of all other items is dropped once the release is there,
since it would take a megabyte a period.  What is found is found for being large: without a filter its errors are larger
than those of an item chosen in advance.  Where names are found the truth of a period is kept as users' different values
until its release says which of them count.  Not here: which items are listed (aggregators/measures/largest.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.true_period import TruePeriod
from murmurate.aggregators.measures.found import FoundMeasure
from murmurate.aggregators.measures.measure import Measure

Floats = NDArray[np.float64]
Release = Mapping[str, Any]


def of_release(period: TruePeriod, release: Release, names: Sequence[str]) -> TruePeriod:
    """The truth of what a release lists. names: of all figures, in the order of the period's own."""
    place = _places(tuple(names))
    listed = tuple(release["estimate"])
    return replace(period, figures=period.figures[[place[name] for name in listed]], names=listed)


def of_found(period: TruePeriod, release: Release, measure: Measure) -> TruePeriod:
    """The truth of what a release found."""
    if period.rows is None or not isinstance(measure, FoundMeasure):
        return period  # another release of the period has said it
    names, users = tuple(release["estimate"]), period.figures.astype(np.int64)
    figures = measure.true_shares(period.rows, users, measure.values_of(names))
    return replace(period, figures=figures, names=names, rows=None)


def found_figures(pairs: Sequence[tuple[Release, TruePeriod]]) -> tuple[Floats, Floats, Floats, Floats]:
    """The raw figures, the estimates, their errors and the truth of everything that releases found, a row for each name
    of each release: four float64[found, 1].
    """
    found: list[tuple[float, ...]] = []
    for release, period in pairs:
        for name, truth in zip(period.names or (), period.figures.tolist(), strict=True):
            three = (release[what].get(name) for what in ("unbiased", "estimate", "stderr"))
            found.append((*(np.nan if one is None else float(one) for one in three), truth))
    raw, best, error, held = np.array(found, np.float64).reshape(-1, 4).T[:, :, np.newaxis]
    return raw, best, error, held


@lru_cache(maxsize=4)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: at for at, name in enumerate(names)}


def scored_figures(
    pairs: Sequence[tuple[Release, TruePeriod]], scored: Sequence[str]
) -> tuple[Floats, Floats, Floats, Floats]:
    """The raw figures, the estimates, their errors and the truth of the scored ones that each release lists, NaN for a
    release of nothing: four float64[periods, listed].
    """
    known = frozenset(scored)
    listed = [[name for name in release["estimate"] if name in known] for release, _ in pairs]
    most = max(map(len, listed), default=0)
    found = np.full((4, len(pairs), most), np.nan)
    for row, ((release, period), names) in enumerate(zip(pairs, listed, strict=True)):
        if len(names) != most:
            continue
        truth = dict(zip(period.names or (), period.figures.tolist(), strict=True))
        for part, table in enumerate((release["unbiased"], release["estimate"], release["stderr"], truth)):
            found[part, row] = [np.nan if table[name] is None else table[name] for name in names]
    raw, best, error, held = found
    return raw, best, error, held
