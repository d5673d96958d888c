# SPDX-License-Identifier: Apache-2.0
"""Appended unary encoding (AUE): the true one and added ones in every cell. No local differential privacy.

Contract: **a single report shows its value; whoever sees one has no protection at all.**  What is protected are the
counts of a whole batch: `support` of n honest reports, and nothing else of them, is (central epsilon, delta)-DP under
replacing one user's value, for n of at least `batch`.  So whoever collects reports must be trusted to add them up and
to hand on the sums alone: reports that are only permuted still show rows that other values do not give.  A cell's count
is the number of its holders plus Bin(n, ones / 2^32), whoever the others are, so that delta is exact (`counted_delta`);
the constructor refuses fewer ones than the promise needs.  Source: Wang 2021, section 9.3.4; Balcer and Cheu 2020.  Not
here: how many ones a target needs (aggregators/accounting/added_ones.py).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, Final, NoReturn

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.bill import Bill
from murmurate.randomizers.codes import CodeChecks
from murmurate.randomizers.errors import ParameterError, ReportError, UnprotectedError, shown
from murmurate.randomizers.mechanism import MAX_LAW, whole
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits
from murmurate.randomizers.question import Counts, Floats, LayoutSpec, Question, Reports
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import MAX_MICRO, MICRO, Epsilon, micro_nats

LEVELS: Final = 1 << 32
MAX_BATCH: Final = 10**8
_WIDE: Final = 14.0  # standard deviations of the added ones that are summed; the rest is added to delta
_SLACK: Final = 2.0**-28


class AUE(CodeChecks, Question):
    """Every cell's number is an added one, with chance ones / 2^32, and in the own cell the true one besides.

    A report is d numbers from 0 to 2 of two bits each, cell v in bits 2v and 2v + 1.  It has no local epsilon: whoever
    asks for `epsilon`, `epsilon_micro` or `realised` gets an UnprotectedError.  A ledger books the central epsilon, for
    each batch.
    """

    name = "aue"
    version: ClassVar[int] = 1
    unprotected = True
    summed_when_mixed = True
    max_domain = 1 << 20

    def __init__(self, *, d: int, ones: int, batch: int, central: Epsilon, delta: str | float) -> None:
        self.d = self._domain(d)
        self.ones = whole(self.name, "ones", ones, 1, LEVELS - 1)
        self.batch = whole(self.name, "batch", batch, 1, MAX_BATCH)
        self.central_micro = micro_nats(central)
        self.delta = _written(delta)
        self.p = Fraction(self.ones, LEVELS)
        self.digest = hashlib.sha256(
            b"murmurate/mechanism/%d\n" % self.version + orjson.dumps(self.spec(), option=orjson.OPT_SORT_KEYS)
        ).digest()
        needed = counted_delta(self.ones, self.batch, self.central)
        if not needed <= float(self.delta):
            raise ParameterError(
                f"{self.name}: ones: found {ones} of 2^32, which {self.batch} reports at a central epsilon of "
                f"{self.central:g} need a delta of {needed:.3g} for; allowed: as many as {self.delta} needs"
            )

    @classmethod
    def of_spec(cls, *, d: int, ones: int, batch: int, central_micro: int, delta: str) -> AUE:
        """The mechanism of a spec, which holds no floats."""
        micro = whole(cls.name, "central_micro", central_micro, 1, MAX_MICRO)
        if not isinstance(delta, str):
            raise ParameterError(f"{cls.name}: delta: found {shown(delta)}; allowed: a text, such as '1e-08'")
        return cls(d=d, ones=ones, batch=batch, central=Fraction(micro, MICRO), delta=delta)

    def __repr__(self) -> str:
        return f"AUE(d={self.d}, batch={self.batch}, central={self.central:g}, delta={self.delta}: not LDP)"

    # ---- what it promises ----

    @property
    def central(self) -> float:
        """The central epsilon of a batch, in nats."""
        return self.central_micro / MICRO

    @property
    def epsilon_micro(self) -> int:  # type: ignore[override]  # nobody writes it
        """There is none."""
        self._unprotected()

    @property
    def epsilon(self) -> float:
        """There is none."""
        self._unprotected()

    @property
    def realised(self) -> Fraction:
        """There is none: reports of one value have no chance at all under another one."""
        self._unprotected()

    def _unprotected(self) -> NoReturn:
        raise UnprotectedError(
            f"{self.name}: found asked for the epsilon of a report, which shows its value; "
            "allowed: `central`, for the counts of a whole batch"
        )

    def bill(self, t: int) -> Bill:
        """The central epsilon of a batch, in the period that it is about."""
        return Bill(t, t, None, self.central_micro)

    def spec(self) -> dict[str, str | int]:
        """The description, with the promise."""
        return {
            "name": self.name,
            "d": self.d,
            "ones": self.ones,
            "batch": self.batch,
            "central_micro": self.central_micro,
            "delta": self.delta,
        }

    # ---- a device ----

    @property
    def layout(self) -> LayoutSpec:
        """A single code below d."""
        return "code", self.d

    @property
    def wire_size(self) -> int:
        """The bytes of d numbers of two bits."""
        return bit_bytes(2 * self.d)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from one word u of 32 bits a cell: an added one while u < ones, and the true one besides."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        level = np.uint32(self.ones)
        for rows, words in draw.open(self.digest, canonical(values)).words(self.d, np.uint32):
            added = words < level
            own = np.zeros_like(added)
            own[np.arange(len(words)), values[rows]] = True
            bits = np.stack([added ^ own, added & own], axis=2).reshape(len(words), 2 * self.d)
            reports[rows] = pack_bits(bits)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        row = 0
        for cell, word in enumerate(draw.open(self.digest, canonical_one(value))(self.d, 32)):
            row |= ((word < self.ones) + (cell == value)) << 2 * cell
        return row.to_bytes(self.wire_size, "little")

    # ---- whoever adds up, and a server ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have a number above 2, two numbers of 2, none at all, or bits past the domain."""
        reports = self._reports(reports)
        three = (reports & reports >> 1 & 0x55).any(axis=1)
        past = reports[:, -1] >> (2 * self.d % 8) != 0 if 2 * self.d % 8 else np.zeros(len(reports), np.bool_)
        twos = np.bitwise_count(reports & 0xAA).sum(axis=1, dtype=np.int64) > 1
        return np.asarray(three | past | twos | ~reports.any(axis=1))

    def support(self, reports: Reports) -> Counts:
        """The sums of all cells: int64[d]. Nothing else may leave whoever collects reports."""
        counts = count_bits(self._well_formed(reports), 2 * self.d).reshape(self.d, 2)
        return np.asarray(counts[:, 0] + 2 * counts[:, 1], np.int64)

    @property
    def outcomes(self) -> int:
        """The length of the support."""
        return self.d

    @property
    def statistics(self) -> int:
        """The number of statistics that a method follows."""
        return self.d

    def _check_most(self, counts: Counts, n: int) -> None:
        """A report has a one in some cell, and a two in one cell at most."""
        if counts.min() < 0 or counts.sum() < n or np.maximum(counts - n, 0).sum() > n:
            raise ReportError(f"{self.name}: counts: found some that {n} reports do not give; allowed: 0 to {2 * n}")

    def estimate(self, support: Counts, n: int) -> Floats:
        """The unbiased frequencies support / n - p."""
        self.check(support, whole(self.name, "n", n, 1, MAX_BATCH))
        return np.asarray(np.asarray(support) / n - float(self.p), np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance p (1 - p) / n, whatever the frequency (ARCHITECTURE erratum C23)."""
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(
                f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1 and frequencies from 0 to 1"
            )
        return self.noise(f) / n

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report's added ones."""
        return np.full(np.shape(profile), float(self.p * (1 - self.p)))

    # ---- an auditor ----

    @property
    def reports_possible(self) -> int:
        """Rows of zeros and ones but that of zeros, and those with a single two."""
        return (1 << self.d) - 1 + self.d * (1 << self.d - 1)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The product of d independent added ones."""
        value = self.checked(value)
        if self.reports_possible > MAX_LAW:
            raise ParameterError(f"{self.name}: law: found over {MAX_LAW} reports to list at d = {self.d}")
        law = {}
        for added in product((0, 1), repeat=self.d):
            row = sum((one + (cell == value)) << 2 * cell for cell, one in enumerate(added))
            drawn = math.prod((self.p if one else 1 - self.p for one in added), start=Fraction(1))
            law[row.to_bytes(self.wire_size, "little")] = drawn
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports cannot be those of `other`: its cell is empty, and that of `one` is not."""
        rows, (one, other) = self._reports(reports), (self.checked(one), self.checked(other))
        own, others = (rows[:, cell // 4] >> 2 * (cell % 4) & 3 for cell in (one, other))
        return np.asarray((own > 0) & (others == 0))

    @property
    def extremes(self) -> tuple[int, int]:
        """The lowest and the highest value."""
        return 0, self.d - 1

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities 1 - p and 0: such a report gives its value away."""
        return 1 - self.p, Fraction(0)


@lru_cache(maxsize=1024)
def counted_delta(ones: int, n: int, epsilon: float) -> float:
    """The delta at this epsilon of the counts of n reports when one user's value is replaced, from above.

    With the numbers A and B of added ones in both cells, each Bin(n, ones / 2^32), the counts are (A + 1, B) or
    (A, B + 1) besides what others hold. Their ratio at (a, b) is (a / (n + 1 - a)) / (b / (n + 1 - b)): it exceeds
    e^epsilon for all b up to one that grows with a. Chances are products of ratios from the most likely number on;
    what is further than fourteen standard deviations away is added.
    """
    low, chances, lost = _added(ones, n)
    a = np.arange(low, low + len(chances) + 1)
    at, below = np.append(chances, 0.0), np.append(0.0, chances)  # P[A = a] and P[A = a - 1]
    sums = np.append(0.0, np.cumsum(chances))  # P[low <= B < low + i]
    ratio = math.exp(epsilon)
    most = np.where(a > n, 4.0 * (n + 1) ** 2, a / np.maximum(n + 1 - a, 1) / ratio)
    last = np.where(a > n, n + 1.0, np.ceil(most * (n + 1) / (1 + most)) - 1)  # b / (n + 1 - b) < most
    index = np.clip(last.astype(np.int64) - low + 1, 0, len(a))
    gain = below * sums[np.minimum(index, len(chances))]
    loss = at * sums[np.clip(index - 1, 0, len(chances))]
    both = float(gain.sum()) + ratio * float(loss.sum())
    found = float((gain - ratio * loss).sum())
    return min(1.0, max(0.0, found) + both * _SLACK + lost)


def _added(ones: int, n: int) -> tuple[int, Floats, float]:
    """The chances of low, low + 1, ... added ones, and a bound of what is left out of two such numbers (Bernstein)."""
    p = ones / LEVELS
    spread = _WIDE * math.sqrt(n * p * (1 - p)) + _WIDE**2
    low, high = max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread))
    k = np.arange(low, high, dtype=np.float64)
    steps = np.log((n - k) / (k + 1)) + math.log(p) - math.log1p(-p)
    logs = np.append(0.0, np.cumsum(steps))
    weights = np.exp(logs - logs.max())
    tail = 4 * math.exp(-(_WIDE**2) / 2) if low > 0 or high < n else 0.0
    return low, np.asarray(weights / weights.sum(), np.float64), tail


def _written(delta: str | float) -> str:
    """Delta as the shortest text of its double: a spec holds no floats."""
    try:
        found = float(Decimal(delta)) if isinstance(delta, str) else float(delta)
    except (InvalidOperation, ValueError, TypeError):
        found = math.nan
    if isinstance(delta, bool) or not 0 < found < 1:
        raise ParameterError(f"aue: delta: found {shown(delta)}; allowed: a number above 0 and below 1")
    return repr(found)
