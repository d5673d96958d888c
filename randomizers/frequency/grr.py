# SPDX-License-Identifier: Apache-2.0
"""Generalized randomized response (GRR): report the true value with probability p, each other one with q.

Contract: for all x, x', y: P[y|x] <= e^epsilon P[y|x'], in exact arithmetic (`law`).  q is rounded up to a whole
number out of 2^64 and p is what remains, so p/q can only fall below e^epsilon.  Best while d < 3 e^epsilon + 2.
Source: Wang 2021, section 2.1.  Not here: choosing between oracles (aggregators/chooser.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from copy import copy
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Counts, PureOracle, Reports
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Blanket, one_apart
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level

_BITS = 64


class GRR(PureOracle):
    """One of d values, the true one with probability p = e^eps / (e^eps + d - 1).

    A report is the value as a little-endian integer of one to three bytes. Variance grows with d: for small domains.
    """

    name = "grr"
    sums: ClassVar[bool] = True
    _low: int
    max_domain = 1 << 24

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        self._set(exp_floor(self.epsilon_micro))

    def _set(self, ratio: Fraction) -> None:
        low = low_level(1 / (ratio + self.d - 1), _BITS)
        q = Fraction(low, 1 << _BITS)
        vars(self).update(_low=low, q=q, p=1 - (self.d - 1) * q)

    def sampled(self, length: int) -> GRR:
        """The mechanism for a code that was drawn with a probability of at most 1 / length. Its ratio is length
        (e^epsilon - 1) + 1, an exact Fraction, and costs epsilon together with the draw, since P[y|x] = q (1 + (p/q -
        1) times that probability). Its digest is SHA-256 of b"murmurate/sampled/1", a line feed, the length as 8
        little-endian bytes, and its own.
        """
        made = copy(self)
        vars(made).pop("_noise", None)
        named = b"murmurate/sampled/1\n" + length.to_bytes(8, "little") + self.digest
        vars(made)["digest"] = hashlib.sha256(named).digest()
        made._set(length * (exp_floor(self.epsilon_micro) - 1) + 1)
        return made

    @property
    def wire_size(self) -> int:
        """The bytes that hold d - 1."""
        return int_bytes(self.d)

    @property
    def realised(self) -> Fraction:
        """The ratio p / q."""
        return self.p / self.q

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """One word u a user: other value number u div low, counted from 0, while there is one; else the true one."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        low = np.uint64(self._low)
        others = np.uint64(self.d - 1)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            mine = values[rows].astype(np.uint64)
            index = words[:, 0] // low
            other = index + (index >= mine)
            reports[rows] = pack_ints(np.where(index < others, other, mine), self.wire_size)
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        index = draw.open(self.digest, canonical_one(value))(1, _BITS)[0] // self._low
        if index < self.d - 1:
            value = index + (index >= value)
        return value.to_bytes(self.wire_size, "little")

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports lie past the domain."""
        return np.asarray(unpack_ints(self._reports(reports)) >= self.d)

    def support(self, reports: Reports) -> Counts:
        """The number of reports that name each value."""
        return np.bincount(unpack_ints(self._well_formed(reports)), minlength=self.d)

    @property
    def reports_possible(self) -> int:
        """The number of values, each of which is a report."""
        return self.d

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The probability p for the value itself, q for every other one."""
        value = self.checked(value)
        self._check_listable()
        return {y.to_bytes(self.wire_size, "little"): self.p if y == value else self.q for y in range(self.d)}

    def blanket(self) -> Blanket:
        """One atom with q for each report; of a pair of values each has its own report p / q times as often."""
        return one_apart(self.q, self.p / self.q, self.d)

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports name `one`."""
        return np.asarray(unpack_ints(self._reports(reports)) == self.checked(one))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q."""
        return self.p, self.q
