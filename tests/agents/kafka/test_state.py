# SPDX-License-Identifier: Apache-2.0
"""A state record comes back as it was written, with its proof; a small state that has grown, whole from its chunks."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.recovery import check_state
from murmurate.agents.kafka.state import MOST_SMALL, Pointer, StateRecord, joined, sealed, split
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.sealing import check_proof
from murmurate.agents.stages.stage import Log
from tests.agents.world import KEYS, TOPIC, deployment

MARKS = {Log("tallies", 0): 7}
RECORD = StateRecord(MARKS, MARKS, b"small", None, {"screen": ("0123456789abcdef", 1)})


def grown(size: int) -> StateRecord:
    return replace(RECORD, small=bytes(i % 251 for i in range(size)))


@pytest.mark.parametrize("size", [0, 5, MOST_SMALL])
def test_a_small_state_stays_in_its_record(size: int) -> None:
    assert split(grown(size), None) == (grown(size), [])
    assert joined(grown(size), []) == grown(size).small


@pytest.mark.parametrize("size", [MOST_SMALL + 1, 2 * MOST_SMALL, 3 * MOST_SMALL + 5])
def test_a_grown_one_comes_back_whole_from_its_chunks(size: int) -> None:
    record, chunks = split(grown(size), (41, RECORD))
    assert max(map(len, chunks)) <= MOST_SMALL
    read = StateRecord.load(record.dump(), "state 0")
    assert read.snapshot is not None
    assert (read.small, read.snapshot.chunks, read.snapshot.offset) == (b"", len(chunks), 42)
    assert joined(read, chunks) == grown(size).small


def test_chunks_never_overwrite_those_of_the_record_before() -> None:
    before, generations = None, list[int]()
    for offset in (10, 20, 30):
        record, _ = split(grown(MOST_SMALL + 1), before)
        assert record.snapshot is not None
        generations.append(record.snapshot.generation)
        before = offset, record
    assert generations == [0, 1, 0]


def test_a_record_reads_back_as_it_was_written_and_its_proof_covers_all_of_it() -> None:
    stage = Perturb(deployment(partitions=1), KEYS.edge, 0, {TOPIC: 1})
    record = sealed(replace(RECORD, snapshot=Pointer(7, 2, 1, MARKS)), stage)
    assert StateRecord.load(record.dump(), "state 0") == record
    check_proof(stage, record.content(), record.proof, "perturb 0")
    pointers: list[dict[str, Any]] = [{"offset": 8}, {"chunks": 1}, {"generation": 0}, {"start": {}}]
    changes: dict[str, list[Any]] = {
        "marks": [{Log("tallies", 0): 8}],
        "start": [{}],
        "small": [b"other"],
        "snapshot": [None, *(replace(Pointer(7, 2, 1, MARKS), **change) for change in pointers)],
        "revisions": [{}],
        "config": [("0" * 16, 0), ("", 1)],
        "ids": [{"tallies": "0" * 32}],
        "proof": [b"", bytes(16)],
    }
    assert changes.keys() == {field.name for field in fields(StateRecord)}
    for name, values in changes.items():
        for value in values:
            forged = StateRecord.load(replace(record, **{name: value}).dump(), "state 0")
            with pytest.raises(StateError, match="perturb 0: found a state record that was changed"):
                check_proof(stage, forged.content(), forged.proof, "perturb 0")


def test_only_a_stage_that_holds_a_key_proves_its_records() -> None:
    stage = Publish(deployment(partitions=1))
    assert sealed(RECORD, stage) == RECORD
    with pytest.raises(StateError):
        check_proof(stage, RECORD.content(), b"a proof", "publish 0")


def test_a_record_of_an_older_layout_is_refused_with_one_line_and_the_remedy() -> None:
    for older in (b'{"schema":"murmurate/state/1","marks":{}}', b'{"schema":"murmurate/state/2","marks":{}}'):
        with pytest.raises(StateError) as caught:
            StateRecord.load(older, "shop.state.perturb 0")
        assert str(caught.value) == (
            "shop.state.perturb 0: found a state record of an older layout; allowed: state record, form 4. State never "
            "migrates: run the version that wrote it, or a deployment of a new name"
        )


@pytest.mark.parametrize("wrong", [b"", b"x", b"MURMFLOW", b"[]", RECORD.dump()[:-1], RECORD.dump()[:-1] + b"\0"])
def test_what_is_no_state_record_is_refused_and_says_where(wrong: bytes) -> None:
    with pytest.raises(StateError, match=r"^shop.state.perturb 0: "):
        StateRecord.load(wrong, "shop.state.perturb 0")


def test_a_state_of_other_logs_or_of_another_config_is_refused_and_says_whose_it_is() -> None:
    def wired(**changes: Any) -> Wiring:
        usual: dict[str, Any] = {"inputs": (Log("tallies", 0),), "revisions": RECORD.revisions}
        return Wiring("shop", "publish", 0, lambda: Publish(deployment()), **(usual | changes))

    check_state(wired(), RECORD)
    for wiring, said in (
        (wired(inputs=(Log("tallies", 1),)), "publish 0: found a state of the logs tallies/0; allowed: of tallies/1"),
        (wired(config=("f" * 16, 1)), "publish 0: the state was written under config fingerprint none; found ffff"),
        (wired(revisions={"screen": ("0" * 16, 1)}), "publish 0: stream 'screen': the state was written under config"),
    ):
        with pytest.raises(StateError) as refusal:
            check_state(wiring, RECORD)
        assert str(refusal.value).startswith(said)


def test_a_state_of_a_topic_that_was_made_again_is_refused_and_one_of_brokers_without_ids_is_not() -> None:
    known, other = {"tallies": "a" * 32}, {"tallies": "b" * 32}
    record = StateRecord.load(replace(RECORD, ids=known).dump(), "state 0")
    for found in (known, {}):
        check_state(wired_to(found), record)
    check_state(wired_to(other), RECORD)
    with pytest.raises(TopicsError, match=r"^publish 0: shop.tallies: was deleted and made again: .* Allowed: "):
        check_state(wired_to(other), record)


def wired_to(ids: dict[str, str]) -> Wiring:
    inputs = (Log("tallies", 0),)
    return Wiring("shop", "publish", 0, lambda: Publish(deployment()), inputs, RECORD.revisions, ids=ids)
