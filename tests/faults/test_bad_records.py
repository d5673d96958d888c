# SPDX-License-Identifier: Apache-2.0
"""Records that nobody should have written: each that nobody can read is named once, what nobody asked for changes
nothing, and the releases are those of a run without them.

A record that contradicts what a stage knows (a second tally of a sub-batch) is another matter: only a principal of a
zone can write it, and it ends the process with one line (docs/DATA_MODEL.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pytest
from aiokafka import AIOKafkaProducer

from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log
from murmurate.topics.block import MAX_BLOCK, encode_batch, encode_raw, encode_reports, encode_tally
from murmurate.topics.codec import encode
from murmurate.topics.message import Message
from murmurate.topics.messages import (
    Close,
    Config,
    Done,
    GiveUp,
    Progress,
    Rejected,
    Round,
    Seal,
    Settled,
    Start,
    Tally,
    TallyInBlocks,
    Tick,
)
from murmurate.topics.names import TOPICS
from murmurate.topics.slots import Slots
from tests.agents import world
from tests.agents.stages.hands import CLOSINGS, Hand, question
from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(periods=4, partitions=2)

NOBODY = b"\x5a" * 32
"""A digest of no round."""
STRANGERS = np.arange(64, dtype=np.uint8).reshape(4, 16)
OURS = ("raw", "rounds", "closings", "reports", "batches", "tallies", "ticks", "feed")
TWO = {"raw", "reports", "batches"}
"""Those with more than one partition."""


class Bad(NamedTuple):
    """A record, and the reason in its dead letter; none where somebody can read it."""

    value: bytes | None
    reason: str | None = None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes]] = ()


def unreadable() -> list[Bad]:
    """In whatever topic of ours they stand."""
    (block,) = encode_reports(NOBODY, 0, STRANGERS)
    future = block[:4] + b"\x02" + block[5:]
    return [
        Bad(b"", "unknown"),
        Bad(None, "unknown", b"a key"),
        Bad(b"no block of ours", "unknown"),
        Bad(b"no block either", "unknown", b"a key", [("traceparent", b"00-1-2-01")]),
        Bad(future, "newer"),
        Bad(b'{"schema":"murmurate/round/2"}', "newer"),
        Bad(b'{"schema":"murmurate/nobody/1"}', "unknown"),
        Bad(b'{"schema":"murmurate/tally/1"}', "message"),
        Bad(block + bytes(MAX_BLOCK), "toolarge"),
        Bad(block[:-1], "torn"),
        Bad(block[:-1] + bytes([block[-1] ^ 1]), "corrupt"),
    ]


def events() -> list[Bad]:
    """In a topic of the user's."""
    usual: dict[str, Any] = {"stream": "screen", "user": "stranger", "time": 1_790_000_000_000, "value": "home"}
    return [
        Bad(b"", "json"),
        Bad(None, None, b"a key"),  # a mark of deletion is no event and no mistake
        Bad(b"no event", "json", b"a key", [("traceparent", b"00-1-2-01")]),
        Bad(orjson.dumps(usual | {"user": "", "more": "x" * 70_000}), "size"),  # with a user it would show who that is
        Bad(orjson.dumps(usual | {"stream": "nobody"}), "stream"),
        Bad(orjson.dumps(usual | {"time": "yesterday"}), "time"),
        Bad(orjson.dumps(usual | {"user": ""}), "user"),
        Bad(orjson.dumps({"stream": "screen", "user": "stranger"}), "field"),
        Bad(orjson.dumps(usual | {"time": True}), "type"),
    ]


