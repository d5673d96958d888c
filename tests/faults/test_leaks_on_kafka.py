# SPDX-License-Identifier: Apache-2.0
"""Zones apart on a real broker: no user, value or pseudonym leaves the edge, in whatever form, on whatever way.

Each zone's worker has a folder of its own with its own secrets only; users with telling names say things that nobody
declared.  Then every byte of every topic that is not the edge's own, of logs, metrics and files is searched.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.client import Place, Write
from murmurate.randomizers import Pepper
from murmurate.topics.names import ZONES, Zone, topics
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.recordings import START_MS, deployment, recording
from tests.faults.zones import Zones

CANARY = "canary-value-Zq8"
USERS = [f"canary-user-{i}-Xw3" for i in range(40)]
RAW_SIDE = {"events", "raw"}
"""Topics that hold users; all others of the edge do not."""
PERIODS = 8
UNREADABLE = 4
"""Of the strange events; a strange value alone still shows its user."""


def forms(word: bytes) -> Iterator[bytes]:
    """How some bytes may be written down."""
    yield word
    yield word.hex().encode()
    yield word.hex().upper().encode()
    for cut in range(3):  # wherever a base64 group may begin
        text = base64.b64encode(bytes(cut) + word)[-(-4 * cut // 3) + (cut > 0) :]
        text = text[: len(text) // 4 * 4 - 4]
        yield text
        yield text.replace(b"+", b"-").replace(b"/", b"_")
    if len(word) == 16:
        yield word[:8]
        yield word[8:]
        yield str(int.from_bytes(word[:8], "little")).encode()


class Search:
    """Finds canaries. name: the deployment, whose pepper everybody knows."""

    def __init__(self, name: str) -> None:
        pepper = Pepper(known_secrets(name)["pepper"], deployment=name)
        self.pseudonyms = [pepper.pseudonym(user.encode()) for user in USERS]
        words = [CANARY.encode(), *(user.encode() for user in USERS), *self.pseudonyms]
        self._forms = {form for word in words for form in forms(word)}

    def hits(self, data: bytes) -> int:
        return sum(data.count(form) for form in self._forms)


@pytest.fixture
def zones(broker: Broker, deployment_name: str, tmp_path: Path) -> Iterator[Zones]:
    text = deployment(periods=4, partitions=2, more="other = true")
    found = Deployed(tmp_path, deployment_name, broker.bootstrap, text)
    yield Zones(found)
    found.close()


def canary_recording(path: Path) -> Path:
    """Many whom nobody looks for, and some whose names and values would be recognised anywhere."""
    lines = recording(path, users=300, periods=PERIODS).read_bytes().splitlines()
    for i, user in enumerate(USERS):
        for t in range(PERIODS):
            event = {"stream": "screen", "user": user, "time": START_MS + 1000 * t + 20 * i, "value": CANARY}
            lines.append(orjson.dumps(event))
    lines.sort(key=moment)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def moment(line: bytes) -> int:
    return int(orjson.loads(line)["time"])


def strange_events() -> list[bytes]:
    """What no feed would write: values as they are said, and events that nobody can read."""
    usual = {"stream": "screen", "user": USERS[0], "time": START_MS + 500, "value": CANARY}
    changes = ({"stream": CANARY}, {"time": CANARY}, {"value": {CANARY: CANARY}})
    return [
        *(orjson.dumps(usual | {"user": user}) for user in USERS),
        *(orjson.dumps(usual | change) for change in changes),
        f"{CANARY} {USERS[0]}".encode(),
        orjson.dumps({CANARY: USERS[1]}),
    ]


async def every_byte(bootstrap: str, names: Mapping[str, int]) -> dict[str, bytes]:
    """Keys, values and headers of all records of these topics, committed or not. names: with their partitions."""
    found = dict.fromkeys(names, b"")
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_uncommitted", enable_auto_commit=False
    )
    await consumer.start()
    try:
        for name, partitions in names.items():
            for place in (TopicPartition(name, p) for p in range(partitions)):
                consumer.assign([place])
                await consumer.seek_to_beginning(place)
                end = (await consumer.end_offsets([place]))[place]
                pieces: list[bytes] = []
                while await consumer.position(place) < end:
                    for record in (await consumer.getmany(place, timeout_ms=100)).get(place, ()):
                        pieces += [record.key or b"", record.value or b""]
                        pieces += [part for key, value in record.headers for part in (key.encode(), value)]
                found[name] += b"\n".join(pieces)
    finally:
        await consumer.stop()
    return found


async def partitions_of(deployed: Deployed) -> dict[str, int]:
    names = [f"{deployed.plan.name}.{row.name}" for row in topics(fed=True, central=False)]
    async with deployed.client.admin() as admin:
        return {name: described.partitions for name, described in (await admin.describe(names)).items()}


def test_the_search_finds_a_canary_in_every_form() -> None:
    search = Search("some-name")
    for before in (b"", b"a", b"ab", b"abc"):
        for word in (CANARY.encode(), USERS[7].encode(), search.pseudonyms[7]):
            text = before + word + b"abcdef"
            forms = (text, text.hex().encode(), text.hex().upper().encode(), base64.b64encode(text))
            for form in (*forms, base64.urlsafe_b64encode(text)):
                assert search.hits(form) > 0
    assert search.hits(b"abcdef" * 1000) == 0


def test_nothing_of_a_user_leaves_the_edge(zones: Zones, broker: Broker, tmp_path: Path) -> None:
    deployed, search = zones.deployed, Search(zones.deployed.plan.name)
    deployed.create()
    name = deployed.plan.name

    async def written() -> None:
        async with deployed.client.sender() as sender:
            writes = [Write(Place(f"{name}.events", i % 2), each, b"key") for i, each in enumerate(strange_events())]
            await sender.send(writes)

    asyncio.run(written())
    for zone in ZONES:
        zones.worker(zone)
    feed = deployed.feed(str(canary_recording(tmp_path / "clicks.jsonl")))
    assert len(deployed.releases(PERIODS - 1)) == PERIODS - 1
    assert feed.wait() == 0

    found = asyncio.run(every_byte(broker.bootstrap, asyncio.run(partitions_of(deployed))))
    for row in topics(fed=True, central=False):
        data = found[f"{name}.{row.name}"]
        assert data or row.name.startswith("dead."), row.name
        if row.name in RAW_SIDE:
            assert search.hits(data) > 100, row.name  # the search finds what is there
        else:
            assert search.hits(data) == 0, row.name
    assert found[f"{name}.dead.edge"].count(b"murmurate/dead/1") == UNREADABLE
    for zone in ZONES:
        for url, answer in zones.served(zone).items():
            assert search.hits(answer) == 0, url
        for path, data in zones.files(zone).items():
            assert search.hits(data) == 0, path
        assert zones.workers[zone].running
        assert "Traceback" not in zones.workers[zone].said()
    if not broker.external:
        outside = [path for path in (broker.data / "0").glob("*/*.log") if not path.parent.name.startswith(f"{name}.")]
        ours = [
            path
            for row in topics(fed=True, central=False)
            for path in (broker.data / "0").glob(f"{name}.{row.name}-*/*.log")
        ]
        clean = [path for path in ours if path.parent.name.rpartition("-")[0].removeprefix(f"{name}.") not in RAW_SIDE]
        internal = [path for path in outside if path.parent.name.startswith("__")]
        assert sum(search.hits(path.read_bytes()) for path in set(ours) - set(clean)) > 100
        assert len(clean) > 15
        assert internal
        for path in (*clean, *internal):  # batches and their headers as the broker keeps them; groups; transactions
            assert search.hits(path.read_bytes()) == 0, path
    for worker in zones.workers.values():
        worker.terminate()
    assert [worker.wait() for worker in zones.workers.values()] == [0] * len(ZONES)
    for zone in ZONES:
        for path, data in zones.files(zone).items():
            assert search.hits(data) == 0, path


@pytest.mark.parametrize(
    ("zone", "secret", "home"),
    [("mixing", "pepper", "edge"), ("analysis", "shuffle", "mixing"), ("edge", "shuffle", "mixing")],
)
def test_a_worker_that_can_reach_the_secret_of_another_zone_does_not_start(
    zones: Zones, zone: Zone, secret: str, home: str
) -> None:
    zones.hand_over(secret, zone)
    worker = zones.worker(zone)
    assert worker.wait() == 2
    (line,) = worker.said().splitlines()
    assert line.startswith(f"secrets.{secret}: found a secret of the {home} zone within reach")
    assert (zones.folders[zone] / secret).read_text().strip() not in line
