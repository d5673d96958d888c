# SPDX-License-Identifier: Apache-2.0
"""`murmurate audit ledger` on a real broker: nothing where there is nothing, and each planted violation by its name.

Reports are 45 bits wide: with one-byte reports one user's stray report often equals another's right one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli.main import command
from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.client import Got, Place, Reader, Write
from murmurate.agents.kafka.collect import whole
from murmurate.agents.kafka.topology import zone_keys
from murmurate.randomizers import mechanism
from murmurate.topics.block import RawBlock, ReportBlock, encode_reports
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Done, Round
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.recordings import VALUES, deployment, recording

PERIODS = 8
PAGES = [f"page {i}" for i in range(40)]
TEXT = deployment(periods=3, partitions=2, more='mechanism = "oue"')
TEXT = TEXT.replace(str(list(VALUES)), str([*VALUES, *PAGES]))


@pytest.fixture(scope="module", name="ended")
def ended_run(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A deployment whose recording is over and whose worker has stopped."""
    folder = tmp_path_factory.mktemp("audited")
    found = Deployed(folder, f"t-audit-{secrets.token_hex(4)}", broker.bootstrap, TEXT)
    try:
        found.create(2)
        source = str(recording(folder / "clicks.jsonl", users=80, periods=PERIODS))
        worker, feed = found.worker(), found.feed(source)
        assert len(found.releases(PERIODS)) == PERIODS
        assert feed.wait() == 0
        worker.terminate()
        assert worker.wait() == 0
        yield found
    finally:
        found.close()


def audit(of: Deployed, *options: str) -> Result:
    return CliRunner().invoke(command, ["audit", "ledger", "-c", str(of.file), *options])


def seen(of: Deployed) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(audit(of, "--json").output)
    return found


