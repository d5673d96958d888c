"""A mechanism behind a view: what a round asks where values are more than one code, or numbers are clipped.

Contract: a report has the mechanism's law of the code that the view tells: reports and counts are the mechanism's, to
the byte; it draws by the code, as if that were the value.  epsilon is the mechanism's claim, also where the view draws
(padding.py).  Of a padded sample, statistics are frequencies of candidates among all users, unbiased where nobody
holds more than L of them.  The digest is SHA-256 of b"murmurate/question/1", a line feed, the spec as JSON with sorted
keys and no spaces, a line feed and the mechanism's digest; behind Whole and Clipped it is a mechanism's own.
Source: ARCHITECTURE rule 23.
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
"""The most bytes of a report about a value of several words or bits: whoever perturbs holds one for each user."""


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
        """The mechanism as it is used: whose reports they are."""
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
        """The mechanism behind the view, unless the two have a name together."""
        return self.mechanism.name if self.name == type(self).name else self.name

    @property
    def of(self) -> Layout:
        """The layout of its values."""
        return self.view.of

    @property
    def layout(self) -> LayoutSpec:
        """The view's."""
        return self.view.of.spec()

    @property
    def words(self) -> int:
        """The view's."""
        return self.view.of.words

    def spec(self) -> dict[str, Any]:
        """View and mechanism."""
        return self.view.spec_with(self.mechanism)

    def of_round(self, round: bytes) -> Self:
        """With the mechanism's public choices of this round."""
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
        """The mechanism's."""
        return self.inner.wire_size

    def perturb(self, values: Values, draw: Draw) -> Reports:
        """The mechanism's reports of the codes."""
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
        """The mechanism's laws of the codes that this value tells, by their chances."""
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
        """As the view says."""
        return self.view.realised(self.inner)

    def blanket(self) -> Blanket | None:
        """As the view says."""
        return self.view.blanket(self.inner)

    @property
    def reports_possible(self) -> int:
        """The mechanism's."""
        return self.inner.reports_possible

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The view's."""
        return self.view.extremes

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """What speaks for the likeliest code of the one that the other does not tell, against one that it does."""
        told, also = (self.view.law(self.checked(value)) for value in (one, other))
        mine = max(told, key=lambda code: told[code] - also.get(code, 0))
        theirs = max(also, key=lambda code: also[code] - told.get(code, 0))
        return self.inner.evidence(reports, mine, theirs)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The mechanism's, where its codes are told; of a sample as far as a code is."""
        one, other = self.inner.telling
        return (one if self.view.chance is None else other + (one - other) * self.view.chance), other

    # ---- the server's ----

    @property
    def outcomes(self) -> int:
        """The mechanism's."""
        return self.inner.outcomes

    @property
    def statistics(self) -> int:
        """The mechanism's, but of a sample its candidates'."""
        return self.view.statistics or self.inner.statistics

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports that no code gives."""
        return self.inner.malformed(reports)

    def support(self, reports: Reports) -> Counts:
        """As the mechanism counts."""
        return self.inner.support(reports)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The mechanism's, of a sample by the chance of a code."""
        raw = self.inner.estimate(support, n)
        return raw if self._sample is None else np.asarray(raw[: self.statistics] / self._sample.chance, np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The mechanism's; of a sample where nobody holds more than L candidates."""
        if self._sample is None:
            return self.inner.variance(n, frequency)
        self.inner.variance(n, frequency)  # for what it refuses
        return np.asarray(self.noise(np.asarray(frequency)) / n, np.float64)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The mechanism's, of a sample from the chances of all codes."""
        if self._sample is None:
            return self.inner.added_variance(n, profile)
        told = np.clip(profile, 0, 1) * self._sample.chance
        dummies = self.view.d - self.statistics
        codes = np.concatenate((told, np.full(dummies, max(0.0, 1 - float(told.sum())) / dummies)))
        return np.asarray(self.inner.added_variance(n, codes)[: self.statistics] / self._sample.chance**2)

    def profile(self, support: Counts, n: int) -> Floats:
        """The mechanism's; of a sample the estimates."""
        return self.inner.profile(support, n) if self._sample is None else self.estimate(support, n)

    def plausible(self, profile: Floats) -> Floats:
        """As of the mechanism."""
        return self.inner.plausible(profile) if self._sample is None else nearest_of_sum(profile)

    def likely(self, profile: Floats) -> Floats:
        """The profile that the mechanism calls likely; of a sample the nearest shares of the same sum."""
        return self.inner.likely(profile) if self._sample is None else nearest_of_sum(profile)

    def noise(self, profile: Floats) -> Floats:
        """As of the mechanism; of a sample a + f b, from the chances of a report that names a code."""
        if self._sample is None:
            return self.inner.noise(profile)
        return np.asarray(self._sample.at_zero + profile * self._sample.slope, np.float64)

    def sampling(self, profile: Floats) -> Floats:
        """As of the mechanism."""
        return self.inner.sampling(profile)

    def mean_noise(self, profile: Floats) -> float:
        """As of the mechanism; frequencies of a sample sum to nothing known."""
        return self.inner.mean_noise(profile) if self._sample is None else super().mean_noise(profile)

    def mean_sampling(self, profile: Floats) -> float:
        """As of the mechanism; frequencies of a sample sum to nothing known."""
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
    """What is known of a view that draws: the chance of a code, and the variance of one report at frequency 0 and how
    it grows.
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
