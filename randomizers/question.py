# SPDX-License-Identifier: Apache-2.0
"""The contract of every question: a round asks it, a device answers it, a server counts and an auditor enumerates it.

Contract: for all values x, x' and reports y, P[y|x] <= e^epsilon P[y|x'] in exact arithmetic (`law`), over values of
the stream's domain, and every report that one value can give every other can give too.  `perturb` and `perturb_one`
give the same bytes; a report's length depends on the question only.  `support` is additive over batches and machines.
A mechanism is the simplest question, of one code; views.py and branches.py make others of it.  A value is a whole
number where `words` is 1, else so many 32-bit words (layouts/).  Not here: who may be asked (ledger.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.bill import Bill
from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.thresholds import MICRO

Reports = NDArray[np.uint8]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Values = NDArray[np.integer[Any]]
"""Values of users: int[n] where a value is one word, else uint32[n, words]."""
Value = Any
"""One value: a whole number where it is one word, else a tuple of them."""
Spec = Mapping[str, Any]
"""A description of words, whole numbers, lists and tables; no floats, which two machines may write differently."""
LayoutSpec = tuple[Any, ...]
"""The meaning of the words of a value, as a stream's domain defines it (layouts/)."""


class Atom(NamedTuple):
    """A group of reports with the same probabilities under the worst pair of values."""

    mass: Fraction
    """The smallest probability of these reports over all values, summed over the reports of the group."""
    one: Fraction
    """The probability under the first value of the pair, as a multiple of `mass`."""
    other: Fraction
    """The probability under the second value of the pair, as a multiple of `mass`."""


Blanket = tuple[Atom, ...]
"""The part of a report's distribution that all values share, and how two values depart from it: all that an accountant
of shuffled reports needs. The masses add up to the blanket's share of a report.
"""


def one_apart(mass: Fraction, ratio: Fraction, outputs: int) -> Blanket:
    """The blanket of outputs of this mass each, of which either value gives one of its own so many times as often."""
    one = Fraction(1)
    pair = Atom(mass, ratio, one), Atom(mass, one, ratio)
    return pair if outputs == 2 else (*pair, Atom((outputs - 2) * mass, one, one))


class DeviceFace(ABC):
    """The device's side of a question: values in, reports of a constant length out, and their price."""

    name: ClassVar[str]
    """The name that stands for it in an error and, of a mechanism, in a configuration, a round and a metric."""
    epsilon_micro: int
    """The claimed epsilon, in millionths of a nat."""
    digest: bytes
    """The identity of the question: the SHA-256 of its spec, 32 bytes."""
    unprotected: ClassVar[bool] = False
    """Whether a report shows its value: then it has no local epsilon, and asking for that is an UnprotectedError. No
    device sends such a report unless its own terms say so (guard.py).
    """
    memoised: ClassVar[bool] = False
    """Whether reports contain randomness that outlives a round: no stream may use such a mechanism."""

    @property
    def answered_by(self) -> str:
        """The mechanism that makes the reports, as a deployment file names it; several with commas."""
        return self.name

    @property
    @abstractmethod
    def layout(self) -> LayoutSpec:
        """The layout of the values it takes; a stream of another layout refuses it."""

    @property
    def words(self) -> int:
        """The number of words of a value."""
        return 1

    @property
    def epsilon(self) -> float:
        """The claimed epsilon in nats."""
        return self.epsilon_micro / MICRO

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The canonical description, of words, whole numbers, lists and tables: what a round carries."""

    def of_round(self, round: bytes) -> Self:
        """The question with which a round's reports are read: the same, except where public choices differ between
        rounds (`olh`).
        """
        return self

    @property
    @abstractmethod
    def wire_size(self) -> int:
        """The number of bytes of a report, whatever the value."""

    @abstractmethod
    def perturb(self, values: Values, draw: Draw) -> Reports:
        """One report for each value: uint8[n, wire_size]."""

    @abstractmethod
    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """The report of one value in plain Python: byte for byte what `perturb` gives."""

    @abstractmethod
    def checked(self, value: Value) -> Value:
        """The value, if it is one of its layout; else a ValueRefusedError."""

    def bill(self, t: int) -> Bill:
        """The price of an answer about period t: the claimed epsilon, in that period alone. A device books this, not
        what a round descriptor says.
        """
        return Bill(t, t, None, self.epsilon_micro)

    def claimed_as(self) -> Self:
        """The question that stands for it in claims and agreements: one for a bill's rounds, or for like candidates."""
        return self


