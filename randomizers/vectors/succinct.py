# SPDX-License-Identifier: Apache-2.0
"""A clipped sum of all entries with public random signs, and noise: SUCCINCT, in whole numbers.

Contract: a public hash gives every coordinate a sign h_j, +1 or -1, under a seed that does not depend on the value.  A
set of entries is padded to s with dummies, keys d, d + 1, ..., and V, the sum of sign times h_j in `steps` to 1, is
clipped to +-clip.  The report is the seed and V with noise around a circle (circular_noise.py): whatever is held, every
number is possible, and P[y|x] <= e^epsilon P[y|x'] for numbers at most 2 clip apart, in exact arithmetic (`law`).  The
support of coordinate j is the sum of h_j y over reports, and half a circle for each report besides.  Without that,
divided by n and

    kappa = E[mean of y at the clipped S, times S] / s        S the sum of s random signs

it is unbiased.  The paper divides by 1 in place of kappa, and what is clipped away is its bias: estimates come to
1 - kappa / steps too small, .218 at s = 8 and 10 000 users.  Its clip sqrt(s ln n) / 2.5 is `SUCCINCT.printed`; without
one named, the best whole clip is taken.  Exact for seeds that are fresh (pool 0) and a hash that is random.
Source: Zhou et al. 2022 (SUCCINCT), ARCHITECTURE section 5.17.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ValueRefusedError
from murmurate.randomizers.frequency.hashing import first_seed, hash_one, hash_pairs, sum_table
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.layouts import layout as layout_of
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.pooled import PooledQuestion
from murmurate.randomizers.question import Counts, Floats, Reports, Value
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.thresholds import Epsilon, micro_nats
from murmurate.randomizers.vectors.circular_noise import CircularNoise
from murmurate.randomizers.vectors.entries import Entries, Held, most_entries
from murmurate.randomizers.vectors.signed_sums import SignedSums

MAX_STEPS: Final = 1 << 20
MAX_SEEDS: Final = 1 << 16
_BITS = 64
_TOP = 1 << _BITS


class SUCCINCT(PooledQuestion, SignedSums):
    """A seed and the clipped sum of the user's signs under it, with noise.

    clip: in steps, the best whole number of ones unless it is named. steps: the steps from 0 to 1. pool: the number of
    different seeds of a round; 0 draws fresh ones, which cost a server a hash of each report and coordinate. A report
    is the seed (8 bytes; with a pool its number), then the sum modulo 2^(bits + 1), both little-endian.
    """

    name = "succinct"

    def __init__(self, layout: Any, epsilon: Epsilon, clip: int | None = None, steps: int = 1, pool: int = 0) -> None:
        self.steps = whole(self.name, "steps", steps, 1, MAX_STEPS)
        self.pool = whole(self.name, "pool", pool, 0, MAX_SEEDS)
        most = most_entries(layout_of(layout))
        if clip is None:
            clip = _best_clip(most, micro_nats(epsilon)) * self.steps
        self.clip = whole(self.name, "clip", clip, 1, most * self.steps)
        self._round = None
        super().__init__(layout, epsilon)
        self.circle = CircularNoise(self.epsilon_micro, 2 * self.clip)
        """The noise, and the numbers that it goes around."""
        self._seed_bytes = int_bytes(self.pool) if self.pool else 8
        if self.realised > self.bound:
            raise ParameterError(f"{self.name}: found noise with too large a ratio; allowed: another clip")

    @classmethod
    def printed(cls, layout: Any, epsilon: Epsilon, users: int, steps: int = 1 << 10) -> Self:
        """The mechanism with the clip of its paper, sqrt(s ln users) / 2.5."""
        most = most_entries(layout_of(layout))
        clip = round(math.sqrt(most * math.log(max(users, 2))) / 2.5 * steps)
        return cls(layout, epsilon, min(clip, most * steps), steps)

    def parameters(self) -> dict[str, Any]:
        """The clip, the steps and the number of seeds."""
        return {"clip": self.clip, "steps": self.steps, "pool": self.pool}

    @property
    def wire_size(self) -> int:
        """The bytes of the seed and of the sum."""
        return self._seed_bytes + int_bytes(self.circle.size)

    @property
    def reports_possible(self) -> int:
        """The number of pairs of a seed and a sum."""
        return (self.pool or _TOP) * self.circle.size

    @property
    def realised(self) -> Fraction:
        """The largest ratio over all pairs of clipped sums, which occurs where two vectors can have these."""
        return self._realised

    @cached_property
    def _realised(self) -> Fraction:
        sums = sorted({self._clipped(total) for total in range(-self.s, self.s + 1, 2)})
        return self.circle.largest_ratio({b - a for a in sums for b in sums if a < b})

    def _clipped(self, total: int) -> int:
        return max(-self.clip, min(self.clip, total * self.steps))

    # ---- the device's half ----

    def _bound_to(self, draw: Draw | DrawOne) -> Self:
        """The question with the seeds of a draw's round."""
        if not self.pool:
            return self
        if self._round not in (None, draw.round):
            raise ValueRefusedError(f"{self.name}: draw: found one of another round; allowed: of this question's round")
        return self.of_round(draw.round)

    @property
    def _first(self) -> int:
        """What is added to the number of a seed to get the seed."""
        if not self.pool:
            return 0
        if self._round is None:
            raise ParameterError(f"{self.name}: round: found none; allowed: of_round(the digest of the round)")
        return first_seed(self._round)

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """A word for the seed, then those of the noise."""
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        dummies = np.uint64(self.d) + np.arange(self.s, dtype=np.uint64)
        for rows, words in lanes.words(1 + self.circle.words, np.uint64):
            numbers = words[:, 0].copy()
            if self.pool:
                numbers = (numbers >> np.uint64(32)) * np.uint64(self.pool) >> np.uint64(32)
            signs = held.signs[rows].astype(np.int64)
            keys = np.where(signs == 0, dummies, held.items[rows].astype(np.uint64))
            seeds = np.repeat(numbers + np.uint64(self._first), self.s)
            minus = hash_pairs(seeds, keys.reshape(-1), 2).view(np.int64).reshape(signs.shape)
            sums = (np.where(signs == 0, 1, signs) * (1 - 2 * minus)).sum(axis=1)
            told = np.clip(sums * self.steps, -self.clip, self.clip) + self.circle.noise(words[:, 1:])
            told &= self.circle.size - 1
            reports[rows, : self._seed_bytes] = pack_ints(numbers, self._seed_bytes)
            reports[rows, self._seed_bytes :] = pack_ints(told.view(np.uint64), self.wire_size - self._seed_bytes)
        return reports

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python."""
        number, *rest = words(1 + self.circle.words, _BITS)
        if self.pool:
            number = (number >> 32) * self.pool >> 32
        return self._report(number, self._sum(held, number) + self.circle.noise_one(rest))

    def _sum(self, held: Held, number: int) -> int:
        """The clipped sum of these entries and of dummies under a seed."""
        padded = (*held, *((self.d + place, 1) for place in range(len(held), self.s)))
        seed = number + self._first & _TOP - 1
        return self._clipped(sum(sign * (1 - 2 * hash_one(seed, key, 2)) for key, sign in padded))

    def _report(self, number: int, told: int) -> bytes:
        size = self.circle.size
        return number.to_bytes(self._seed_bytes, "little") + (told % size).to_bytes(int_bytes(size), "little")

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law: that of the noise around the sum, under every seed of the pool."""
        law, noise = {}, {x: self.circle.chance(x) for x in range(-self.circle.half, self.circle.half)}
        for number in range(self.pool):
            first, last = (-(-(k << 32) // self.pool) for k in (number, number + 1))
            total, share = self._sum(held, number), Fraction(last - first, 1 << 32)
            law.update({self._report(number, total + x): share * chance for x, chance in noise.items()})
        return law

    # ---- the server's half ----

    def _read(self, reports: Reports) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The numbers of the seeds and the sums, not yet signed."""
        rows = self._reports(reports)
        numbers, told = (
            unpack_ints(rows[:, part]) for part in (slice(self._seed_bytes), slice(self._seed_bytes, None))
        )
        return numbers.astype(np.uint64), told.astype(np.int64)

    def _signed(self, told: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(told >= self.circle.half, told - self.circle.size, told)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have a sum past the circle, or a seed that is not in the pool."""
        numbers, told = self._read(reports)
        bad = told >= self.circle.size
        return np.asarray(bad | (numbers >= self.pool) if self.pool else bad)

    def support(self, reports: Reports) -> Counts:
        """The sums, over reports, of what is told times the sign of each coordinate, and half a circle for each report:
        int64[d].
        """
        numbers, told = self._read(self._well_formed(reports))
        told = self._signed(told)
        if self.pool:
            totals = np.zeros(self.pool, np.int64)
            np.add.at(totals, numbers.view(np.int64), told)
            numbers, told = np.arange(self.pool, dtype=np.uint64), totals
        n = len(reports)
        table = np.stack((told, -told), axis=1).reshape(-1)
        sums = sum_table(table, numbers + np.uint64(self._first), np.arange(self.d, dtype=np.uint64), 2)
        return sums + n * self.largest

    @property
    def largest(self) -> int:
        """The largest number on the circle."""
        return self.circle.half

    @property
    def sums_of_one(self) -> tuple[float, float]:
        """The mean of what is told times one sign of s, and the mean square of what is told."""
        return self._sums_of_one

    @cached_property
    def _sums_of_one(self) -> tuple[float, float]:
        return _means_of(self.circle, self.s, self.clip, self.steps)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance that a pool of seeds adds: the sum over other coordinates of their squared means, over the
        number of seeds; products of more than two signs are left out.
        """
        squares = np.asarray(profile, np.float64) ** 2
        return (squares.sum() - squares) / self.pool if self.pool else np.zeros(self.d)

    # ---- the auditor's ----

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports lie as far out as the clip, on the side to which the seed puts `one` rather than `other`."""
        numbers, told = self._read(reports)
        told = self._signed(told)
        aside = self._sums(self.held_by(one), numbers) - self._sums(self.held_by(other), numbers)
        return np.asarray(((aside > 0) & (told >= self.clip)) | ((aside < 0) & (told <= -self.clip)))

    def _sums(self, held: Held, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The clipped sum of these entries under each seed."""
        totals = np.zeros(len(numbers), np.int64)
        for key, sign in (*held, *((self.d + place, 1) for place in range(len(held), self.s))):
            minus = hash_pairs(numbers + np.uint64(self._first), np.array([key]), 2).view(np.int64)
            totals += sign * (1 - 2 * minus)
        return np.clip(totals * self.steps, -self.clip, self.clip)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of that evidence for the two extremes, over fresh seeds."""
        one = other = 0.0
        for mine, theirs, chance in self._pairs():
            if mine > theirs:  # as often on the other side
                one += 2 * chance * self.circle.at_least(mine, self.clip)
                other += 2 * chance * self.circle.at_least(theirs, self.clip)
        return Fraction(one), Fraction(other)

    def _pairs(self) -> Iterator[tuple[int, int, float]]:
        """The clipped sums of the two extremes, with the probability of each pair."""
        mine, theirs = (set(self.held_by(value)) for value in self.extremes)
        apart = len(mine - theirs)
        for shared in range(self.s - apart + 1):
            both = math.comb(self.s - apart, shared) * 2 ** (apart if self.signed else 0)
            for first in range(apart + 1):
                for second in [apart - first] if self.signed else range(apart + 1):
                    ways = both * math.comb(apart, first) * (1 if self.signed else math.comb(apart, second))
                    one, other = (2 * (shared + own) - self.s for own in (first, second))
                    yield self._clipped(one), self._clipped(other), ways / 2 ** (self.s + apart)


def _means_of(circle: CircularNoise, s: int, clip: int, steps: int) -> tuple[float, float]:
    part, square = [], []
    for ups in range(s + 1):
        chance, total = math.comb(s, ups) / 2**s, 2 * ups - s
        mean, of_square = circle.moments(max(-clip, min(clip, total * steps)))
        part.append(chance * mean * total / s)
        square.append(chance * of_square)
    return math.fsum(part), math.fsum(square)


@lru_cache(maxsize=256)
def _best_clip(s: int, epsilon_micro: int) -> int:
    """The whole clip with the smallest variance at a coordinate that is not held."""
    variances = []
    for clip in range(1, s + 1):
        kappa, square = _means_of(CircularNoise(epsilon_micro, 2 * clip), s, clip, 1)
        variances.append(square / kappa**2)
    return 1 + variances.index(min(variances))
