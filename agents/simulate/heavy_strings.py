# SPDX-License-Identifier: Apache-2.0
"""The most frequent strings, found prefix by prefix (TreeHist), for the comparison of Wang 2021, figure 9.4.

Contract: the same strings, way, runs and seed give the same share of the most frequent ones that are found.  Strings
have six characters of 8 bits; each round asks for the next one behind the best prefixes so far, of all users or of a
sixth of them that was in no other round.  Users behind no candidate hold none of them.  Supports are drawn all at once
and independently, as in mixed_histograms.py.  Made-up strings have the users and strings of the dissertation's data;
files are read by path, and never kept.  Not here: which chances a method has
(agents/cli/reproductions/shuffle_ways.py).
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.mixed_histograms import STRINGS, HistogramMethod, made_up

CHARACTERS: Final = 6
BITS: Final = 8
SOUGHT: Final = 32
"""How many strings, and prefixes in each round, are looked for."""
CANDIDATES: Final = SOUGHT << BITS
"""The prefixes that a round asks for."""
LETTERS: Final = 40
"""Different characters of made-up strings."""


class Strings(NamedTuple):
    """How many users hold each string."""

    name: str
    codes: NDArray[np.int64]
    """The strings as numbers of 48 bits, each once: int64[d]."""
    counts: NDArray[np.int64]
    """Users of each: int64[d]."""

    @property
    def n(self) -> int:
        """The number of users."""
        return int(self.counts.sum())

    def ordered(self) -> Strings:
        """These strings in ascending order, each with its users."""
        order = np.argsort(self.codes)
        return Strings(self.name, self.codes[order], self.counts[order])


@lru_cache(maxsize=1)
def made_up_strings() -> Strings:
    """Strings whose characters fall in frequency, with counts that fall as a power of a rank drawn for each."""
    counts = made_up("strings", STRINGS).counts
    generator = np.random.default_rng(94)
    codes = np.zeros(0, np.int64)
    while len(codes) < len(counts):
        drawn = np.floor(LETTERS * generator.random((len(counts), CHARACTERS)) ** 1.6).astype(np.int64)
        codes = np.unique(np.append(codes, drawn @ (1 << BITS * np.arange(CHARACTERS)[::-1])))
    return Strings("strings", generator.permutation(codes)[: len(counts)], counts).ordered()


def strings_of(path: Path) -> Strings:
    """The strings of a compressed file with a string, a tab and a number of users a line."""
    codes: dict[int, int] = {}
    try:
        with gzip.open(path, "rt", encoding="latin-1") as lines:
            for line in lines:
                text, _, users = line.rstrip("\n").rpartition("\t")
                code = int.from_bytes(text.encode("latin-1")[:CHARACTERS].ljust(CHARACTERS), "big")
                codes[code] = codes.get(code, 0) + int(users)
    except (OSError, EOFError, ValueError):
        codes = {}
    if len(codes) <= SOUGHT:
        raise SourceError(f"{path.name}: found no strings; allowed: a string, a tab and a number of users a line")
    found = np.array([*codes], np.int64), np.array([*codes.values()], np.int64)
    return Strings(path.name.partition(".")[0], *found).ordered()


def share_found(strings: Strings, way: HistogramMethod, runs: int, seed: int, *, divided: bool) -> float:
    """The mean share of the most frequent strings that are found. divided: every user is asked in one round alone."""
    generator = np.random.default_rng([seed, 94])
    best = set(strings.codes[np.argsort(-strings.counts, kind="stable")[:SOUGHT]].tolist())
    return float(np.mean([len(best & _found(strings, way, generator, divided)) / SOUGHT for _ in range(runs)]))


def _found(strings: Strings, way: HistogramMethod, generator: np.random.Generator, divided: bool) -> set[int]:
    prefixes, left = np.zeros(1, np.int64), strings.counts
    for done in range(CHARACTERS):
        asked = left
        if divided:  # of those who are left, an equal part for each round to come
            asked = generator.binomial(left, 1 / (CHARACTERS - done))
            left = left - asked
        candidates = np.sort((prefixes[:, None] << BITS | np.arange(1 << BITS)).ravel())
        codes = strings.codes >> BITS * (CHARACTERS - done - 1)
        at = np.minimum(np.searchsorted(candidates, codes), len(candidates) - 1)
        held = np.bincount(at, np.where(candidates[at] == codes, asked, 0), len(candidates)).astype(np.int64)
        estimates = _estimates(held, int(asked.sum()), way, generator)
        prefixes = candidates[np.argsort(-estimates, kind="stable")[:SOUGHT]]
    return set(prefixes.tolist())


def _estimates(
    held: NDArray[np.int64], n: int, way: HistogramMethod, generator: np.random.Generator
) -> NDArray[np.float64]:
    if way.kind == "added":
        return np.asarray((held + generator.binomial(n, way.p, len(held)) - n * way.p) / n)
    support = generator.binomial(held, way.p) + generator.binomial(n - held, way.q)
    return np.asarray((support / n - way.q) / (way.p - way.q))
