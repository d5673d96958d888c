# SPDX-License-Identifier: Apache-2.0
"""Every way to reach a guarded broker: what gets in does everything, what does not is told in one line what to change.
The worker itself goes each way in `make faults`, and by password over TLS in test_security.py.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from murmurate.agents.kafka.client import Client, Described, Place, Write
from murmurate.agents.kafka.client.access import access
from murmurate.config.loader import load
from tests.agents.commands import Done, murmurate
from tests.faults.deployed import Deployed, Process
from tests.faults.guarded import SESSION_MS, GuardedBroker, token
from tests.faults.recordings import deployment, recording
from tests.faults.ways import SHUT, WAYS, Way, kafka_table, prepare

LONG = {"SCRAM-SHA-256 over TLS", "PLAIN over TLS", "SCRAM-SHA-512", "a token of a file over TLS", "TLS alone"}
"""Ways whose halves are all tried by other ways too."""
QUICK = {"a wrong password", "an expired token", "a forged token", "TLS to a port without", "no TLS to a port with",
         "no login where there is one", "no certificate", "another mechanism"}  # fmt: skip
"""Ways that fail on the wire, each in a manner of its own."""


@pytest.fixture(scope="module")
def places(guarded: GuardedBroker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("places")
    prepare(folder, guarded)
    return folder


def marked(names: Collection[str], quick: Collection[str]) -> list[object]:
    return [name if name in quick else pytest.param(name, marks=pytest.mark.faults) for name in names]


def written(folder: Path, table: str) -> Path:
    """A deployment file of a name that no other test has."""
    text = f'name = "t-{secrets.token_hex(6)}"\n{deployment(periods=4, partitions=2)}\n{table}'
    (file := folder / "murmurate.toml").write_text(text)
    return file


def enter(deployed: Deployed, way: Way, guarded: GuardedBroker, folder: Path) -> None:
    """Let the deployment's file say this way, where it said the open listener."""
    lines = "\n".join(kafka_table(way, guarded, folder).splitlines()[2:])
    text = deployed.file.read_text().replace(guarded.bootstrap, guarded.at(way.listener))
    deployed.file.write_text(text.replace("replication = 1\n", f"replication = 1\n{lines}\n"))


class Joined:
    """Somebody who joins a group, and hears what is theirs."""

    def __init__(self) -> None:
        self.mine = asyncio.Event()

    async def revoked(self) -> None:
        pass

    async def assigned(self, places: frozenset[Place]) -> None:
        self.mine.set()


@pytest.mark.parametrize("name", marked(WAYS, set(WAYS) - LONG))
def test_whoever_gets_in_makes_topics_writes_in_transactions_reads_and_joins_a_group(
    name: str, guarded: GuardedBroker, places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(places))
    file = written(tmp_path, kafka_table(WAYS[name], guarded, places))
    found = access(load(file, {}), {"A_TOKEN": token()})
    topic = f"{load(file, {}).name}.try"

    async def everything() -> list[bytes | None]:
        client, joined, place = Client(found), Joined(), Place(topic, 0)
        await client.answers()
        async with client.admin() as admin:
            await admin.create({topic: Described(1, 1, {})})
        writer, member = client.writer(f"{topic}-writer"), client.member(f"{topic}-group", [topic], "one", joined)
        try:
            await writer.open()
            await writer.transact([Write(place, b"in")])
            async with client.sender() as sender:
                await sender.send([Write(place, b"alone")])
            await member.open()
            await asyncio.wait_for(joined.mine.wait(), 20)
            async with client.reader() as reader:
                first, end = (await reader.bounds([place]))[place]
                return [got.value async for got in reader.between(place, first, end)]
        finally:
            await member.close()
            await writer.close()

    assert asyncio.run(everything()) == [b"in", b"alone"]
    shown = repr(found)
    assert guarded.password not in shown
    assert "eyJ" not in shown


def told(done: Done, way: Way, guarded: GuardedBroker) -> str:
    """The one line on standard error, which shows no secret."""
    assert done.returncode == way.code, done.stderr
    (line,) = done.stderr.splitlines()
    for secret in (guarded.password, "not-the-secret", "canary-of-the-signer", "eyJ", "Traceback"):
        assert secret not in line
    return line.removeprefix("murmurate: ")


