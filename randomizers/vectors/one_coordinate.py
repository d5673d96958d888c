# SPDX-License-Identifier: Apache-2.0
"""One coordinate of each user, drawn at random and named in the report: KVUE and PrivKV.

Contract: the coordinate does not depend on the value, so it is sent in the clear; of its content in {-1, 0, +1} a
report tells something whose probabilities keep epsilon in exact arithmetic (`law`).  Coordinates have the probability
1/d up to 2^-64.  Support: for each coordinate the reports with +1, those with -1, then all reports of it, since with
these the share of holders is estimated from who was asked: the mean over reports of d (told - z) / (h - z), where
`told` is 1 for +1 and -1, h its probability for holders and z for others.  That has half the variance of the estimate
without them.  Source: Sun et al. 2019 (KVUE), Ye et al. 2019 (PrivKV), ARCHITECTURE section 5.17.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ReportError, shown
from murmurate.randomizers.frequency.hashing import cells_of, cells_of_one
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Blanket, Counts, Floats, Reports, Value
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.sparse import Moments, SparseOracle, Supports

_BITS = 64
_TOP = 1 << _BITS
_CONTENT = {0: 0, 1: 1, -1: 2}


class Contents(NamedTuple):
    """The probabilities of what is told of a coordinate, where a user holds +1 (of -1 with the signs exchanged)."""

    own: Fraction
    """The probability of telling the sign that is held."""
    opposite: Fraction
    """The probability of telling the other sign."""
    absent: Fraction
    """The probability of telling one certain sign of a coordinate that is not held."""


class OneCoordinate(SparseOracle):
    """A random coordinate, and something about its content.

    A report is 3 j + 0, 1 or 2: nothing held at coordinate j, +1, or -1.
    """

    drawn_words: ClassVar[int]
    """The number of words of a report: one names the coordinate, the others decide what is told of it."""
    told: Contents
    """The probabilities of what is told of the coordinate, which a subclass's constructor sets."""

    def _tell(self, told: Contents) -> None:
        """Set the probabilities; for the end of a constructor."""
        self.told = told
        self.supports = Supports(*(chance / self.d for chance in told))

    @property
    def wire_size(self) -> int:
        """The bytes of a number below 3 d."""
        return int_bytes(3 * self.d)

    @property
    def reports_possible(self) -> int:
        """Three contents for each coordinate."""
        return 3 * self.d

    @property
    def realised(self) -> Fraction:
        """The largest ratio between the probabilities of one content, over what may be held."""
        own, opposite, absent = self.told
        signs = (own, opposite, absent) if self.signed else (own, absent)
        worst = max(signs) / min(signs)
        if not self.signed:  # of sets the sign -1 is told by who holds the item and by who does not
            worst = max(worst, opposite / absent, absent / opposite)
        held, not_held = 1 - own - opposite, 1 - 2 * absent
        return max(worst, held / not_held, not_held / held)

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        for rows, words in lanes.words(self.drawn_words, np.uint64):
            j = cells_of(words[:, 0], self.d)
            at = held.items[rows] == j[:, np.newaxis].astype(np.uint32)
            sign = (held.signs[rows] * at).sum(axis=1, dtype=np.int8)
            content = np.where(sign < 0, 2, sign).astype(np.uint64)
            reports[rows] = pack_ints(3 * j + self._content(content, words), self.wire_size)
        return reports

    @abstractmethod
    def _content(self, content: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """What is told of these contents (0, 1, 2): uint64[n]. words: all words of the report, uint64[n, words]."""

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python."""
        drawn = words(self.drawn_words, _BITS)
        j = cells_of_one(drawn[0], self.d)
        content = self._content_one(_CONTENT[dict(held).get(j, 0)], drawn)
        return int(3 * j + content).to_bytes(self.wire_size, "little")

    @abstractmethod
    def _content_one(self, content: int, words: Sequence[int]) -> int:
        """What `_content` gives, for one user in plain Python."""

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law: coordinates by the words that name them, contents by their probabilities."""
        own, opposite, absent = self.told
        law = dict[bytes, Fraction]()
        for j in range(self.d):
            words = -(-(j + 1) * _TOP // self.d) + (-j * _TOP // self.d)
            sign = dict(held).get(j, 0)
            up, down = {0: (absent, absent), 1: (own, opposite), -1: (opposite, own)}[sign]
            for content, chance in enumerate((1 - up - down, up, down)):
                law[(3 * j + content).to_bytes(self.wire_size, "little")] = Fraction(words, _TOP) * chance
        return law

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which numbers are not below 3 d."""
        return np.asarray(unpack_ints(self._reports(reports)) >= 3 * self.d)

    # ---- the server's half ----

    @property
    def outcomes(self) -> int:
        """Three counts for each coordinate: reports with +1, with -1, and all of them."""
        return 3 * self.d

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, with -1, and of reports of the coordinate."""
        counts = np.bincount(unpack_ints(self._well_formed(reports)).astype(np.int64), minlength=3 * self.d)
        each = counts.reshape(self.d, 3).astype(np.int64)
        return np.concatenate((each[:, 1], each[:, 2], each.sum(axis=1)))

    def _check_most(self, counts: Counts, n: int) -> None:
        """Every report names one coordinate, and not more than one sign of it."""
        up, down, asked = np.asarray(counts).reshape(3, self.d)
        if counts.min() < 0 or (up + down > asked).any() or int(asked.sum()) != n:
            raise ReportError(f"{self.name}: counts: found some that do not fit; allowed: those of {n} reports")

    def estimate(self, support: Counts, n: int) -> Floats:
        """The means and, of signed vectors, the shares of holders: unbiased, raw: float64[statistics]."""
        support = np.asarray(support)
        self.check(support, n)
        if n < 1:
            raise ReportError(f"{self.name}: found n = {shown(n)}; allowed: n >= 1")
        up, down, asked = support.reshape(3, self.d)
        means = (up - down) / (n * float(self.gap))
        if not self.signed:
            return np.asarray(means, np.float64)
        told, share = (up + down) * float(self.d), asked * float(2 * self.told.absent * self.d)
        return np.concatenate((means, (told - share) / (n * float(self._held_more))))

    @property
    def _held_more(self) -> Fraction:
        """By how much likelier any sign is told of a coordinate that is held."""
        return self.told.own + self.told.opposite - 2 * self.told.absent

    @cached_property
    def share_moments(self) -> Moments:
        """The exact variances of one user's part of a share of holders."""
        holder, other = self.told.own + self.told.opposite, 2 * self.told.absent
        held = holder * (1 - other) ** 2 + (1 - holder) * other**2
        squared = self._held_more**2 / self.d
        return Moments(float(other * (1 - other) / squared), float(held / squared - 1))

    def covariance(self, n: int, mean: float | Floats) -> Floats:
        """The exact covariance of the mean and the share of the same coordinate, for n reports with this mean."""
        each = self.d * (1 - 2 * self.told.absent) / self._held_more - 1
        return np.asarray(np.asarray(mean) * float(each) / n, np.float64)

    # ---- the auditor's ----

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports are of this coordinate and content."""
        return np.asarray(unpack_ints(self._reports(reports)) == 3 * item + _CONTENT[sign])

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports tell an entry of `one` that is not one of `other`."""
        mine, theirs = (self.held_by(value) for value in (one, other))
        return np.asarray(np.any([self.supported(reports, *entry) for entry in set(mine) - set(theirs)], axis=0))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of telling an entry that one extreme has and the other has not."""
        apart = Fraction(self.s if self.signed else max(1, min(self.s, self.d - self.s)), self.d)
        return self.told.own * apart, (self.told.opposite if self.signed else self.told.absent) * apart


class KVUE(OneCoordinate):
    """A random coordinate, and its content by randomized response over three values.

    The true content has the probability p, each other one q: P[y|x] <= (p/q) P[y|x'] <= e^epsilon P[y|x'].
    """

    name = "kvue"
    drawn_words = 2

    def __init__(self, layout: Any, epsilon: Epsilon) -> None:
        super().__init__(layout, epsilon)
        self._low = low_level(1 / (self.bound + 2), _BITS)
        low = Fraction(self._low, _TOP)
        self.keep = 1 - 2 * low
        """The probability of the true content; each of the other two has half of the rest."""
        self._tell(Contents(self.keep, low, low))

    def parameters(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def _content(self, content: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The second word moves the content by one or two if it is below 2 q."""
        once, twice = np.uint64(self._low), np.uint64(2 * self._low)
        moved = content + (words[:, 1] < once).astype(np.uint64) + (words[:, 1] < twice)
        return np.asarray(moved % np.uint64(3))

    def _content_one(self, content: int, words: Sequence[int]) -> int:
        """What `_content` gives, for one user in plain Python."""
        return (content + (words[1] < self._low) + (words[1] < 2 * self._low)) % 3

    def blanket(self) -> Blanket:
        """Between vectors, or sets, that hold different coordinates, together as many as possible. At these they have
        other contents, each of which one of them gives more often, and the third content neither of them. At the others
        both hold nothing.
        """
        low = Fraction(self._low, _TOP)
        told = Fraction(min(2 * self.s, self.d), self.d)
        return self.four_atoms(3 * low, told / 3, (1 - told) / 3, (2 - told) / 3)


class PrivKV(OneCoordinate):
    """A random coordinate: first whether it is held by randomized response, then its sign by another one.

    A holder tells a sign with p1, and the right one with p1 p2; who does not hold it tells either with (1 - p1) / 2.
    As printed (`tuned` 0) p1 and p2 have half of epsilon each, and the exact ratio max(2 p1 p2 / (1 - p1), p2 / (1 -
    p2), p1 / (1 - p1)) uses 0.719 of an epsilon of 1.  With `tuned` 1 the sign has all of epsilon and p1 is the largest
    that keeps it: 2 p1 p2 / (1 - p1) <= e^epsilon.
    """

    name = "privkv"
    drawn_words = 3

    def __init__(self, layout: Any, epsilon: Epsilon, tuned: int = 0) -> None:
        self.tuned = whole(self.name, "tuned", tuned, 0, 1)
        super().__init__(layout, epsilon)
        if self.tuned:
            self._flip = low_level(1 / (self.bound + 1), _BITS)
            right = 2 * Fraction(_TOP - self._flip, _TOP)
            self._hide = low_level(right / (self.bound + right), _BITS)
        else:
            self._flip = self._hide = low_level(1 / (exp_floor(self.epsilon_micro, 2) + 1), _BITS)
        flip, hide = Fraction(self._flip, _TOP), Fraction(self._hide, _TOP)
        self._tell(Contents((1 - hide) * (1 - flip), (1 - hide) * flip, hide / 2))

    def parameters(self) -> dict[str, Any]:
        """Whether the whole epsilon is used."""
        return {"tuned": self.tuned}

    def _content(self, content: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The second word hides or makes up that something is held; the third flips the sign, or is a coin for it."""
        changed = words[:, 1] < np.uint64(self._hide)
        flipped = words[:, 2] < np.where(content > 0, np.uint64(self._flip), np.uint64(_TOP >> 1))
        sign = np.where(content == 2, np.uint64(2), np.uint64(1))
        sign = np.where(flipped, 3 - sign, sign)
        return np.asarray(np.where((content > 0) != changed, sign, np.uint64(0)), np.uint64)

    def _content_one(self, content: int, words: Sequence[int]) -> int:
        """What `_content` gives, for one user in plain Python."""
        if (content > 0) == (words[1] < self._hide):
            return 0
        sign = content or 1
        return 3 - sign if words[2] < (self._flip if content else _TOP >> 1) else sign
