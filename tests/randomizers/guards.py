# SPDX-License-Identifier: Apache-2.0
"""A world of rounds around DeviceArray and Device, with a brute-force model beside it; shared by several tests.

Every check is an assertion about what left the devices, made without the ledger's own arithmetic: lists and sums over
them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from murmurate.randomizers import GRR, Key
from murmurate.randomizers.device import Device
from murmurate.randomizers.devices import DeviceArray, Grant
from murmurate.randomizers.guard import Ask, Refusal, Secrets
from murmurate.randomizers.terms import Division, StreamTerms, Terms

EPSILON = 1_000_000
DOMAIN = 3


def secret(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


SECRETS = Secrets(*(Key(secret(name), deployment="shop") for name in ("randomness", "slots", "split")))


def terms(division: Division, w: int, slots: int) -> Terms:
    return Terms("shop", EPSILON, (StreamTerms("screen", 1_000_000, w, slots, division, ("code", DOMAIN)),))


def people(n: int) -> np.ndarray:
    return np.frombuffer(b"".join(secret(f"user {i}")[:16] for i in range(n)), np.uint8).reshape(n, 16)


@dataclass
class World:
    """One stream, its devices twice (with different values), two single devices, and the truth about what was spent."""

    division: Division
    w: int
    slots: int
    users: int = 6
    charges: dict[int, list[tuple[int, int, bytes]]] = field(default_factory=lambda: defaultdict(list))  # per slot
    sent: dict[tuple[int, bytes], bytes] = field(default_factory=dict)  # (user, round) -> the one report
    log: list[tuple[Ask, int]] = field(default_factory=list)  # rounds folded, and a seed of the values at that time
    array_type: type[DeviceArray] = DeviceArray

    def __post_init__(self) -> None:
        self.terms = terms(self.division, self.w, self.slots)
        self.pseudonyms = people(self.users)
        self.array, self.twin = self._new(), self._new()
        self.devices = [Device(self.terms, self.pseudonyms[i].tobytes(), SECRETS) for i in range(2)]
        self.slot_of = self.array._slot[: self.users].tolist()
        self.saved = self.array.snapshot()
        self.saved_at, self.crashed_at = 0, (0, -1)

    def _new(self) -> DeviceArray:
        array = self.array_type(self.terms, "screen", SECRETS)
        assert array.enrol(self.pseudonyms).all()
        return array

    def ask(self, t: int, asked: list[bool], epsilon_micro: int) -> Ask:
        digest = hashlib.sha256(repr((len(self.log), t, asked, epsilon_micro)).encode()).digest()
        mechanism = GRR(d=DOMAIN, epsilon=epsilon_micro / 1e6)
        return Ask("screen", t, self.slots, np.array(asked), mechanism, digest)

    def fold(self, ask: Ask, seed: int) -> None:
        """Put the question to everybody and check all that can be seen."""
        expected = [self.model(ask, slot) for slot in range(self.slots)]
        grant, other = self.array.charge(ask), self.twin.charge(ask)
        assert isinstance(grant, Grant)
        assert isinstance(other, Grant)
        assert grant.answering.tolist() == [word in ("pays", "repeats") for word in expected]
        assert grant.answering.tolist() == other.answering.tolist()  # I5: whatever the values
        assert dict(grant.refused) == dict(other.refused)
        for slot, word in enumerate(expected):
            if word == "pays":
                self.charges[slot].append((ask.t, ask.question.epsilon_micro, ask.digest))
        values = self.values(seed)
        answers = self.array.answer(grant, values)
        mirrored = self.twin.answer(other, (values + 1) % DOMAIN)
        assert answers.rows.tolist() == mirrored.rows.tolist()
        assert answers.reports.shape == mirrored.reports.shape
        for row, report in zip(answers.rows.tolist(), answers.reports, strict=True):
            known = self.sent.setdefault((row, ask.digest), report.tobytes())
            assert known == report.tobytes(), "a second, different report of one user for one round"  # I3
        for i, device in enumerate(self.devices):
            answer = device.answer(ask, int(values[i]), now=1 << 40)
            word = expected[self.slot_of[i]]
            if isinstance(answer, Refusal):
                assert answer.reason == {"silent": "slot"}.get(word, word)
            else:
                assert word in ("pays", "repeats")
                assert answer == self.sent[i, ask.digest]
        self.log.append((ask, seed))
        self.check()

    def values(self, seed: int) -> np.ndarray:
        return np.array([(seed >> i) % DOMAIN for i in range(self.users)])

    def model(self, ask: Ask, slot: int) -> str:
        """What the promise says about one slot, by looking at every window."""
        charges, charge = self.charges[slot], ask.question.epsilon_micro
        assert ask.asked is not None
        if not ask.asked[slot]:
            return "silent"
        if charges and charges[-1][2] == ask.digest:
            return "repeats"
        if charges and ask.t < charges[-1][0]:
            return "closed"
        if charge > EPSILON:
            return "budget"
        if self.division == "population":
            return "gap" if any(abs(ask.t - t) < self.w for t, _, _ in charges) else "pays"
        for start in range(ask.t - self.w + 1, ask.t + 1):
            if charge + sum(c for t, c, _ in charges if start <= t < start + self.w) > EPSILON:
                return "budget"
        return "pays"

    def check(self) -> None:
        """I1 and I2 over everything that was ever charged."""
        for charges in self.charges.values():
            times = sorted({t for t, _, _ in charges})
            if self.division == "population":
                assert all(later - earlier >= self.w for earlier, later in pairwise(times))
                assert len(times) == len(charges)
            for start in times:
                assert sum(c for t, c, _ in charges if start <= t < start + self.w) <= EPSILON

    def save(self) -> None:
        self.saved, self.saved_at = self.array.snapshot(), len(self.log)

    def crash(self) -> None:
        """The array and a device die; both come back from what was stored, the array by folding the log since then."""
        if self.crashed_at == (self.saved_at, len(self.log)):
            return  # straight after a crash the same bytes and the same rounds give the same again
        self.crashed_at = self.saved_at, len(self.log)
        before = self.array.snapshot()
        self.array = self.array_type.restore(self.saved, self.terms, "screen", SECRETS)
        for ask, seed in self.log[self.saved_at :]:
            grant = self.array.charge(ask)
            assert isinstance(grant, Grant)
            self.array.answer(grant, self.values(seed))  # outputs suppressed
        assert self.array.snapshot() == before  # I8: nothing rolled back, nothing forgotten
        pseudonym = self.pseudonyms[0].tobytes()
        self.devices[0] = Device.restore(self.devices[0].snapshot(), self.terms, pseudonym, SECRETS)
