# SPDX-License-Identifier: Apache-2.0
"""What a stream of very many items costs, in words: what its releases list, its tallies, and how much must be found.

Contract: as explain.py.  How large a figure must be to be more than chance is worked out from the exact variance of the
stream's own question, for one round; behind the filter it falls from round to round.  Not here: other streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, sqrt

from murmurate.config.enough import spaced
from murmurate.config.plan import StreamPlan
from murmurate.randomizers import Question
from murmurate.topics.block import COUNT_WIDTH, COUNTS_PER_BLOCK

SMALL, LARGE = 10_000, 1_000_000
"""Reports of a round for which it is said what stands out."""


def many_lines(stream: StreamPlan, used: Question, targets: int) -> Iterator[str]:
    """What there is to say of a stream whose releases list few items of very many; nothing of others."""
    of = stream.measure.many(used)
    if of is None:
        return
    named = f"{spaced(len(of.named))} named item{'s' if len(of.named) != 1 else ''} and " if of.named else ""
    what = "mean, by its absolute value" if of.absolute else "share of holders"
    yield (
        f"releases list {named}the {spaced(of.top)} largest of {spaced(of.d)} by {what}, found anew in each period: "
        "what is found for being large is too large on average"
    )
    variance = stream.measure.usual_variance(used, 1)
    small, large = (of.beyond * sqrt(variance / n) for n in (SMALL, LARGE))
    yield (
        f"in a round of {spaced(SMALL)} reports chance alone reaches {_figure(small)}, of {spaced(LARGE)} "
        f"{_figure(large)}; the filter follows {spaced(of.places)} items closely and the others on average"
    )
    counts = used.outcomes
    blocks = ceil(counts / COUNTS_PER_BLOCK)
    yield (
        f"a tally has {spaced(counts)} counts, {counts * COUNT_WIDTH / 1e6:.1f} MB in {blocks} "
        f"block{'s' if blocks > 1 else ''}, and a round has {targets} of them"
    )


def _figure(value: float) -> str:
    """A figure to two digits, and no more than what is possible."""
    return "all that is possible" if value >= 1 else f"{value:.2g}"
