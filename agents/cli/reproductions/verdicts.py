# SPDX-License-Identifier: Apache-2.0
"""What the adaptive filter is held to on many kinds of streams, and what of it is missed.

Contract: each configuration: error at most 1.05 of raw LPU's and 1.1 of the best of the papers'; coverage at least .88;
width at most 1.3 of a linear filter's that is told how the truth moves; of readings said at 95 to 99 %, where there are
500, 93 to 99.5 % right.  All together: in 90 % coverage between .92 and .985 (streams that rest may have more), and in
the median 1.3 times less error than the best of the papers.  An exception stands here with its cause, and is printed
whenever it is one.  Not here: what is measured (agents/simulate/filter_comparison.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from murmurate.agents.simulate.configurations import Configuration
from murmurate.agents.simulate.filter_comparison import PEERS, Compared

Row = tuple[Configuration, Compared]

MOST_OVER_RAW: Final = 1.05
MOST_OVER_BEST: Final = 1.1
BETTER: Final = 1.3
LEAST_COVERAGE: Final = 0.88
COVERAGE: Final = (0.92, 0.985)
SHARE: Final = 0.9
"""The part of the configurations whose coverage must lie in COVERAGE."""
MOST_WIDE: Final = 1.3
RIGHT: Final = (0.93, 0.995)
FEWEST_READINGS: Final = 500

EXCEPTIONS: Final[Mapping[tuple[str, str], str]] = {}
"""The cause of each known miss, by stream and what is missed."""


def marks(one: Configuration, found: Compared) -> set[str]:
    """What a configuration misses: raw, best, coverage, wide, trusted."""
    judged = found.readings >= FEWEST_READINGS
    wrong = {
        "raw": found.over_raw > MOST_OVER_RAW,
        "best": found.over_best > MOST_OVER_BEST,
        "coverage": found.coverage < LEAST_COVERAGE,
        "wide": found.wide > MOST_WIDE,
        "trusted": judged and not RIGHT[0] <= found.trusted <= RIGHT[1],
    }
    return {name for name, is_so in wrong.items() if is_so}


def missed(rows: Sequence[Row]) -> Iterator[str]:
    """A line for all that a configuration misses without an excuse."""
    for one, found in rows:
        for name in _sorted(marks(one, found)):
            if (one.stream, name) not in EXCEPTIONS:
                yield f"{one.named}: {_said(name, found)}"


def excused(rows: Sequence[Row]) -> Iterator[str]:
    """A line for all that is missed and has a cause that is known."""
    for one, found in rows:
        for name in _sorted(marks(one, found)):
            if cause := EXCEPTIONS.get((one.stream, name)):
                yield f"{one.named}: {_said(name, found)}: {cause}"


def together(rows: Sequence[Row]) -> Iterator[str]:
    """What all configurations together miss."""
    held = [usual(*row) for row in rows]
    if sum(held) < SHARE * len(rows):
        off = [one.named for (one, _), is_held in zip(rows, held, strict=True) if not is_held]
        found = f"coverage between {COVERAGE[0]:g} and {COVERAGE[1]:g} in {sum(held)} of {len(rows)}"
        yield f"{found} (target: {SHARE:.0%}); not in {'; '.join(off)}"
    usually = median(found.over_best for _, found in rows)
    if usually > 1 / BETTER:
        yield f"in the median {usually:.3f} of the best one's error; target: 1 / {BETTER:g} = {1 / BETTER:.3f}"


def usual(one: Configuration, found: Compared) -> bool:
    """Whether coverage is what it should be nearly everywhere."""
    return COVERAGE[0] <= found.coverage and (one.resting or found.coverage <= COVERAGE[1])


def _sorted(names: set[str]) -> list[str]:
    return [name for name in ("raw", "best", "coverage", "wide", "trusted") if name in names]


def _said(name: str, found: Compared) -> str:
    right = f"{found.trusted:.1%} of {found.readings} certain readings are right"
    return {
        "raw": f"{found.over_raw:.3f} of raw LPU's error; at most {MOST_OVER_RAW:g}",
        "best": f"{found.over_best:.3f} of the error of {PEERS[found.best]}; at most {MOST_OVER_BEST:g}",
        "coverage": f"{found.coverage:.1%} within 2 standard errors; at least {LEAST_COVERAGE:.0%}",
        "wide": f"bars {found.wide:.2f} times as wide as those of a told filter; at most {MOST_WIDE:g}",
        "trusted": f"{right}; {RIGHT[0]:.0%} to {RIGHT[1]:.1%}",
    }[name]