def forged(deployed: Deployed, topic: str) -> list[Bad]:
    """What can be read, and nobody asked for."""
    stream, users = deployed.plan.streams[0], STRANGERS
    nobody = NOBODY.hex()
    usual: dict[str, Any] = {
        "stream": "nobody", "t": 1, "slots": Slots.every(8), "mechanism": {"name": "grr", "d": 4, "epsilon_micro": 1},
        "purpose": "publication", "contributors": 4, "targets": 2, "patience_ms": 1, "config": "0" * 16, "revision": 1,
    }  # fmt: skip
    times, codes = np.zeros(4, np.int64), np.zeros(4, np.uint32)
    found: dict[str, list[bytes | Message]] = {
        "raw": [
            *encode_raw(NOBODY, users, times, codes),
            Progress(topic="nobody", partition=0, time=1),
            Done(round=nobody, contributor=0, sent=0, total=0),
        ],
        "rounds": [
            Round(**usual),
            GiveUp(round=nobody),
            Close(round=nobody, contributors=(0, 1)),
            Settled(stream="nobody", t=10**6),
            Start(stream="nobody", t=10**6, config="0" * 16, revision=1),
        ],
        "closings": [
            Close(round=nobody, contributors=(0, 1)),
            Close(round=nobody, contributors=(65_535,)),
            Round(**usual),
            GiveUp(round=nobody),
            Done(round=nobody, contributor=0, sent=0, total=0),
            *encode_reports(NOBODY, 0, users),
        ],
        "reports": [
            *encode_reports(NOBODY, 0, users),
            Close(round=nobody, contributors=()),
            *encode_reports(bytes(32), 10**6, users),
            Done(round=nobody, contributor=1, sent=0, total=4),
            *encode_batch(NOBODY, 0, users),
        ],
        "batches": [
            *encode_batch(NOBODY, 7, users),
            *encode_reports(NOBODY, 0, users),
            *encode_tally(NOBODY, 0, np.arange(4)),
        ],
        "tallies": [
            Tally(
                round=nobody, q=0, received=4, counted=4, rejected=Rejected(malformed=0), missing=(), stream="nobody",
                t=1, targets=2, counts=(1, 2),
            ),
            TallyInBlocks(
                round=nobody, q=0, received=4, counted=4, rejected=Rejected(malformed=0), missing=(), stream="nobody",
                t=1, targets=2, cells=5000, blocks=("0" * 64,),
            ),
        ],
        "ticks": [Tick(topic="nobody", partition=0, time=1, end=1), Progress(topic="nobody", partition=0, time=1)],
        "feed": [Progress(topic="feed", partition=0, time=1), Close(round=nobody, contributors=())],
    }  # fmt: skip
    values = [one if isinstance(one, bytes) else encode(one) for one in found[topic]]
    second = Start(stream=stream.name, t=10**6, config=stream.config, revision=stream.revision + 1)
    if topic == "rounds" and any(b"murmurate/start/" in (got.value or b"") for got in deployed.everything(topic)):
        values.append(encode(second))  # after the true one; the first of a stream holds
    nobodys = []
    if topic == "rounds":  # the first record that is there holds, and the number of this one does not follow
        nobodys = [Bad(encode(Config(number=77, values={"privacy.min_batch": 1}, secrets={})), "config")]
    if topic == "tallies":  # announced by nobody
        nobodys = [Bad(block, "foreign") for block in encode_tally(NOBODY, 0, np.arange(70_000))]
    return nobodys + [Bad(value) for value in values] + [Bad(values[0], None, b"a key", [("a header", b"its value")])]


