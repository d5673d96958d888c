# SPDX-License-Identifier: Apache-2.0
"""Searches for strings that ask one length of prefixes a period: each round names the prefixes that the next extends.

Contract: a period asks about the extensions of the best prefixes of the length before, of what is followed and of what
is remembered; all these come from answers to earlier rounds alone.  A period whose round did not count asks again.
After the last length strings are found, and the next period begins with the first.  So a string is found and measured
every g periods, by all users of a period and not by a g-th of them; values that move within these periods are a search
among changing answers.  Every report has a hash function of its own (olh without a pool).
Source: Wang 2021, section 4.2 (PEM by rounds); Bassily and others 2017 (tree_hist, by eight bits a round).  Not here:
one round for all lengths (pem.py), what is remembered (prefix_search.py).
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import numpy as np

from murmurate.aggregators.hash_cells import cells_of
from murmurate.aggregators.hitters import extended
from murmurate.aggregators.hitters.candidates import shortened
from murmurate.aggregators.hitters.tree_hist import TreePlan
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.followed import Search, Words
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Request, Setting
from murmurate.aggregators.methods.pem import strings_of
from murmurate.aggregators.methods.prefix_search import PrefixSearch, SeenPrefixes
from murmurate.randomizers import OLH, Question, Viewed
from murmurate.randomizers.candidates import MOST_BYTES
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.string_views import Extensions
from murmurate.randomizers.thresholds import MICRO

CHARACTER: Final = 8
"""By how many bits tree_hist's prefixes grow."""


class PEMRounds(FindingMethod):
    """One stream's search for strings, by one length of prefixes a period."""

    name = "pem_rounds"
    simplicity = 21
    searches = FoundStrings

    def __init__(self, setting: Setting) -> None:
        self.strings = strings_of(self.checked(setting))
        self.bits = self._lengths()
        self._epsilon = Fraction(self._spent(setting), MICRO)
        self._cells = cells_of(setting.mechanism) or 0
        self._kept: Words = self.strings.nothing
        """The best prefixes of the length before, in the order of their numbers; none before the first length."""
        self._seen: SeenPrefixes | None = None
        layout = self.strings.strings
        self.search = PrefixSearch(layout, self.bits, k=self.strings.top, least=self.strings.least)
        self.at = 0
        """The place of the length that the open period asks about, or the next one will."""
        super().__init__(setting, would_use=self._of(np.zeros((1, layout.words), np.uint32)))

    def _lengths(self) -> tuple[int, ...]:
        return self.strings.plan.bits

    def _spent(self, setting: Setting) -> int:
        """What a user spends in one round, in micro-nats."""
        return setting.epsilon_micro

    def open(self, t: int) -> Request | Decision:
        """Begin period t."""
        if not self.waiting and t > self.t:
            self.search.age(t - self.t)
        return super().open(t)

    @property
    def _before(self) -> int:
        """The length in bits of the prefixes that are extended."""
        return self.bits[self.at - 1] if self.at else 0

    @property
    def _parents(self) -> Words:
        """The prefixes to extend, each once, in the order of their numbers: as many as a round has room for, the best
        of the length before first, then those of what is followed, then those of what is remembered.
        """
        layout = self.strings.strings
        if not self.at:
            return np.zeros((1, layout.words), np.uint32)
        room = MOST_BYTES // (-(-self._before // 4) + 3)
        wanted = np.vstack((self._kept, self.followed.values, self.search.levels[self.at].rows))
        parents = shortened(layout, wanted, self._before)
        _, first = np.unique(parents, axis=0, return_index=True)
        return np.unique(parents[np.sort(first)[:room]], axis=0)

    def _of(self, parents: Words) -> Question:
        """The question about the extensions of these prefixes."""
        spare = 32 * self.strings.strings.words - 1 - self._before
        numbers = (int.from_bytes(row.tobytes(), "big") >> spare for row in np.ascontiguousarray(parents, ">u4"))
        names = Extensions.named(numbers, self._before)
        view = Extensions(self.strings.layout, names, self._before, self.bits[self.at])
        return Viewed(view, OLH(d=view.d, epsilon=self._epsilon, pool=0, g=self._cells))

    def _question(self, phase: int) -> Question | None:
        return self._of(self._parents)

    def _heard(self, phase: int, question: Question, answer: Answer) -> None:
        rows = extended(self.strings.strings, self._parents, self._before, self.bits[self.at])
        self._told = ToldExtensions(question, answer, self.bits[self.at])
        self._seen = self.search.look(self.at, self._told, rows)

    def _searched(self) -> Search | None:
        seen, self._seen = self._seen, None
        if seen is None:
            return None
        if self.at + 1 < len(self.bits):
            self._kept, self.at = seen.best, self.at + 1
            return None
        self._kept, self.at = self.strings.nothing, 0
        found, told = self.search.found(seen), self._told

        def measured(values: Words) -> tuple[Floats, Floats]:
            shares, variances = told.estimate(values)
            return shares, variances + self._sampled(shares, told.n)

        exceeded = found.shares, found.variances + self._sampled(found.shares, told.n) * found.averaged
        return Search(found.rows, found.bars, found.threshold, measured, exceeded)

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "at": self.at}

    def _left(self, values: Words) -> None:
        self.search.forget(values)

    def _arrays(self) -> Arrays:
        return {**super()._arrays(), **self.search.arrays(), "kept": self._kept}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        self.search.load(arrays)
        self._kept, self.at = arrays["kept"].copy(), facts["at"]


class TreeHist(PEMRounds):
    """One stream's search by eight more bits a period, whatever a budget of questions allows."""

    name = "tree_hist"
    simplicity = 22

    def _lengths(self) -> tuple[int, ...]:
        return TreePlan(self.strings.domain.m, self.strings.top, CHARACTER).bits


class ToldExtensions:
    """What users told of prefixes of one length that begin with a named one: a SkewedLevel over a round's counts."""

    def __init__(self, question: Question, answer: Answer, bits: int) -> None:
        assert isinstance(question, Viewed)  # noqa: S101 - as it was asked
        assert isinstance(question.view, Extensions)  # noqa: S101
        assert isinstance(question.inner, PureOracle)  # noqa: S101
        self._view, self._oracle, self.bits, self.n = question.view, question.inner, bits, answer.counted
        self._shares = question.estimate(answer.support, answer.counted)

    @property
    def skewness(self) -> float:
        """The skewness of a count that supports a prefix which nobody has: a binomial one of n reports."""
        q = float(self._oracle.q)
        return (1 - 2 * q) / sqrt(self.n * q * (1 - q))

    def estimate(self, rows: Words) -> tuple[Floats, Floats]:
        """The share of users whose strings have each prefix, and the variance of each estimate; NaN for one that begins
        with no named prefix.
        """
        codes = self._view.codes_of(rows)
        shares = np.where(codes < self._view.extensions, self._shares[codes], np.nan)
        return shares, self._oracle.noise(np.clip(shares, 0, 1)) / self.n
