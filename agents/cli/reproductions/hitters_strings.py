# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce hitters`, strings: the searches of Wang 2021, chapter 4, again, on made-up strings and on files.

Contract: a job is one search with one seed, and gives the same scores in whatever process it is made.  Made-up strings
are the text's exponential set, drawn anew for each seed; a file's are cut to 32 bits for table 4.2.
Not here: what should come out (hitters_strings_reference.py), what of it is judged (hitters_strings_verdicts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from pathlib import Path
from typing import Final

import numpy as np

from murmurate.agents.cli.reproductions import hitters_strings_reference as reference
from murmurate.agents.simulate.held_strings import Strings, exponential, strings_of
from murmurate.agents.simulate.string_searches import SearchScores, StringSearch, searched
from murmurate.aggregators.hitters.levels import sensitivity

FILE: Final = "aol_query_6bytes_sorted.txt.gz"
"""A file of a --data folder: a string, a tab and its users a line, compressed."""
GROWING: Final = "growth"
BY_EPSILON: Final = "figure 4.2"
BY_K: Final = "figure 4.3"
BY_GROUPS: Final = "table 4.2"
EPSILONS: Final = tuple(reference.F1_FOUND)
ALL_K: Final = (10, 16, 30, 50)
METHODS: Final = ("PEM", "PEM1", "SPM", "SPM, split", "HASH", "HASH, split")
TRIE: Final = "PrivTrie"
TRIE_EPSILONS: Final = (0.9, 1.2, 2.0)
"""Where the trie is tried: its batches are many, and the larger epsilon the more prefixes are open."""
FILE_RUNS: Final = 5
"""Searches of each kind among a file's many strings."""
M, CUT = 64, 32
K: Final = 16

Row = tuple[str, str, StringSearch]
"""The part, the strings and the search."""
Rows = Mapping[Row, Sequence[SearchScores]]


@dataclass(frozen=True)
class StringsToSearch:
    """One search to make."""

    row: Row
    path: Path | None
    seed: int


def planned(runs: int, few: int, seed: int, data: Path | None) -> Iterator[StringsToSearch]:
    """All searches; `few` of each that takes long."""
    path = None if data is None or not (data / FILE).is_file() else data / FILE
    made_up, file = "exponential", FILE.partition("_")[0]
    for at in range(seed, seed + runs):
        for epsilon in EPSILONS:
            for growth in reference.GROWTH:
                search = StringSearch("PEM", epsilon, K, (M - 4) // growth)
                yield StringsToSearch((GROWING, made_up, search), None, at)
            for method in METHODS:
                yield StringsToSearch((BY_EPSILON, made_up, StringSearch(method, epsilon, K)), None, at)
        for k in ALL_K:
            for method in METHODS[:3] + METHODS[4:5]:
                yield StringsToSearch((BY_K, made_up, StringSearch(method, 2.0, k)), None, at)
        for epsilon in TRIE_EPSILONS if at < seed + few else ():
            yield StringsToSearch((BY_EPSILON, made_up, StringSearch(TRIE, epsilon, K)), None, at)
        if path is not None:
            for epsilon in reference.HITS:
                for groups in reference.GROUPS:
                    yield StringsToSearch((BY_GROUPS, file, StringSearch("PEM", epsilon, K, groups)), path, at)
            for epsilon in EPSILONS if at < seed + FILE_RUNS else ():
                for method in METHODS[:3] + METHODS[4:5]:
                    yield StringsToSearch((BY_EPSILON, file, StringSearch(method, epsilon, K)), path, at)


def made(job: StringsToSearch) -> SearchScores:
    """One search."""
    part, _, search = job.row
    strings = exponential(job.seed) if job.path is None else of_file(job.path, part == BY_GROUPS)
    return searched(strings, search, job.seed)


@lru_cache(maxsize=2)
def of_file(path: Path, cut: bool) -> Strings:
    """The strings of a file, or their first bits."""
    strings = strings_of(path)
    return strings.shortened(CUT) if cut else strings


def expected_threshold(epsilon: float, bits: int, n: int) -> float:
    """Psi of table 4.1 for one group."""
    e = exp(epsilon)
    return sensitivity(2 * e**0.5 / (e - 1), 1 << bits, n)


def mean(scores: Sequence[SearchScores], what: str = "f1") -> float:
    """The mean of a score over runs, of those that have it; nan where none has."""
    each = [value for one in scores if (value := getattr(one, what)) is not None]
    return float(np.mean(each)) if each else float("nan")


# ---- as text ----


def lines(rows: Rows) -> Iterator[str]:
    """All tables."""
    yield from _growth(rows)
    for part, strings in dict.fromkeys(row[:2] for row in rows):
        if part in (BY_EPSILON, BY_K):
            yield from _methods(rows, part, strings)
    yield from _thresholds()
    yield from _groups(rows)


def _growth(rows: Rows) -> Iterator[str]:
    kept = {row[2]: scores for row, scores in rows.items() if row[0] == GROWING}
    yield f"PEM on strings of {M} bits with exponential shares, a million users, k = {K}:"
    yield f"mean F1 of {max(map(len, kept.values()), default=0)} runs, beside what other code found"
    yield "bits more" + "".join(f"{growth:>9}{'known':>7}" for growth in reference.GROWTH)
    for epsilon, known in reference.F1_FOUND.items():
        line = f"eps {epsilon:<5g}"
        for growth, beside in zip(reference.GROWTH, known, strict=True):
            line += f"{mean(kept[StringSearch('PEM', epsilon, K, (M - 4) // growth)]):>9.3f}{beside:>7.3f}"
        yield line


def _methods(rows: Rows, part: str, strings: str) -> Iterator[str]:
    kept = {row[2]: scores for row, scores in rows.items() if row[:2] == (part, strings)}
    by_k = part == BY_K
    columns = sorted({search.k if by_k else search.epsilon for search in kept})
    yield ""
    yield f"{part}, {strings}: F1, NCR and the error of found counts in hundreds"
    yield f"{'k' if by_k else 'eps':<12}" + "".join(f"{column:>17g}" for column in columns)
    for method in dict.fromkeys(search.method for search in kept):
        line = f"{method:<12}"
        for column in columns:
            scores = kept.get(StringSearch(method, 2.0, int(column)) if by_k else StringSearch(method, column, K))
            line += f"{'-':>17}" if scores is None else _scores(scores)
        yield line


def _scores(scores: Sequence[SearchScores]) -> str:
    error = mean(scores, "squared_error") ** 0.5
    return f"{mean(scores):>7.3f}{mean(scores, 'ncr'):>6.3f}" + (
        f"{'-':>4}" if error != error else f"{error / 100:>4.0f}"
    )


def _thresholds() -> Iterator[str]:
    yield ""
    yield "table 4.1, one group: the share above which one string is expected by chance"
    yield f"{'eps, bits':<10}" + "".join(
        f"{f'n = {n:.0e}':>11}{'text':>6}".replace("e+0", "e") for n in reference.OF_USERS
    )
    for epsilon, table in reference.THRESHOLDS.items():
        for bits, printed in zip(reference.AMONG, table, strict=True):
            line = f"{epsilon:g}, {bits:<7}"
            for n, text in zip(reference.OF_USERS, printed, strict=True):
                line += f"{expected_threshold(epsilon, bits, n):>9.5f}{text:>8.5f}"
            yield line


def _groups(rows: Rows) -> Iterator[str]:
    for strings in dict.fromkeys(row[1] for row in rows if row[0] == BY_GROUPS):
        kept = {row[2]: scores for row, scores in rows.items() if row[:2] == (BY_GROUPS, strings)}
        yield ""
        yield f"table 4.2, {strings}: how many of the {K} most frequent strings of {CUT} bits are found"
        yield f"{'groups':<9}" + "".join(f"{groups:>9}{'text':>7}" for groups in reference.GROUPS)
        for epsilon, printed in reference.HITS.items():
            line = f"eps {epsilon:<5g}"
            for groups, text in zip(reference.GROUPS, printed, strict=True):
                line += f"{mean(kept[StringSearch('PEM', epsilon, K, groups)], 'hits'):>9.2f}{text:>7.1f}"
            yield line
