# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce hitters`, sets: the searches of Wang 2021, chapter 5, again, in made-up baskets and in files.

Contract: a job is one search with one seed, and gives the same scores in whatever process it is made.  Made-up baskets
are always the same ones (agents/simulate/baskets.py says which); a seed decides who is asked what, and what they tell.
Files are read by path.  Not here: what is judged (hitters_sets_verdicts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from murmurate.agents.simulate.baskets import Baskets, FrequentSet, baskets_of, frequent, made_up_baskets
from murmurate.agents.simulate.set_searches import BasketSearch, SetScores, searched_sets
from murmurate.aggregators.hitters.itemset_search import largest_itemset

FILES: Final = ("kosarak_sets_max5.txt", "retail.dat")
"""Files of a --data folder: the items of a user as whole numbers, a user a line."""
MADE_UP: Final = "synthetic"
ITEMS: Final = "items"
ITEMSETS: Final = "items and itemsets"
EPSILONS: Final = (1.0, 2.0, 4.0)
K: Final = 32
K_ITEMSETS: Final = 64
BY_K: Final = (16, 32, 64)
ITEM_METHODS: Final = ("SVIM", "LDPMiner")

FOUND: Final[Mapping[str, tuple[float, ...]]] = {"SVIM": (0.65, 0.91, 0.99), "LDPMiner": (0.30, 0.61, 0.80)}
"""NCR by epsilon that other code found in its made-up baskets, as means of three runs."""
FOUND_RUNS: Final = 3
LOWER: Final = (275.0, 320.0)
"""By how much SVIM's squared error was smaller there."""
ITEMSETS_TEXT: Final = {1.0: 0.7, 2.0: 0.9}
"""NCR of SVSM at k = 64 by epsilon, as the text has it for data that we have not."""

Row = tuple[str, str, BasketSearch]
"""What is searched, in what, and the search."""
Rows = Mapping[Row, Sequence[SetScores]]


@dataclass(frozen=True)
class SetsToSearch:
    """One search to make."""

    row: Row
    path: Path | None
    seed: int


def planned(runs: int, few: int, seed: int, data: Path | None) -> Iterator[SetsToSearch]:
    """All searches; `few` in each file."""
    sources: list[tuple[str, Path | None, int]] = [(MADE_UP, None, runs)]
    if data is not None:
        sources += [(name.partition(".")[0], data / name, few) for name in FILES if (data / name).is_file()]
    for name, path, number in sources:
        for at in range(seed, seed + number):
            for epsilon in EPSILONS:
                for method in ITEM_METHODS:
                    yield SetsToSearch((ITEMS, name, BasketSearch(method, epsilon, K)), path, at)
                yield SetsToSearch((ITEMSETS, name, BasketSearch("SVSM", epsilon, K_ITEMSETS)), path, at)
            for k in BY_K:
                if k != K:
                    for method in ITEM_METHODS:
                        yield SetsToSearch((ITEMS, name, BasketSearch(method, 2.0, k)), path, at)


def made(job: SetsToSearch) -> SetScores:
    """One search."""
    what, _, search = job.row
    largest = largest_itemset(search.k) if what == ITEMSETS else 1
    return searched_sets(_baskets(job.path), search, _truth(job.path, search.k, largest), job.seed)


@lru_cache(maxsize=1)
def _baskets(path: Path | None) -> Baskets:
    return made_up_baskets() if path is None else baskets_of(path)


@lru_cache(maxsize=16)
def _truth(path: Path | None, k: int, largest: int) -> tuple[FrequentSet, ...]:
    return tuple(frequent(_baskets(path), k, largest))


def mean(scores: Sequence[SetScores], what: str = "ncr") -> float:
    """The mean of a score over runs."""
    return float(np.mean([getattr(one, what) for one in scores]))


def typical_error(scores: Sequence[SetScores]) -> float:
    """The median over runs of the squared error of hits, since a mean is that of its worst run; nan without a hit."""
    each = [one.squared_error for one in scores if one.squared_error is not None]
    return float(np.median(each)) if each else float("nan")


# ---- as text ----


def lines(rows: Rows) -> Iterator[str]:
    """All tables."""
    for name in dict.fromkeys(row[1] for row in rows):
        yield from _items(rows, name)
        yield from _itemsets(rows, name)


def _items(rows: Rows, name: str) -> Iterator[str]:
    runs = max(len(scores) for row, scores in rows.items() if row[:2] == (ITEMS, name))
    yield ""
    yield f"figure 5.2, {name}: frequent items, NCR (in brackets what is known), and how"
    yield f"many times smaller SVIM's squared error is; means and medians of {runs} runs"
    yield f"{'':<14}{'SVIM':>8}{'':>8}{'LDPMiner':>10}{'':>8}{'error':>9}"
    searches = [(epsilon, K) for epsilon in EPSILONS] + [(2.0, k) for k in BY_K if k != K]
    for epsilon, k in searches:
        scores = [rows.get((ITEMS, name, BasketSearch(method, epsilon, k))) for method in ITEM_METHODS]
        if scores[0] is None or scores[1] is None:
            continue
        line = f"{f'eps {epsilon:g}, k {k}':<14}"
        for method, of in zip(ITEM_METHODS, scores, strict=True):
            known = FOUND[method][EPSILONS.index(epsilon)] if name == MADE_UP and k == K else None
            line += f"{mean(of or ()):>8.3f}" + (f"{'':>8}" if known is None else f"{f'({known:.2f})':>8}")
        yield line + f"{typical_error(scores[1]) / typical_error(scores[0]):>11.0f} x"


def _itemsets(rows: Rows, name: str) -> Iterator[str]:
    yield ""
    yield f"figure 5.6, {name}: SVSM, the {K_ITEMSETS} most frequent items and itemsets"
    yield f"{'':<14}{'NCR':>8}{'hits':>8}"
    for epsilon in EPSILONS:
        scores = rows.get((ITEMSETS, name, BasketSearch("SVSM", epsilon, K_ITEMSETS)))
        if scores is not None:
            yield f"{f'eps {epsilon:g}':<14}{mean(scores):>8.3f}{mean(scores, 'hits'):>8.1f}"
