# SPDX-License-Identifier: Apache-2.0
"""The contract of every mechanism: an immutable local randomizer, both halves in one class.

Contract: for all values x, x' and reports y, P[y|x] <= e^epsilon P[y|x'] in exact arithmetic (`law`), and every
report that one value can give every other can give too.  `perturb` and `perturb_one` give the same bytes; a report's
length depends on the mechanism only.  `support` is additive over batches and machines.  Not here: who may be asked
(ledger.py).
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.codes import CodeChecks
from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.question import Counts, Floats, LayoutSpec, Question, Reports
from murmurate.randomizers.randomness import DrawOne
from murmurate.randomizers.thresholds import Epsilon, micro_nats

__all__ = ["MAX_LAW", "Counts", "Floats", "Mechanism", "PureOracle", "Reports", "nats", "nearest_of_sum", "whole"]

MAX_LAW = 1 << 12  # reports that `law` will list


class Mechanism(CodeChecks, Question):
    """A question about one code: what every local randomizer offers to a device, a server and an auditor.

    `digest` is the SHA-256 of b"murmurate/mechanism/", the version, a line feed, and `spec()` as JSON with sorted keys
    and no spaces.
    """

    name: ClassVar[str]
    """The name that stands for it in a configuration, a round and a metric."""
    version: ClassVar[int] = 1
    """The version of the way in which words become reports. Another version draws independent words."""

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        self.d = self._domain(d)
        self.epsilon_micro = micro_nats(epsilon)
        self.digest = hashlib.sha256(
            b"murmurate/mechanism/%d\n" % self.version + orjson.dumps(self.spec(), option=orjson.OPT_SORT_KEYS)
        ).digest()

    @property
    def layout(self) -> LayoutSpec:
        """A single code below d; where users may have no value, the last code stands for that."""
        return "code", self.d

    def spec(self) -> dict[str, str | int]:
        """The canonical description in whole numbers and words; its digest identifies the mechanism on the wire."""
        return {"name": self.name, "d": self.d, "epsilon_micro": self.epsilon_micro}

    @property
    def outcomes(self) -> int:
        """The length of the support."""
        return self.d

    @property
    def statistics(self) -> int:
        """The number of statistics that a method follows, which are the first entries of a profile."""
        return self.d

    def sampled(self, length: int) -> Mechanism:
        """The mechanism to use for a code that was drawn with a probability of at most 1 / length, so that epsilon
        holds for both together: the same one, unless sampling amplifies its ratio (Wang 2021, theorem 5.2.2).
        """
        return self

    @property
    def extremes(self) -> tuple[int, int]:
        """The lowest and the highest value."""
        return 0, self.d - 1

    @abstractmethod
    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """The report of one value in plain Python: byte for byte what `perturb` gives."""

    @abstractmethod
    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """Every report this value can give, with its exact probability (small domains only)."""

    @abstractmethod
    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports are the strongest evidence for `one` against `other`: the set an attacker would bet on."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, epsilon={self.epsilon})"

    def _check_listable(self) -> None:
        if self.reports_possible > MAX_LAW:
            found = self.reports_possible if self.reports_possible < 1 << 64 else "over 2^64"
            raise ParameterError(f"{self.name}: law: found {found} reports to list at d = {self.d}; allowed: {MAX_LAW}")


class PureOracle(Mechanism):
    """A frequency oracle in which a value is supported with probability p by its holders and q by everybody else.

    Estimates and variances follow from the realised p and q (Wang 2021, equations 3.1 and 3.2, on the frequency scale).
    """

    p: Fraction
    """Probability that a report supports its own value: realised, exact."""
    q: Fraction
    """Probability that a report supports one certain other value: realised, exact."""

    def estimate(self, support: Counts, n: int) -> Floats:
        """The unbiased frequencies (support / n - q) / (p - q)."""
        support = np.asarray(support)
        if support.shape != (self.d,) or support.dtype.kind not in "iu":
            raise ReportError(
                f"{self.name}: support: found {support.dtype}{list(support.shape)}; allowed: int64[{self.d}]"
            )
        if not isinstance(n, int) or n < 1 or support.min() < 0 or support.max() > n:
            raise ReportError(
                f"{self.name}: found n = {shown(n)} and counts that do not fit; allowed: n >= 1 and counts from 0 to n"
            )
        p, q = float(self.p), float(self.q)
        return np.asarray((support / n - q) / (p - q), np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance q(1-q) / (n (p-q)^2) + f (1-p-q) / (n (p-q)), which is exact in f and n."""
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(
                f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1 and frequencies from 0 to 1"
            )
        return np.asarray(self.noise(f) / n, np.float64)

    def likely(self, profile: Floats) -> Floats:
        """The nearest frequencies with the same sum, since the variance of a report is linear in them."""
        return nearest_of_sum(profile)

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report at these frequencies."""
        at_zero, slope = self._noise
        return np.asarray(at_zero + profile * slope, np.float64)

    @cached_property
    def _noise(self) -> tuple[float, float]:
        """The variance of one report at frequency 0, and its slope in the frequency."""
        gap = self.p - self.q
        return float(self.q * (1 - self.q) / gap**2), float((1 - self.p - self.q) / gap)

    def mean_noise(self, profile: Floats) -> float:
        """The mean over d frequencies that sum to 1, which is the noise at 1/d: it depends on no estimate (ARCHITECTURE
        erratum E2).
        """
        return float(self.noise(np.array(1 / self.d)))

    def mean_sampling(self, profile: Floats) -> float:
        """The mean sampling variance over d frequencies that sum to 1: (1 - sum f^2) / d."""
        f = self.plausible(profile)
        return max(0.0, 1 - float(f @ f)) / self.d


def nearest_of_sum(raw: Floats) -> Floats:
    """The nearest shares from 0 to 1 with the same sum as these raw ones (0, where that is negative). A linear function
    of shares keeps its mean, which it would not if estimates below 0 were only cut off.
    """
    total, falling = max(0.0, float(raw.sum())), np.sort(raw)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(raw) + 1)
    last = int(np.flatnonzero(falling > excess)[-1]) if total else 0
    return np.clip(raw - excess[last], 0, 1) if total else np.zeros_like(raw)


def whole(name: str, what: str, found: object, low: int, high: int) -> int:
    """A whole-number parameter, if it lies in this range."""
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        raise ParameterError(f"{name}: {what}: found {shown(found)}; allowed: a whole number from {low} to {high}")
    return found


def nats(ratio: Fraction) -> float:
    """The epsilon of a ratio of probabilities: its natural logarithm, rounded down."""
    with localcontext() as context:
        context.prec = 50
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    nearest = float(exact)
    return nearest if Decimal(nearest) <= exact else math.nextafter(nearest, -math.inf)
