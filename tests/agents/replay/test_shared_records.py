# SPDX-License-Identifier: Apache-2.0
"""Several streams from one record: each takes its part, as at the door, in a replay and behind a feed."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.agents.stages.door import TICKS, Door
from murmurate.agents.stages.stage import Log, Out, Record
from murmurate.config.loader import load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.errors import UsageError
from murmurate.topics.block import RawBlock
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Tick
from tests.agents.replay.plans import START

FILE = """
name = "till"
[privacy]
epsilon = 2.0
window = "5m"
min_batch = 2
[streams.mean]
measure = "mean"
range = [0, 100]
every = "1m"
share = 0.4
source = { topic = "orders", user = "/buyer", value = "/amount", time = "/at" }
[streams.spread]
measure = "distribution"
range = [0, 100]
cells = 8
every = "1m"
share = 0.3
source = { topic = "orders", user = "/buyer", value = "/amount", time = "/at" }
[streams.kind]
measure = "frequency"
values = ["book", "game"]
every = "2m"
share = 0.3
source = { topic = "orders", user = "/seller", value = "/what/kind", time = "/at" }
"""


def deployment(folder: Path, text: str = FILE) -> Plan:
    (folder / "murmurate.toml").write_text(text, encoding="utf-8")
    return planned(load(folder / "murmurate.toml", {}))


def order(i: int) -> dict[str, object]:
    found: dict[str, object] = {
        "buyer": f"b-{i % 40}", "seller": f"s-{i % 25}", "amount": i * 7 % 101, "at": START + i * 400,
        "what": {"kind": ("book", "game", "car")[i % 3]},
    }  # fmt: skip
    for every, field in ((17, "amount"), (23, "seller"), (29, "what"), (31, "at")):
        if i % every == 0:
            del found[field]
    return found


ORDERS = [order(i) for i in range(1, 1_200)]


def recorded(folder: Path) -> str:
    lines = [orjson.dumps(found) for found in ORDERS]
    lines[500] = b"{oops"
    (folder / "orders.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return str(folder / "orders.jsonl")


def releases(of: Plan, source: object, stream: str | None = None) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {one.name: [] for one in of.everything}
    for release in Replay(of, open_source(source, of, stream), keys(known_secrets(of.name), of.name)).run().releases:
        found[orjson.loads(release)["stream"]].append(release)
    return found


def test_one_run_gives_every_stream_what_its_own_run_gives_it(tmp_path: Path) -> None:
    of, path = deployment(tmp_path), recorded(tmp_path)
    together = releases(of, path)
    assert all(len(each) >= 3 for each in together.values())
    for name in ("mean", "spread"):  # that of `kind` begins elsewhere alone: a record without a buyer moves its clock
        assert together[name] == releases(of, path, name)[name], name


def test_a_record_that_every_stream_refuses_is_one_fault_and_one_that_some_take_is_theirs(tmp_path: Path) -> None:
    of = deployment(tmp_path)
    source = open_source(recorded(tmp_path), of)
    held = {name: sum(len(batch) for batch in source.batches() if batch.stream == name) for name in source.streams}
    no_time = 1_199 // 31
    no_seller = sum("seller" not in found and "at" in found for found in ORDERS)
    assert held == {"mean": 1_198 - no_time, "spread": 1_198 - no_time, "kind": 1_198 - no_time - no_seller}
    assert "json: 1 line (line 501)" in source.complaint_lines()


def test_a_table_of_the_same_orders_gives_the_same_releases(tmp_path: Path) -> None:
    of = deployment(tmp_path)
    orders = [found for found in ORDERS if "at" in found]
    (tmp_path / "orders.jsonl").write_bytes(b"".join(orjson.dumps(found) + b"\n" for found in orders))
    assert releases(of, pa.Table.from_pylist(orders)) == releases(of, str(tmp_path / "orders.jsonl"))


def behind_the_door(of: Plan, path: object) -> Iterator[Out]:
    """What a door writes of a recording that is fed: every record once, each batch between two ticks."""
    source, door = open_source(path, of), Door(of, keys(known_secrets(of.name), of.name).edge.pepper, "orders", 0)
    source.keep_records()
    offset = ticks = 0

    def tick(clock: int) -> Iterator[Out]:
        nonlocal ticks
        told = encode(Tick(topic="orders", partition=0, time=clock, end=offset))
        door.fold(Record(Log(TICKS, 0), ticks, told))
        ticks += 1
        yield from door.drain().records

    for batch in source.batches():
        yield from tick(batch.clock)
        assert batch.records is not None
        for _, record in batch.records:
            door.fold(Record(Log("orders", 0), offset, record))
            offset += 1
        yield from tick(batch.clock)


def rows(records: Iterator[Out] | list[Out]) -> dict[tuple[int, bytes], list[tuple[bytes, int, int]]]:
    """By raw partition and stream: the events in their order."""
    found: dict[tuple[int, bytes], list[tuple[bytes, int, int]]] = {}
    for out in records:
        block = decode_record(out.value) if out.log.topic == "raw" else None
        if isinstance(block, RawBlock):
            found.setdefault((out.log.partition, block.stream), []).extend(
                (user.tobytes(), time, code)
                for user, time, code in zip(block.users, block.times.tolist(), block.values.tolist(), strict=True)
            )
    return found


@pytest.mark.parametrize("kind", ["jsonl", "table"])
def test_a_feed_writes_each_record_once_and_the_door_gives_every_stream_what_a_replay_gives_it(
    tmp_path: Path, kind: str
) -> None:
    of = deployment(tmp_path)
    source: object = recorded(tmp_path)
    if kind == "table":
        source = pa.Table.from_pylist([found for found in ORDERS if "at" in found])
    written: list[Out] = []
    replay = Replay(of, open_source(source, of), keys(known_secrets(of.name), of.name))
    replay.follow(written.extend)
    replay.run()
    fed = rows(behind_the_door(of, source))
    assert fed == rows(written)
    assert len({stream for _, stream in fed}) == 3


def test_streams_with_times_of_their_own_and_rows_of_a_table_for_a_feed_are_refused(tmp_path: Path) -> None:
    of = deployment(tmp_path, FILE.replace('/what/kind", time = "/at"', '/what/kind", time = "/sent"'))
    with pytest.raises(SourceError, match=r"times stand in different fields \(/at, /sent\); allowed: name one stream"):
        open_source(recorded(tmp_path), of)
    (tmp_path / "a.csv").write_text("buyer,seller,amount,at,what.kind\nb,s,1,1,book\n", encoding="utf-8")
    with pytest.raises(UsageError, match="found 3 streams that read the same rows of a table"):
        open_source(str(tmp_path / "a.csv"), deployment(tmp_path)).keep_records()
