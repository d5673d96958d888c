# SPDX-License-Identifier: Apache-2.0
"""Who holds which string: made-up ones and those of a file, for searches that are compared with the literature.

Contract: made-up strings are the same for the same seed.  A string is a whole number of its m bits, at most 64.  Files
are read by path, and never kept.  Not here: what users tell of their strings (drawn_levels.py).
"""

from __future__ import annotations

import gzip
import math
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.mixed_histograms import STRINGS, made_up

CHARACTERS: Final = 6
"""The length of queries, made up or of a file."""
BITS: Final = 8
FEWEST: Final = 32
"""A file with no more strings than this is none."""
LETTERS: Final = 40
"""Different characters of made-up queries."""
SCALE: Final = 0.05
"""By how much the logarithm of a share falls from one string to the next, in the exponential set."""


class Strings(NamedTuple):
    """How many users hold each string."""

    name: str
    codes: NDArray[np.uint64]
    """The strings as numbers of m bits, each once: uint64[d]."""
    counts: NDArray[np.int64]
    """Users of each: int64[d]."""
    m: int = CHARACTERS * BITS
    """Bits of a string."""

    @property
    def n(self) -> int:
        """The number of users."""
        return int(self.counts.sum())

    def ordered(self) -> Strings:
        """These strings in ascending order, each with its users."""
        order = np.argsort(self.codes)
        return self._replace(codes=self.codes[order], counts=self.counts[order])

    def most_frequent(self, k: int) -> NDArray[np.uint64]:
        """The k strings of most users, the most frequent first; of equal ones the first by order."""
        return self.codes[np.argsort(-self.counts, kind="stable")[:k]]

    def shortened(self, bits: int) -> Strings:
        """The users of each prefix of so many bits, as strings of that length; these strings are in ascending order."""
        prefixes = self.codes.astype(np.uint64) >> np.uint64(self.m - bits)
        starts = np.flatnonzero(np.append(True, prefixes[1:] != prefixes[:-1]))
        return Strings(self.name, prefixes[starts], np.add.reduceat(self.counts, starts), bits)


@lru_cache(maxsize=1)
def made_up_strings() -> Strings:
    """Strings whose characters fall in frequency, with counts that fall as a power of a rank drawn for each."""
    counts = made_up("strings", STRINGS).counts
    generator = np.random.default_rng(94)
    codes = np.zeros(0, np.int64)
    while len(codes) < len(counts):
        drawn = np.floor(LETTERS * generator.random((len(counts), CHARACTERS)) ** 1.6).astype(np.int64)
        codes = np.unique(np.append(codes, drawn @ (1 << BITS * np.arange(CHARACTERS)[::-1])))
    chosen = generator.permutation(codes)[: len(counts)].astype(np.uint64)
    return Strings("strings", chosen, counts).ordered()


@lru_cache(maxsize=4)
def exponential(seed: int, n: int = 1_000_000, m: int = 64, scale: float = SCALE) -> Strings:
    """Random strings whose shares fall exponentially with their rank: of 1 - e^-scale, the first one's, always e^-scale
    of the share before.
    """
    shares = (1 - math.exp(-scale)) * np.exp(-scale * np.arange(math.ceil(math.log(n) / scale)))
    counts = np.floor(n * shares).astype(np.int64)
    counts[np.argsort(counts - n * shares, kind="stable")[: n - int(counts.sum())]] += 1
    generator = np.random.default_rng([seed, 4])
    codes = np.zeros(0, np.uint64)
    while len(codes) < len(counts):
        codes = np.unique(generator.integers(0, (1 << m) - 1, len(counts), np.uint64, endpoint=True))
    return Strings("exponential", generator.permutation(codes), counts, m).ordered()


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
    if len(codes) <= FEWEST:
        raise SourceError(f"{path.name}: found no strings; allowed: a string, a tab and a number of users a line")
    found = np.array([*codes], np.uint64), np.array([*codes.values()], np.int64)
    return Strings(path.name.partition(".")[0], *found).ordered()
