# SPDX-License-Identifier: Apache-2.0
"""The curator's stage: the same bytes whatever the order of its logs, complete sums or none, and a state that says no
sum to whoever has no key.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.stages import curate as module
from murmurate.agents.stages.curate import Curate
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan
from murmurate.randomizers import FrozenFactsError, Secrets
from murmurate.randomizers.state import StateForm, load
from murmurate.topics.block import encode_raw, encode_sums
from murmurate.topics.codec import decode_record
from murmurate.topics.curated import Curated
from murmurate.topics.message import Message
from murmurate.topics.messages import Dead, Start
from murmurate.topics.names import stream_id
from tests.agents.central import BLOCKS, FOUND_SPENT, SPENT, VISITS, central, only
from tests.agents.stages.hands import Hand, progress, pseudonyms
from tests.agents.world import FIRST, KEYS, key

SUMS, ROUNDS = Log("sums", 0), Log("rounds", 0)
PLAN = only(SPENT, FOUND_SPENT, BLOCKS)
PERIODS = 6


def stage(plan: Plan = PLAN) -> Hand:
    return Hand(Curate(plan, KEYS.edge))


def begun(name: str, t: int = FIRST) -> Start:
    plan = next(each for each in PLAN.central if each.name == name)
    return Start(stream=name, t=t, config=plan.config, revision=1)


def block(name: str, who: int, t: int, *codes: int) -> bytes:
    measure = PLAN.any_stream(name).measure
    sums = measure.sums(np.array(codes, np.uint32))  # type: ignore[attr-defined]
    return encode_sums(stream_id(name), who, t, sums)


def said(out: Sequence[Out]) -> dict[str, list[Curated]]:
    found: dict[str, list[Curated]] = {}
    for one in out:
        record = decode_record(one.value)
        if isinstance(record, Curated):
            found.setdefault(record.stream, []).append(record)
    return found


LOGS = {
    (each.name, who): [block(each.name, who, t, who, t % 50, 40 * who) for t in range(FIRST - 2, FIRST + PERIODS)]
    for each in PLAN.central for who in range(PLAN.partitions)
}  # fmt: skip
"""What each raw partition says of each stream, in its order; two periods lie before the start."""


def woven(rng: random.Random) -> list[tuple[Log, bytes | Start]]:
    """The records in an order that keeps each partition's own."""
    left: dict[object, list[bytes | Start]] = {at: list(records) for at, records in LOGS.items()}
    left["rounds"] = [begun(each.name) for each in PLAN.central]
    order = [at for at, records in left.items() for _ in records]
    rng.shuffle(order)
    return [(ROUNDS if at == "rounds" else SUMS, left[at].pop(0)) for at in order]


def told(
    records: Sequence[tuple[Log, bytes | Start]], *, torn: random.Random | None = None
) -> dict[str, list[Curated]]:
    """What is said; where the stage dies now and then, from its newest state and the logs again."""
    hand, out, state = stage(), list[Out](), b""
    folded: dict[Log, list[bytes | Start]] = {SUMS: [], ROUNDS: []}
    for log, record in records:
        out += hand.give(log, record)
        folded[log].append(record)
        marks = {at: len(done) for at, done in folded.items()}
        if torn and torn.random() < 0.4:
            state, start = hand.stage.small(), hand.stage.replay_from(marks)
            hand = stage()
            hand.stage.restore(state, ())
            for at, first in start.items():
                hand.ends[at] = first
                assert hand.give(at, *folded[at][first:]) == []  # what is folded again says nothing again
            assert hand.stage.small() == state
            assert hand.stage.replay_from(marks) == start
    return said(out)


