# SPDX-License-Identifier: Apache-2.0
"""watch, status, peek and dead on a real broker, as one types them, beside a worker that runs."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli.main import command
from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.pending import FEW_MARKS_S
from murmurate.errors import UsageError
from murmurate.topics.names import topics
from tests.faults.broker import Broker
from tests.faults.deployed import RUN, Deployed, Process
from tests.faults.recordings import START_MS, deployment, recording

PERIODS = 16
SILENT = range(3, 13)
"""More periods in which nobody speaks than the feed may run ahead of the releases."""
TORN = b'{"stream": "screen", "user": "canary-user", "value": "canary'


@pytest.fixture(scope="module", name="running")
def running_deployment(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A deployment that has released a recording of too few users, in whose source topic a record is torn; its worker
    runs on.
    """
    folder = tmp_path_factory.mktemp("looked-at")
    text = deployment(periods=4, partitions=2).replace("min_batch = 20", "min_batch = 100")
    found = Deployed(folder, f"t-verbs-{secrets.token_hex(4)}", broker.bootstrap, text)
    try:
        assert say(found, "status").exit_code == 1  # there is nothing yet
        found.create(2)
        write(found, Write(source(found), TORN, b"canary-user"))
        found.worker()
        feed = found.feed(str(recording(folder / "clicks.jsonl", users=120, periods=PERIODS, silent=SILENT)))
        assert len(found.releases(PERIODS)) == PERIODS
        assert feed.wait() == 0
        yield found
    finally:
        found.close()


def source(of: Deployed) -> Place:
    return Place(f"{of.plan.name}.events", 0)


def say(of: Deployed, *words: str) -> Result:
    return CliRunner().invoke(command, [*words, "-c", str(of.file)])


def write(of: Deployed, *writes: Write) -> list[int]:
    async def written() -> list[int]:
        async with of.client.sender() as sender:
            return await sender.send(writes)

    return asyncio.run(written())


def lags(found: dict[str, Any]) -> dict[str, int]:
    """How far each stage is behind in each of its logs, as `status --json` has it."""
    return {name: n for each in found["stages"] for name, n in each["lag"].items()}


def test_status_says_who_works_and_how_far_each_stage_is(running: Deployed) -> None:
    done = say(running, "status")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[-1] == "ok"
    found = json.loads(say(running, "status", "--json").output)
    assert [(each["stage"], each["group"], list(each["workers"])) for each in found["stages"]] == [
        (stage, "Stable", ["w0"]) for stage in ("door", "perturb", "shuffle", "aggregate", "publish")
    ]
    assert all(each["unowned"] == [] and each["refused"] == [] for each in found["stages"])
    lag, waited = lags(found), time.monotonic()
    while (
        any(lag.values()) and time.monotonic() < waited + 2 * FEW_MARKS_S
    ):  # marks alone are written when they are due
        lag = lags(json.loads(say(running, "status", "--json").output))
    assert lag.keys() >= {f"{running.plan.name}.{log}" for log in ("events/1", "raw/1", "reports/0", "rounds/0")}
    assert set(lag.values()) == {0}
    (screen,) = found["streams"]
    assert screen["settled"] - screen["first"] == PERIODS - 1
    assert screen["release"]["t"] == screen["settled"]
    assert all(round_["t"] > screen["settled"] for round_ in screen["open"])


