# SPDX-License-Identifier: Apache-2.0
"""Who is asked: slots drawn from a pool, fixed groups of slots, and how many users slots stand for.

Contract: a slot drawn at t is not drawn again before t + w, with nothing to recycle: it is eligible at t iff its last
use is at most t - w (ARCHITECTURE section 5.1; erratum E6: the paper recycles after a `return`, which drains the pool).
Which slots are drawn is a public pseudorandom function of (seed, t, purpose), in integers: the same on every machine
and after every crash.  Users hash to slots by a secret key, so a draw that ignores values is a uniform sample.
Not here: keeping the promise, which is the ledger's of every device.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key, ParameterError, SnapshotError
from murmurate.randomizers.randomness import SECRET_BYTES, contexts

Mask = NDArray[np.bool_]

NEVER = -(1 << 62)
MEMORY = 7 / 8  # of the evidence about the number of users that is left after one more answer


class Crowd:
    """An estimate of the number of users: n_hat = S * reports / slots, both as sums in which the weight of past answers
    falls to 7/8 with each new one: so about the last eight answers count, each by the slots it asked. An answer
    without counted reports is no evidence: a lost round looks the same as a small one.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.reports = 0.0
        self.slots_asked = 0.0

    def learn(self, slots: int, counted: int) -> None:
        """Take an answer into account: so many slots asked, so many reports counted."""
        if counted:
            self.reports = self.reports * MEMORY + counted
            self.slots_asked = self.slots_asked * MEMORY + slots

    def behind(self, slots: int) -> float | None:
        """The users expected behind so many slots; None before the first answer."""
        return slots * self.reports / self.slots_asked if self.slots_asked else None

    @property
    def users(self) -> float | None:
        """All users expected: n_hat; None before the first answer."""
        return self.behind(self.slots)


class Pool:
    """The slots of one stream and when each was last used."""

    def __init__(self, *, slots: int, w: int, seed: bytes) -> None:
        self.w = w
        self.seed = seed
        self.last_used = np.full(slots, NEVER, np.int64)

    def eligible(self, t: int) -> Mask:
        """Which slots may be asked at t: bool[S]."""
        return np.asarray(self.last_used <= t - self.w)

    def use(self, t: int, asked: Mask) -> None:
        """Note that these slots are asked at t."""
        self.last_used[asked] = t

    def draw(self, t: int, count: int, purpose: str) -> Mask:
        """Draws `count` eligible slots, now used: bool[S]. They are those with the smallest words, the lower slot first
        where words are equal. purpose: what tells the draws of one period apart.
        """
        eligible = np.flatnonzero(self.eligible(t))
        if not 0 <= count <= len(eligible):
            raise ParameterError(f"slots at t = {t}: found {count} to draw; allowed: the {len(eligible)} that are free")
        asked = np.zeros(len(self.last_used), np.bool_)
        if count:
            words = slot_words(self.seed, f"{purpose} {t}", eligible)
            last = np.partition(words, count - 1)[count - 1]
            below = words < last
            asked[eligible[below]] = True
            asked[eligible[words == last][: count - int(below.sum())]] = True
        self.use(t, asked)
        return asked

    def ages(self, t: int) -> NDArray[np.unsignedinteger]:
        """The whole state as of t: periods since the last use, w where that is enough. uint16[S], uint32 for a longer
        w.
        """
        ages = np.minimum(t - self.last_used, self.w)
        return ages.astype(np.uint16 if self.w < 1 << 16 else np.uint32)

    def load(self, t: int, ages: NDArray[np.unsignedinteger]) -> None:
        """Take over `ages` as of t."""
        if ages.shape != self.last_used.shape:
            raise SnapshotError(f"slots: found a state of {len(ages)}; allowed: {len(self.last_used)}")
        self.last_used = np.where(ages >= self.w, NEVER, t - ages.astype(np.int64))


def groups(*, slots: int, w: int, seed: bytes) -> NDArray[np.int64]:
    """The group of each slot, 0 to w - 1: int64[S]. The slots in a public order, cut into w runs of S // w, and one
    more in the first S mod w.
    """
    if slots < w:
        raise ParameterError(f"slots: found {slots} for {w} groups; allowed: at least one each")
    order = np.argsort(slot_words(seed, "groups", np.arange(slots)), kind="stable")
    sizes = np.full(w, slots // w)
    sizes[: slots % w] += 1
    group = np.empty(slots, np.int64)
    group[order] = np.repeat(np.arange(w), sizes)
    return group


def slot_words(seed: bytes, purpose: str, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A pseudorandom word for each of these slots, the same for everybody who knows the seed: uint64[len(slots)]."""
    if not isinstance(seed, bytes) or len(seed) != SECRET_BYTES:
        raise ParameterError(f"seed: found {len(seed)} bytes; allowed: {SECRET_BYTES}")
    words = _key(seed).words("permutation", contexts(slots), round=hashlib.sha256(purpose.encode()).digest())
    return words[:, 0].astype(np.uint64)


@lru_cache(maxsize=64)
def _key(seed: bytes) -> Key:
    """A Key refuses bytes that look like no secret; this seed is none, and any will do: so its hash stands for it."""
    return Key(hashlib.sha256(b"murmurate/slots/1\n" + seed).digest(), deployment="public")
