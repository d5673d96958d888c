# SPDX-License-Identifier: Apache-2.0
"""Words that synthetic users search for: how popular each is as time goes by, and one that trends.

Contract: whole numbers alone, so that the same chance and moment give the same word everywhere.  Popularity falls like
1/rank; some words rise through the sample while others fall, and TREND comes up in the middle, is a quarter of
everything, and goes away again.  Not here: who searches when (config/samples.py).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Final

WORDS: Final = (
    "weather", "news", "train", "recipe", "map", "cinema", "bike", "guitar", "library", "bus", "coffee", "flight",
    "shoes", "tax", "pizza", "football", "dentist", "yoga", "hotel", "radio", "garden", "piano", "museum", "bakery",
)  # fmt: skip
"""The most popular one first, where time begins."""
TREND: Final = "storm"
MOMENTS: Final = 60
"""Into how many moments the time of a sample is divided."""
MOST: Final = 1 << 32
"""Chances are numbers below this."""
_COMES, _STAYS, _GOES, _GONE = 22, 30, 38, 44  # the moments in which the trend begins, is highest, falls, and is over
_HIGHEST: Final = MOST // 4
_SCALE: Final = 1 << 20


def searched(chance: int, moment: int) -> str:
    """The word that a chance below 2^32 selects in a moment from 0 to 59.

    >>> searched(0, 0), searched(MOST - 1, 30), searched(MOST - 1, 0)
    ('weather', 'storm', 'bakery')
    """
    bounds = _bounds(moment)
    return (*WORDS, TREND)[bisect_right(bounds, chance * bounds[-1] >> 32)]


@lru_cache(maxsize=MOMENTS)
def _bounds(moment: int) -> tuple[int, ...]:
    """The sums of the weights of the words up to each one."""
    usual = [_weight(place, moment) for place in range(len(WORDS))]
    trend = _trend(moment)
    return tuple(accumulate([*usual, sum(usual) * trend // (MOST - trend)]))


def _weight(place: int, moment: int) -> int:
    """The weight of a word: every third one doubles through the sample, and every third one halves."""
    first = _SCALE // (place + 1)
    drift = (first * moment // MOMENTS, -(first * moment) // (2 * MOMENTS), 0)
    return first + drift[(place + 1) % 3]


def _trend(moment: int) -> int:
    """The share of the trend, of 2^32."""
    if moment < _COMES or moment >= _GONE:
        return 0
    if moment < _STAYS:
        return _HIGHEST * (moment - _COMES + 1) // (_STAYS - _COMES)
    return _HIGHEST if moment < _GOES else _HIGHEST * (_GONE - moment) // (_GONE - _GOES)
