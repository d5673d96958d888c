"""The contract of every question: what a round asks, a device answers, a server counts and an auditor enumerates.

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

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.thresholds import MICRO

Reports = NDArray[np.uint8]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Values = NDArray[np.integer[Any]]
"""int[n] where a value is one word, else uint32[n, words]."""
Value = Any
"""One value: a whole number where it is one word, else a tuple of them."""
Spec = Mapping[str, Any]
"""Words, whole numbers, lists and tables of them; no floats, which two machines may write differently."""
LayoutSpec = tuple[Any, ...]
"""What the words of a value mean, as a stream's domain says it (layouts/)."""


class Bill(NamedTuple):
    """What an answer costs: the ledger books it for all periods from first to last."""

    first: int
    last: int
    digest: bytes | None
    """Rounds of one bill are paid for once; None: each round is a bill of its own."""
    epsilon_micro: int


class Atom(NamedTuple):
    """Reports of one kind, as the pair of values sees them that is told apart best."""

    mass: Fraction
    """The probability that every value gives these outputs at least, all outputs of the kind together."""
    one: Fraction
    """How many times `mass` the first value of the pair gives these outputs."""
    other: Fraction
    """How many times `mass` the second value of the pair gives these outputs."""


Blanket = tuple[Atom, ...]
"""What everybody's reports have in common, and what two values make of it: all that an accountant of shuffled reports
needs of a question. The masses add up to the blanket's share of a report.
"""


class DeviceFace(ABC):
    """What a device needs: values in, reports of a constant length out, and what they cost."""

    name: ClassVar[str]
    """The word for it in an error, and of a mechanism in a configuration, a round and a metric."""
    epsilon_micro: int
    """The claim, in millionths of a nat."""
    digest: bytes
    """The identity of the question: the SHA-256 of its spec, 32 bytes."""
    memoised: ClassVar[bool] = False
    """Whether a report holds randomness that outlives its round: no stream may ask so (ARCHITECTURE rule 11)."""

    @property
    def answered_by(self) -> str:
        """The mechanism that makes its reports, as a deployment file names it; of several each once, with commas."""
        return self.name

    @property
    @abstractmethod
    def layout(self) -> LayoutSpec:
        """What values it takes: a stream of another layout refuses it."""

    @property
    def words(self) -> int:
        """Words of a value."""
        return 1

    @property
    def epsilon(self) -> float:
        """The claimed epsilon in nats."""
        return self.epsilon_micro / MICRO

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The canonical description, of words, whole numbers, lists and tables: what a round carries."""

    def of_round(self, round: bytes) -> Self:
        """What reads a round's reports: the same, but where each round's public choices differ (`olh`'s)."""
        return self

    @property
    @abstractmethod
    def wire_size(self) -> int:
        """Bytes of a report, whatever the value."""

    @abstractmethod
    def perturb(self, values: Values, draw: Draw) -> Reports:
        """One report a value: uint8[n, wire_size]."""

    @abstractmethod
    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """The report of one value in plain Python: byte for byte what `perturb` gives."""

    @abstractmethod
    def checked(self, value: Value) -> Value:
        """The value, if it is one of its layout; else a ValueRefusedError."""

    def bill(self, t: int) -> Bill:
        """What an answer about period t costs: the claim, in that period alone. A device books this and not what a
        descriptor says.
        """
        return Bill(t, t, None, self.epsilon_micro)


class ServerFace(ABC):
    """What a server needs: reports into additive counts, counts into unbiased numbers and their variances."""

    name: ClassVar[str]
    measure: ClassVar[str] = "frequency"
    """What a stream measures that asks by it."""
    says_none: ClassVar[bool | None] = None
    """Whether its last value is *none*; None where any value of the domain may be."""
    sums: ClassVar[bool] = False
    """Whether raw frequencies sum to 1 whatever was reported. Where they do not, their errors are independent."""

    smallest_part: Fraction = Fraction(1)
    """The smallest part of its reports that speaks of a statistic: all of them, where users are in no groups."""

    @abstractmethod
    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which of uint8[n, wire_size] no value could have given: bool[n]."""

    @abstractmethod
    def support(self, reports: Reports) -> Counts:
        """How many reports speak for each value: int64[outcomes], additive over batches and machines."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """How long the support is."""

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
        """Whether every statistic has reports that speak of it. Of groups one may have received none; a round of which
        this is false counts as one that nobody answered.
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
        """How many numbers a method follows: the first ones of a profile."""

    def summing(self) -> NDArray[np.bool_]:
        """The statistics for which `sums` is true: bool[statistics]."""
        return np.full(self.statistics, self.sums)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """What a public choice, new in every round, adds to the variance of each statistic: nothing, as a rule."""
        return np.zeros(self.statistics)

    def profile(self, support: Counts, n: int) -> Floats:
        """All that reports say of the population, unbiased and raw; it does not depend on epsilon: float64[k]."""
        return self.estimate(support, n)

    def plausible(self, profile: Floats) -> Floats:
        """The nearest profile that a population can have, entry by entry."""
        return np.clip(profile, 0, 1)

    def likely(self, profile: Floats) -> Floats:
        """A profile that a population can have, at which variances are right on average: `plausible` cuts off what lies
        below 0 and thereby raises the sum of few users' shares, and the variances with it.
        """
        return self.plausible(profile)

    def noise(self, profile: Floats) -> Floats:
        """The variance that the question gives each statistic of one report, in a population of this profile. Raw
        profiles are taken as they are: float64[statistics].
        """
        raise ParameterError(f"{self.name}: found asked for its noise; allowed: a mechanism that serves a stream")

    def drawn(self, profile: Floats) -> Floats:
        """The part of `noise` that comes of who answers, not of how: errors that move no sum of shares of a whole."""
        return np.zeros(self.statistics)

    def sampling(self, profile: Floats) -> Floats:
        """The variance of each statistic among users: what it adds to draw one of very many: float64[statistics]."""
        return profile * (1 - profile)

    def mean_noise(self, profile: Floats) -> float:
        """The mean of `noise` over the statistics of a plausible population."""
        return float(self.noise(self.plausible(profile)).mean())

    def mean_sampling(self, profile: Floats) -> float:
        """The mean of `sampling` over the statistics of a plausible population."""
        return float(self.sampling(self.plausible(profile)).mean())


class AuditFace(ABC):
    """What an auditor needs: exact laws over values, and which reports tell two values apart best."""

    @abstractmethod
    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """Every report this value can give, with its exact probability (small domains only)."""

    @property
    @abstractmethod
    def realised(self) -> Fraction:
        """The largest ratio of probabilities that really occurs; at most e^epsilon."""

    @property
    @abstractmethod
    def reports_possible(self) -> int:
        """How many different reports there are."""

    @abstractmethod
    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports speak most for `one` against `other`: the set an attacker, and the audit, would bet on."""

    @property
    @abstractmethod
    def extremes(self) -> tuple[Value, Value]:
        """Two values that are told apart best, on which a measurement bets."""

    @property
    @abstractmethod
    def telling(self) -> tuple[Fraction, Fraction]:
        """The chances of a report in `evidence` from holders of the one and of the other extreme."""

    def blanket(self) -> Blanket | None:
        """The blanket, or one that is worse; None where none is known, so that a bound that needs none has to do."""
        return None

    def public(self, value: Value) -> int:
        """What of a value everybody may know: the promise is about values of which this is the same."""
        return 0


class Question(DeviceFace, ServerFace, AuditFace):
    """All three faces: what a round names. Two are the same if their digests are."""

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
