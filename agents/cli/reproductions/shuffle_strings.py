# SPDX-License-Identifier: Apache-2.0
"""Figure 9.4 of Wang 2021: the share of the most frequent strings that each method finds, by central epsilon.

Contract: local methods divide their users among the six rounds; those of the shuffle model ask everybody in each round
with a sixth of epsilon and of delta, by their closed forms; "exact" is local hashing as the exact bound chooses it for
such a sixth.  What the text says of the figure is judged, over all its targets: but for SH, methods of the shuffle
model find more than local ones; and the exact bound's choice finds no less than any but RAP_R, which keeps another
promise.  Not here: strings and rounds (agents/simulate/held_strings.py, heavy_strings.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmurate.agents.cli.reproductions.shuffle_ways import DELTA, hashing, ways
from murmurate.agents.simulate.heavy_strings import CANDIDATES, SOUGHT, share_found
from murmurate.agents.simulate.held_strings import CHARACTERS, Strings
from murmurate.agents.simulate.mixed_histograms import HistogramMethod
from murmurate.aggregators.accounting import solh_buckets

TARGETS: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
LOCAL: Final = ("OLH", "Had")
SHUFFLED: Final = ("SH", "SOLH", "AUE", "RAP", "RAP_R")
EXACT: Final = "exact"
PART: Final = "figure 9.4"
MOST_RUNS: Final = 10
"""Collections behind each share: they differ by a few strings of 32."""
_SLACK: Final = 0.02


@dataclass(frozen=True, eq=False)
class StringsToFind:
    """Collections from which one method finds strings at one central epsilon."""

    strings: Strings
    name: str
    target: float
    seed: int
    runs: int


def planned(strings: Strings, runs: int, seed: int) -> Iterator[tuple[tuple[Any, ...], StringsToFind]]:
    """All that is computed, by its key."""
    for target in TARGETS:
        for name in (*LOCAL, *SHUFFLED, EXACT):
            if name == EXACT or _way(name, target, strings.n) is not None:
                yield (
                    (PART, strings.name, target, name),
                    StringsToFind(strings, name, target, seed, min(runs, MOST_RUNS)),
                )


def made(job: StringsToFind) -> float:
    """The mean share that is found."""
    way = _way(job.name, job.target, job.strings.n)
    assert way is not None  # noqa: S101 - only what there is was planned
    return share_found(job.strings, way, job.runs, job.seed, divided=job.name in LOCAL)


def _way(name: str, target: float, n: int) -> HistogramMethod | None:
    if name in LOCAL:
        return ways(target, n, CANDIDATES + 1)[name]
    if name == EXACT:
        chosen = solh_buckets(n, target / CHARACTERS, DELTA / CHARACTERS, d=CANDIDATES + 1)
        return hashing(float(chosen.epsilon), chosen.cells)
    return ways(target / CHARACTERS, n, CANDIDATES + 1, DELTA / CHARACTERS).get(name)


def lines(found: Mapping[tuple[Any, ...], float], strings: Strings) -> Iterator[str]:
    """The figure as a table."""
    names = (*LOCAL, *SHUFFLED, EXACT)
    yield f"figure 9.4: {strings.name}, n = {strings.n}, {len(strings.codes)} strings of {CHARACTERS} characters;"
    yield f"share of the {SOUGHT} most frequent ones that is found, prefix by prefix"
    yield f"{'eps':<5}" + "".join(f"{name:>9}" for name in names)
    for target in TARGETS:
        values = [found.get((PART, strings.name, target, name)) for name in names]
        yield f"{target:<5g}" + "".join(f"{'-':>9}" if value is None else f"{value:>9.3f}" for value in values)
    yield ""


def missed(found: Mapping[tuple[Any, ...], float], strings: Strings) -> Iterator[str]:
    """A line for all that the text says and that is not so."""

    def mean(name: str, beside: str) -> float:
        """Over the targets at which there is the method beside."""
        some = [target for target in TARGETS if (PART, strings.name, target, beside) in found]
        return sum(found[PART, strings.name, target, name] for target in some) / max(1, len(some))

    for name in SHUFFLED[1:]:
        best = max(mean(local, name) for local in LOCAL)
        if (share := mean(name, name)) <= best and any(key[3:] == (name,) for key in found):
            yield f"{PART}, {strings.name}: {name} finds {share:.3f}; more than local methods, {best:.3f}"
        if name != "RAP_R" and mean(EXACT, name) < share - _SLACK:
            yield f"{PART}, {strings.name}: the exact bound's choice finds {mean(EXACT, name):.3f}; {name} {share:.3f}"
    best = max(mean(local, "SH") for local in LOCAL)
    if (share := mean("SH", "SH")) > best:
        yield f"{PART}, {strings.name}: SH finds {share:.3f}; no more than local methods, {best:.3f}"
