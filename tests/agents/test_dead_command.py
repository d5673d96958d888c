# SPDX-License-Identifier: Apache-2.0
"""`murmurate dead`, as far as no broker is needed: what is shown, and what a retry would do."""

import json

import pytest

from murmurate.agents.cli.dead import SAID, as_table, lines, retried
from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.retry import Retried, check, judge
from murmurate.errors import UsageError
from murmurate.topics.messages import Dead
from tests.agents.audit.test_auditor import PLAN
from tests.agents.world import SECOND, TOPIC

PLACE = Place(TOPIC, 0)
NOW = 1_000 * SECOND


def letter(reason: str, offset: int, topic: str = TOPIC) -> tuple[Got, Dead]:
    found = Dead(reason=reason, topic=topic, partition=1, offset=offset)
    return Got(Place("shop.dead.edge", 0), offset, None, found.canonical(), 0), found


LETTERS = [letter("json", n) for n in range(12)] + [letter("field", 99, "a-topic-of-" + "x" * 80)]


def test_letters_are_counted_by_reason_and_the_newest_places_are_shown() -> None:
    found = list(lines({"edge": LETTERS, "mixing": []}, 2))
    assert all(len(line) <= 80 for line in found)
    assert found[1].split() == ["edge", "json", "12", TOPIC]
    assert [line.split()[:4] for line in found[-2:]] == [["edge", "json", "1", "11"], ["edge", "field", "1", "99"]]
    assert list(lines({"edge": []}, 10)) == ["no dead letters"]
    assert len(list(lines({"edge": LETTERS}, 0))) == 3


def test_json_says_the_same() -> None:
    edge = as_table({"edge": LETTERS}, 1)["zones"]["edge"]
    assert edge["count"] == 13
    assert edge["reasons"][0] == {"reason": "json", "topic": TOPIC, "count": 12}
    assert [one["offset"] for one in edge["last"]] == [99]


def event(**fields: object) -> bytes:
    return json.dumps({"stream": "screen", "user": "u", "time": NOW, "value": "home"} | fields).encode()


@pytest.mark.parametrize(
    ("value", "what", "reason"),
    [
        (event(), "appended", None),
        (event(value="undeclared"), "appended", None),
        (event(time=NOW - 100 * SECOND), "late", None),
        (event(time=NOW + 100 * SECOND), "future", None),
        (event(user=""), "refused", "user"),
        (event(stream="nobody's"), "refused", "stream"),
        (b'{"torn', "refused", "json"),
        (None, "empty", None),
    ],
)
def test_a_record_is_judged_as_a_door_of_today_would(value: bytes | None, what: str, reason: str | None) -> None:
    found = judge(PLAN, PLACE, 7, Got(PLACE, 7, None, value, 0), NOW)
    assert (found.offset, found.what, found.reason) == (7, what, reason)


def test_without_a_clock_nothing_is_late_or_too_early() -> None:
    assert judge(PLAN, PLACE, 7, Got(PLACE, 7, None, event(time=5), 0), None).what == "appended"
    assert judge(PLAN, PLACE, 7, None, None).what == "gone"


def test_what_was_done_is_said_in_80_columns_for_each_record() -> None:
    done = [Retried(10**12 + n, what, "json" if what == "refused" else None) for n, what in enumerate(SAID)]  # type: ignore[arg-type]
    done.append(Retried(3, "late", None, 10**12))
    found = list(retried("a-topic-of-" + "x" * 60, 1, done))
    assert all(len(line) <= 80 for line in found)
    assert "appended again at 1000000000000, and late" in " ".join(" ".join(found).split())
    assert "1 of 7 appended" in " ".join(" ".join(found).split())


@pytest.mark.parametrize(
    ("zone", "name", "message"),
    [
        ("edge", "shop.reports", "found shop.reports, a topic of the deployment's own: what is torn there stays torn"),
        ("edge", "reports", "stays torn"),
        ("mixing", TOPIC, "found mixing; allowed: edge"),
        ("edge", "clicks", "found 'clicks'; allowed: shop.events"),
    ],
)
def test_only_records_of_source_topics_are_retried(zone: str, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(PLAN, zone, name)  # type: ignore[arg-type]
    check(PLAN, "edge", TOPIC)
