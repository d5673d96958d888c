# SPDX-License-Identifier: Apache-2.0
"""Changed frozen facts shut every slot until the longest window has passed; a second change forgets no first one."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Protocol

import pytest

from murmurate.randomizers import GRR, FrozenFactsError, Refusal
from murmurate.randomizers.device import Device
from murmurate.randomizers.devices import DeviceArray, Grant
from murmurate.randomizers.guard import Ask
from murmurate.randomizers.reopening import reopen_device, reopen_devices
from murmurate.randomizers.terms import StreamTerms, Terms
from tests.cases import every
from tests.randomizers.guards import DOMAIN, EPSILON, SECRETS, people
from tests.randomizers.test_device import BASE, CHANGES, ask, granted

USERS = people(50)
WHOLE = replace(BASE, share_micro=1_000_000)


@every("fact", CHANGES)
def test_a_change_closes_every_slot_until_the_longest_window_has_passed(fact: str) -> None:
    array = DeviceArray(Terms("shop", EPSILON, (BASE,)), "screen", SECRETS)
    array.enrol(USERS)
    granted(array.charge(ask(9, 1)))
    promise = CHANGES[fact]
    stream = promise.stream("screen")
    assert stream is not None
    longest_ms = max(3000, *(each.w * each.every_ms for each in promise.streams))
    first = -(-(10_000 + longest_ms) // stream.every_ms)
    limit = promise.limit_micro("screen") / 1e6
    # the second: a change that is said to hold from before the newest charge holds from its end
    for opened_ms in (10_000, 4000):
        back = reopen_devices(array.snapshot(), promise, "screen", SECRETS, opened_ms=opened_ms)
        for t in range(first - 3, first):
            assert not granted(back.charge(ask(t, 100 + t, slots=stream.slots, epsilon=limit))).answering.any()
        again = DeviceArray.restore(back.snapshot(), promise, "screen", SECRETS)  # the closure survives a crash
        assert not granted(again.charge(ask(first - 1, 300, slots=stream.slots, epsilon=limit))).answering.any()
        for each in (back, again):
            assert granted(each.charge(ask(first, 200, slots=stream.slots, epsilon=limit))).answering.all()


def test_what_has_not_changed_comes_back_as_it_was_and_nobody_elses_state_is_taken() -> None:
    terms = Terms("shop", EPSILON, (WHOLE,))
    array = DeviceArray(terms, "screen", SECRETS)
    array.enrol(USERS)
    granted(array.charge(ask(9, 1)))
    user = USERS[0].tobytes()
    device = Device(terms, user, SECRETS)
    assert isinstance(device.answer(ask(9, 1), 0, now=9), bytes)
    assert reopen_devices(array.snapshot(), terms, "screen", SECRETS, opened_ms=0).snapshot() == array.snapshot()
    assert reopen_device(device.snapshot(), terms, user, SECRETS, opened_ms=0).snapshot() == device.snapshot()
    other = Terms("shop", EPSILON, (BASE, replace(BASE, name="other")), partitions=2)
    with pytest.raises(FrozenFactsError, match="another's"):
        reopen_devices(array.snapshot(), other, "other", SECRETS, opened_ms=0)
    with pytest.raises(FrozenFactsError, match="another's"):
        reopen_devices(array.snapshot(), other, "screen", SECRETS, opened_ms=0, partition=1)
    with pytest.raises(FrozenFactsError, match="another user's"):
        reopen_device(device.snapshot(), other, USERS[1].tobytes(), SECRETS, opened_ms=0)


def test_a_second_change_of_facts_does_not_forget_the_first_closure() -> None:
    # w = 100, charged at 10, changed at 11: shut until 111. A second change at 12, to a short window, opens nothing.
    long, short, shorter = (Terms("shop", EPSILON, (replace(WHOLE, w=w),)) for w in (100, 2, 1))
    user = USERS[0].tobytes()
    array, device = DeviceArray(long, "screen", SECRETS), Device(long, user, SECRETS)
    array.enrol(USERS)
    assert granted(array.charge(ask(10, 1))).answering.all()
    assert isinstance(device.answer(ask(10, 1), 0, now=10), bytes)
    for changed_at, terms in ((11, short), (12, shorter)):
        array = reopen_devices(array.snapshot(), terms, "screen", SECRETS, opened_ms=1000 * changed_at)
        device = reopen_device(device.snapshot(), terms, user, SECRETS, opened_ms=1000 * changed_at)
    for t in (15, 50, 110):
        assert not granted(array.charge(ask(t, t))).answering.any()
        refusal = device.answer(ask(t, t), 0, now=t)
        assert isinstance(refusal, Refusal)
        assert refusal.reason == "closed"
    assert granted(array.charge(ask(111, 111))).answering.all()
    assert isinstance(device.answer(ask(111, 111), 0, now=111), bytes)


# ---- every sequence of questions and changes of one user, against windows that are looked at one by one ----


class Paid(NamedTuple):
    """A whole epsilon, for a period that begins at `start`, under the `era`-th terms."""

    start: int
    era: int


class User(Protocol):
    """One user behind a guard, as bytes between two steps."""

    terms: tuple[Terms, ...]
    """What may be changed to."""

    def begin(self, terms: Terms) -> bytes:
        """Nothing has been asked."""
        ...

    def change(self, data: bytes, terms: Terms, now: int) -> bytes:
        """Other facts hold from now on."""
        ...

    def asked(self, data: bytes, terms: Terms, now: int, number: int) -> tuple[bytes, list[int]]:
        """Each stream asks for everything, about the period that begins now, if one does: and when it was answered."""
        ...


def question(stream: StreamTerms, t: int, number: int) -> Ask:
    return Ask(stream.name, t, stream.slots, None, GRR(d=DOMAIN, epsilon=1.0), number.to_bytes(32, "little"))


def terms_of(*streams: StreamTerms) -> Terms:
    return Terms("shop", EPSILON, streams)


A, B = (StreamTerms(name, 1_000_000, 5, 1, "population", ("code", DOMAIN), 1) for name in ("a", "b"))


class OfAnArray:
    """In a DeviceArray of stream a. Time is in ms: periods are of one or two."""

    terms = (
        terms_of(A),  # five periods of 1
        terms_of(replace(A, w=1)),
        terms_of(replace(A, w=1, every_ms=2, division="budget")),
    )

    def begin(self, terms: Terms) -> bytes:
        array = DeviceArray(terms, "a", SECRETS)
        array.enrol(USERS[:1])
        return array.snapshot()

    def change(self, data: bytes, terms: Terms, now: int) -> bytes:
        return reopen_devices(data, terms, "a", SECRETS, opened_ms=now).snapshot()

    def asked(self, data: bytes, terms: Terms, now: int, number: int) -> tuple[bytes, list[int]]:
        (stream,) = terms.streams
        if now % stream.every_ms:
            return data, []
        array = DeviceArray.restore(data, terms, "a", SECRETS)
        grant = array.charge(question(stream, now // stream.every_ms, number))
        assert isinstance(grant, Grant)
        return array.snapshot(), [now] if grant.answering.all() else []


class OfADevice:
    """In a Device. The user serves a, or b, or (under small shares) no stream at all."""

    terms = (
        terms_of(A),
        terms_of(replace(B, w=1)),
        terms_of(replace(A, share_micro=1, w=1)),  # as good as nobody's
    )
    user = USERS[0].tobytes()

    def begin(self, terms: Terms) -> bytes:
        return Device(terms, self.user, SECRETS).snapshot()

    def change(self, data: bytes, terms: Terms, now: int) -> bytes:
        return reopen_device(data, terms, self.user, SECRETS, opened_ms=now).snapshot()

    def asked(self, data: bytes, terms: Terms, now: int, number: int) -> tuple[bytes, list[int]]:
        device, paid = Device.restore(data, terms, self.user, SECRETS), []
        for stream in terms.streams:
            t, rest = divmod(now, stream.every_ms)
            if not rest and isinstance(device.answer(question(stream, t, number), 0, now=now), bytes):
                paid.append(now)
        return device.snapshot(), paid


def window_ms(terms: Terms) -> int:
    return max(stream.w * stream.every_ms for stream in terms.streams)


@pytest.mark.parametrize("user", [OfAnArray(), OfADevice()], ids=["an array", "a device"])
def test_no_window_of_any_terms_holds_charges_from_both_sides_of_a_change(user: User) -> None:
    # At each of six moments: everybody asks, or the facts change to any others. No two charges lie in one window of
    # any terms that were in force between them; and some who wait long enough are answered again.
    seen = across = 0

    def explore(now: int, data: bytes, eras: list[Terms], changed: list[int], paid: list[Paid]) -> None:
        nonlocal seen, across
        seen += 1
        if now == 6:
            return
        terms = eras[-1]
        after, came = user.asked(data, terms, now, seen)
        mine = [Paid(start, len(eras) - 1) for start in came]
        for one in mine:
            across += any(before.era < one.era for before in paid)
            for before in paid:
                between = eras[before.era :]
                assert one.start - before.start >= max(map(window_ms, between)), (paid, changed, one)
        explore(now + 1, after, eras, changed, [*paid, *mine])
        for other in user.terms:
            if other is not terms:
                explore(now + 1, user.change(data, other, now), [*eras, other], [*changed, now], paid)

    for first in user.terms[:2]:
        explore(0, user.begin(first), [first], [], [])
    kinds = len(user.terms)
    assert seen == 2 * sum(kinds**depth for depth in range(7))
    assert across > 0
