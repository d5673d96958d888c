# SPDX-License-Identifier: Apache-2.0
"""`murmurate topics`, as far as no broker is needed: commands, tables, and what is said where nobody answers."""

import json
import shlex
import socket
from pathlib import Path

from murmurate.agents.cli.topics import TopicRow, _done, _table
from murmurate.agents.kafka.provision import Report, wanted
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.topics.names import DAY_MS, TOPICS
from tests.agents.commands import deploy, murmurate
from tests.config.deployments import small

THIS = build(small(population__partitions=4, kafka__targets=2, kafka__replication=3))
PLAN = plan(THIS)


def test_every_topic_has_its_partitions_and_settings() -> None:
    want = wanted(THIS, PLAN, {"shop.events": 6})
    assert {name.removeprefix("shop."): topic.partitions for name, topic in want.items()} == {
        "events": 6, "raw": 4, "rounds": 1, "closings": 1, "reports": 2, "batches": 2, "tallies": 1, "releases": 1,
        "dead.edge": 1, "dead.mixing": 1, "dead.analysis": 1, "state.door": 6, "state.perturb": 4, "state.shuffle": 2,
        "state.aggregate": 2, "state.publish": 1,
    }  # fmt: skip
    assert all(topic.replication == 3 for topic in want.values())
    assert want["shop.events"].settings == {}
    raw, state = want["shop.raw"].settings, want["shop.state.perturb"].settings
    assert (raw["retention.ms"], raw["segment.ms"]) == (str(4 * DAY_MS), str(4 * DAY_MS // 24))
    assert raw["min.insync.replicas"] == "2"
    assert want["shop.rounds"].settings["retention.ms"] == str(61 * 60_000 + 4 * DAY_MS)
    assert state["cleanup.policy"] == "compact"
    assert state["max.compaction.lag.ms"] == "30000"
    assert "retention.ms" not in state
    assert {topic.settings["message.timestamp.type"] for name, topic in want.items() if name != "shop.events"} == {
        "LogAppendTime"
    }


def test_a_deployment_of_other_topics_has_no_events_and_one_of_the_feed_has_two_more() -> None:
    other = build(small(screen__source={"topic": "clicks"}, time__clock="feed"))
    want = wanted(other, plan(other), {"clicks": 3})
    assert "shop.events" not in want
    assert want["shop.ticks"].partitions == want["shop.feed"].partitions == 1
    assert want["shop.raw"].settings["min.insync.replicas"] == "1"
    central = {name for name, row in TOPICS.items() if row.central}
    assert {name.removeprefix("shop.") for name in want} == TOPICS.keys() - {"events", "releases.latest"} - central
    visits = {"model": "central", "measure": "count", "every": "1s"}
    more = build(small(screen__source={"topic": "clicks"}, curator={"epsilon": 1.0}, streams__visits=visits))
    assert {f"shop.{name}" for name in central} <= wanted(more, plan(more), {"clicks": 3}).keys()


def test_rows_of_the_newest_releases_are_compacted_and_say_for_a_day_what_is_deleted() -> None:
    rows = build(small(releases={"latest": True}))
    found = wanted(rows, plan(rows), {"shop.events": 1})["shop.releases.latest"]
    assert found.partitions == 1
    assert (found.settings["cleanup.policy"], found.settings["delete.retention.ms"]) == ("compact", str(DAY_MS))
    assert "retention.ms" not in found.settings


def test_what_was_made_is_said_in_80_columns() -> None:
    want = wanted(THIS, PLAN, {"shop.events": 4})
    made = {name: 4 if ".state." in name else topic.partitions for name, topic in want.items()}
    lines = list(_done(Report(made, ("shop.x",), ("a: b",), ("c: d",), {"screen": 7}), "shop", dry_run=False))
    assert lines[0].startswith("created  shop.events(4) shop.raw(4) shop.rounds(1) ")
    assert " ".join(lines[:4]).count("shop.state.*(4)") == 1
    assert lines[-4:] == ["right    1 topics", "corrected  a: b", "refused  c: d", "begins  screen with period 7"]
    assert all(len(line) <= 80 for line in lines)


def test_the_table_has_80_columns() -> None:
    rows = [TopicRow("shop.state.aggregate", 128, "compact", "for ever", TOPICS["state.door"].carries, "analysis"),
            TopicRow("shop.raw", None, None, None, "blocks", "edge"),
            TopicRow("shop.feed", 1, "delete", "169h", "time", "analysis", 169 * 3_600_000)]  # fmt: skip
    lines = list(_table(rows))
    assert all(len(line) <= 80 for line in lines)
    assert "missing" in lines[2]
    assert "7 days 1 hour  analysis" in lines[3]


def test_the_commands_of_acl_are_whole_when_they_are_pasted(tmp_path: Path) -> None:
    deploy(tmp_path)
    done = murmurate("topics", "acl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    pasted = [shlex.split(line) for line in done.stdout.replace("\\\n", " ").splitlines()]
    commands = json.loads(murmurate("topics", "acl", "--json", cwd=tmp_path).stdout)["commands"]
    assert pasted == [shlex.split(line) for line in commands]
    assert all(words[0] == "kafka-acls" for words in pasted)


def test_where_nobody_answers_the_exit_is_3(tmp_path: Path) -> None:
    deploy(tmp_path)
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        brokers = json.dumps([f"127.0.0.1:{taken.getsockname()[1]}"])
        for verb in ("create", "describe"):
            done = murmurate("topics", verb, cwd=tmp_path, MURMURATE__KAFKA__BROKERS=brokers)
            assert done.returncode == 3, done.stderr
            assert done.stderr.startswith("murmurate: brokers: ")
            assert done.stderr.count("\n") == 1
            assert "Traceback" not in done.stderr


def test_a_mistake_in_the_file_is_exit_2(tmp_path: Path) -> None:
    for verb in ("create", "describe", "acl"):
        assert murmurate("topics", verb, cwd=tmp_path).returncode == 2
