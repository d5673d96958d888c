# SPDX-License-Identifier: Apache-2.0
"""A mechanism applied to a view's code: the question where values are more than one code, or numbers are clipped.

Contract: the view maps a value to a code, and the mechanism reports the code as if that were the value: reports and
counts are the mechanism's, to the byte.  epsilon is the mechanism's claim, also where the view samples (padding.py).
In that case statistics are frequencies of candidates among all users, unbiased where nobody holds more than L of them.
The digest is SHA-256 of b"murmurate/question/1", a line feed, the spec as JSON with sorted keys and no spaces, a line
feed and the mechanism's digest; with Whole and Clipped it is a mechanism's own.  Source: ARCHITECTURE rule 23.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ValueRefusedError
from murmurate.randomizers.layouts import CodeLayout, Layout
from murmurate.randomizers.mechanism import Mechanism, PureOracle, nearest_of_sum
from murmurate.randomizers.question import Blanket, Counts, Floats, LayoutSpec, Question, Reports, Value, Values
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.views import View, canonical_json, checked_value

MAX_REPORT: Final = 1 << 12
"""The most bytes of a report about a value of several words or bits: perturb holds one for each user."""


class Viewed(Question):
    """A view and a mechanism for its codes."""

    name = "viewed"

    def __init__(self, view: View, mechanism: Mechanism) -> None:
        if mechanism.d != view.d:
            raise ParameterError(
                f"{self.name}: found a {mechanism.name} over {mechanism.d} codes behind {view.name}; allowed: {view.d}"
            )
        if view.chance is not None and not isinstance(mechanism, PureOracle):
            raise ParameterError(
                f"{self.name}: found {mechanism.name} behind {view.name}; allowed: an oracle of pure frequencies"
            )
        self.view, self.mechanism = view, mechanism
        self.inner = view.inside(mechanism)
        """The mechanism as it is applied, whose reports are sent."""
        if self.inner.wire_size > MAX_REPORT and not isinstance(view.of, CodeLayout):
            raise ParameterError(
                f"{self.name}: found reports of {self.inner.wire_size} bytes; allowed: {MAX_REPORT}, since not the "
                "stream but whoever asks says how many codes there are"
            )
        self.epsilon_micro = mechanism.epsilon_micro
        called, parameters = view.spec_with(mechanism)["name"], canonical_json(view.spec_with(mechanism))
        if called == self.name:
            named = b"murmurate/question/1\n" + parameters + b"\n" + mechanism.digest
        else:  # as if it were a mechanism itself
            named = b"murmurate/mechanism/%d\n" % mechanism.version + parameters
        self.digest = hashlib.sha256(named).digest()
        facts: dict[str, Any] = {"measure": mechanism.measure, "says_none": mechanism.says_none}
        facts |= {"sums": mechanism.sums and view.chance is None, "memoised": mechanism.memoised}
        vars(self).update(facts, name=called)

    @property
    def answered_by(self) -> str:
        """The name of the mechanism, or the view's where the two share a name."""
        return self.mechanism.name if self.name == type(self).name else self.name

    def claimed_as(self) -> Viewed:
        """The question that stands for it: of named candidates that are hashed the same, whichever they are."""
        alike = self.view.alike(self.mechanism)
        return self if alike is None else Viewed(*alike)

    @property
    def of(self) -> Layout:
        """The layout of its values, decoded."""
        return self.view.of

    @property
    def layout(self) -> LayoutSpec:
        """The layout that the view reads."""
        return self.view.of.spec()

    @property
    def words(self) -> int:
        """The number of words of a value in that layout."""
        return self.view.of.words

    def spec(self) -> dict[str, Any]:
        """The specs of view and mechanism."""
        return self.view.spec_with(self.mechanism)

    def of_round(self, round: bytes) -> Self:
        """A question of this view and the mechanism with its public choices of this round."""
        bound = copy(self)
        vars(bound)["inner"] = self.inner.of_round(round)
        return bound

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Question)
            and self.digest == other.digest
            and self.inner == getattr(other, "inner", self.inner)
        )

    def __hash__(self) -> int:
        return hash((self.digest, self.inner))

    def __repr__(self) -> str:
        return f"Viewed({self.view.name}, {self.mechanism!r})"

    # ---- the device's half ----

    @property
    def wire_size(self) -> int:
        """The report length of the mechanism."""
        return self.inner.wire_size

    def perturb(self, values: Values, draw: Draw) -> Reports:
        """The mechanism's reports of the codes of these values."""
        values = checked_values(self.name, self.of, values, draw)
        return self.inner.perturb(self.view.codes(values, draw), draw)

    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        if not isinstance(draw, DrawOne):
            raise ValueRefusedError(f"{self.name}: draw: found {type(draw).__name__}; allowed: a DrawOne from a Key")
        return self.inner.perturb_one(self.view.code_one(self.checked(value), draw), draw)

    def checked(self, value: Value) -> Value:
        """The value, if it is one of the layout."""
        return checked_value(self.name, self.of, value)

    # ---- the auditor's ----

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The law of a report: the mechanism's laws of all codes that the value may have, times their probabilities."""
        codes = self.view.law(self.checked(value))
        if len(codes) == 1:
            return self.inner.law(next(iter(codes)))
        law: dict[bytes, Fraction] = {}
        for code, chance in codes.items():
            for report, likely in self.inner.law(code).items():
                law[report] = law.get(report, Fraction(0)) + chance * likely
        return law

    @property
    def realised(self) -> Fraction:
        """The largest ratio of probabilities, which depends on whether the view samples."""
        return self.view.realised(self.inner)

    def blanket(self) -> Blanket | None:
        """The blanket of the mechanism, as far as the view allows it."""
        return self.view.blanket(self.inner)

    @property
    def reports_possible(self) -> int:
        """The number of different reports of the mechanism."""
        return self.inner.reports_possible

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The extreme values of the view."""
        return self.view.extremes

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Evidence for the code that is likeliest with `one` but not with `other`, against the opposite."""
        own, others = (self.view.law(self.checked(value)) for value in (one, other))
        mine = max(own, key=lambda code: own[code] - others.get(code, 0))
        theirs = max(others, key=lambda code: others[code] - own.get(code, 0))
        return self.inner.evidence(reports, mine, theirs)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the mechanism, where a value has one code; where it is sampled, with the probability of
        the code.
        """
        one, other = self.inner.telling
        return (one if self.view.chance is None else other + (one - other) * self.view.chance), other

    # ---- the server's ----

    @property
    def outcomes(self) -> int:
        """The length of the mechanism's support."""
        return self.inner.outcomes

    @property
    def statistics(self) -> int:
        """The number of the mechanism's statistics; where a candidate is sampled, no more than there are candidates."""
        mine, told = self.view.statistics, self.inner.statistics
        return told if mine is None else min(mine, told)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports the mechanism could not have given: bool[n]."""
        return self.inner.malformed(reports)

    def support(self, reports: Reports) -> Counts:
        """The counts of the mechanism."""
        return self.inner.support(reports)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The mechanism's estimates, divided by the probability of a code where a candidate is sampled."""
        raw = self.inner.estimate(support, n)
        return raw if self._sample is None else np.asarray(raw[: self.statistics] / self._sample.chance, np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The mechanism's variance; where a candidate is sampled, that of users who hold at most L candidates."""
        if self._sample is None:
            return self.inner.variance(n, frequency)
        self.inner.variance(n, frequency)  # for what it refuses
        return np.asarray(self.noise(np.asarray(frequency)) / n, np.float64)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance that the mechanism's public choices add; where a candidate is sampled, dummies are codes."""
        if self._sample is None or not self.statistics:
            return self.inner.added_variance(n, profile)
        sampled = np.clip(profile, 0, 1) * self._sample.chance
        dummies = self.view.d - self.statistics
        codes = np.concatenate((sampled, np.full(dummies, max(0.0, 1 - float(sampled.sum())) / dummies)))
        return np.asarray(self.inner.added_variance(n, codes)[: self.statistics] / self._sample.chance**2)

    def profile(self, support: Counts, n: int) -> Floats:
        """The mechanism's profile; where a candidate is sampled, the estimates."""
        return self.inner.profile(support, n) if self._sample is None else self.estimate(support, n)

    def plausible(self, profile: Floats) -> Floats:
        """The nearest plausible profile of the mechanism; where a candidate is sampled, the nearest shares of the same
        sum.
        """
        return self.inner.plausible(profile) if self._sample is None else nearest_of_sum(profile)

    def likely(self, profile: Floats) -> Floats:
        """The mechanism's profile for variances; where a candidate is sampled, the nearest shares of the same sum."""
        return self.inner.likely(profile) if self._sample is None else nearest_of_sum(profile)

    def noise(self, profile: Floats) -> Floats:
        """The noise of the mechanism; where a candidate is sampled, linear in the share, from the probability that a
        report names a code.
        """
        if self._sample is None:
            return self.inner.noise(profile)
        return np.asarray(self._sample.at_zero + profile * self._sample.slope, np.float64)

    def sampling(self, profile: Floats) -> Floats:
        """The variance among users of each statistic."""
        return self.inner.sampling(profile)

    def mean_noise(self, profile: Floats) -> float:
        """The mechanism's mean noise; where a candidate is sampled, shares have no known sum, and the mean over them is
        taken.
        """
        return self.inner.mean_noise(profile) if self._sample is None else super().mean_noise(profile)

    def mean_sampling(self, profile: Floats) -> float:
        """The mechanism's mean sampling variance; where a candidate is sampled, the mean over the shares."""
        return self.inner.mean_sampling(profile) if self._sample is None else super().mean_sampling(profile)

    @cached_property
    def _sample(self) -> _Sample | None:
        chance, inner = self.view.chance, self.inner
        if chance is None or not isinstance(inner, PureOracle):
            return None
        p, q = inner.p, inner.q
        held = q + (p - q) * chance
        by = ((p - q) * chance) ** 2
        return _Sample(float(chance), float(q * (1 - q) / by), float((held * (1 - held) - q * (1 - q)) / by))


class _Sample:
    """The constants of a sampling view: the probability of a code, the variance of one report at share 0, and its
    slope.
    """

    def __init__(self, chance: float, at_zero: float, slope: float) -> None:
        self.chance, self.at_zero, self.slope = chance, at_zero, slope


def checked_values(name: str, of: Layout, values: Values, draw: Draw) -> Values:
    """The values, if there is one for each user and every one is of the layout."""
    if not isinstance(draw, Draw):
        raise ValueRefusedError(f"{name}: draw: found {type(draw).__name__}; allowed: a Draw from a Key")
    shape = () if of.words == 1 else (of.words,)
    array = isinstance(values, np.ndarray) and values.dtype.kind in "iu"
    if not array or not values.ndim or values.shape[1:] != shape:
        found = f"{values.dtype}{list(values.shape)}" if isinstance(values, np.ndarray) else type(values).__name__
        allowed = "whole numbers in one dimension" if of.words == 1 else f"uint32[n, {of.words}]"
        raise ValueRefusedError(f"{name}: values: found {found}; allowed: {allowed}")
    if len(values) != len(draw):
        raise ValueRefusedError(f"{name}: values: found {len(values)} for {len(draw)} users; allowed: one for each")
    wrong = of.wrong(values)
    if wrong.any():
        bad = np.flatnonzero(wrong)
        raise ValueRefusedError(
            f"{name}: values: found {len(bad)} outside the domain (the first in row {bad[0]}); "
            f"allowed: {f'0 to {of.d - 1}' if isinstance(of, CodeLayout) else f'those of {list(of.spec())}'}"
        )
    return values
