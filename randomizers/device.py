"""The client-side guard: answers a round at most once and always with the same bytes, and refuses what would overspend.

Contract: whether a user answers depends on the rounds folded and on nothing else: never on a value (ARCHITECTURE rule
7). A user's value for a period is the one of the first answer in it; a correction comes too late (one report per round
and user, I3).  `Device` is one user's guard for an app; `DeviceArray` guards all users of a raw partition for one
stream.  Both decide by `Ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.cipher import BLOCK
from murmurate.randomizers.errors import FrozenFactsError, ParameterError, SnapshotError, ValueRefusedError
from murmurate.randomizers.guard import Ask, Guard, Refusal, Secrets, check_facts
from murmurate.randomizers.identity import NO_STREAM, partitions, slots, streams
from murmurate.randomizers.lanes import Bytes
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.ledger import NEVER, REASONS, Ledger, Mask, Verdict
from murmurate.randomizers.question import Reports, Value, Values
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.randomizers.terms import Terms
from murmurate.randomizers.views import one_or_more, words_of

DEVICE: Final = StateForm("device", 1)
DEVICES: Final = StateForm("devices", 1)
"""The state forms of one device's spending and answers, and of those of all users of a stream."""


@dataclass(frozen=True, eq=False)
class Grant:
    """A question that was charged: who answers it, and who was refused and why."""

    ask: Ask
    answering: Mask
    """bool[S]: the slots that answer the round."""
    refused: Mapping[str, int]
    """How many users were refused, by reason."""


class Answers(NamedTuple):
    """The reports of a partition's users, in the order of their rows."""

    rows: NDArray[np.int64]
    users: Bytes
    reports: Reports


