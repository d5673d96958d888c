# SPDX-License-Identifier: Apache-2.0
"""`murmurate peek`, as far as no broker is needed: what is said of every kind of record, and what never is."""

import json
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.cli.peek import _words, describe, full_name, line
from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.stages.stage import Log
from murmurate.errors import UsageError
from murmurate.topics.block import encode_sums
from murmurate.topics.names import stream_id
from tests.agents.audit.test_auditor import PLAN, Tape, honest
from tests.agents.world import TOPIC
from tests.topics.second_wire import GOLDEN


def got(topic: str, value: bytes, key: bytes | None = None) -> Got:
    return Got(Place(topic, 1), 1234, key, value, 0)


def said(topic: str, value: bytes, key: bytes | None = None) -> tuple[dict[str, Any], str]:
    found = describe(PLAN, got(topic, value, key))
    text = line(got(topic, value, key), found)
    assert len(text) <= 80
    assert "\n" not in text
    return found, text


def test_no_record_of_a_whole_run_shows_a_row() -> None:
    tape, kinds = Tape(honest()), set()
    for (topic, _), records in tape.records.items():
        for value in records:
            found, text = said(topic if topic == TOPIC else f"shop.{topic}", value)
            kinds.add(found["kind"])
            shown = orjson.dumps(found).decode() + text
            assert "user-" not in shown
            if topic in (TOPIC, "raw"):
                assert not any(word in shown for word in ("home", "basket", "help"))
    blocks = {"raw block", "reports block", "batch block"}
    assert kinds >= blocks | {"event", "progress", "tick", "round", "settled", "done", "seal", "tally", "release"}


def test_of_counts_in_blocks_it_is_said_how_many_there_are_and_what_announces_them() -> None:
    golden = orjson.loads(GOLDEN.read_bytes())
    found, text = said("shop.tallies", bytes.fromhex(golden["tally block"]))
    assert found == {"kind": "tally block", "round": golden["round digest"], "q": 1, "sequence": 2, "counts": 4}
    assert "tally block   q 1 round 8974620a018e sequence 2 counts 4" in text
    found, text = said("shop.tallies", golden["announced tally"].encode())
    assert (found["kind"], found["cells"], found["counted"]) == ("tally_in_blocks", 5000, 3)
    assert "t 29916540 q 1 received 5" in text


def test_of_exact_sums_it_is_said_how_many_there_are_and_never_one_of_them() -> None:
    block = encode_sums(stream_id("screen"), 2, 179_499_419, np.array([4242, 1234567], np.int64))
    found, text = said("shop.sums", block)
    assert found == {"kind": "sums block", "stream": "screen", "contributor": 2, "t": 179_499_419, "sums": 2}
    assert "4242" not in text
    assert "1234567" not in text


def test_of_an_event_only_its_place_is_said() -> None:
    short, long = said(TOPIC, b"{}"), said(TOPIC, b'{"user": "canary"}' * 100, b"canary")
    assert short == long
    assert short[0] == {"kind": "event"}


def test_of_a_state_record_marks_and_sizes_are_said() -> None:
    record = StateRecord({Log("raw", 1): 7}, {Log("raw", 1): 0}, b"canary", None, {"screen": ("00", 1)})
    found, text = said("shop.state.perturb", record.dump(), state_key(1))
    assert (found["marks"], found["small"], found["snapshot"]) == ({"raw/1": 7}, 6, None)
    assert "Y2FuYXJ5" not in text + orjson.dumps(found).decode()  # base64
    assert said("shop.state.perturb", b"sealed canary", b"1/0/3")[0] == {
        "kind": "snapshot",
        "key": "1/0/3",
        "bytes": 13,
    }


def test_of_a_release_that_knows_nothing_the_names_stand_for_no_numbers() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["unmeasured release"].encode()
    found, text = said("shop.releases", golden)
    assert found["estimate"] == {"mean": None, "present": None}
    assert "decision unmeasured" in text
    assert " ".join(_words({"estimate": found["estimate"]})) == "estimate null"


def test_what_nobody_can_read_is_said_by_its_kind_alone() -> None:
    found, text = said("shop.reports", b"canary canary")
    assert found == {"kind": "unreadable", "reason": "unknown"}
    assert "canary" not in text


@pytest.mark.parametrize("name", ["raw", "shop.raw"])
def test_a_topic_may_be_named_with_and_without_its_deployment(name: str) -> None:
    assert full_name(PLAN, name, fed=False) == "shop.raw"
    assert full_name(PLAN, TOPIC, fed=False) == TOPIC


@pytest.mark.parametrize("name", ["other.raw", "__consumer_offsets", "ticks", ""])
def test_another_topic_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"allowed: shop\.events, raw, rounds"):
        full_name(PLAN, name, fed=False)
