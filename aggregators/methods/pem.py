# SPDX-License-Identifier: Apache-2.0
"""PEM: every period one round, in which groups of users tell longer and longer prefixes; the server extends them.

Contract: one question for ever, so that nobody's question depends on anybody's answer: a user tells one prefix of one
length with the whole epsilon (Branches over LongPrefix, all groups alike), and counts of hash and cell can be asked
about any string later.  Publish extends the best prefixes itself (prefix_search.py).  The pool of hash functions is, if
nobody says otherwise, as large as its part of the error stays at 5 % where the squares of all shares sum to SQUARES;
errors count it by what the answers say.  Source: Wang 2021, section 4.2.  Not here: one length a period
(pem_rounds.py), which lengths (measures/found_strings.py).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.found import FoundMeasure
from murmurate.aggregators.measures.found_strings import USUAL_POOL, FoundStrings
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.followed import Search, Words
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Request, Setting
from murmurate.aggregators.methods.prefix_search import PrefixSearch
from murmurate.randomizers import Branches, OLHCounts, Question, Viewed
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.string_views import LongPrefix
from murmurate.randomizers.thresholds import MICRO

SQUARES: Final = 0.025
"""The sum of the squares of all shares for which a pool is made: 32 strings of 2.8 % each, or one of 16 %."""
SMALLEST_POOL: Final = 1 << 10


class PEM(FindingMethod):
    """One stream's search for strings, by one round a period."""

    name = "pem"
    simplicity = 20
    searches = FoundStrings

    def __init__(self, setting: Setting, *, users: str = "0") -> None:
        """users: how many are expected, "0" if nobody has said."""
        self.strings = strings_of(self.checked(setting))
        epsilon = Fraction(setting.epsilon_micro, MICRO)
        pool = self.strings.pool or usual_pool(self.strings, epsilon, int(users) / setting.w)
        self.question = self.strings.grouped(epsilon, pool)
        super().__init__(setting, would_use=self.question, users=users)
        bits = self.strings.plan.bits
        self.search = PrefixSearch(self.strings.strings, bits, k=self.strings.top, least=self.strings.least)
        self._told: list[ToldPrefixes] = []

    def open(self, t: int) -> Request | Decision:
        """Begin period t."""
        if not self.waiting and t > self.t:
            self.search.age(t - self.t)
        return super().open(t)

    def _question(self, phase: int) -> Question:
        return self.question

    def _heard(self, phase: int, question: Question, answer: Answer) -> None:
        assert isinstance(question, Branches)  # noqa: S101 - the one that it asks
        pairs = zip(question.questions, question.parts(answer.support), strict=True)
        self._told = [ToldPrefixes(one, counts, n) for one, (n, counts) in pairs]

    def _searched(self) -> Search | None:
        told, self._told = self._told, []
        if not told:
            return None
        found, last = self.search.search(told), told[-1]

        def measured(values: Words) -> tuple[Floats, Floats]:
            shares, variances = last.estimate(values)
            return shares, variances + self._sampled(shares, last.n)

        exceeded = found.shares, found.variances + self._sampled(found.shares, last.n) * found.averaged
        return Search(found.rows, found.bars, found.threshold, measured, exceeded)

    def _left(self, values: Words) -> None:
        self.search.forget(values)

    def _arrays(self) -> Arrays:
        return {**super()._arrays(), **self.search.arrays()}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        self.search.load(arrays)


class ToldPrefixes:
    """What a group told of prefixes of one length: a PrefixLevel over the counts of a round."""

    def __init__(self, question: Question, counts: NDArray[np.int64], n: int) -> None:
        """question: with the public choices of its round."""
        assert isinstance(question, Viewed)  # noqa: S101 - as it was asked
        assert isinstance(question.view, LongPrefix)  # noqa: S101
        assert isinstance(question.inner, OLHCounts)  # noqa: S101
        self._view, self._oracle, self._counts, self.n = question.view, question.inner, counts, n

    @property
    def bits(self) -> int:
        """The length of the prefixes."""
        return self._view.bits

    @property
    def skewness(self) -> float:
        """The skewness of the share of a prefix which nobody has."""
        return self._oracle.skewness_of(self._counts, self.n)

    def estimate(self, rows: Words) -> tuple[Floats, Floats]:
        """The share of users whose strings have each prefix, and the variance of each estimate."""
        shares = self._oracle.shares_of(self._counts, self.n, self._view.codes_of(rows))
        return shares, self._oracle.variances_of(self._counts, self.n, shares)


def strings_of(measure: FoundMeasure) -> FoundStrings:
    """The measure as that of strings, which it is."""
    assert isinstance(measure, FoundStrings)  # noqa: S101 - by what the method searches
    return measure


def usual_pool(strings: FoundStrings, epsilon: Fraction, asked: float) -> int:
    """How many hash functions keep their part of the error at 5 % where so many users are asked a period, if the
    squares of all shares sum to SQUARES; 0 users: not known.
    """
    groups = len(strings.plan.bits)
    oracle = OLHCounts(d=4, epsilon=epsilon, pool=1)
    most = strings.most_pool(epsilon)
    if not asked:
        return min(USUAL_POOL, most)
    wanted = 20 * asked / groups * SQUARES / (float(oracle.noise(np.zeros(1))[0]) * (oracle.g - 1))
    return max(1, min(most, max(SMALLEST_POOL, ceil(wanted))))