def test_beyond_the_edge_the_recordings_clock_shows_only_when_periods_close(running: Deployed) -> None:
    every, lateness = running.plan.streams[0].every_ms, running.plan.lateness_ms
    shown = [json.loads(got.value or b"")["time"] for got in running.everything("feed")]
    ends = range(START_MS // every, START_MS // every + PERIODS + 1)
    assert shown == [end * every + lateness for end in ends]
    ticks = {json.loads(got.value or b"")["time"] for got in running.everything("ticks")}
    assert ticks - set(shown)  # times of events, which the doors see and nobody else


def test_watch_shows_what_there_is_and_what_comes_until_ctrl_c(running: Deployed) -> None:
    process = Process(
        [*RUN, "watch", "screen", "-c", str(running.file), "--last", "2", "--json"], running.folder / "watch.log", {}
    )
    try:
        newest = running.releases(PERIODS)[-2:]
        process.until(newest[-1].decode())
        assert process.said().encode().splitlines() == newest
        process._process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    finally:
        process.end()


def test_too_few_users_are_said_in_the_log_at_the_start_after_three_rounds_and_by_watch(running: Deployed) -> None:
    releases = [json.loads(one) for one in running.releases(PERIODS)]
    assert {one["decision"] for one in releases} == {"unmeasured"}  # a round asks an eighth of 120 users
    assert {value for one in releases for value in one["estimate"].values()} == {None}
    logged = [line["message"] for line in running.workers[0].lines()]
    needs = "screen: a round asks 1/8 of the users, and a release needs 100 reports: it takes "
    assert any(line.startswith(needs) for line in logged)
    few = "fewer than the 100 reports that a release needs"
    warned = [line.split(". ")[0] for line in logged if "rounds in a row" in line]
    assert warned == [f"screen: {row} rounds in a row had {few}" for row in (3, 6, 12)]
    assert f"short  screen: {few}" in say(running, "status").output.splitlines()
    watch = Process(
        [*RUN, "watch", "screen", "-c", str(running.file), "--last", str(PERIODS)], running.folder / "few.log", {}
    )
    try:
        watch.until(f"12 rounds in a row had {few}")
        assert watch.said().count(f"nothing yet: {few}") >= 12
        assert all(len(line) <= 80 for line in watch.said().splitlines())
    finally:
        watch.end()


def test_peek_shows_no_row_of_any_topic(running: Deployed) -> None:
    kinds: dict[str, set[str]] = {}
    for row in (one.name for one in topics(fed=True, central=False)):
        done = say(running, "peek", row, "--last", "100")
        assert done.exit_code == 0, (row, done.output)
        assert all(len(line) <= 80 for line in done.output.splitlines())
        as_json = say(running, "peek", row, "--last", "100", "--json").output
        assert "user-" not in done.output + as_json
        assert "canary" not in done.output + as_json
        kinds[row] = {json.loads(line)["kind"] for line in as_json.splitlines()}
    assert kinds["events"] == {"event"}
    assert kinds["raw"] == {"raw block", "progress"}
    assert {"start", "round", "settled"} <= kinds["rounds"] <= {"start", "config", "round", "give_up", "settled"}
    assert kinds["closings"] == {"close"}
    assert kinds["reports"] == {"reports block", "done"}
    assert {"seal"} <= kinds["batches"] <= {"batch block", "seal"}
    assert (kinds["tallies"], kinds["releases"], kinds["ticks"]) == ({"tally"}, {"release"}, {"tick"})
    assert kinds["dead.edge"] == {"dead"}
    assert all(kinds[name] <= {"state", "snapshot", "clock"} for name in kinds if name.startswith("state."))
    assert say(running, "peek", "raw", "--partition", "7").exception is not None


def test_a_dead_letter_is_listed_and_left_alone_while_nobody_could_read_its_record(running: Deployed) -> None:
    done = say(running, "dead", "list")
    assert done.exit_code == 0
    found = json.loads(say(running, "dead", "list", "--json").output)
    assert found["zones"]["edge"]["reasons"] == [{"reason": "json", "topic": source(running).topic, "count": 1}]
    (letter,) = found["zones"]["edge"]["last"]
    assert (letter["partition"], letter["offset"]) == (0, 0)
    assert "canary" not in done.output
    again = ("dead", "retry", "--zone", "edge", "--topic", letter["topic"], "--partition", "0", "--offset", "0")
    before = len(running.everything("events"))
    done = say(running, *again)
    assert done.exit_code == 1
    assert "left alone: the door would refuse it again (json)" in done.output
    assert len(running.everything("events")) == before


def test_a_record_that_can_be_read_by_now_is_appended_once_unchanged_and_late_stays_late(running: Deployed) -> None:
    # a record that a door of another day has named dead: today's reads it
    event = json.dumps({"stream": "screen", "user": "user-1", "time": START_MS, "value": "home"}).encode()
    (at,) = write(running, Write(source(running), event, b"user-1"))
    letter = json.dumps({"schema": "murmurate/dead/1", "reason": "field", "topic": source(running).topic,
                         "partition": 0, "offset": at}).encode()  # fmt: skip
    write(running, *[Write(Place(f"{running.plan.name}.dead.edge", 0), letter)] * 2)
    to = ("--partition", "0", "--offset", str(at), "--to", str(at + 1))
    done = say(running, "dead", "retry", "--zone", "edge", "--topic", source(running).topic, *to)
    assert done.exit_code == 0, done.output
    assert "late: the door will count it" in " ".join(done.output.split())
    assert all(len(line) <= 80 for line in done.output.splitlines())
    copies = [got for got in running.everything("events") if got.value == event]
    assert [(got.place.partition, got.key) for got in copies] == [(0, b"user-1")] * 2


@pytest.mark.parametrize(
    ("zone", "name", "said"),
    [
        ("edge", "raw", "what is torn there stays torn"),
        ("mixing", "events", "allowed: edge"),
        ("edge", "events", "found no dead letter of"),
    ],
)
def test_nothing_else_is_retried(running: Deployed, zone: str, name: str, said: str) -> None:
    full = f"{running.plan.name}.{name}"
    done = say(running, "dead", "retry", "--zone", zone, "--topic", full, "--partition", "1", "--offset", "3")
    assert done.exit_code != 0
    assert said in str(done.exception)


def test_a_recording_that_was_fed_before_is_refused_in_one_line_unless_it_is_meant(running: Deployed) -> None:
    clicks, before = str(running.folder / "clicks.jsonl"), len(running.everything("events"))
    refused = say(running, "feed", clicks)
    assert isinstance(refused.exception, UsageError)
    first = START_MS // 1000
    said = f"found a recording from period {first} on; allowed: one from period {first + PERIODS} on"
    assert str(refused.exception).startswith(f"feed: stream 'screen': {said}")
    assert "\n" not in str(refused.exception)
    assert "--again" in str(refused.exception)
    assert len(running.everything("events")) == before
    again = say(running, "feed", clicks, "--again")
    assert again.exit_code == 0, again.output
    assert len(running.everything("events")) > before
