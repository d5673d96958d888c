# SPDX-License-Identifier: Apache-2.0
"""Sets, vectors, rows and strings through every stage: exact, the same whatever goes wrong, and nothing beyond the edge
is larger or smaller for any value.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.audit.auditor import Audit, audit
from murmurate.agents.cli.peek import describe
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.feed import _event_values
from murmurate.agents.replay.run import Replay
from murmurate.agents.replay.source import Batch
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.agents.stages.door import Door
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED, RawBlock, ReportBlock, encode_raw
from murmurate.topics.codec import decode_record
from murmurate.topics.domains import Bits, Items, Signed
from murmurate.topics.events import EventReader
from murmurate.topics.names import stream_id
from tests.agents.stages.hands import RAW, ROUNDS, perturb, progress, pseudonyms, settled, start
from tests.agents.test_value_independence import beyond
from tests.agents.wide import DOMAINS, ITEMS, WRONG, Told, crowd, plan, said, stream
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Crashes,
    Event,
    arrivals,
    calm_and_torn,
    deployment,
    played,
)
from tests.topics.test_frames import MALFORMED

USERS, PERIODS = 28, 3
UNTIL = (FIRST + PERIODS) * SECOND + 1000


pytestmark = pytest.mark.usefixtures("frequent_snapshots")


def run(of: Plan, events: Sequence[Event], **how: Any) -> Runtime:
    return played(of, arrivals(events, until=UNTIL), **how)


def audited(runtime: Runtime, of: Plan) -> Audit:
    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]

    return audit(of, KEYS.edge.devices, read, {TOPIC: 2})


def doors(runtime: Runtime) -> list[Door]:
    return [task.stage for task in runtime.of_stage["door"] if isinstance(task.stage, Door)]


def raw(runtime: Runtime) -> list[RawBlock]:
    return [block for value in runtime.logs.all("raw") if isinstance(block := decode_record(value), RawBlock)]


@pytest.mark.parametrize(("kind", "carry_ms"), list(zip(DOMAINS, itertools.cycle([None, 2000]), strict=False)))
def test_the_logs_hold_exactly_what_values_of_every_kind_must_say(kind: str, carry_ms: int | None) -> None:
    of = plan(kind, carry_ms=carry_ms)
    runtime = run(of, crowd(kind, users=USERS, periods=PERIODS, seed=1), step=100)
    releases = [orjson.loads(record) for record in runtime.releases()]
    assert [release["t"] for release in releases] == list(range(FIRST, FIRST + PERIODS))
    found = audited(runtime, of)
    assert found.holds, found.where
    assert found.reports > USERS
    assert {block.words for block in raw(runtime)} == {DOMAINS[kind].words}


@pytest.mark.parametrize("kind", DOMAINS)
def test_no_crash_and_no_interleaving_changes_a_byte(kind: str) -> None:
    of, events = plan(kind, carry_ms=2000), crowd(kind, users=USERS, periods=PERIODS, seed=2)
    calm, torn = calm_and_torn(partial(run, of, events), kind)
    assert torn.releases() == calm.releases()
    found = audited(torn, of)
    assert found.holds, found.where


@pytest.mark.parametrize("kind", DOMAINS)
def test_events_that_come_again_change_no_report_and_a_corrected_one_only_its_users(kind: str) -> None:
    of, events = plan(kind, carry_ms=0), crowd(kind, users=USERS, periods=PERIODS, seed=11)
    runtime = run(of, events)
    again = run(of, sorted([*events, *events], key=lambda event: (event.arrives, event.user)))
    assert again.logs.all("reports") == runtime.logs.all("reports")
    assert again.releases() == runtime.releases()
    rng = random.Random(12)
    corrected = [*events, *(replace(e, value=said(kind, rng)) for e in events if e.user == "user-5")]
    other = run(of, sorted(corrected, key=lambda event: (event.arrives, event.user)))
    assert beyond(other) == beyond(runtime)
    changed = Counter(reports_of(other)) - Counter(reports_of(runtime))
    assert sum(changed.values()) <= PERIODS  # one a period at most: nobody else's


def reports_of(runtime: Runtime) -> list[bytes]:
    found = [block for value in runtime.logs.all("reports") if isinstance(block := decode_record(value), ReportBlock)]
    return [report.tobytes() for block in found for report in block.reports]


@pytest.mark.parametrize(("kind", "carry_ms"), list(zip(DOMAINS, itertools.cycle([0, None]), strict=False)))
def test_nothing_beyond_the_edge_is_larger_or_smaller_for_any_value(kind: str, carry_ms: int | None) -> None:
    of = plan(kind, carry_ms=carry_ms)
    events = crowd(kind, users=USERS, periods=PERIODS, seed=3)
    valid = run(of, events)
    outside = beyond(valid)
    assert len(outside[Log("releases", 0)]) == PERIODS
    sizes = [(len(block.users), block.words) for block in raw(valid)]
    wrong = WRONG[kind]
    for some in (
        [replace(event, value=wrong[0]) if event.user == "user-7" else event for event in events],
        [replace(event, value=wrong[i % len(wrong)]) for i, event in enumerate(events)],
    ):
        other = run(of, some)
        assert beyond(other) == outside
        assert [(len(block.users), block.words) for block in raw(other)] == sizes  # raw, too, is as large
        told = {reason for door in doors(other) for (_, reason), n in door.counts.items() if n}
        assert told <= {"type", "value", "field"}
        assert told
    assert all((block.values == REFUSED).all() for block in raw(other))
    broken = itertools.cycle(MALFORMED.values())
    records = [
        out if out.log.topic != TOPIC else Out(out.log, _with(orjson.loads(out.value), next(broken)))
        for out in arrivals(events, until=UNTIL)
    ]
    other = played(of, records)
    assert beyond(other) == outside
    assert all((block.values == REFUSED).all() for block in raw(other))
    assert [(len(block.users), block.words) for block in raw(other)] == sizes


def _with(event: dict[str, Any], value: bytes) -> bytes:
    """The record with these bytes for a value, in between."""
    return b'{"user": %b, "value": %b, "time": %d}' % (orjson.dumps(event["user"]), value, event["time"])


def test_of_sets_with_too_many_items_each_user_keeps_the_same_in_all_periods_and_the_edge_counts_them() -> None:
    of = plan("sets", carry_ms=0)
    events = crowd("sets", users=USERS, periods=PERIODS, seed=4, value=lambda user: list(ITEMS) if user % 2 else [])
    runtime = run(of, events)
    kept: dict[bytes, set[tuple[int, ...]]] = {}
    for block in raw(runtime):
        for user, row in zip(block.users, block.values.tolist(), strict=True):
            kept.setdefault(user.tobytes(), set()).add(tuple(row))
    assert len(kept) == USERS
    assert all(len(rows) == 1 for rows in kept.values())
    sets = [next(iter(rows)) for rows in kept.values()]
    full = [row for row in sets if row[0] != 0x7FFFFFFF]
    assert len(full) == USERS // 2
    dropped = [next(item for item in range(4) if item not in row) for row in full]
    assert len(set(dropped)) >= 2  # which one goes is each user's own
    cut = sum(door.counts["it", "cut"] for door in doors(runtime))
    assert cut == sum(len(event.value) == 4 for event in events) > 0


CANARY = "canary-value-Zq8-canary-value-Zq"


def test_no_canary_among_strings_and_items_leaves_the_edge(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for domain, value, wrong in (
        (Bits(256), CANARY, CANARY + "x"),
        (Items((1 << 31) - 1, 4), [1_936_876_912, 1_818_386_798], [CANARY]),
        (Signed(1 << 30, 2), {"1036876912": 0.7283}, {CANARY: 2}),
    ):
        of = deployment(replace(stream("sets"), measure=Told(domain)), min_batch=2)
        words = domain.rows([value])[0]
        shown = {form for word in words[words != 0x7FFFFFFF].tolist() for form in _forms(word)} | {CANARY.encode()[:12]}
        said_by = [wrong if user % 7 == 3 else value for user in range(USERS)]
        events = crowd("sets", users=USERS, periods=PERIODS, seed=8, value=said_by.__getitem__)
        runtime = run(of, events, faults=Crashes({("after fold", "perturb"): [9, 17]}))
        assert any(form in b"".join(runtime.logs.all("raw")) for form in shown)
        for log in runtime.logs.topics():
            if log.topic not in ("raw", TOPIC):
                data = b"".join(runtime.logs.all(log.topic))
                assert not [form for form in shown if form in data], log
        for task in runtime.tasks:
            for record in task.state:
                data = record.small + b"".join(record.snapshot)
                assert not [form for form in shown if form in data], task.name
            counts = {name: value for name, value in vars(task.stage).items() if isinstance(value, Counter)}
            assert CANARY not in repr(counts)
        for block in raw(runtime):
            assert "array(" not in repr(block)
        assert CANARY not in caplog.text


def _forms(word: int) -> list[bytes]:
    """How a word could show, unless it looks like any other number: most of its bytes are 0."""
    if word.to_bytes(4, "little").count(0) > 1:
        return []
    ends = [word.to_bytes(4, "little"), word.to_bytes(4, "big")]
    return [*ends, *(end.hex().encode() for end in ends), str(word).encode()]


@pytest.mark.parametrize(
    ("kind", "text"), [("sets", "sets"), ("vectors", "vectors"), ("rows", "rows"), ("strings", "strings"),
                       ("short strings", "strings"), ("measured", "measured"), ("measured codes", "measured")],
)  # fmt: skip
def test_made_up_values_of_every_kind_are_measured_as_they_are(kind: str, text: str) -> None:
    of = replace(plan(kind), epsilon_micro=14_000_000)
    source = open_source(f"synthetic:{text},n=900,periods=3,seed=5", of)
    outcome = Replay(of, source, KEYS).run()
    truth = {period.t: period.figures for period in outcome.truth}
    assert len(truth) == 3
    for record in outcome.releases:
        release = orjson.loads(record)
        names = of.stream("it").names
        estimate, error = (np.array([release[key][name] for name in names]) for key in ("estimate", "stderr"))
        assert (np.abs(estimate - truth[release["t"]]) <= 6 * error + 1e-6).all()  # at fixed keys and seeds
        assert truth[release["t"]].max() > 0.1
    again = open_source(f"synthetic:{text},n=900,periods=2,seed=5", of)
    both = zip(source.batches(), again.batches(), strict=False)
    assert all(np.array_equal(a.codes, b.codes) and np.array_equal(a.times, b.times) for a, b in both)
    with pytest.raises(SourceError, match="allowed: a stream of"):
        open_source("synthetic:rows" if kind != "rows" else "synthetic:sets", of)


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.zeros((2, 5, 2), np.uint32), r"uint32\[2, 5, 2\]"),
        (np.zeros((5, 3)), r"float64\[5, 3\]"),
        (np.zeros((5, 3), np.int64), r"int64\[5, 3\]"),
        (np.zeros((0, 3), np.uint32), r"uint32\[0, 3\]"),
        (np.array([[[0, 1, 2]], [[1, 0, 2]]], np.uint32), r"at \[1, 0\]: found words that are no value"),
        (np.array([[0, 1, 4]], np.uint32), r"at \[0, 0\]: found words that are no value"),
        (np.array([[REFUSED, REFUSED, 0]], np.uint32), r"at \[0, 0\]: found words that are no value"),
    ],
)
def test_an_array_that_holds_no_values_of_the_stream_is_refused(array: Any, found: str, tmp_path: Path) -> None:
    np.save(tmp_path / "it.npy", array)
    with pytest.raises(SourceError, match=found):
        open_source(str(tmp_path / "it.npy"), plan("sets"))


def test_blocks_of_another_width_are_named_and_counted_and_nothing_else_is_lost() -> None:
    events = crowd("sets", users=USERS, periods=PERIODS, seed=5)
    wide, narrow = plan("sets"), plan("short strings")
    foreign = run(narrow, crowd("short strings", users=3, periods=1, seed=6)).logs.all("raw")
    runtime = Runtime(wide, KEYS, sources={TOPIC: 2}, keep=True)
    runtime.start({"it": FIRST})
    blocks = [record for record in foreign if isinstance(decode_record(record), RawBlock)]
    runtime.write([Out(Log("raw", p), blocks[0]) for p in range(wide.partitions)])
    runtime.write(arrivals(events, until=UNTIL))
    runtime.run()
    letters = [orjson.loads(value) for value in runtime.logs.all("dead.edge")]
    told = [(letter["reason"], letter["topic"], letter["offset"]) for letter in letters]
    assert told == [("width", "raw", 0)] * wide.partitions
    block = decode_record(blocks[0])
    assert isinstance(block, RawBlock)
    for task in runtime.of_stage["perturb"]:
        assert isinstance(task.stage, Perturb)
        assert task.stage.edge_counts["it", "width"] == len(block.users)
    assert runtime.releases() == run(wide, events).releases()


@pytest.mark.parametrize("kind", DOMAINS)
def test_json_lines_a_table_and_an_array_replay_the_same_values(kind: str, tmp_path: Path) -> None:
    of, rng, domain = plan(kind, carry_ms=0), random.Random(7), DOMAINS[kind]
    start = 1_767_225_600_000
    values = [[said(kind, rng) for _ in range(30)] for _ in range(PERIODS)]
    names = [str(user) for user in range(30)]
    span = min(SECOND, of.future_ms)
    lines, table = [], ["user,time,value"]
    first = [{"user": name, "time": start - 500, "value": None} for name in names]
    for t, row in enumerate(values):
        for user, value in enumerate(row):
            time = start + t * SECOND + user * span // 30
            lines.append({"user": names[user], "time": time, "value": value})
            cell = value if isinstance(value, str) else orjson.dumps(value).decode()
            table.append(f'{names[user]},{time},"{cell.replace(chr(34), chr(34) * 2)}"')
    (tmp_path / "it.jsonl").write_bytes(b"\n".join(map(orjson.dumps, first + lines)) + b"\n")
    head = [f"{name},{start - 500}," for name in names]
    (tmp_path / "it.csv").write_text("\n".join([table[0], *head, *table[1:]]) + "\n", encoding="utf-8")
    rows = np.array([[_whole(domain, value) for value in row] for row in values], np.uint32)
    np.save(tmp_path / "it.npy", rows)
    found = {}
    for kind_of_file in ("jsonl", "csv", "npy"):
        outcome = Replay(of, open_source(str(tmp_path / f"it.{kind_of_file}"), of), KEYS).run()
        assert outcome.over_budget == 0
        found[kind_of_file] = ([(p.t, p.users, p.figures.tolist()) for p in outcome.truth if p.users], outcome.releases)
    assert [period[0] for period in found["npy"][0]] == [start // SECOND + t for t in range(PERIODS)]
    # An empty cell is a missing value: where nothing is said in a text, the tables differ.
    empty = any(value == "" for row in values for value in row)
    assert found["jsonl"][0][-PERIODS:] == found["npy"][0]
    assert empty or found["csv"] == found["jsonl"]


def _whole(domain: Any, value: Any) -> list[int]:
    """The words of a value, or of no event where a list would have to be cut."""
    row = domain.codes()[value]
    return list(row) if len(row) == domain.words else [REFUSED] * domain.words


@pytest.mark.parametrize(("most", "kept"), [(4, 8), (5, 2)])
def test_streams_of_wide_values_keep_fewer_unsettled_periods_and_raw_waits_meanwhile(most: int, kept: int) -> None:
    one = replace(stream("sets"), measure=Told(Items(100, most)))
    of = deployment(one, partitions=1, targets=1)
    hand, users = perturb(of), pseudonyms(3)
    hand.give(ROUNDS, start(one))
    values = np.tile(one.domain.rows([[7]])[0], (3, 1))
    hand.give(RAW, *encode_raw(stream_id("it"), users, np.full(3, FIRST * SECOND), values), progress(FIRST * SECOND))
    hand.give(RAW, progress((FIRST + 20) * SECOND))
    stage = hand.stage
    assert isinstance(stage, Perturb)
    assert sorted(stage._streams["it"].values.frozen) == list(range(FIRST, FIRST + kept))
    assert not stage.ready(RAW)
    hand.give(ROUNDS, settled(one, FIRST))
    assert max(stage._streams["it"].values.frozen) == FIRST + kept


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_feed_tells_events_that_say_what_the_recording_does(kind: str) -> None:
    domain, rng = DOMAINS[kind], random.Random(9)
    values = [said(kind, rng) for _ in range(20)]
    if kind == "sets":
        values.append(list(ITEMS))  # more than count: told as they are, for a door to cut
    records = [orjson.dumps({"user": "u", "time": 5, "value": value}) for value in [*values, None]]
    reader = EventReader({"it": domain})
    part = reader.read(records).of(0, domain.words)
    ids = np.zeros(len(records), np.int64)
    told = list(_event_values(domain, Batch("it", 5, None, ids, part.times, part.values, {}, len(records), part.long)))
    assert told.pop() is None
    again = reader.read([orjson.dumps({"user": "u", "time": 5, "value": value}) for value in told])
    assert again.refusals == ()
    assert np.array_equal(again.code, reader.read(records[:-1]).code)
    assert again.long == part.long


def test_peek_shows_how_large_a_block_of_wide_rows_is_and_none_of_them() -> None:
    of = plan("sets")
    rows = np.tile(DOMAINS["sets"].rows([["help"]])[0], (5, 1))
    (block,) = encode_raw(stream_id("it"), pseudonyms(5), np.full(5, 7), rows)
    told = describe(of, Got(Place("shop.raw", 0), 3, None, block, 0))
    assert told == {"kind": "raw block", "stream": "it", "sequence": 0, "rows": 5, "bytes": 5 * 36}
