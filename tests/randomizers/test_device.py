# SPDX-License-Identifier: Apache-2.0
"""Device and DeviceArray: golden cases of the ledger, frozen facts, snapshots, memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import (
    GRR,
    FrozenFactsError,
    Key,
    Marginal,
    Padded,
    ParameterError,
    Prefix,
    SnapshotError,
    ValueRefusedError,
    Viewed,
)
from murmurate.randomizers.device import Device
from murmurate.randomizers.devices import DEVICES, DeviceArray, Grant
from murmurate.randomizers.guard import Ask, Refusal
from murmurate.randomizers.identity import partitions
from murmurate.randomizers.layouts import FILLER, NONE
from murmurate.randomizers.ledger import Ledger, Verdict
from murmurate.randomizers.state import dump, load
from murmurate.randomizers.terms import StreamTerms, Terms
from tests.cases import every
from tests.randomizers.guards import DOMAIN, EPSILON, SECRETS, people, secret, terms

GOLDEN = json.loads((Path(__file__).parent.parent / "data" / "ledger.json").read_text(encoding="utf-8"))


def digest(n: int) -> bytes:
    return n.to_bytes(32, "little")


def ask(t: int, n: int, *, slots: int = 4, asked: Any = None, epsilon: float = 1.0, stream: str = "screen") -> Ask:
    return Ask(stream, t, slots, asked, GRR(d=DOMAIN, epsilon=epsilon), digest(n))


def granted(answer: Grant | Refusal) -> Grant:
    assert isinstance(answer, Grant)
    return answer


def filled(division: Any = "population", w: int = 3, users: int = 50) -> DeviceArray:
    array = DeviceArray(terms(division, w, 4), "screen", SECRETS)
    array.enrol(people(users))
    return array


SETS = ("items", 20, 5, 1)
PADDED = Viewed(Padded(SETS, 3), GRR(d=23, epsilon=1.0))


def sets(users: int) -> np.ndarray:
    """Sets of none to five items, and some who have no value."""
    rng = np.random.default_rng(7)
    rows = np.full((users, 5), FILLER, np.uint32)
    for i, size in enumerate(rng.integers(0, 6, users)):
        rows[i, :size] = np.sort(rng.choice(20, size, replace=False))
    rows[::7] = (NONE, 0, 0, 0, 0)
    return rows


def of_sets(n: int = 40, t: int = 5) -> tuple[Terms, DeviceArray, Ask]:
    wide = replace(terms("population", 3, 4), streams=(StreamTerms("screen", 1_000_000, 3, 4, "population", SETS),))
    array = DeviceArray(wide, "screen", SECRETS)
    array.enrol(people(n))
    return wide, array, Ask("screen", t, 4, None, PADDED, digest(t))


# ---- golden cases (spec of LDP-IDS, section 8) ----


def test_the_guard_of_population_division_accepts_exactly_after_w_periods() -> None:
    case = GOLDEN["guard"]["population"]
    for t, accept in case["accept"].items():
        ledger = Ledger(1, w=case["w"], limit_micro=EPSILON, division="population")
        ledger.charge(case["last_report_t"], EPSILON, digest(1), np.ones(1, np.bool_))
        told = ledger.charge(int(t), EPSILON, digest(2), np.ones(1, np.bool_))
        assert bool(told[0] == Verdict.CHARGED) is accept


@every(("t", "key"), [(13, "request_t13_max"), (12, "request_t12_more_max")])
def test_the_guard_of_budget_division_accepts_exactly_what_is_left(t: int, key: str) -> None:
    case = GOLDEN["guard"]["budget"]
    everyone = np.ones(1, np.bool_)
    left = round(case[key] * 1e6)
    for charge, verdict in ((left, Verdict.CHARGED), (left + 1, Verdict.BUDGET)):
        ledger = Ledger(1, w=case["w"], limit_micro=round(case["eps"] * 1e6), division="budget")
        for at, spent in case["spent"]:
            assert ledger.charge(at, round(spent * 1e6), digest(at), everyone)[0] == Verdict.CHARGED
        assert ledger.verdicts(t, charge, digest(99), everyone)[0] == verdict


def test_the_slot_pool_offers_exactly_the_slots_that_may_answer() -> None:
    case = GOLDEN["slot_pool"]
    ledger = Ledger(case["S"], w=case["w"], limit_micro=EPSILON, division="population")
    for t, eligible, used in case["rows"]:
        told = ledger.verdicts(t, EPSILON, digest(t), np.ones(case["S"], np.bool_))
        assert np.flatnonzero(told == Verdict.CHARGED).tolist() == eligible
        mask = np.zeros(case["S"], np.bool_)
        mask[used] = True
        assert (ledger.charge(t, EPSILON, digest(t), mask)[mask] == Verdict.CHARGED).all()


# ---- asking and answering ----


def test_only_members_of_the_period_answer_and_latecomers_wait() -> None:
    array = filled()
    grant = granted(array.charge(ask(5, 1)))
    assert array.answer(grant, np.zeros(30, np.int64)).rows.tolist() == list(range(30))
    with pytest.raises(ValueRefusedError, match="at most 50 users"):
        array.answer(grant, np.zeros(51, np.int64))


def test_users_who_are_no_members_do_not_answer() -> None:
    array = filled()
    grant = granted(array.charge(ask(5, 1)))
    members = np.arange(40) % 3 == 0
    assert array.answer(grant, np.zeros(40, np.int64), members).rows.tolist() == list(range(0, 40, 3))
    with pytest.raises(ValueRefusedError):
        array.answer(grant, np.zeros(40, np.int64), members[:-1])


def test_refused_users_are_counted_by_reason() -> None:
    array = filled()
    mask = np.array([True, False, False, False])
    first = granted(array.charge(ask(5, 1, asked=mask)))
    asked = len(array.rows(first))
    second = granted(array.charge(ask(6, 2)))
    assert dict(second.refused) == {"gap": asked}
    assert len(array.rows(second)) == 50 - asked


def test_a_device_answers_as_its_row_of_the_array_does() -> None:
    array = filled()
    devices = [Device(terms("population", 3, 4), row.tobytes(), SECRETS) for row in array.users]
    values = np.arange(50) % DOMAIN
    question = ask(5, 1, asked=np.array([True, True, False, False]))
    answers = array.answer(granted(array.charge(question)), values)
    sent = [device.answer(question, int(value), now=5) for device, value in zip(devices, values, strict=True)]
    assert [i for i, answer in enumerate(sent) if isinstance(answer, bytes)] == answers.rows.tolist()
    assert [answer for answer in sent if isinstance(answer, bytes)] == [row.tobytes() for row in answers.reports]


def test_values_of_several_words_are_answered_alike_one_by_one_and_after_a_crash() -> None:
    wide, array, asked = of_sets()
    said = array.answer(granted(array.charge(asked)), sets(40))
    assert len(said.rows) == 40
    for row, user, report in zip(said.rows, said.users, said.reports, strict=True):
        device, value = Device(wide, user.tobytes(), SECRETS), tuple(sets(40)[row].tolist())
        assert device.answer(asked, value, now=5) == report.tobytes()
        again = Device.restore(device.snapshot(), wide, user.tobytes(), SECRETS)
        assert again.answer(asked, (FILLER,) * 5, now=5) == report.tobytes()  # the value of the first answer stands
    back = DeviceArray.restore(array.snapshot(), wide, "screen", SECRETS)
    other = np.roll(sets(40), 1, axis=0)
    assert (back.answer(granted(back.charge(asked)), other).reports == said.reports).all()
    assert back.snapshot() == array.snapshot()


@every(
    ("layout", "view"),
    [
        (("row", (2, 3), 1), Marginal(("row", (2, 3), 1), [1])),
        (("bits", 31, 1), Prefix(("bits", 31, 1), 9)),
        (("items", 7, 1, 1), Padded(("items", 7, 1, 1), 2)),
    ],
)
def test_a_row_of_one_word_and_its_none_are_answered_alike(layout: Any, view: Any) -> None:
    streams = (StreamTerms("screen", 1_000_000, 3, 4, "population", layout),)
    narrow, users = replace(terms("population", 3, 4), streams=streams), people(9)
    array = DeviceArray(narrow, "screen", SECRETS)
    array.enrol(users)
    asked = Ask("screen", 5, 4, None, Viewed(view, GRR(d=view.d, epsilon=1.0)), digest(5))
    values = np.array([0, 1, 2, NONE, 3, 4, 5, NONE, 0], np.uint32)
    said = array.answer(granted(array.charge(asked)), values)
    for row, report in zip(said.rows, said.reports, strict=True):
        device = Device(narrow, users[row].tobytes(), SECRETS)
        assert device.answer(asked, int(values[row]), now=5) == report.tobytes()
    back = DeviceArray.restore(array.snapshot(), narrow, "screen", SECRETS)
    assert (back.answer(granted(back.charge(asked)), np.zeros(9, np.uint32)).reports == said.reports).all()


def test_values_of_another_width_than_the_streams_are_refused_and_so_is_their_state() -> None:
    wide, array, asked = of_sets()
    grant = granted(array.charge(asked))
    for values in (np.zeros(40, np.int64), np.zeros((40, 4), np.uint32), np.zeros((41, 5), np.uint32)):
        with pytest.raises(ValueRefusedError, match="each of 5 words"):
            array.answer(grant, values)
    narrow = terms("population", 3, 4)
    with pytest.raises(SnapshotError, match=r"found values of 5 words; .*never migrates"):
        DeviceArray.restore(array.snapshot(), narrow, "screen", SECRETS)
    user = people(1)[0].tobytes()
    device = Device(wide, user, SECRETS)
    device.answer(asked, (FILLER,) * 5, now=5)
    with pytest.raises(SnapshotError, match=r"found values of 5 words; .*never migrates"):
        Device.restore(device.snapshot(), narrow, user, SECRETS)


def test_a_question_over_another_layout_is_refused_by_both_and_costs_nothing() -> None:
    wide, array, asked = of_sets()
    others = [GRR(d=23, epsilon=1.0), Viewed(Padded(("items", 20, 5, 0), 3), GRR(d=23, epsilon=1.0))]
    device = Device(wide, people(1)[0].tobytes(), SECRETS)
    for other in others:
        for answer in (
            array.charge(replace(asked, question=other)),
            device.answer(replace(asked, question=other), 3, now=5),
        ):
            assert isinstance(answer, Refusal)
            assert answer.reason == "mechanism"
            assert "['items', 20, 5, 1]" in answer.why
    assert array.ledger.most_spent_micro == 0


def test_a_device_refuses_a_future_that_its_own_clock_has_not_seen() -> None:
    device = Device(terms("population", 3, 4), people(1)[0].tobytes(), SECRETS)
    refused = device.answer(ask(6, 1), 0, now=5)
    assert isinstance(refused, Refusal)
    assert refused.reason == "future"
    assert isinstance(device.answer(ask(6, 1), 0, now=6), bytes)


def test_a_round_that_was_paid_for_and_failed_gets_its_own_report_when_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, promise = people(1)[0].tobytes(), terms("population", 3, 4)
    device, calm = (Device(promise, user, SECRETS) for _ in range(2))
    for each in (device, calm):
        each.answer(ask(2, 1), 2, now=5)
    with monkeypatch.context() as broken:
        broken.setattr(Key, "draw_one", lambda *args, **named: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            device.answer(ask(5, 2), 1, now=5)
    back = Device.restore(device.snapshot(), promise, user, SECRETS)
    wanted = calm.answer(ask(5, 2), 1, now=5)
    assert isinstance(wanted, bytes)
    for each in (device, back):  # a correction comes too late: the value is that of the first try
        assert each.answer(ask(5, 2), 0, now=5) == wanted


def test_a_value_outside_the_domain_is_an_error_before_anything_is_spent() -> None:
    device = Device(terms("population", 3, 4), people(1)[0].tobytes(), SECRETS)
    with pytest.raises(ValueRefusedError):
        device.answer(ask(5, 1), DOMAIN, now=5)
    assert isinstance(device.answer(ask(5, 1), 0, now=5), bytes)


def test_a_round_over_another_domain_is_refused_whatever_the_value() -> None:
    wide = replace(ask(5, 1), question=GRR(d=2, epsilon=1.0))
    device = Device(terms("population", 3, 4), people(1)[0].tobytes(), SECRETS)
    for value in range(DOMAIN):
        refused = device.answer(wide, value, now=5)
        assert isinstance(refused, Refusal)
        assert refused.reason == "mechanism"


@every("t", [-1, 1 << 53, 1.0, True])
def test_a_period_that_is_none_cannot_be_asked_about(t: Any) -> None:
    with pytest.raises(ParameterError, match="round: t"):
        ask(t, 1)


# ---- who belongs where ----


def test_a_user_of_another_partition_or_stream_is_not_enrolled() -> None:
    streams = (
        StreamTerms("a", 400_000, 3, 4, "population", ("code", DOMAIN)),
        StreamTerms("b", 600_000, 3, 4, "population", ("code", DOMAIN)),
    )
    promise = Terms("shop", EPSILON, streams, partitions=4)
    users = people(400)
    accepted = {
        (stream, partition): DeviceArray(promise, stream, SECRETS, partition=partition).enrol(users)
        for stream in ("a", "b")
        for partition in range(4)
    }
    assert (np.sum(list(accepted.values()), axis=0) == 1).all()  # everybody has exactly one home
    for (_, partition), mask in accepted.items():
        assert (partitions(users[mask], 4) == partition).all()


def test_the_order_of_streams_in_a_file_moves_nobody() -> None:
    one, two = (StreamTerms(name, 500_000, 3, 4, "population", ("code", DOMAIN)) for name in ("a", "b"))
    homes = [
        DeviceArray(Terms("shop", EPSILON, order), "a", SECRETS).enrol(people(100)).tolist()
        for order in ((one, two), (two, one))
    ]
    assert homes[0] == homes[1]


def test_two_streams_never_ask_the_same_user_under_split_users() -> None:
    streams = tuple(StreamTerms(name, 500_000, 3, 4, "population", ("code", DOMAIN)) for name in ("a", "b"))
    for user in people(40):
        device = Device(Terms("shop", EPSILON, streams), user.tobytes(), SECRETS)
        answers = [device.answer(ask(5, 1, stream=name), 0, now=5) for name in ("a", "b")]
        assert sum(isinstance(answer, bytes) for answer in answers) == 1


# ---- snapshots and frozen facts ----


def test_a_snapshot_brings_back_every_byte_of_the_state() -> None:
    for division in ("population", "budget"):
        array = filled(division)
        for t in range(8):
            array.answer(granted(array.charge(ask(t, t, epsilon=0.25))), np.arange(50) % DOMAIN)
        data = array.snapshot()
        back = DeviceArray.restore(data, terms(division, 3, 4), "screen", SECRETS)
        assert back.snapshot() == data


@every("harm", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b[:50] + b"?" + b[51:], lambda b: b[::-1]])
def test_a_torn_or_corrupt_snapshot_is_refused(harm: Any) -> None:
    with pytest.raises(SnapshotError):
        DeviceArray.restore(harm(filled().snapshot()), terms("population", 3, 4), "screen", SECRETS)


def test_a_snapshot_of_another_device_stream_or_partition_is_refused() -> None:
    promise = terms("population", 3, 4)
    one, two = (user.tobytes() for user in people(2))
    with pytest.raises(FrozenFactsError, match="another user"):
        Device.restore(Device(promise, one, SECRETS).snapshot(), promise, two, SECRETS)
    with pytest.raises(SnapshotError, match="allowed: devices"):
        DeviceArray.restore(Device(promise, one, SECRETS).snapshot(), promise, "screen", SECRETS)


BASE = StreamTerms("screen", 500_000, 3, 4, "population", ("code", DOMAIN))
CHANGES: dict[str, Terms] = {
    "epsilon_micro": Terms("shop", EPSILON // 2, (BASE,)),
    "split": Terms("shop", EPSILON, (BASE,), split="budget"),
    "partitions": Terms("shop", EPSILON, (BASE,), partitions=2),
    "keys.slots": Terms("shop", EPSILON, (BASE,), keys=(("slots", "00"),)),
    "keys.split": Terms("shop", EPSILON, (BASE,), keys=(("split", "00"),)),
    "keys.pepper": Terms("shop", EPSILON, (BASE,), keys=(("pepper", "00"),)),
    "streams.screen.share_micro": Terms("shop", EPSILON, (replace(BASE, share_micro=400_000),)),
    "streams.screen.w": Terms("shop", EPSILON, (replace(BASE, w=2),)),
    "streams.screen.slots": Terms("shop", EPSILON, (replace(BASE, slots=8),)),
    "streams.screen.division": Terms("shop", EPSILON, (replace(BASE, division="budget"),)),
    "streams.screen.every_ms": Terms("shop", EPSILON, (replace(BASE, every_ms=500),)),
    "streams.extra.w": Terms("shop", EPSILON, (BASE, replace(BASE, name="extra", w=40))),
}


@every("fact", CHANGES)
def test_a_changed_fact_stops_the_worker_and_says_which(fact: str) -> None:
    array = DeviceArray(Terms("shop", EPSILON, (BASE,)), "screen", SECRETS)
    array.enrol(people(50))
    with pytest.raises(FrozenFactsError, match=fact.replace(".", r"\.")):
        DeviceArray.restore(array.snapshot(), CHANGES[fact], "screen", SECRETS)


def test_facts_that_are_not_frozen_may_change() -> None:
    # The domain is none: a question over the new one is answered, over the old one not, and what was spent stays.
    array = filled()
    before = granted(array.charge(ask(5, 1)))
    array.answer(before, np.zeros(50, np.int64))
    wider = replace(
        terms("population", 3, 4), streams=(StreamTerms("screen", 1_000_000, 3, 4, "population", ("code", 9)),)
    )
    back = DeviceArray.restore(array.snapshot(), wider, "screen", SECRETS)
    assert (back.users == array.users).all()
    over = {d: replace(ask(7, 2), question=GRR(d=d, epsilon=1.0)) for d in (DOMAIN, 9)}
    refused = back.charge(over[DOMAIN])
    assert isinstance(refused, Refusal)
    assert refused.reason == "mechanism"
    assert dict(granted(back.charge(over[9])).refused) == {"gap": 50}
    later = replace(over[9], t=8, digest=digest(3))
    assert back.answer(granted(back.charge(later)), np.full(50, 8)).rows.tolist() == list(range(50))


def test_under_another_randomness_key_a_repeated_round_is_not_answered_for_free() -> None:
    array = filled()
    question = ask(5, 1)
    granted(array.charge(question))
    rotated = SECRETS._replace(randomness=Key(secret("rotated"), deployment="shop"))
    back = DeviceArray.restore(array.snapshot(), terms("population", 3, 4), "screen", rotated)
    assert not granted(back.charge(question)).answering.any()
    same = DeviceArray.restore(array.snapshot(), terms("population", 3, 4), "screen", SECRETS)
    assert granted(same.charge(question)).answering.all()


def test_a_lost_history_keeps_its_periods_closed() -> None:
    array = filled("budget")
    array.close_until(6001)  # periods of one second: the seventh is the first that begins later
    assert dict(granted(array.charge(ask(6, 1))).refused) == {"closed": 50}
    back = DeviceArray.restore(array.snapshot(), terms("budget", 3, 4), "screen", SECRETS)
    for each in (array, back):
        each.close_until(3000)  # an earlier closure takes nothing back
        assert dict(granted(each.charge(ask(6, 3))).refused) == {"closed": 50}
        assert not granted(each.charge(ask(7, 2))).refused


# ---- memory ----


@every(("division", "bytes_a_user"), [("population", 8), ("budget", 96)])
def test_state_is_small(division: Any, bytes_a_user: int) -> None:
    # Even with as many slots as users; pseudonym and value aside.
    users = 4096
    ledger = Ledger(users, w=20, limit_micro=EPSILON, division=division)
    for t in range(40):
        ledger.charge(t, EPSILON // 20, digest(t), np.arange(users) % 20 == t % 20)
    assert sum(array.nbytes for array in ledger.arrays().values()) <= users * bytes_a_user + 64 * 64


def test_terms_that_could_overspend_cannot_be_built() -> None:
    half = replace(BASE, share_micro=600_000)
    with pytest.raises(ParameterError, match="at most 1000000"):
        Terms("shop", EPSILON, (half, replace(half, name="b")))
    with pytest.raises(ParameterError, match="each name once"):
        Terms("shop", EPSILON, (half, half))
    with pytest.raises(ParameterError, match="below one micro-nat"):
        Terms("shop", 1, (half,), split="budget")
    mistakes: dict[str, list[Any]] = {
        "w": [0, 2.5],
        "slots": [0],
        "share_micro": [0],
        "layout": [("code", 1), ("codes", 2), None],
        "every_ms": [0],
        "division": ["both"],
    }
    for field, values in mistakes.items():
        for value in values:
            change: Any = {field: value}
            with pytest.raises(ParameterError, match=field):
                replace(BASE, **change)


def test_state_whose_slots_were_drawn_in_another_way_is_refused_with_the_reason() -> None:
    promise = Terms("shop", EPSILON, (BASE,))
    array = DeviceArray(promise, "screen", SECRETS)
    array.enrol(people(5))
    facts, arrays = load(DEVICES, array.snapshot())
    del facts["terms"]["slots"]  # as state was written before
    with pytest.raises(
        FrozenFactsError, match=r"slots: state none, config 2 \(.* begin a deployment of another name\)"
    ):
        DeviceArray.restore(dump(DEVICES, facts, arrays), promise, "screen", SECRETS)