@pytest.mark.parametrize("name", marked(SHUT, {*QUICK, *(name for name, way in SHUT.items() if way.code == 2)}))
def test_whoever_does_not_get_in_is_told_in_one_line_what_to_change(
    name: str, guarded: GuardedBroker, places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(places))
    file = written(tmp_path, kafka_table(SHUT[name], guarded, places))
    line = told(murmurate("topics", "describe", "-c", file), SHUT[name], guarded)
    assert re.search(SHUT[name].found, line), line


VERBS: dict[str, tuple[str, ...]] = {
    "topics create": (), "topics describe": (), "status": (), "peek": ("rounds",), "dead list": (),
    "dead retry": ("--zone", "edge", "--topic", "@.events", "--partition", "0", "--offset", "0"), "watch": ("screen",),
    "query": ("share of screen over all",), "check": ("--against", "config"), "audit ledger": (), "feed": ("@source",),
}  # fmt: skip
"""Every verb that connects, but for `worker`, with what it needs."""


def run(verb: str, deployed: Deployed, source: Path) -> Done:
    words = [word.replace("@source", str(source)).replace("@", deployed.plan.name) for word in VERBS[verb]]
    return murmurate(*verb.split(), *words, "-c", deployed.file, cwd=deployed.folder)


@pytest.fixture
def shut_out(
    guarded: GuardedBroker, places: Path, deployment_name: str, tmp_path: Path
) -> Iterator[tuple[Deployed, Path]]:
    """A deployment whose password is wrong, and a recording for it."""
    found = Deployed(tmp_path, deployment_name, guarded.bootstrap, deployment(periods=4, partitions=2))
    enter(found, SHUT["a wrong password"], guarded, places)
    yield found, recording(tmp_path / "clicks.jsonl", users=5, periods=2)
    found.close()


@pytest.mark.parametrize("verb", marked(VERBS, {"topics create", "status", "query", "audit ledger"}))
def test_every_verb_comes_by_the_same_settings_and_says_the_same_line(
    verb: str, shut_out: tuple[Deployed, Path], guarded: GuardedBroker
) -> None:
    line = told(run(verb, *shut_out), SHUT["a wrong password"], guarded)
    assert re.search(SHUT["a wrong password"].found, line), line


@pytest.mark.faults
@pytest.mark.parametrize("name", WAYS)
def test_the_worker_and_the_feed_go_every_way_and_the_releases_are_the_same(
    name: str, guarded: GuardedBroker, places: Path, deployment_name: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", f"{places}:{Path(__file__).parents[2]}")
    monkeypatch.setenv("A_TOKEN", token())
    deployed = Deployed(tmp_path, deployment_name, guarded.bootstrap, deployment(periods=4, partitions=2))
    try:
        deployed.create()
        enter(deployed, WAYS[name], guarded, places)
        source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=6))
        wanted = deployed.expected(source)
        worker, feed = deployed.worker(), deployed.feed(source)
        assert deployed.releases(len(wanted)) == wanted, deployed.blame([], wanted)
        assert feed.wait() == 0
        assert silent(worker, guarded)
        assert silent(feed, guarded)
        worker.terminate()
        assert worker.wait() == 0
    finally:
        deployed.close()


def silent(process: Process, guarded: GuardedBroker) -> bool:
    return guarded.password not in process.said() and "eyJ" not in process.said()


@pytest.mark.faults
def test_a_worker_outlives_its_token_while_somebody_writes_new_ones(
    guarded: GuardedBroker, places: Path, deployment_name: str, tmp_path: Path
) -> None:
    """The broker ends each session after SESSION_MS: whoever goes on must have logged in again, with a token that is
    still good.
    """
    lasts = SESSION_MS / 1000 + 1
    deployed = Deployed(tmp_path, deployment_name, guarded.bootstrap, deployment(periods=4, partitions=2))
    try:
        deployed.create()
        (tmp_path / "token").write_text(token(lasts))
        enter(deployed, WAYS["a token of a file"], guarded, tmp_path)
        source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=20))
        wanted = deployed.expected(source)
        worker = deployed.worker()
        feed = deployed.feed(source, "--speed", "1x")
        found = deployed.releases(len(wanted), watch=lambda: void((tmp_path / "token").write_text(token(lasts))))
        assert found == wanted, deployed.blame(found, wanted)
        assert feed.wait() == 0
        assert worker.running
        assert "beginning anew" not in worker.said()
    finally:
        deployed.close()


def void(_: object) -> None:
    """Nothing comes of it."""
