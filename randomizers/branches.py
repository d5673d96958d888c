# SPDX-License-Identifier: Apache-2.0
"""Groups of users: each user answers one of several questions, which is drawn at random and named in the report.

Contract: the branch is drawn by the keyed PRF under a purpose of its own, from integer weights and no value; its number
is sent in the clear in front of the report, which is zero-filled to the longest branch.  So P[y|x] is the branch's
probability times its own law, and epsilon the largest of the branches'.  A support lists, branch after branch, the
number of reports and their support; estimates divide by that number.  With w the probability of a branch, n reports
give it n_b with E[1/n_b] = (1 + (1 - w) / (n w)) / (n w) up to second order, and its users are a sample of all: both
are in `variance`.  Source: ARCHITECTURE rule 24; Wang 2021, chapters 4 to 7.  Not here: what is made of it (methods).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.layouts import Layout, layout
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import (
    Atom,
    Blanket,
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
from murmurate.randomizers.views import canonical_json, checked_value
from murmurate.randomizers.weighted import Weighted

MAX_BRANCHES: Final = 1 << 12
MAX_WEIGHT: Final = 1 << 20
_TOP: Final = 1 << 64


class Branches(Question):
    """Several questions over one layout, each for a part of the users."""

    name = measure = "branches"

    def __init__(self, of: Sequence[tuple[int, Question]]) -> None:
        """of: pairs of a weight and a question."""
        if not 1 <= len(of) <= MAX_BRANCHES:
            raise ParameterError(f"{self.name}: found {len(of)} of them; allowed: 1 to {MAX_BRANCHES}")
        self.weights = tuple(whole(self.name, "weight", weight, 1, MAX_WEIGHT) for weight, _ in of)
        self.questions: tuple[Question, ...] = tuple(question for _, question in of)
        for question in self.questions:
            if isinstance(question, Branches | Weighted):
                raise ParameterError(f"{self.name}: found {question.name} in them; allowed: mechanisms and views")
            if question.layout != self.questions[0].layout:
                found = f"{shown(list(question.layout))} beside {shown(list(self.questions[0].layout))}"
                raise ParameterError(f"{self.name}: found layouts {found}; allowed: one")
        total = sum(self.weights)
        self._ends = tuple(_TOP * end // total for end in accumulate(self.weights))
        """For each branch, the first word out of 2^64 that lies behind its own words."""
        self.chances = tuple(Fraction(end - start, _TOP) for start, end in pairwise((0, *self._ends)))
        self.epsilon_micro = max(question.epsilon_micro for question in self.questions)
        digests = b"".join(question.digest for question in self.questions)
        self.digest = hashlib.sha256(b"murmurate/question/1\n" + canonical_json(self.spec()) + b"\n" + digests).digest()
        vars(self).update(memoised=any(one.memoised for one in self.questions), smallest_part=min(self.chances))

    @property
    def answered_by(self) -> str:
        """The mechanisms of all branches, each once."""
        return ", ".join(dict.fromkeys(question.answered_by for question in self.questions))

    @property
    def of(self) -> Layout:
        """The layout of its values, decoded."""
        return layout(self.layout)

    @property
    def layout(self) -> LayoutSpec:
        """The layout that all branches share."""
        return self.questions[0].layout

    @property
    def words(self) -> int:
        """The words of a value, the same in every branch."""
        return self.questions[0].words

    def spec(self) -> dict[str, Any]:
        """The name, and each branch's weight and spec."""
        pairs = zip(self.weights, self.questions, strict=True)
        return {"name": self.name, "of": tuple((weight, question.spec()) for weight, question in pairs)}

    def of_round(self, round: bytes) -> Self:
        """Every branch with its public choices of this round."""
        bound = copy(self)
        vars(bound)["questions"] = tuple(question.of_round(round) for question in self.questions)
        return bound

    def __repr__(self) -> str:
        return f"Branches({list(zip(self.weights, self.questions, strict=True))})"

    # ---- the device's half ----

    @property
    def wire_size(self) -> int:
        """The bytes of a branch's number and of the longest report."""
        return self._mark + max(question.wire_size for question in self.questions)

    @property
    def _mark(self) -> int:
        return int_bytes(max(2, len(self.questions)))

    def branch(self, draw: Draw) -> NDArray[np.int64]:
        """The branch of each user, from one word that does not depend on the value: int64[n]."""
        ends = np.array(self._ends[:-1], np.uint64)
        branches = np.empty(len(draw), np.int64)
        for rows, words in draw.open(self.digest, None, "branch").words(1, np.uint64):
            branches[rows] = np.searchsorted(ends, words[:, 0], side="right")
        return branches

    def perturb(self, values: Values, draw: Draw) -> Reports:
        """The branch's number in the clear, its question's report, and zeros up to the constant length."""
        values = checked_values(self.name, self.of, values, draw)
        branches = self.branch(draw)
        order = np.argsort(branches.astype(np.uint16), kind="stable")  # of 16 bits: a fifth of the time
        branches, values, draw = branches[order], values[order], draw.of(order)
        reports = np.zeros((len(values), self.wire_size), np.uint8)
        reports[:, : self._mark] = pack_ints(branches.astype(np.uint64), self._mark)
        ends = np.searchsorted(branches, np.arange(len(self.questions)), side="right")
        for question, start, end in zip(self.questions, (0, *ends), ends, strict=False):
            if start < end:
                own = question.perturb(values[start:end], draw.of(slice(start, end)))
                reports[start:end, self._mark : self._mark + question.wire_size] = own
        reports[order] = reports.copy()
        return reports

    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked(value)
        (word,) = draw.open(self.digest, None, "branch")(1, 64)
        branch = sum(end <= word for end in self._ends[:-1])
        report = branch.to_bytes(self._mark, "little") + self.questions[branch].perturb_one(value, draw)
        return report.ljust(self.wire_size, b"\0")

    def checked(self, value: Value) -> Value:
        """The value, if it is one of the layout."""
        return checked_value(self.name, self.of, value)

    # ---- the auditor's ----

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The laws of all branches, each times the branch's probability."""
        value = self.checked(value)
        return {
            (number.to_bytes(self._mark, "little") + report).ljust(self.wire_size, b"\0"): chance * likely
            for number, (chance, question) in enumerate(zip(self.chances, self.questions, strict=True))
            for report, likely in question.law(value).items()
        }

    @property
    def realised(self) -> Fraction:
        """The largest realised ratio among the branches."""
        return max(question.realised for question in self.questions)

    def blanket(self) -> Blanket | None:
        """The branches' blankets by their probabilities: exact if one pair of values is the worst in all."""
        atoms: list[Atom] = []
        for chance, question in zip(self.chances, self.questions, strict=True):
            own = question.blanket()
            if own is None:
                return None
            atoms += [Atom(chance * mass, one, other) for mass, one, other in own]
        return tuple(atoms)

    @property
    def reports_possible(self) -> int:
        """The number of different reports in all branches."""
        return sum(question.reports_possible for question in self.questions)

    @property
    def _first_apart(self) -> int:
        return [question.epsilon_micro for question in self.questions].index(self.epsilon_micro)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The extremes of the first branch with the largest epsilon."""
        return self.questions[self._first_apart].extremes

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Reports that belong to that branch and are evidence for `one` there."""
        (branches, inner), best = self._read(reports), self._first_apart
        rows, found = np.flatnonzero(branches == best), np.zeros(len(reports), np.bool_)
        found[rows] = self.questions[best].evidence(inner[rows, : self.questions[best].wire_size], one, other)
        return found

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of such a report: the branch's own, times the probability of the branch."""
        (one, other), chance = self.questions[self._first_apart].telling, self.chances[self._first_apart]
        return one * chance, other * chance

    # ---- the server's ----

    @property
    def outcomes(self) -> int:
        """The length of the support: for each branch its number of reports and its question's outcomes."""
        return sum(1 + question.outcomes for question in self.questions)

    @property
    def statistics(self) -> int:
        """The number of statistics of all branches together."""
        return sum(question.statistics for question in self.questions)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports name no branch, are malformed for its question, or are not filled with zeros: bool[n]."""
        branches, inner = self._read(reports)
        bad = branches >= len(self.questions)
        for number, question in enumerate(self.questions):
            rows = np.flatnonzero(branches == number)
            own, rest = inner[rows, : question.wire_size], inner[rows, question.wire_size :]
            bad[rows] = question.malformed(np.ascontiguousarray(own)) | rest.any(axis=1)
        return bad

    def support(self, reports: Reports) -> Counts:
        """For each branch in turn the number of its reports and their support, concatenated."""
        branches, inner = self._read(reports)
        parts: list[Counts] = []
        for number, question in enumerate(self.questions):
            rows = np.flatnonzero(branches == number)
            parts += [np.array([len(rows)]), question.support(np.ascontiguousarray(inner[rows, : question.wire_size]))]
        return np.concatenate(parts)

    def _check_most(self, counts: Counts, n: int) -> None:
        super()._check_most(counts, n)
        received = 0
        for (number, part), question in zip(self.parts(counts), self.questions, strict=True):
            question._check_most(part, number)
            received += number
        if received != n:
            raise ReportError(f"{self.name}: counts: found {received} reports in all branches; allowed: {n}")

    def parts(self, support: Counts) -> Iterator[tuple[int, Counts]]:
        """For each branch the number of its reports and their support."""
        start = 0
        for question in self.questions:
            end = start + 1 + question.outcomes
            yield int(support[start]), support[start + 1 : end]
            start = end

    def estimate(self, support: Counts, n: int) -> Floats:
        """The estimates of all branches, each from its own reports; NaN for a branch without reports."""
        self.check(support, n)
        parts = ((*part, of) for part, of in zip(self.parts(support), self.questions, strict=True))
        return np.concatenate([of.estimate(part, m) if m else np.full(of.statistics, np.nan) for m, part, of in parts])

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance of all statistics at these frequencies; branches have random sizes and sample the users."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ParameterError(f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1")

        def of_branch(question: Question, w: float, f: Floats) -> Floats:
            inverse = (1 + (1 - w) / (n * w)) / (n * w)
            left = max(0.0, (n * inverse - 1) / max(1, n - 1))  # part of the users are in other branches
            return question.variance(1, f) * inverse + question.sampling(f) * left

        return self._joined(of_branch, np.broadcast_to(np.asarray(frequency, np.float64), (self.statistics,)))

    def complete(self, support: Counts) -> bool:
        """Whether every branch has at least one report."""
        return all(n > 0 for n, _ in self.parts(support))

    def _joined(self, of_branch: Callable[[Question, float, Floats], Floats], numbers: Floats) -> Floats:
        """The results of a function of each branch, its probability and its part of these numbers, concatenated."""
        parts = np.split(numbers, list(accumulate(question.statistics for question in self.questions))[:-1])
        pairs = zip(self.questions, self.chances, parts, strict=True)
        return np.concatenate([of_branch(question, float(chance), part) for question, chance, part in pairs])

    def summing(self) -> NDArray[np.bool_]:
        """For each branch which of its statistics sum to 1 whatever was reported."""
        return np.concatenate([question.summing() for question in self.questions])

    def plausible(self, profile: Floats) -> Floats:
        """The nearest plausible profile, branch by branch."""
        return self._joined(lambda question, _, part: question.plausible(part), profile)

    def likely(self, profile: Floats) -> Floats:
        """The profile at which variances are taken, branch by branch."""
        return self._joined(lambda question, _, part: question.likely(part), profile)

    def noise(self, profile: Floats) -> Floats:
        """The noise of each statistic: a branch with probability w gets w of the reports, a sample of the users."""
        return self._joined(lambda of, w, part: of.noise(part) / w, profile) + self.drawn(profile)

    def drawn(self, profile: Floats) -> Floats:
        """The variance that drawing branches adds: only a part w of the users asked answers in a branch."""
        return self._joined(lambda of, w, part: of.drawn(part) / w + of.sampling(part) * (1 / w - 1), profile)

    def sampling(self, profile: Floats) -> Floats:
        """The variance among users of each statistic, branch by branch."""
        return self._joined(lambda question, _, part: question.sampling(part), profile)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance added by random sizes of branches (E[1/n_b] > 1/(n w)) and by the public choices of each."""

        def of_branch(question: Question, w: float, part: Floats) -> Floats:
            own = question.added_variance(max(1, round(n * w)), part)
            return np.asarray(own + (question.noise(part) + question.sampling(part)) * (1 - w) / (n * w) ** 2)

        return self._joined(of_branch, np.asarray(profile, np.float64))

    def _read(self, reports: Reports) -> tuple[NDArray[np.int64], Reports]:
        checked_reports(self.name, reports, self.wire_size)
        return unpack_ints(reports[:, : self._mark]).astype(np.int64), reports[:, self._mark :]
