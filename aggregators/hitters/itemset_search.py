# SPDX-License-Identifier: Apache-2.0
"""Frequent sets of items, by the set-value itemset mining of Wang 2021, section 5.4 (SVSM).

Contract: half of the users find the k most frequent items (set_search.py).  Of these, sets of 2 to log2 k items are
guessed to be as frequent as if items were held independently; the 2k with the largest guesses are candidates.  Then
others are asked how many of these candidates they hold, and the rest for one of them, padded to L, with the same
functions as for items.  Phases are weighted 5, 1, 4, 2 and 8 of 20.  The size group of the second half is not stated in
the text; a tenth of all users matches the first half.  Not here: asking (aggregators/methods).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.hitters.set_search import ranking

Floats = NDArray[np.float64]

ITEMSET_PARTS: Final = (5, 1, 4, 2, 8)
"""The weights of the five phases: candidates, sizes and shares of items, sizes and shares of itemsets."""
HIGHEST: Final = 0.9
"""The share to which the largest one is brought before guessing, so that larger sets are guessed to be rarer."""
SMALLEST: Final = 2
"""The fewest items of a set that is guessed; Wang's rule knows none up to k = 4."""


class GuessedItemset(NamedTuple):
    """A set of items with the share that it would have, up to a factor, if items were held independently."""

    places: tuple[int, ...]
    """The places of its items among the estimates, rising."""
    guess: float


def largest_itemset(k: int) -> int:
    """The largest number of items of a guessed set: below log2 k, and 0 or 1 (no set) up to k = 4.

    >>> [largest_itemset(k) for k in (4, 5, 8, 16, 17, 32, 33, 64)]
    [1, 2, 2, 3, 4, 4, 5, 5]
    """
    return max(0, (k - 1).bit_length() - 1)


def guesses(estimates: Floats, k: int, largest: int | None = None, number: int | None = None) -> list[GuessedItemset]:
    """The 2k sets of the k most frequent items with the largest guesses, the largest first. A guess is the product of
    its items' shares, of which the largest counts as 0.9; items whose share is not above 0 are in none. Sets of two are
    guessed however small k is.

    largest: the most items of a set that users can hold. number: how many sets, instead of 2k.
    """
    order = ranking(estimates, k)
    shares = np.asarray(estimates, np.float64)[order]
    shares = shares[shares > 0]
    if not len(shares):
        return []
    limit = min(max(largest_itemset(k), SMALLEST), k if largest is None else largest)
    wanted = 2 * k if number is None else number
    found: list[GuessedItemset] = []
    for guess, ranks in _rising_away(tuple((shares * (HIGHEST / shares[0])).tolist()), limit):
        if len(found) >= wanted:
            break
        if len(ranks) > 1:
            found.append(GuessedItemset(tuple(sorted(int(order[rank]) for rank in ranks)), guess))
    return found


def _rising_away(shares: tuple[float, ...], limit: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """All sets of 1 to `limit` ranks with their products, the largest product first. The successors of a set put the
    next rank after its last one, beside it or in its place; each set has one predecessor, of no smaller product.
    """
    heap: list[tuple[float, tuple[int, ...]]] = [(-shares[0], (0,))] if limit else []
    while heap:
        minus, ranks = heapq.heappop(heap)
        yield -minus, ranks
        following = ranks[-1] + 1
        if following == len(shares):
            continue
        successors = [(*ranks[:-1], following)] + ([(*ranks, following)] if len(ranks) < limit else [])
        for made in successors:
            heapq.heappush(heap, (-_product(shares, made), made))


def _product(shares: tuple[float, ...], ranks: tuple[int, ...]) -> float:
    product = 1.0
    for rank in ranks:
        product *= shares[rank]
    return product


def itemset_candidates(items: Sequence[int], guessed: Sequence[GuessedItemset]) -> list[tuple[int, ...]]:
    """Guessed sets as lists of items, in the order in which a question numbers its candidates. items: the item at each
    place.

    >>> itemset_candidates([7, 3, 5], [GuessedItemset((0, 1), .5), GuessedItemset((1, 2), .4)])
    [(3, 5), (3, 7)]
    """
    return sorted(tuple(sorted(int(items[place]) for place in of.places)) for of in guessed)


class FoundItemsets(NamedTuple):
    """Items and sets of items, the most frequent first, with what is known of their shares."""

    itemsets: tuple[tuple[int, ...], ...]
    """The items of each, rising."""
    shares: Floats
    variances: Floats


def ranked_together(
    first: tuple[Sequence[Sequence[int]], Floats, Floats],
    second: tuple[Sequence[Sequence[int]], Floats, Floats],
    k: int,
) -> FoundItemsets:
    """The k most frequent of items and sets of items together: of each of the two lists sets, shares and variances."""
    itemsets = [tuple(int(item) for item in of) for sets, _, _ in (first, second) for of in sets]
    shares = np.concatenate([np.asarray(first[1], np.float64), np.asarray(second[1], np.float64)])
    variances = np.concatenate([np.asarray(first[2], np.float64), np.asarray(second[2], np.float64)])
    best = ranking(shares, k)
    return FoundItemsets(tuple(itemsets[place] for place in best), shares[best], variances[best])
