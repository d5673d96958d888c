# SPDX-License-Identifier: Apache-2.0
"""The client-side guard: answers a round at most once and always with the same bytes, and refuses what would overspend.

Contract: whether a user answers depends on the rounds folded and on nothing else: never on a value (ARCHITECTURE rule
7). A user's value for a period is the one of the first answer in it; a correction comes too late (one report per round
and user, I3).  Nodes of a horizon are answered within a session.  Decisions are those of `Ledger`.  Not here: all users
of a raw partition at once (devices.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from murmurate.randomizers.errors import FrozenFactsError, SnapshotError
from murmurate.randomizers.guard import Ask, Guard, Refusal, Secrets, check_facts
from murmurate.randomizers.identity import slots, streams
from murmurate.randomizers.lanes import Bytes
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.ledger import NEVER, REASONS, Verdict
from murmurate.randomizers.question import Value, Values
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.sessions import Sessions
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.randomizers.terms import Terms
from murmurate.randomizers.views import one_or_more, words_of

DEVICE: Final = StateForm("device", 2)
"""The state form of one device's spending and answers."""


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
        self._sessions = {name: Sessions() for name in self._guards}
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
        refusal = guard.refusal(ask) or self._sessions[ask.stream].refusal(ask, guard.ledger)
        if refusal is not None:
            return refusal
        value = ask.question.checked(value)
        self._begin(ask)
        if ask.asked is not None and not ask.asked[self._slots[ask.stream]]:
            return Refusal("slot", f"stream {ask.stream!r}: this user's slot is not asked")
        verdict = Verdict(guard.charge(ask, np.ones(1, np.bool_))[0])
        if verdict in REASONS:
            return Refusal(
                REASONS[verdict], f"stream {ask.stream!r}: period {ask.t} would break the promise ({verdict.name})"
            )
        if isinstance(ask.question, Node):
            return self._answer_node(ask, ask.question, value)
        if verdict is Verdict.CHARGED:
            if self._values[ask.stream][0] != ask.t:
                self._values[ask.stream] = ask.t, value
            self._reports[ask.stream] = b""  # an error below leaves no older round's report for this one
        if not self._reports[ask.stream]:
            draw = self._secrets.randomness.draw_one(self._user, round=ask.digest)
            self._reports[ask.stream] = ask.question.perturb_one(self._values[ask.stream][1], draw)
        return self._reports[ask.stream]

    def look(self, stream: str, t: int, value: Value) -> None:
        """Take note of the user's value in period t, where a session reads it. To be called for each period that a
        session lasts, in order and after the answer about it; what was not looked at is told as no change.
        """
        if stream in self._guards:
            self._sessions[stream].look(t, self._array(stream, value))
            self._sessions[stream].end(t)

    def _begin(self, ask: Ask) -> None:
        """Open the session of a horizon, whichever of its levels this user belongs to and whatever the slot has spent,
        which is no other user's concern.
        """
        node, sessions = ask.question, self._sessions[ask.stream]
        sessions.asked(ask)
        if not isinstance(node, Node) or not node.opens:
            return
        session = sessions.of(node, ask.t)
        if session is not None and not session.begun:
            slot, kind = np.array([self._slots[ask.stream]], np.uint16), self._array(ask.stream, 0)
            session.begin(self._secrets.randomness, self._row, slot, np.ones(1, np.bool_), kind)

    def _answer_node(self, ask: Ask, node: Node, value: Value) -> bytes:
        session = self._sessions[ask.stream].of(node, ask.t)
        assert session is not None  # noqa: S101 - else `refusal` had said so
        one, values = np.ones(1, np.bool_), self._array(ask.stream, value)
        reports = session.answer(node, one, values, self._secrets.randomness, self._row, ask.digest)
        return bytes(reports[0].tobytes())

    @property
    def _row(self) -> Bytes:
        """The user as the only row of an array."""
        return np.frombuffer(self._user, np.uint8).reshape(1, -1)

    def _array(self, stream: str, value: Value) -> Values:
        """A value as an array of the type and shape in which sessions keep values."""
        words = layout(self._guards[stream].stream.layout).words
        return np.array([value], np.int32) if words == 1 else np.array(words_of(value), np.uint32).reshape(1, -1)

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
            arrays |= {f"{name}/{key}": array for key, array in self._sessions[name].arrays().items()}
        sessions = {name: held.facts() for name, held in self._sessions.items()}
        facts = {
            "terms": self._terms.facts(), "user": self._user.hex(), "closed_until_ms": self._closed_until_ms,
            "sessions": sessions,
        }  # fmt: skip
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
                raise other_layout(f"device: stream {name!r}", (len(words),))
            device._values[name] = t, one_or_more(words)
            device._reports[name] = arrays[f"{name}/report"].tobytes()
            own = {key.removeprefix(f"{name}/"): a for key, a in arrays.items() if key.startswith(f"{name}/session/")}
            device._sessions[name].load(facts["sessions"][name], own)
        return device


def other_layout(where: str, shape: tuple[int, ...]) -> SnapshotError:
    """The error of a snapshot whose values have another number of words."""
    found = f"values of {shape[0] if shape else 1} words"
    return SnapshotError(
        f"{where}: found {found}; allowed: those of its layout. State never migrates: "
        "run the version and config that wrote it, or a deployment of a new name"
    )
