# SPDX-License-Identifier: Apache-2.0
"""RAPPOR: a memoised unary encoding, of the values (BasicRAPPOR) or of hashes of them in cohorts (RAPPOR).

Contract: the permanent row belongs to user and value and to no round, so however many reports of one value a user
sends, they reveal at most what the row reveals: P[row|x] / P[row|x'] <= e^epsilon, in exact arithmetic.  Every further
value of a user costs epsilon again, and an unchanged report is recognised: one-shot streams with a lifetime ledger
only (`memoised`).  An optional second step draws each report from the row anew.  f / 2 is rounded up to a whole
number out of 2^32.  Source: Erlingsson, Pihur and Korolova 2014; Wang 2021, sections 3.1.1 and 3.1.2.
Not here: decoding reports of cohorts for many values (aggregators/rappor.py).
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.frequency.unary import Levels, Unary, symmetric
from murmurate.randomizers.mechanism import Counts, Floats, Mechanism, Reports, whole
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor

_SECOND = Fraction(3, 4), Fraction(1, 4)  # chances that the second step sends 1 for a 1 and for a 0 of the row
_SECOND_HIGH, _SECOND_LOW = 3 << 30, 1 << 30  # of 2^32


class BasicRAPPOR(Unary):
    """A row of d bits, each turned over with chance f / 2 = 1 / (e^(eps/2) + 1) and kept; SUE that lasts.

    `steps` = 2 sends, in every round, a 1 of the row as 1 with chance 3/4 and a 0 with 1/4: reports are not
    recognised by their bytes, at more variance. `realised` is then that of one report, `permanent` that of all.
    """

    name = "rappor"
    memoised: ClassVar[bool] = True
    """The row outlives a round: for one-shot streams with a lifetime ledger."""

    def __init__(self, *, d: int, epsilon: Epsilon, steps: int = 1) -> None:
        self.steps = whole(self.name, "steps", steps, 1, 2)
        super().__init__(d=d, epsilon=epsilon)

    def spec(self) -> dict[str, str | int]:
        """The description, with the number of steps."""
        return {**super().spec(), "steps": self.steps}

    def _levels(self) -> Levels:
        return symmetric(self.epsilon_micro, 2)

    def _sent(self, drawn: Fraction) -> Fraction:
        high, low = _SECOND
        return drawn if self.steps == 1 else high * drawn + low * (1 - drawn)

    @property
    def f(self) -> Fraction:
        """The share of bits that are random: 2 / (e^(eps/2) + 1)."""
        return Fraction(2 * self._low, 1 << 32)

    @property
    def permanent(self) -> Fraction:
        """The largest ratio of a row, which bounds what all reports of one value together reveal."""
        return ((1 - self.f / 2) / (self.f / 2)) ** 2

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """The row, drawn like a unary encoding but under `lasting`; a second step takes one word per bit each round."""
        values = self._values(values, draw)
        reports = super().perturb(values, draw.lasting())
        if self.steps == 2:
            for rows, words in draw.open(self.digest, canonical(values)).words(self.d, np.uint32):
                kept = np.unpackbits(reports[rows], axis=1, count=self.d, bitorder="little").view(np.bool_)
                ones = words < np.where(kept, np.uint32(_SECOND_HIGH), np.uint32(_SECOND_LOW))
                reports[rows] = pack_bits(ones)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        report = super().perturb_one(value, draw.lasting())
        if self.steps == 1:
            return report
        kept, row = int.from_bytes(report, "little"), 0
        for cell, word in enumerate(draw.open(self.digest, canonical_one(value))(self.d, 32)):
            row |= (word < (_SECOND_HIGH if kept >> cell & 1 else _SECOND_LOW)) << cell
        return row.to_bytes(self.wire_size, "little")


class RAPPOR(Mechanism):
    """A row of `bits` bits: `hashes` of them, set by the value's hashes in the user's cohort, then as BasicRAPPOR.

    f / 2 = 1 / (e^(eps / 2 hashes) + 1), since two values differ in at most 2 hashes bits. A report is the cohort in
    one byte, uniform among a power of two and the same for all values, then the row, bit v in bit v mod 8 of byte
    v // 8. `support` counts, for each cohort, its reports and its ones: int64[cohorts, 1 + bits].
    """

    name = "rappor_cohorts"
    max_domain = 1 << 16
    memoised: ClassVar[bool] = True
    """Cohort and row outlive a round: for one-shot streams with a lifetime ledger."""

    def __init__(self, *, d: int, epsilon: Epsilon, bits: int = 128, hashes: int = 2, cohorts: int = 8) -> None:
        self.bits, self.hashes = whole(self.name, "bits", bits, 2, 4096), whole(self.name, "hashes", hashes, 1, 8)
        self.cohorts = whole(self.name, "cohorts", cohorts, 1, 64)
        if cohorts & (cohorts - 1):
            raise ParameterError(f"{self.name}: cohorts: found {cohorts}; allowed: a power of two up to 64")
        super().__init__(d=d, epsilon=epsilon)
        low = symmetric(self.epsilon_micro, 2 * hashes).low
        while Fraction((1 << 32) - low, low) ** (2 * hashes) > exp_floor(self.epsilon_micro):
            low += 1  # a hair, where the level is the rounding of a root of e^epsilon
        self._low = low
        self.p, self.q = 1 - Fraction(low, 1 << 32), Fraction(low, 1 << 32)
        self.places = places(d, bits, hashes, cohorts)

    def spec(self) -> dict[str, str | int]:
        """The description, with bits, hashes and cohorts."""
        return {**super().spec(), "bits": self.bits, "hashes": self.hashes, "cohorts": self.cohorts}

    @property
    def f(self) -> Fraction:
        """The share of bits that are random."""
        return 2 * self.q

    @property
    def wire_size(self) -> int:
        """The bytes of the cohort and of the bits."""
        return 1 + bit_bytes(self.bits)

    @cached_property
    def design(self) -> NDArray[np.bool_]:
        """Which bits each value sets in each cohort: bool[cohorts, d, bits]."""
        sets = np.zeros((self.cohorts, self.d, self.bits), np.bool_)
        np.put_along_axis(sets, self.places.astype(np.int64), True, axis=2)
        return sets

    @cached_property
    def _farthest(self) -> int:
        """The largest number of bits in which two values differ, within a cohort."""
        most = 0
        for rows in self.design:
            sizes = rows.sum(axis=1)
            for start in range(0, self.d, 64):
                shared = rows[start : start + 64].astype(np.float32) @ rows.T.astype(np.float32)
                most = max(most, int((sizes[start : start + 64, None] + sizes - 2 * shared).max()))
                if most == 2 * self.hashes:
                    return most
        return most

    @property
    def realised(self) -> Fraction:
        """The ratio (p / q) to the power of the bits in which the two most different values differ."""
        return (self.p / self.q) ** self._farthest

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from a word for the cohort (of the context d, which is no value), then one word u a bit: 1 while u <
        its level.
        """
        values, lasting = self._values(values, draw), draw.lasting()
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in lasting.open(self.digest, canonical(np.full(len(values), self.d))).words(1, np.uint64):
            reports[rows, 0] = words[:, 0] & np.uint64(self.cohorts - 1)
        low, high = np.uint32(self._low), np.uint32((1 << 32) - self._low)
        for rows, words in lasting.open(self.digest, canonical(values)).words(self.bits, np.uint32):
            ones = words < low
            own = np.arange(len(words))[:, None], self.places[reports[rows, 0], values[rows]]
            ones[own] = words[own] < high
            reports[rows, 1:] = pack_bits(ones)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value, lasting = self.checked_one(value, draw), draw.lasting()
        cohort = lasting.open(self.digest, canonical_one(self.d))(1, 64)[0] % self.cohorts
        own, row = set(self.places[cohort, value].tolist()), 0
        for bit, word in enumerate(lasting.open(self.digest, canonical_one(value))(self.bits, 32)):
            row |= (word < ((1 << 32) - self._low if bit in own else self._low)) << bit
        return bytes([cohort]) + row.to_bytes(self.wire_size - 1, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have no valid cohort, or a bit past the row."""
        reports = self._reports(reports)
        return np.asarray(padding_set(reports[:, 1:], self.bits) | (reports[:, 0] >= self.cohorts))

    def support(self, reports: Reports) -> Counts:
        """For each cohort the number of its reports, and the number of those that set each bit: int64[cohorts, 1 +
        bits].
        """
        reports = self._well_formed(reports)
        counts = np.empty((self.cohorts, 1 + self.bits), np.int64)
        for cohort in range(self.cohorts):
            mine = reports[reports[:, 0] == cohort, 1:]
            counts[cohort, 0], counts[cohort, 1:] = len(mine), count_bits(mine, self.bits)
        return counts

    def debiased(self, support: Counts, n: int) -> Floats:
        """Unbiased sums of the frequencies that set each bit: float64[cohorts, bits]."""
        support = np.asarray(support)
        if support.shape != (self.cohorts, 1 + self.bits) or support.dtype.kind not in "iu":
            raise ReportError(
                f"{self.name}: support: found {support.dtype}{list(support.shape)}; "
                f"allowed: int64[{self.cohorts}, {1 + self.bits}]"
            )
        fits = isinstance(n, int) and n >= 1 and support.min() >= 0 and support[:, 0].sum() == n
        if not fits or (support[:, 1:] > support[:, :1]).any():
            raise ReportError(
                f"{self.name}: found n = {shown(n)} and counts that do not fit; allowed: n >= 1, the reports of all "
                "cohorts together, and no more ones than reports"
            )
        p, q = float(self.p), float(self.q)
        return np.asarray((support[:, 1:] - support[:, :1] * q) / ((p - q) * n / self.cohorts), np.float64)

    @cached_property
    def _inverse(self) -> Floats:
        """The least-squares estimator as a matrix: float64[d, cohorts * bits]."""
        columns = self.design.transpose(0, 2, 1).reshape(-1, self.d).astype(np.float64)
        if self.d > len(columns) or np.linalg.matrix_rank(columns) < self.d:
            raise ParameterError(
                f"{self.name}: estimate: found {self.d} values that {len(columns)} bits cannot tell apart; "
                "allowed: fewer values, more cohorts, or decoding (aggregators/rappor.py)"
            )
        return np.asarray(np.linalg.pinv(columns), np.float64)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The least-squares estimates of all values together, unbiased if the values' bits are linearly independent."""
        return np.asarray(self._inverse @ self.debiased(support, n).reshape(-1), np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance of least squares: exact from the frequencies of all d values. A single one is taken to be each
        value's in turn, with the rest spread evenly over the others: the mean over the values.
        """
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(
                f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1 and frequencies from 0 to 1"
            )
        each = self._variances
        if f.shape == (self.d,):
            return np.asarray(each @ f / n, np.float64)
        own = float(np.trace(each)) / self.d
        others = (float(each.sum()) / self.d - own) / (self.d - 1)
        return np.asarray((f * own + (1 - f) * others) / n, np.float64)

    @cached_property
    def _variances(self) -> Floats:
        """The variance that one report of a holder of u adds to n times the estimate of v: float64[d (v), d (u)].

        The noise of its bits, whichever the cohort, and the chance of the cohort: means differ between cohorts.
        """
        weights = self._inverse.reshape(self.d, self.cohorts, self.bits)
        noise = float(self.p * self.q / (self.p - self.q) ** 2) * self.cohorts * (weights**2).sum(axis=(1, 2))
        means = self.cohorts * np.einsum("vcb,cub->cvu", weights, self.design.astype(np.float64), optimize=True)
        return np.asarray(noise[:, None] + means.var(axis=0), np.float64)

    @property
    def reports_possible(self) -> int:
        """Every row in every cohort."""
        return self.cohorts << self.bits

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The product of independent bits in each cohort."""
        value = self.checked(value)
        self._check_listable()
        law = {}
        for cohort, row in product(range(self.cohorts), range(1 << self.bits)):
            own = sum(1 << bit for bit in set(self.places[cohort, value].tolist()))
            turned = (row ^ own).bit_count()
            chance = self.q**turned * self.p ** (self.bits - turned) / self.cohorts
            law[bytes([cohort]) + row.to_bytes(self.wire_size - 1, "little")] = chance
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports have every bit as `one` sets it where `other` does not, and the other way round."""
        reports = self._reports(reports)
        rows = np.unpackbits(reports[:, 1:], axis=1, count=self.bits, bitorder="little").view(np.bool_)
        cohort = reports[:, 0] % self.cohorts
        mine, theirs = (self.design[cohort, self.checked(value)] for value in (one, other))
        return np.asarray(((rows == mine) | (mine == theirs)).all(axis=1))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities for the two extreme values: p and q to the power of the differing bits, averaged over the
        cohorts.
        """
        differ = (self.design[:, 0] != self.design[:, -1]).sum(axis=1).tolist()
        one, other = (sum((chance**k for k in differ), Fraction(0)) / self.cohorts for chance in (self.p, self.q))
        return one, other


def places(d: int, bits: int, hashes: int, cohorts: int) -> NDArray[np.uint16]:
    """The public hash functions, the same everywhere: uint16[cohorts, d, hashes], numbers below `bits`.

    Function number c * hashes + h of value v is mixed from (c * hashes + h) * 2^32 + v + 1 with the finalizer of
    SplitMix64.
    """
    function = np.arange(cohorts * hashes, dtype=np.uint64).reshape(cohorts, 1, hashes) << np.uint64(32)
    mixed = (function + np.arange(1, d + 1, dtype=np.uint64)[None, :, None]) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed % np.uint64(bits)).astype(np.uint16)