class ServerFace(ABC):
    """The server's side of a question: reports become additive counts, and counts unbiased numbers with variances."""

    name: ClassVar[str]
    measure: ClassVar[str] = "frequency"
    """The kind of measure that it serves."""
    says_none: ClassVar[bool | None] = None
    """Whether its last value must be *none* (True) or must not be (False); None where either is possible."""
    sums: ClassVar[bool] = False
    """Whether raw frequencies sum to 1 whatever was reported. Where they do not, their errors are independent."""
    summed_when_mixed: ClassVar[bool] = False
    """Whether the mixing zone has to add reports up, all of a round in one place, and hand on their sums alone: the
    support of all of them, and how many they are.
    """
    fakes: int = 0
    """The number of fake reports that the mixing zone adds to a round, over all its sub-batches."""
    smallest_part: Fraction = Fraction(1)
    """The smallest part of the reports that any one statistic is estimated from: all of them, unless users are in
    groups.
    """

    @abstractmethod
    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which of uint8[n, wire_size] are reports that no value could have given: bool[n]."""

    @abstractmethod
    def support(self, reports: Reports) -> Counts:
        """The number of reports that support each value: int64[outcomes], additive over batches and machines."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """The length of the support."""

    def check(self, counts: Counts, n: int) -> None:
        """ReportError for counts that no n reports give: another number of them, or one below 0 or above n."""
        counts = np.asarray(counts)
        if counts.shape != (self.outcomes,) or counts.dtype.kind not in "iu":
            found = f"{counts.dtype}{list(counts.shape)}"
            raise ReportError(f"{self.name}: counts: found {found}; allowed: int64[{self.outcomes}]")
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ReportError(f"{self.name}: counts: found them of {shown(n)} reports; allowed: a whole number from 0")
        self._check_most(counts, n)

    def _check_most(self, counts: Counts, n: int) -> None:
        """The part of `check` that knows how large a count can be."""
        if counts.min() < 0 or counts.max() > n:
            raise ReportError(f"{self.name}: counts: found a cell with more support than reports; allowed: 0 to {n}")

    def complete(self, support: Counts) -> bool:
        """Whether every statistic has reports to be estimated from. A branch may have received none; such a round
        counts as one that nobody answered.
        """
        return True

    @abstractmethod
    def estimate(self, support: Counts, n: int) -> Floats:
        """Unbiased statistics, raw: frequencies may be negative and need not sum to 1."""

    @abstractmethod
    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of an estimate from n reports of which this share holds the value."""

    @property
    @abstractmethod
    def statistics(self) -> int:
        """The number of statistics that a method follows, which are the first entries of a profile."""

    def summing(self) -> NDArray[np.bool_]:
        """The statistics for which `sums` is true: bool[statistics]."""
        return np.full(self.statistics, self.sums)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance that a public choice, new in every round, adds to each statistic; zeros unless a question has
        such choices.
        """
        return np.zeros(self.statistics)

    def profile(self, support: Counts, n: int) -> Floats:
        """Unbiased, raw estimates of all moments of the population that variances need, the statistics first:
        float64[k]. What they estimate does not depend on epsilon.
        """
        return self.estimate(support, n)

    def plausible(self, profile: Floats) -> Floats:
        """The nearest profile that a population can have, entry by entry."""
        return np.clip(profile, 0, 1)

    def likely(self, profile: Floats) -> Floats:
        """The possible profile at which variances are right on average. `plausible` cuts off what lies below 0, which
        raises the sum of few users' shares, and the variances with it.
        """
        return self.plausible(profile)

    def noise(self, profile: Floats) -> Floats:
        """The variance that the question adds to each statistic of one report, in a population of this profile; raw
        profiles are allowed: float64[statistics].
        """
        raise ParameterError(f"{self.name}: found asked for its noise; allowed: a mechanism that serves a stream")

    def drawn(self, profile: Floats) -> Floats:
        """The part of `noise` that comes from drawing who answers: its errors cancel in the sum of a whole."""
        return np.zeros(self.statistics)

    def sampling(self, profile: Floats) -> Floats:
        """The variance of each statistic among users, which one user drawn from very many has: float64[statistics]."""
        return profile * (1 - profile)

    def mean_noise(self, profile: Floats) -> float:
        """The mean of `noise` over the statistics of a plausible population."""
        return float(self.noise(self.plausible(profile)).mean())

    def mean_sampling(self, profile: Floats) -> float:
        """The mean of `sampling` over the statistics of a plausible population."""
        return float(self.sampling(self.plausible(profile)).mean())


class AuditFace(ABC):
    """The auditor's side of a question: exact laws over values, and the reports that distinguish two values best."""

    @abstractmethod
    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """Every report this value can give, with its exact probability (small domains only)."""

    @property
    @abstractmethod
    def realised(self) -> Fraction:
        """The largest ratio of probabilities that occurs; at most e^epsilon."""

    @property
    @abstractmethod
    def reports_possible(self) -> int:
        """The number of different reports."""

    @abstractmethod
    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports are the strongest evidence for `one` against `other`: the set on which an attacker, and the
        audit, would bet.
        """

    @property
    @abstractmethod
    def extremes(self) -> tuple[Value, Value]:
        """The two values that reports distinguish best, which a measurement compares."""

    @property
    @abstractmethod
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of a report in `evidence` from holders of the one and of the other extreme."""

    def blanket(self) -> Blanket | None:
        """The blanket, or one that gives a weaker bound; None where none is known, so that only bounds without one can
        be used.
        """
        return None

    def public(self, value: Value) -> int:
        """The public part of a value: the privacy promise compares values for which this is the same."""
        return 0


class Question(DeviceFace, ServerFace, AuditFace):
    """A question with all three sides, as a round names it. Two are equal if their digests are."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            raise AttributeError(f"{type(self).__name__} is immutable: {name} stays as it was built")
        super().__setattr__(name, value)


def checked_reports(name: str, reports: Reports, width: int) -> Reports:
    """The reports, if they are rows of so many bytes."""
    if not isinstance(reports, np.ndarray) or reports.dtype != np.uint8 or reports.ndim != 2:
        found = f"{reports.dtype}{list(reports.shape)}" if isinstance(reports, np.ndarray) else type(reports).__name__
        raise ReportError(f"{name}: reports: found {found}; allowed: uint8[n, {width}]")
    if reports.shape[1] != width:
        raise ReportError(f"{name}: reports: found {reports.shape[1]} bytes each; allowed: {width}")
    return reports