def new(before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    counts = after["violations"]
    return {name: n - before["violations"][name] for name, n in counts.items() if n != before["violations"][name]}


def blocks(of: Deployed) -> list[tuple[Got, ReportBlock]]:
    records = [(got, decode_record(got.value or b"")) for got in of.everything("reports")]
    return [(got, found) for got, found in records if isinstance(found, ReportBlock)]


def write(of: Deployed, *writes: Write) -> None:
    async def written() -> None:
        async with of.client.sender() as sender:
            await sender.send(writes)

    asyncio.run(written())


def abort(of: Deployed, *writes: Write) -> None:
    """Writes of a transaction that comes to nothing."""

    async def aborted() -> None:
        writer = of.client.writer(f"{of.plan.name}-perturb-forger")
        await writer.open()
        await writer._producer.begin_transaction()
        for each in writes:
            await writer._producer.send_and_wait(each.place.topic, each.value, partition=each.place.partition)
        await writer._producer.abort_transaction()
        await writer.close()

    asyncio.run(aborted())


def another_answer(of: Deployed, block: ReportBlock, target: int) -> np.ndarray:
    """What some user of this block's round would have said with another value: uint8[1, width]."""
    round_ = next(
        r for r in (decode_record(got.value or b"") for got in of.everything("rounds"))
        if isinstance(r, Round) and r.digest == block.round
    )  # fmt: skip
    edge = zone_keys(known_secrets(of.plan.name), of.plan.name).edge
    assert edge is not None
    oracle, key = mechanism(round_.mechanism), edge.devices.randomness
    rows = {row.tobytes() for row in block.reports}
    for got in of.everything("raw"):
        raw = decode_record(got.value or b"")
        if not isinstance(raw, RawBlock) or got.place.partition != block.contributor:
            continue
        targets = key.words("scatter", raw.users, round=block.round)[:, 0] % np.uint64(round_.targets)
        for user, to in zip(raw.users, targets, strict=True):
            answers = [oracle.perturb_one(v, key.draw_one(user.tobytes(), round=block.round)) for v in range(oracle.d)]
            if int(to) == target and rows.intersection(answers):
                other = next(answer for answer in answers if answer not in rows)
                return np.frombuffer(other, np.uint8)[None]
    raise AssertionError("nobody has answered")


def test_a_transaction_that_is_shown_by_half_is_waited_for(ended: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a disturbance a state may be seen seconds before the reports that were written with it."""
    real, asked = Reader.bounds, 0

    async def bounds(reader: Reader, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
        nonlocal asked
        found = await real(reader, places)
        if reader._consumer._isolation_level == "read_committed" and any(p.topic.endswith(".reports") for p in places):
            asked += 1
            if asked <= 3:  # once where the logs begin
                return {p: (first, first if p.topic.endswith(".reports") else end) for p, (first, end) in found.items()}
        return found

    monkeypatch.setattr(Reader, "bounds", bounds)
    found = seen(ended)
    assert not any(found["violations"].values()), found
    assert asked > 3


def test_an_honest_run_has_no_violation(ended: Deployed) -> None:
    done = audit(ended)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("80 users, ")
    assert lines[-1] == "  holds"
    assert all(len(line) <= 80 for line in lines)
    found = seen(ended)
    assert (found["ok"], found["told"], found["pending"], found["aborted"]) == (True, True, 0, 0)
    assert found["reports"] > 50
    assert set(found["violations"].values()) == {0}


def test_each_planted_violation_is_found_by_its_name(ended: Deployed) -> None:
    before, there = seen(ended), blocks(ended)
    (got, first), (at, second) = there[0], there[-1]
    other = another_answer(ended, second, at.place.partition)

    # an aborted transaction with a second, different answer: nobody has committed it, somebody may have read it
    honest = Write(got.place, got.value or b"")
    (forged,) = encode_reports(second.round, second.contributor, other)
    abort(ended, honest, Write(at.place, forged))
    found = seen(ended)
    assert new(before, found) == {"conflicting": 1}
    assert found["aborted"] == len(first.reports) + 1

    # a block of a round that nobody asked
    before, (foreign,) = found, encode_reports(bytes(32), 0, first.reports)
    write(ended, Write(got.place, foreign))
    found = seen(ended)
    assert new(before, found) == {"foreign": len(first.reports)}

    # a `done` that stands there twice
    before = found
    dones = [(g, d) for g in ended.everything("reports") if isinstance(d := decode_record(g.value or b""), Done)]
    write(ended, Write(dones[0][0].place, encode(dones[0][1])))
    found = seen(ended)
    assert new(before, found) == {"miscounted": 1}

    # a block that stands there twice, and another answer of a user: the counts of their rounds are wrong too
    before = found
    write(ended, honest)
    found = seen(ended)
    changed = new(before, found)
    assert changed.pop("twice") == len(first.reports)
    assert changed.keys() <= {"miscounted"}
    before = found
    write(ended, Write(at.place, forged))
    changed = new(before, found := seen(ended))
    assert changed.pop("conflicting") == 1
    assert changed.keys() <= {"miscounted"}

    # and a record that nobody can read is none of them
    before = found
    write(ended, Write(got.place, b"nothing of ours"))
    found = seen(ended)
    assert new(before, found) == {}
    assert found["unreadable"] == before["unreadable"] + 1

    done = audit(ended)
    assert done.exit_code == 4
    lines = done.output.splitlines()
    assert lines[-1] == "  DOES NOT HOLD"
    assert all(len(line) <= 80 for line in lines)
    assert f"VIOLATION conflicting: 1 in round {second.round.hex()[:16]}" in done.output
    assert "user-" not in done.output


def test_what_has_been_forgotten_is_said_and_not_guessed(ended: Deployed) -> None:
    async def forget() -> None:
        place = Place(f"{ended.plan.name}.raw", 0)
        async with ended.client.admin() as admin, ended.client.reader() as reader:
            _, records = await whole(reader, [place])
            from aiokafka import TopicPartition
            from aiokafka.admin import RecordsToDelete

            cut = {TopicPartition(*place): RecordsToDelete(records[place][5].offset)}
            await admin._admin.delete_records(cut)

    asyncio.run(forget())
    found = audit(ended, "--json")
    said = json.loads(found.output)
    assert (said["ok"], said["told"]) == (False, False)
    assert said["forgotten"][0].startswith(f"{ended.plan.name}.raw 0 begins at offset ")
    # what needs no raw is still found: the `done` that stands there twice
    assert found.exit_code == 4
    assert said["violations"]["miscounted"] >= 1
    assert said["violations"]["lost"] == 0
    lines = audit(ended).output.splitlines()
    assert any(line.split()[:2] == ["lost", "?"] for line in lines)