@pytest.mark.parametrize("torn", [False, pytest.param(True, marks=pytest.mark.audit)])
def test_the_same_is_said_whatever_the_order_of_partitions_and_of_rounds_and_wherever_it_dies(torn: bool) -> None:
    calm = told(woven(random.Random(1)))
    assert {name: [one.t for one in each] for name, each in calm.items()} == {
        each.name: list(range(FIRST, FIRST + PERIODS)) for each in PLAN.central
    }

    @settings(max_examples=80, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def law(seed: int) -> None:
        rng = random.Random(seed)
        assert told(woven(rng), torn=rng if torn else None) == calm

    law()


def test_a_partition_that_says_nothing_is_awaited_for_ever_and_stops_no_other_stream() -> None:
    hand = stage()
    hand.give(ROUNDS, *(begun(each.name) for each in PLAN.central))
    out = []
    for t in range(FIRST, FIRST + 200):
        for who in range(PLAN.partitions):
            out += hand.give(SUMS, block("found", who, t, 1))
            if who != 1:
                out += hand.give(SUMS, block("spent", who, t, 10))
    found = said(out)
    assert found.keys() == {"found"}
    assert len(found["found"]) == 200
    marks = {SUMS: hand.ends[SUMS], ROUNDS: hand.ends[ROUNDS]}
    assert hand.stage.replay_from(marks) == {SUMS: 1, ROUNDS: hand.ends[ROUNDS]}
    late = said([one for t in range(FIRST, FIRST + 200) for one in hand.give(SUMS, block("spent", 1, t, 10))])
    assert [one.t for one in late["spent"]] == list(range(FIRST, FIRST + 200))
    assert hand.stage.replay_from(marks) == marks


def test_a_partition_whose_clock_began_later_had_no_events_before() -> None:
    hand = stage()
    hand.give(ROUNDS, begun("spent"))
    first = [block("spent", who, t, 10) for t in range(FIRST, FIRST + 4) for who in (0, 2)]
    assert said(hand.give(SUMS, *first)) == {}
    found = said(hand.give(SUMS, block("spent", 1, FIRST + 2, 7)))["spent"]
    assert [one.t for one in found] == [FIRST, FIRST + 1, FIRST + 2]
    other = stage()
    whole = [block("spent", 1, t, *([7] if t == FIRST + 2 else [])) for t in range(FIRST, FIRST + 3)]
    assert (
        said(other.give(SUMS, *first) + other.give(ROUNDS, begun("spent")) + other.give(SUMS, *whole))["spent"] == found
    )


def test_a_period_said_twice_or_again_after_it_was_curated_counts_once() -> None:
    records = woven(random.Random(3))
    again = [one for log, record in records for one in ([(log, record)] * 2 if log == SUMS else [(log, record)])]
    assert told(again) == told(records)
    hand = stage()
    for log, record in records:
        hand.give(log, record)
    changed = [block(name, who, FIRST + t, 500) for name, who in LOGS for t in range(PERIODS)]
    assert hand.give(SUMS, *changed) == []
    torn = stage()
    torn.stage.restore(hand.stage.small(), ())
    assert torn.give(SUMS, *changed) == []


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (encode_sums(stream_id("nobody"), 0, FIRST, np.zeros(2, np.int64)), "foreign"),
        (encode_sums(stream_id("spent"), 3, FIRST, np.zeros(2, np.int64)), "foreign"),
        (encode_sums(stream_id("spent"), 0, FIRST, np.zeros(3, np.int64)), "foreign"),
        (encode_sums(stream_id("found"), 0, FIRST, np.zeros(2, np.int64)), "foreign"),
        (b"rubbish", "unknown"),
        (block("spent", 0, FIRST, 3)[:-1], "torn"),
    ],
)
def test_what_is_no_sums_of_ours_gets_a_dead_letter_and_changes_nothing(record: bytes, reason: str) -> None:
    records = woven(random.Random(5))
    calm, hand, out = told(records), stage(), []
    for log, each in records:
        out += [*hand.give(log, each), *hand.give(SUMS, record)]
    assert said(out) == calm
    letters = [found for one in out if isinstance(found := decode_record(one.value), Dead)]
    assert len(letters) == len(records)
    assert {(each.reason, each.topic) for each in letters} == {(reason, "sums")}
    assert {one.log.topic for one in out} == {"tallies", "dead.edge"}


def test_nobody_can_ask_the_curator_anything() -> None:
    # whatever stands in `rounds`, which others write, or in `sums` and is none; but for the first start of a stream
    records = sorted(woven(random.Random(6)), key=lambda record: record[0] != ROUNDS)
    raw = next(encode_raw(stream_id("spent"), pseudonyms(1), np.array([5], np.int64), np.array([1], np.uint32)))
    asked: list[bytes | Message] = [begun("spent", FIRST + 3), begun("found", 0), progress(10**9), b"rubbish", raw]
    sums = [block(each.name, who, FIRST + 2, 500) for each in PLAN.central for who in range(PLAN.partitions)]
    hand, out = stage(), []
    for number, (log, each) in enumerate(records):
        out += hand.give(log, each)
        if number >= len(PLAN.central):
            assert hand.give(ROUNDS, *asked, *sums) == []
            assert hand.give(SUMS, begun("spent", 0), raw) == []
    assert said(out) == told(records)