class Injector:
    """Writes bad records as anybody would, and knows where each stands."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.letters: list[tuple[str, str, int, int, str]] = []
        """(zone, topic, partition, offset, reason) of each dead letter that there has to be."""

    def inject(self) -> None:
        """Every bad record in every partition of ours, and of the source."""
        asyncio.run(self._inject())

    async def _inject(self) -> None:
        name = self.deployed.plan.name
        producer = AIOKafkaProducer(
            bootstrap_servers=",".join(self.deployed.client.access.brokers), max_request_size=8 << 20, acks="all"
        )
        await producer.start()
        try:
            for topic in OURS:
                records = unreadable() + await asyncio.to_thread(forged, self.deployed, topic)
                for partition in range(2 if topic in TWO else 1):
                    await self._write(producer, f"{name}.{topic}", partition, records, topic, TOPICS[topic].zone)
            for partition in (0, 1):
                await self._write(producer, f"{name}.events", partition, events(), f"{name}.events", "edge")
        finally:
            await producer.stop()

    async def _write(
        self, producer: AIOKafkaProducer, full: str, partition: int, records: Sequence[Bad], topic: str, zone: str
    ) -> None:
        for bad in records:
            sent = await producer.send_and_wait(
                full, bad.value, key=bad.key, partition=partition, headers=list(bad.headers)
            )
            if bad.reason is not None:
                self.letters.append((zone, topic, partition, sent.offset, bad.reason))

    def found(self) -> list[tuple[str, str, int, int, str]]:
        """The dead letters that there are."""
        return [
            (zone, letter["topic"], letter["partition"], letter["offset"], letter["reason"])
            for zone in ("edge", "mixing", "analysis")
            for got in self.deployed.everything(f"dead.{zone}")
            if (letter := orjson.loads(got.value or b""))
        ]


def test_bad_records_change_no_release_and_each_is_named_once(deployed: Deployed, tmp_path: Path) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=20))
    wanted, injector = deployed.expected(source), Injector(deployed)
    assert len(wanted) >= 20
    injector.inject()
    first = deployed.worker(instance="one")
    feed = deployed.feed(source, "--speed", "4x")
    assert deployed.releases(4) == wanted[:4]
    injector.inject()
    assert deployed.releases(8) == wanted[:8]
    first.terminate()
    assert first.wait() == 0
    deployed.worker(instance="two")  # recovers with bad records between the good ones
    assert deployed.releases(len(wanted)) == wanted
    assert feed.wait() == 0
    end = time.monotonic() + 20
    while len(found := injector.found()) < len(injector.letters) and time.monotonic() < end:
        time.sleep(0.1)  # what came last waits for its transaction
    assert sorted(found) == sorted(injector.letters)
    assert deployed.workers[-1].running


@pytest.mark.parametrize("topic", ["tallies", pytest.param("batches", marks=pytest.mark.faults)])
def test_a_record_that_contradicts_what_is_known_ends_a_worker_with_one_line(deployed: Deployed, topic: str) -> None:
    plan, stream = deployed.plan, deployed.plan.streams[0]
    round_, nothing = question(plan, stream, 7), Rejected(malformed=0)
    seal = Seal(
        round=round_.digest.hex(), q=0, received=4, counted=4, rejected=nothing, missing=(), blocks=1, descriptor=round_
    )
    tally = Tally(
        round=round_.digest.hex(), q=0, received=0, counted=0, rejected=nothing, missing=(), stream=stream.name, t=7,
        targets=2, counts=(0,) * stream.d,
    )  # fmt: skip
    value = encode(tally if topic == "tallies" else seal)

    async def written() -> None:
        async with deployed.client.sender() as sender:
            await sender.send([Write(Place(f"{plan.name}.{topic}", 0), value)])

    asyncio.run(written())
    for _ in range(2):  # again after a restart: it stands there, and somebody has to look at it
        worker = deployed.worker()
        assert worker.wait() == 1
        (line,) = [line for line in worker.lines() if line["level"] == "ERROR" and "logger" not in line]
        assert line["message"].startswith("StageError: ")
        assert "Traceback" not in worker.said()


def test_a_block_that_nobody_sealed_does_not_hold_back_a_log_for_ever() -> None:
    plan = world.deployment(world.stream("screen"))
    log, hand = Log("batches", 0), Hand(Aggregate(plan, 0))
    hand.give(log, *encode_batch(NOBODY, 0, STRANGERS))
    nothing = Rejected(malformed=0)
    for t in range(100):
        round_ = question(plan, plan.streams[0], t)
        seal = Seal(
            round=round_.digest.hex(), q=0, received=0, counted=0, rejected=nothing, missing=(), blocks=0,
            descriptor=round_,
        )  # fmt: skip
        hand.give(log, seal)
    assert hand.stage.replay_from({log: hand.ends[log]}) == {log: hand.ends[log]}
    assert isinstance(hand.stage, Aggregate)
    assert hand.stage.counts["wrong_round"] == len(STRANGERS)


@pytest.mark.parametrize("forgery", [{"stream": "nobody"}, {"contributors": 77}])
def test_a_round_that_nobody_will_answer_does_not_hold_back_a_log_for_ever(forgery: dict[str, Any]) -> None:
    plan = world.deployment(world.stream("screen"))
    rounds, hand = Log("rounds", 0), Hand(Shuffle(plan, world.key("shuffle"), 0))
    hand.give(rounds, question(plan, plan.streams[0], 1).model_copy(update=forgery))
    assert hand.stage.replay_from({rounds: hand.ends[rounds]}) == {rounds: hand.ends[rounds]}


def test_a_close_of_a_round_that_never_comes_does_not_hold_back_a_log_for_ever() -> None:
    plan = world.deployment(world.stream("screen"))
    rounds, hand = Log("rounds", 0), Hand(Shuffle(plan, world.key("shuffle"), 0))
    hand.give(CLOSINGS, Close(round=NOBODY.hex(), contributors=(0,)))
    assert hand.stage.replay_from({CLOSINGS: hand.ends[CLOSINGS]}) == {CLOSINGS: 0}
    hand.give(rounds, *(question(plan, plan.streams[0], t) for t in range(100)))
    assert hand.stage.replay_from({CLOSINGS: hand.ends[CLOSINGS]}) == {CLOSINGS: 1}


def test_a_close_that_names_somebody_who_does_not_exist_is_no_close() -> None:
    plan = world.deployment(world.stream("screen"))
    rounds, reports, hand = Log("rounds", 0), Log("reports", 0), Hand(Shuffle(plan, world.key("shuffle"), 0))
    round_ = question(plan, plan.streams[0], 1)
    digest = round_.digest.hex()
    hand.give(rounds, round_)
    hand.give(CLOSINGS, Close(round=digest, contributors=(0, plan.partitions)))
    out = hand.give(reports, *(Done(round=digest, contributor=c, sent=0, total=0) for c in range(plan.partitions)))
    (close,) = [one.value for one in out]
    assert [one.log.topic for one in hand.give(CLOSINGS, close)] == ["batches"]
