# SPDX-License-Identifier: Apache-2.0
"""A question to whose reports the mixing zone adds fakes: devices answer as without them, and estimates take them out.

Contract: reports, prices and laws of users are the mechanism's, byte for byte, and so is the blanket, which holds with
fakes all the more.  `check` and `support` are of all reports, fakes among them, since only the mixing zone can tell
them apart; `estimate`, `profile` and variances are of n users, whose counts have the fakes of a whole round in them.
The digest is SHA-256 of b"murmurate/question/1", a line feed, the name and the fakes as JSON with sorted keys and no
spaces, a line feed and the mechanism's digest.  Not here: the law of a fake (fakes.py), who draws it (agents/stages).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import copy
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.fakes import checked_faked, estimate_with_fakes, fakes_variance, variance_with_fakes
from murmurate.randomizers.question import Blanket, Counts, Floats, LayoutSpec, Question, Reports, Value, Values
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.views import canonical_json

MOST_FAKES: Final = 1_000_000_000


class Faked(Question):
    """A mechanism, and how many fake reports a round of it has."""

    name = "faked"

    def __init__(self, inner: Question, fakes: int) -> None:
        """inner: a mechanism whose users uniform reports can hide. fakes: those of a round, in all its sub-batches."""
        if isinstance(fakes, bool) or not isinstance(fakes, int) or not 1 <= fakes <= MOST_FAKES:
            raise ParameterError(
                f"{self.name}: fakes: found {shown(fakes)}; allowed: a whole number from 1 to {MOST_FAKES}"
            )
        self.inner = checked_faked(inner)
        """The mechanism, with its public choices of this round."""
        named = canonical_json({"name": self.name, "fakes": fakes})
        self.digest = hashlib.sha256(b"murmurate/question/1\n" + named + b"\n" + inner.digest).digest()
        self.epsilon_micro = inner.epsilon_micro
        vars(self).update(
            fakes=fakes,
            measure=inner.measure,
            says_none=inner.says_none,
            sums=inner.sums,
            memoised=inner.memoised,
            smallest_part=inner.smallest_part,
        )

    @property
    def answered_by(self) -> str:
        """The mechanism's name."""
        return self.inner.answered_by

    @property
    def layout(self) -> LayoutSpec:
        """The layout of the mechanism's values."""
        return self.inner.layout

    def spec(self) -> dict[str, Any]:
        """The number of fakes and the mechanism's spec."""
        return {"name": self.name, "fakes": self.fakes, "mechanism": self.inner.spec()}

    def of_round(self, round: bytes) -> Self:
        """A question of the mechanism with its public choices of this round."""
        bound = copy(self)
        vars(bound)["inner"] = self.inner.of_round(round)
        return bound

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.digest == other.digest and self.inner == getattr(other, "inner", 0)

    def __hash__(self) -> int:
        return hash((self.digest, self.inner))

    def __repr__(self) -> str:
        return f"Faked({self.inner!r}, fakes={self.fakes})"

    # ---- the device's half ----

    @property
    def wire_size(self) -> int:
        """The mechanism's: fakes look alike."""
        return self.inner.wire_size

    def perturb(self, values: Values, draw: Draw) -> Reports:
        """The mechanism's reports."""
        return self.inner.perturb(values, draw)

    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """The mechanism's report."""
        return self.inner.perturb_one(value, draw)

    def checked(self, value: Value) -> Value:
        """The value, if it is one of the mechanism's."""
        return self.inner.checked(value)

    # ---- the server's ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports neither a user nor a fake could have given."""
        return self.inner.malformed(reports)

    def support(self, reports: Reports) -> Counts:
        """The number of reports, fakes among them, that support each value."""
        return self.inner.support(reports)

    @property
    def outcomes(self) -> int:
        """The length of the mechanism's support."""
        return self.inner.outcomes

    @property
    def statistics(self) -> int:
        """The number of the mechanism's statistics."""
        return self.inner.statistics

    def complete(self, support: Counts) -> bool:
        """Whether the mechanism's statistics can be estimated."""
        return self.inner.complete(support)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The unbiased frequencies among n users, from the counts of their reports and of all fakes."""
        return estimate_with_fakes(self.inner, support, n, self.fakes)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of an estimate: that of n users, and of a coin for each fake."""
        return variance_with_fakes(self.inner, n, self.fakes, frequency)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance of the mechanism's public choices, and of the fakes."""
        return np.asarray(self.inner.added_variance(n, profile) + fakes_variance(self.inner, n, self.fakes), np.float64)

    def plausible(self, profile: Floats) -> Floats:
        """The nearest plausible profile of the mechanism."""
        return self.inner.plausible(profile)

    def likely(self, profile: Floats) -> Floats:
        """The mechanism's profile at which variances are right on average."""
        return self.inner.likely(profile)

    def noise(self, profile: Floats) -> Floats:
        """The noise of one user's report; that of the fakes is in `added_variance`, since they do not grow with n."""
        return self.inner.noise(profile)

    def drawn(self, profile: Floats) -> Floats:
        """The part of the mechanism's noise that cancels in sums."""
        return self.inner.drawn(profile)

    def sampling(self, profile: Floats) -> Floats:
        """The variance of each statistic among users."""
        return self.inner.sampling(profile)

    def mean_noise(self, profile: Floats) -> float:
        """The mechanism's mean noise."""
        return self.inner.mean_noise(profile)

    def mean_sampling(self, profile: Floats) -> float:
        """The mechanism's mean sampling variance."""
        return self.inner.mean_sampling(profile)

    # ---- the auditor's ----

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The law of a user's report."""
        return self.inner.law(value)

    @property
    def realised(self) -> Fraction:
        """The largest ratio of probabilities of a user's report."""
        return self.inner.realised

    @property
    def reports_possible(self) -> int:
        """The number of different reports."""
        return self.inner.reports_possible

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The mechanism's extreme values."""
        return self.inner.extremes

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """The mechanism's strongest evidence."""
        return self.inner.evidence(reports, one, other)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of such a report of a user."""
        return self.inner.telling

    def blanket(self) -> Blanket | None:
        """The mechanism's blanket: what follows from it holds with fakes all the more."""
        return self.inner.blanket()