# ---- state ----


def busy() -> Hand:
    """A stage with sums in a hold-out, in a leaf, and waiting."""
    hand = stage()
    hand.give(ROUNDS, *(begun(each.name) for each in PLAN.central))
    for who in range(PLAN.partitions):
        hand.give(SUMS, *(block(name, who, FIRST, *[433] * 1001) for name in ("spent", "found", "blocks")))
    return hand


def test_its_state_shows_no_sum() -> None:
    hand, other = busy(), stage()
    other.give(ROUNDS, *(begun(each.name) for each in PLAN.central))
    for who in range(PLAN.partitions):
        other.give(SUMS, *(block(name, who, FIRST) for name in ("spent", "found", "blocks")))
    small = hand.stage.small()
    assert len(small) == len(other.stage.small())  # nor is it longer for larger ones
    for exact in (3 * 1001, 3 * 1001 * 433, 3 * 1001 * 200, 1001 * 433, 1001):
        for form in (exact.to_bytes(8, "little"), exact.to_bytes(4, "little"), exact.to_bytes(8, "big"), b"%d" % exact):
            assert form not in small
    facts, arrays = load(module.FORM, small)
    assert facts.keys() == {"partitions", "keys.randomness", *(f"central.{each.name}" for each in PLAN.central)}
    assert arrays.keys() == {"000000"}
    assert b"threshold" not in small
    assert b"hold-out" not in small


def test_a_state_of_another_form_key_config_or_deployment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = busy().stage.small()
    stage().stage.restore(small, ())
    stranger = KEYS.edge._replace(state=bytes(32))
    with pytest.raises(StateError, match="sealed with another key"):
        Curate(PLAN, stranger).restore(small, ())
    devices = KEYS.edge.devices
    other = KEYS.edge._replace(devices=Secrets(key("other"), devices.slots, devices.split))
    with pytest.raises(FrozenFactsError, match=r"keys\.randomness"):
        Curate(PLAN, other).restore(small, ())
    for plan, named in (
        (only(replace(SPENT, config="0" * 16), FOUND_SPENT, BLOCKS), "config of stream spent: state f"),
        (only(SPENT, FOUND_SPENT), "config of stream blocks"),
        (only(SPENT, FOUND_SPENT, BLOCKS, VISITS), "config of stream visits"),
        (only(SPENT, FOUND_SPENT, BLOCKS, partitions=4), "partitions"),
    ):
        with pytest.raises(FrozenFactsError, match=f"^curate: frozen facts differ: .*{named}") as refused:
            Curate(plan, KEYS.edge).restore(small, ())
        assert str(refused.value).endswith(
            "; allowed: the file and keys as they were, or a deployment of another name (see `murmurate check "
            "--against`), since the same events must not get a second noise"
        )
    with pytest.raises(StateError):
        Curate(replace(PLAN, name="market"), KEYS.edge).restore(small, ())
    for name in ("FORM", "SECRET"):
        with monkeypatch.context() as patch:
            old: StateForm = getattr(module, name)
            patch.setattr(module, name, old._replace(number=old.number + 1))
            with pytest.raises(Exception, match="State never migrates"):
                stage().stage.restore(small, ())


def test_a_changed_byte_of_the_state_is_refused() -> None:
    small = busy().stage.small()
    for at in range(0, len(small), 7):
        torn = small[:at] + bytes([small[at] ^ 1]) + small[at + 1 :]
        with pytest.raises(Exception, match=r".+"):
            stage().stage.restore(torn, ())


def test_two_streams_of_the_same_events_have_noises_of_their_own() -> None:
    twins = only(SPENT, central("twin"))
    hand = Hand(Curate(twins, KEYS.edge))
    out = []
    for name in ("spent", "twin"):
        out += hand.give(ROUNDS, Start(stream=name, t=FIRST, config="0" * 16, revision=1))
        for t in range(FIRST, FIRST + 8):
            sums = SPENT.measure.sums(np.array([5], np.uint32))
            out += hand.give(SUMS, *(encode_sums(stream_id(name), who, t, sums) for who in range(3)))
    one, other = said(out)["spent"], said(out)["twin"]
    assert sum(a.sums == b.sums for a, b in zip(one, other, strict=True)) == 0