class Device:
    """The guard of one user, for an app that answers by itself. Store `snapshot()` before a report leaves."""

    def __init__(self, terms: Terms, user: bytes, secrets: Secrets) -> None:
        self._terms, self._user, self._secrets = terms, bytes(user), secrets
        pseudonym = np.frombuffer(self._user, np.uint8).reshape(1, -1)
        shares = [stream.share_micro for stream in terms.streams]
        mine = int(streams(secrets.split, pseudonym, shares)[0]) if terms.split == "users" else None
        self._guards = {
            stream.name: Guard(terms, stream, 1) for i, stream in enumerate(terms.streams) if mine is None or mine == i
        }
        self._slots = {
            name: int(slots(secrets.slots, pseudonym, guard.stream.slots, name)[0])
            for name, guard in self._guards.items()
        }
        self._values: dict[str, tuple[int, Value]] = dict.fromkeys(self._guards, (NEVER, 0))  # newest t and its value
        self._reports: dict[str, bytes] = dict.fromkeys(self._guards, b"")  # the last report, for a repeated round
        self._closed_until_ms = 0  # also where the user serves no stream that could remember it

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams this user serves."""
        return tuple(self._guards)

    def answer(self, ask: Ask, value: Value, *, now: int) -> bytes | Refusal:
        """The report, or the reason why there is none. `now` is the newest period that has ended by the device's own
        clock.
        """
        guard = self._guards.get(ask.stream)
        if guard is None:
            return Refusal("stream", "asked about a stream that this user does not serve")
        if ask.t > now:
            return Refusal("future", f"stream {ask.stream!r}: asked about period {ask.t}; allowed: at most {now}")
        refusal = guard.refusal(ask)
        if refusal is not None:
            return refusal
        if ask.asked is not None and not ask.asked[self._slots[ask.stream]]:
            return Refusal("slot", f"stream {ask.stream!r}: this user's slot is not asked")
        value = ask.question.checked(value)
        verdict = Verdict(guard.charge(ask, np.ones(1, np.bool_))[0])
        if verdict in REASONS:
            return Refusal(
                REASONS[verdict], f"stream {ask.stream!r}: period {ask.t} would break the promise ({verdict.name})"
            )
        if verdict is Verdict.CHARGED:
            if self._values[ask.stream][0] != ask.t:
                self._values[ask.stream] = ask.t, value
            self._reports[ask.stream] = b""  # an error below leaves no older round's report for this one
        if not self._reports[ask.stream]:
            draw = self._secrets.randomness.draw_one(self._user, round=ask.digest)
            self._reports[ask.stream] = ask.question.perturb_one(self._values[ask.stream][1], draw)
        return self._reports[ask.stream]

    def close_until(self, time_ms: int) -> None:
        """Refuse periods of all streams that begin before this time, as after a lost history of spending."""
        self._closed_until_ms = max(self._closed_until_ms, time_ms)
        for guard in self._guards.values():
            guard.close_until(time_ms)

    def snapshot(self) -> bytes:
        """The whole state of spending and answers, to be stored before a report leaves."""
        arrays = {
            f"{name}/{key}": a for name, guard in self._guards.items() for key, a in guard.ledger.arrays().items()
        }
        for name, (t, value) in self._values.items():
            arrays[f"{name}/value"] = np.array([t, *words_of(value)], np.int64)
            arrays[f"{name}/report"] = np.frombuffer(self._reports[name], np.uint8)
        facts = {"terms": self._terms.facts(), "user": self._user.hex(), "closed_until_ms": self._closed_until_ms}
        return dump(DEVICE, facts, arrays)

    @classmethod
    def restore(cls, data: bytes, terms: Terms, user: bytes, secrets: Secrets) -> Device:
        """The device of a snapshot. FrozenFactsError if it belongs to another user, or was written under other frozen
        facts.
        """
        facts, arrays = load(DEVICE, data)
        device = cls(terms, user, secrets)
        if facts["user"] != device._user.hex():
            raise FrozenFactsError("device: the snapshot is another user's")
        check_facts(facts["terms"], terms, "device")
        device.close_until(facts["closed_until_ms"])
        for name, guard in device._guards.items():
            guard.ledger.load({key.rpartition("/")[2]: a for key, a in arrays.items() if key.startswith(f"{name}/")})
            t, *words = arrays[f"{name}/value"].tolist()
            wanted = layout(guard.stream.layout).words
            if len(words) != wanted and t != NEVER:
                raise _other_layout(f"device: stream {name!r}", (len(words),))
            device._values[name] = t, one_or_more(words)
            device._reports[name] = arrays[f"{name}/report"].tobytes()
        return device


class DeviceArray:
    """The guards of all users of one raw partition, for one stream: decisions by slot, reports in one array."""

    def __init__(self, terms: Terms, stream: str, secrets: Secrets, *, partition: int = 0) -> None:
        found = terms.stream(stream)
        if found is None:
            raise ParameterError(f"stream: found {stream!r}; allowed: {', '.join(s.name for s in terms.streams)}")
        if not 0 <= partition < terms.partitions:
            raise ParameterError(f"partition: found {partition}; allowed: 0 to {terms.partitions - 1}")
        self._terms, self._secrets, self._partition = terms, secrets, partition
        self._index = terms.streams.index(found)
        self._guard = Guard(terms, found, found.slots)
        self._size = 0
        self._users = np.zeros((0, BLOCK), np.uint8)
        self._slot = np.zeros(0, np.uint16)
        words = layout(found.layout).words
        self._wide = (words,) if words > 1 else ()
        self._kind = np.dtype(np.uint32 if self._wide else np.int32)
        self._value = np.zeros((0, *self._wide), self._kind)  # the value of each user's newest answer,
        self._value_t = np.zeros(0, np.int64)  # and the period it was for
        self._in_slot = np.zeros(found.slots, np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def users(self) -> Bytes:
        """Pseudonyms in the order of their rows: uint8[n, 16]."""
        return self._users[: self._size]

    @property
    def ledger(self) -> Ledger:
        """What each slot has spent."""
        return self._guard.ledger

    def enrol(self, users: Bytes) -> Mask:
        """Add users as the next rows, in this order. Whoever hashes to another partition or stream is refused:
        bool[n] accepted.

        The caller enrols a user once.
        """
        mine = partitions(users, self._terms.partitions) == self._partition
        if self._terms.split == "users":
            shares = [stream.share_micro for stream in self._terms.streams]
            served = streams(self._secrets.split, users, shares)
            mine &= (served == self._index) & (served != NO_STREAM)
        new = users[mine]
        slot = slots(self._secrets.slots, new, self._guard.stream.slots, self._guard.stream.name)
        size = self._size + len(new)
        if size > len(self._users):
            room = max(size, len(self._users) * 5 // 4, 1024) - len(self._users)
            self._users = np.concatenate((self._users, np.zeros((room, BLOCK), np.uint8)))
            self._slot = np.concatenate((self._slot, np.zeros(room, np.uint16)))
            self._value = np.concatenate((self._value, np.zeros((room, *self._wide), self._kind)))
            self._value_t = np.concatenate((self._value_t, np.full(room, NEVER, np.int64)))
        self._users[self._size : size] = new
        self._slot[self._size : size] = slot
        self._in_slot += np.bincount(slot, minlength=len(self._in_slot))
        self._size = size
        return np.asarray(mine)

    def charge(self, ask: Ask) -> Grant | Refusal:
        """Decide and book, slot by slot, when the round is folded and before its closing is awaited."""
        refusal = self._guard.refusal(ask)
        if refusal is not None:
            return refusal
        asked = np.ones(self._guard.stream.slots, np.bool_) if ask.asked is None else ask.asked
        verdicts = self._guard.charge(ask, asked)
        answering = (verdicts == Verdict.CHARGED) | (verdicts == Verdict.REPEATED)
        refused = {reason: int(self._in_slot[verdicts == verdict].sum()) for verdict, reason in REASONS.items()}
        return Grant(ask, answering, {reason: n for reason, n in refused.items() if n})

    def rows(self, grant: Grant, members: Mask | None = None) -> NDArray[np.int64]:
        """The rows that answer, among the members (all users): int64[m]."""
        answering = grant.answering[self._slot[: self._size]]
        return np.flatnonzero(answering if members is None else answering[: len(members)] & members)

    def answer(self, grant: Grant, values: Values, members: Mask | None = None) -> Answers:
        """The reports to a question that was charged.

        values: int[n] or uint32[n, words], one for each of the first n users. members: bool[n], who of them is in the
        population of this period; those enrolled later are not.
        """
        n, shape = len(values), values.shape[1:]
        if shape != self._wide or n > self._size or (members is not None and members.shape != (n,)):
            raise ValueRefusedError(
                f"values: found {list(values.shape)}; allowed: one for each of at most {self._size} users"
                + (f", each of {self._wide[0]} words" if self._wide else "")
            )
        t = grant.ask.t
        rows = self.rows(grant, np.ones(len(values), np.bool_) if members is None else members)
        at = slice(len(rows)) if len(rows) == len(values) else rows  # where all answer, no copies
        users, answered, before = self._users[at], values[at].astype(self._kind), self._value_t[at]
        repeated, newer = before == t, before < t
        if repeated.any():
            answered[repeated] = self._value[at][repeated]
        reports = grant.ask.question.perturb(answered, self._secrets.randomness.draw(users, round=grant.ask.digest))
        if newer.all():
            self._value[at], self._value_t[at] = answered, t
        else:
            self._value[rows[newer]], self._value_t[rows[newer]] = answered[newer], t
        return Answers(rows, users, reports)

    def close_until(self, time_ms: int) -> None:
        """Refuse periods that begin before this time, as after a lost history of spending."""
        self._guard.close_until(time_ms)

    def snapshot(self) -> bytes:
        """The whole state of spending and answers; the stage encrypts it, since it holds values."""
        arrays = self._guard.ledger.arrays() | {
            "users": self.users,
            "value": self._value[: self._size],
            "value_t": self._value_t[: self._size],
        }
        facts = {
            "terms": self._terms.facts(),
            "stream": self._guard.stream.name,
            "partition": self._partition,
            "randomness": self._secrets.randomness.fingerprint,
        }
        return dump(DEVICES, facts, arrays)

    @classmethod
    def restore(cls, data: bytes, terms: Terms, stream: str, secrets: Secrets, *, partition: int = 0) -> DeviceArray:
        """The array of a snapshot. FrozenFactsError if it belongs to others, or was written under other frozen facts.

        Under another randomness key a repeated round would get other bytes, so it has to be paid for again.
        """
        facts, arrays = load(DEVICES, data)
        devices = cls(terms, stream, secrets, partition=partition)
        if (facts["stream"], facts["partition"]) != (stream, partition):
            raise FrozenFactsError(f"stream {stream!r}, partition {partition}: the snapshot is another's")
        check_facts(facts["terms"], terms, f"stream {stream!r}")
        held = arrays["value"]
        if held.shape[1:] != devices._wide or held.dtype != devices._kind:
            raise _other_layout(f"stream {stream!r}", held.shape[1:])
        accepted = devices.enrol(arrays["users"])
        devices._value[: devices._size] = arrays["value"][accepted]
        devices._value_t[: devices._size] = arrays["value_t"][accepted]
        devices._guard.ledger.load({name: arrays[name] for name in devices._guard.ledger.arrays()})
        if facts["randomness"] != secrets.randomness.fingerprint:
            devices._guard.ledger.forget_answers()
        return devices


def _other_layout(where: str, shape: tuple[int, ...]) -> SnapshotError:
    found = f"values of {shape[0] if shape else 1} words"
    return SnapshotError(
        f"{where}: found {found}; allowed: those of its layout. State never migrates: "
        "run the version and config that wrote it, or a deployment of a new name"
    )
