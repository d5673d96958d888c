# SPDX-License-Identifier: Apache-2.0
"""Answers weighted by a public number: how much of the number's sum belongs to the holders of each value.

Contract: the number is sent in the clear after the report, in whole quanta; the promise protects the private value of
users whose number is the same.  **Public includes presence**: who holds a value, and when, is public with it, and
reports of one person may be linked by their numbers; so such a question promises nothing beyond that, and no
amplification.  A support is the sum of the numbers, that of their squares, and the support in which each report counts
as many times as its number.  Statistics are shares of the sum of all numbers, unbiased; the sum is public.
Source: Wang 2021, chapter 7 (ARCHITECTURE section 5.13, rule 29).  Not here: which sums answer a range (methods).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import copy
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError
from murmurate.randomizers.layouts import CodeLayout, MeasuredLayout, layout
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import (
    Counts,
    Floats,
    LayoutSpec,
    Question,
    Reports,
    Value,
    Values,
    checked_reports,
)
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.viewed import checked_values
from murmurate.randomizers.views import canonical_json, checked_value, one_or_more

MOST_QUANTA: Final = 1 << 12
"""The largest number of quanta, so that the sum of many squared numbers stays within what every JSON reader keeps
exactly.
"""


class Weighted(Question):
    """A question with a public number beside each report."""

    name = "weighted"

    def __init__(self, inner: Question, levels: int, quantum: int = 1) -> None:
        """levels: numbers are whole and below it. quantum: numbers are sent as multiples of it, rounded down."""
        if isinstance(inner, Weighted):
            raise ParameterError(f"{self.name}: found weighted in weighted; allowed: others")
        self.inner = inner
        self.of = MeasuredLayout(layout(inner.layout), levels)
        self.quantum = whole(self.name, "quantum", quantum, 1, levels)
        self.top = (levels - 1) // quantum
        """The largest number of quanta."""
        if self.top >= MOST_QUANTA:
            raise ParameterError(f"{self.name}: found {self.top + 1} numbers of quanta; allowed: {MOST_QUANTA}")
        self.epsilon_micro = inner.epsilon_micro
        named = b"murmurate/question/1\n" + canonical_json(self.spec()) + b"\n" + inner.digest
        self.digest = hashlib.sha256(named).digest()
        vars(self).update(measure="weighted", memoised=inner.memoised)

    @property
    def layout(self) -> LayoutSpec:
        """The layout of the inner question, and the number of levels."""
        return self.of.spec()

    @property
    def words(self) -> int:
        """The words of the inner question's value and one more for the number."""
        return self.of.words

    def spec(self) -> dict[str, Any]:
        """The inner question, the number of levels, and the quantum."""
        return {"name": self.name, "inner": self.inner.spec(), "levels": self.of.levels, "quantum": self.quantum}

    def of_round(self, round: bytes) -> Self:
        """With the inner question of this round."""
        bound = copy(self)
        vars(bound)["inner"] = self.inner.of_round(round)
        return bound

    def __repr__(self) -> str:
        return f"Weighted({self.inner!r}, levels={self.of.levels}, quantum={self.quantum})"

    # ---- the device's half ----

    @property
    def wire_size(self) -> int:
        """The bytes of the inner report and of the number."""
        return self.inner.wire_size + self._width

    @property
    def _width(self) -> int:
        return int_bytes(self.top + 1)

    def perturb(self, values: Values, draw: Draw) -> Reports:
        """The inner reports, each with its number of quanta."""
        values = checked_values(self.name, self.of, values, draw)
        private = self.of.values(self.of.rows(values))
        if isinstance(self.of.inner, CodeLayout):
            private = private.astype(np.int64)
        inner = self.inner.perturb(private, draw)
        quanta = values[:, -1].astype(np.uint64) // np.uint64(self.quantum)
        return np.concatenate((inner, pack_ints(quanta, self._width)), axis=1)

    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        words = self.checked(value)
        report = self.inner.perturb_one(one_or_more(words[:-1]), draw)
        return report + self.public(words).to_bytes(self._width, "little")

    def checked(self, value: Value) -> Value:
        """The value, if it is one of the layout."""
        return checked_value(self.name, self.of, value)

    # ---- the auditor's ----

    def public(self, value: Value) -> int:
        """The public number of quanta of a value."""
        return int(value[-1]) // self.quantum

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The law of the private part of the value, with the number appended."""
        words = self.checked(value)
        number = self.public(words).to_bytes(self._width, "little")
        return {report + number: chance for report, chance in self.inner.law(one_or_more(words[:-1])).items()}

    @property
    def realised(self) -> Fraction:
        """The realised ratio of the inner question, which holds among users with the same number."""
        return self.inner.realised

    @property
    def reports_possible(self) -> int:
        """The number of inner reports times the number of public numbers."""
        return self.inner.reports_possible * (self.top + 1)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The inner question's extremes, both with the number 0."""
        one, other = (value if isinstance(value, tuple) else (value,) for value in self.inner.extremes)
        return (*one, 0), (*other, 0)

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Evidence for the private part of `one`, from the inner reports."""
        inner, _ = self._read(reports)
        return self.inner.evidence(inner, one_or_more(one[:-1]), one_or_more(other[:-1]))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the inner question."""
        return self.inner.telling

    # ---- the server's ----

    @property
    def outcomes(self) -> int:
        """The sums of numbers and of their squares, and the inner question's support."""
        return 2 + self.inner.outcomes

    @property
    def statistics(self) -> int:
        """The number of the inner question's statistics."""
        return self.inner.statistics

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports with a number above the largest, or with a malformed inner report: bool[n]."""
        inner, quanta = self._read(reports)
        return np.asarray(self.inner.malformed(inner) | (quanta > self.top))

    def support(self, reports: Reports) -> Counts:
        """The sums of numbers and squares, and the support in which each report counts as often as its number says."""
        inner, quanta = self._read(reports)
        weighted = np.zeros(self.inner.outcomes, np.int64)
        for bit in range(self.top.bit_length()):
            weighted += self.inner.support(inner[quanta >> bit & 1 == 1]) << bit
        return np.concatenate(([quanta.sum(), (quanta**2).sum()], weighted))

    def _check_most(self, counts: Counts, n: int) -> None:
        total, squares = int(counts[0]), int(counts[1])
        if not (0 <= total <= n * self.top and total <= squares <= total * max(1, self.top)):
            raise ReportError(f"{self.name}: counts: found sums of numbers that no {n} reports have")
        self.inner.check(counts[2:], total)

    def total(self, support: Counts) -> int:
        """The sum of all numbers, which is public and of which the statistics are shares."""
        return int(support[0]) * self.quantum

    def effective(self, support: Counts) -> float:
        """The number of equal numbers that would give the same variance: (sum of numbers)^2 / (sum of squares)."""
        return float(support[0]) ** 2 / float(support[1]) if support[1] else 0.0

    def estimate(self, support: Counts, n: int) -> Floats:
        """Shares of the sum of all numbers, raw; NaN where that is 0."""
        self.check(support, n)
        total = int(support[0])
        return self.inner.estimate(support[2:], total) if total else np.full(self.statistics, np.nan)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance from n equal numbers; for unequal ones take n from `effective`."""
        return self.inner.variance(n, frequency)

    def _read(self, reports: Reports) -> tuple[Reports, NDArray[np.int64]]:
        checked_reports(self.name, reports, self.wire_size)
        inner = np.ascontiguousarray(reports[:, : self.inner.wire_size])
        return inner, unpack_ints(reports[:, self.inner.wire_size :]).astype(np.int64)
