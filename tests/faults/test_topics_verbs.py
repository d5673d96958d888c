# SPDX-License-Identifier: Apache-2.0
"""`murmurate topics` and `murmurate check --against` as one types them, on a real broker."""

import asyncio
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.kafka.client import Client, Place, Write
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.stages.frozen import frozen
from murmurate.config.loader import load
from murmurate.config.planning import plan
from murmurate.config.secrets import NAMES
from tests.agents.commands import murmurate
from tests.faults.broker import Broker

Typed = Callable[..., subprocess.CompletedProcess[str]]
SECRETS = ("pepper", "randomness", "slots", "split")
TEXT = """
name = "{name}"
[privacy]
epsilon = 2.0
window = "1h"
[population]
partitions = 2
[kafka]
brokers = [{brokers}]
[streams.screen]
measure = "frequency"
values = ["home", "help"]
every = "1m"
"""


@pytest.fixture
def typed(broker: Broker, deployment_name: str, tmp_path: Path) -> Typed:
    """The command line in a folder with a deployment of this broker."""
    brokers = ", ".join(f'"{one}"' for one in broker.bootstrap.split(","))
    (tmp_path / "murmurate.toml").write_text(TEXT.format(name=deployment_name, brokers=brokers))
    return lambda *words, **environ: murmurate(*words, cwd=tmp_path, **environ)


def test_create_says_what_it_does_and_describe_what_there_is(
    typed: Typed, deployment_name: str, tmp_path: Path
) -> None:
    described = typed("topics", "describe")
    assert (described.returncode, described.stderr) == (1, "")
    assert f"wrong  {deployment_name}.raw: found no such topic" in described.stdout
    dry = typed("topics", "create", "--dry-run")
    assert dry.stdout.startswith(f"would create  {deployment_name}.events(2)")
    made = typed("topics", "create")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith(f"created  {deployment_name}.events(2)")
    assert "\nagreed   config 1\n" in made.stdout
    assert "begins  screen with period " in made.stdout
    assert "\nwithout  pepper, randomness, slots, split, state, shuffle: no fingerprint is" in made.stdout
    listed = "".join(f"{name:<10}  {number:016x}  whatever\n" for number, name in enumerate(NAMES))
    (tmp_path / "fingerprints").write_text(listed)
    again = typed("topics", "create", "--fingerprints", "fingerprints")
    assert (again.returncode, again.stdout) == (0, "right    16 topics\nagreed   config 2\n")
    told = json.loads(typed("topics", "create", "--json").stdout)
    assert (told["ok"], told["created"], told["started"], len(told["right"])) == (True, {}, {}, 16)
    assert (told["config"], told["uncompared"]) == (None, [])  # what was told once stays
    described = typed("topics", "describe")
    assert described.returncode == 0
    assert len(described.stdout.splitlines()) == 17
    assert f"{deployment_name}.state.door" in described.stdout
    assert re.search(rf"{deployment_name}\.releases +1  delete +30 days ", described.stdout)
    peeked = typed("peek", "reports")
    assert (peeked.returncode, peeked.stdout) == (0, f"{deployment_name}.reports: no records\n")
    assert json.loads(typed("topics", "describe", "--json").stdout)["complaints"] == []
    for one in (dry, made, described):
        assert all(len(line) <= 80 for line in one.stdout.splitlines())
    wider = typed("topics", "create", MURMURATE__POPULATION__PARTITIONS="4")
    assert wider.returncode == 1
    assert f"refused  {deployment_name}.raw: found 2 partitions; allowed: 4" in wider.stdout


def test_a_users_topic_that_is_missing_is_named_with_exit_3(typed: Typed, deployment_name: str) -> None:
    where = {"MURMURATE__STREAMS__SCREEN__SOURCE": json.dumps({"topic": f"{deployment_name}-clicks"})}
    done = typed("topics", "create", **where)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"murmurate: {deployment_name}-clicks: found no such topic")
    described = typed("topics", "describe", **where)
    assert described.returncode == 1
    assert "allowed: your\n" in described.stdout or "your application's" in " ".join(described.stdout.split())


def test_check_against_the_brokers_says_what_would_change(
    typed: Typed, broker: Broker, deployment_name: str, tmp_path: Path
) -> None:
    def against(*words: str, **environ: str) -> tuple[int, dict[str, Any]]:
        done = typed("check", "--against", *words, "--json", **environ)
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    code, told = against("config")
    assert (code, told["changes"], len(told["known"])) == (0, [], 5)
    typed("topics", "create")
    code, told = against(broker.bootstrap)
    assert (code, told["changes"], len(told["known"])) == (0, [], 3)  # begun, and no state yet
    code, told = against("config", MURMURATE__STREAMS__SCREEN__OTHER="true")
    assert (code, [one["effect"] for one in told["changes"]]) == (1, ["revision"])

    _write_state(broker, deployment_name, tmp_path)
    code, told = against("config")
    assert (code, told["changes"], len(told["known"])) == (0, [], 2)  # without the secrets of the edge
    lines = typed("keys", "new", "secrets").stdout
    with (tmp_path / "murmurate.toml").open("a") as file:
        file.write(lines[lines.index("[secrets]") :])
    code, told = against("config")
    assert code == 1
    facts = {f"the secret {name}, by its fingerprint" for name in SECRETS}
    effects = {one["key"]: one["effect"] for one in told["changes"]}
    assert effects == dict.fromkeys(facts, "refused") | {"secrets.state": "free", "secrets.shuffle": "free"}
    code, told = against("config", MURMURATE__PRIVACY__EPSILON="1", MURMURATE__POPULATION__PARTITIONS="4")
    assert code == 1
    refused = {one["key"]: (one["old"], one["new"]) for one in told["changes"] if one["effect"] == "refused"}
    assert refused["privacy.epsilon, in micro-nats"] == ("2000000", "1000000")
    assert refused["population.partitions"] == ("2", "4")
    said = typed("check", "--against", "config", MURMURATE__PRIVACY__EPSILON="1")
    assert "refused       privacy.epsilon, in micro-nats: 2000000 -> 1000000\n" in said.stdout
    assert all(len(line) <= 80 for line in said.stdout.splitlines())


def _write_state(broker: Broker, name: str, folder: Path) -> None:
    """What perturb 1 writes with a transaction: the frozen facts, under other secrets."""
    made = plan(load(folder / "murmurate.toml", {}))
    facts = made.terms(dict.fromkeys(("pepper", "slots", "split"), "0" * 16)).facts() | {"keys.randomness": "1" * 16}
    revisions = {stream.name: (stream.config, stream.revision) for stream in made.streams}
    record = StateRecord({}, {}, frozen(facts), None, revisions)

    async def write() -> None:
        writer = Client(Access((broker.bootstrap,))).writer(f"{name}-perturb-1")
        await writer.open()
        await writer.transact([Write(Place(f"{name}.state.perturb", 1), record.dump(), state_key(1))])
        await writer.close()

    asyncio.run(write())
