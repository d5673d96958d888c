# SPDX-License-Identifier: Apache-2.0
"""Who takes part depends on no value: what leaves the edge is as large, as long and about as many with any value as
with another, on the stages and over whole replays.

The same events are told twice, with valid values and with values that are malformed in every way there is.  Methods ask
the same whatever was estimated, so that everything beyond the edge can be compared record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.replay.run import Replay
from murmurate.agents.replay.sources import open_source
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import Plan, StreamPlan
from murmurate.topics.block import BatchBlock, ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.domains import Categories, Domain, Grid
from murmurate.topics.events import Fields
from murmurate.topics.message import Message
from murmurate.topics.release import Release
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Event, arrivals, crowd, deployment, played, stream
from tests.topics.test_frames import MALFORMED

USERS, PERIODS = 61, 3
DOMAINS: dict[str, Domain] = {
    "values": Categories(("home", "basket", "help")),
    "values and other": Categories(("home", "basket", "help"), other=True),
    "a mean": Grid(0.0, 10.0, 65_537, "points"),
    "a distribution": Grid(0.0, 10.0, 8, "stretches"),
}
WRONG = {
    **MALFORMED,
    "null": b"null",
    "a list": b'["home"]',
    "an object": b'{"user": "somebody"}',
    "true": b"true",
    "a text or a number": b"",  # whichever the stream does not take
    "missing": None,
    "undeclared": b'"cellar"',
}
"""What values may stand there in place of a valid one; None: no field at all."""


def plan_of(domain: str, carry_ms: int | None) -> Plan:
    measure = {"a mean": "mean", "a distribution": "distribution"}.get(domain, "frequency")
    first = stream("screen", "lpu", measure=measure, domain=DOMAINS[domain], carry_ms=carry_ms, w=2, slots=64)
    return deployment(first, min_batch=2)


def told(plan: Plan, events: Sequence[Event], wrong: Callable[[Event, int], bool]) -> list[bytes]:
    """The records: of wrong ones each kind in turn, in every order of the fields."""
    domain, records = plan.streams[0].domain, list[bytes]()
    numbers, takes_any = isinstance(domain, Grid), isinstance(domain, Categories) and domain.other
    kinds = [(name, value) for name, value in WRONG.items() if not (takes_any and name == "undeclared")]
    for i, event in enumerate(events):
        value: bytes | None = b"%d" % (len(str(event.value)) % 10) if numbers else orjson.dumps(event.value)
        if wrong(event, i):
            name, kind = kinds[i % len(kinds)]
            value = kind if name != "a text or a number" else b'"3"' if numbers else b"3"
        who = b'"user": %b' % orjson.dumps(event.user)
        when = b'"time": %d' % event.time
        what = [] if value is None else [b'"value": ' + value]
        of = b'"stream": %b' % orjson.dumps(event.stream)
        members = [[who, when, *what, of], [*what, of, when, who], [of, who, *what, when]][i % 3]
        records.append(b"{" + b", ".join(members) + b"}")
    return records


def run(plan: Plan, events: Sequence[Event], wrong: Callable[[Event, int], bool]) -> Runtime:
    records = iter(told(plan, events, wrong))
    logs = [Out(log, next(records)) if log.topic == TOPIC else Out(log, value) for log, value, *_ in
            arrivals(events, until=(FIRST + PERIODS) * SECOND + 1000)]  # fmt: skip
    return played(plan, logs)


def beyond(runtime: Runtime) -> dict[Log, list[Any]]:
    """What everybody beyond the edge sees, but for what reports say."""
    found: dict[Log, list[Any]] = {}
    for log in runtime.logs.topics():
        if log.topic in ("rounds", "closings", "reports", "batches", "tallies", "releases"):
            found[log] = [_outside(decode_record(value), value) for value in runtime.logs.all(log.topic)]
    return found


def _outside(record: object, value: bytes) -> Any:
    match record:
        case ReportBlock() | BatchBlock():
            return len(value), record.round.hex(), len(record.reports)
        case Release():
            return record.stream, record.t, record.decision, record.reports
        case Message():
            return record.model_dump(exclude={"counts"})
    raise AssertionError(record)


@pytest.mark.parametrize(
    ("domain", "carry_ms"),
    [
        ("a distribution", 0),
        ("a mean", 2000),
        ("values", None),
        pytest.param("values", 0, marks=pytest.mark.audit),
        *(pytest.param(domain, None, marks=pytest.mark.audit) for domain in DOMAINS if domain != "values"),
    ],
)
def test_nothing_beyond_the_edge_is_larger_or_smaller_for_any_value(domain: str, carry_ms: int | None) -> None:
    plan = plan_of(domain, carry_ms)
    events = crowd(plan, users=USERS, periods=PERIODS, seed=3)
    valid = beyond(run(plan, events, lambda event, i: False))
    received = [record[3].received for record in valid[Log("releases", 0)]]
    assert len(received) == PERIODS
    for wrong in (
        lambda event, i: event.user == "user-7",  # one of them, and nothing they ever say is valid
        lambda event, i: True,  # nobody ever says anything valid
    ):
        found = beyond(run(plan, events, wrong))
        assert [record[3].received for record in found[Log("releases", 0)]] == received
        assert found == valid


def test_users_of_whom_no_value_was_valid_say_the_initial_value_and_the_edge_counts_them() -> None:
    for domain, initial, code in (
        ("values", None, 0), ("values", 2, 2), ("values and other", None, 3), ("a mean", None, 0),
        ("a mean", 65_536, 65_536), ("a distribution", 5, 5),
    ):  # fmt: skip
        plan = plan_of(domain, None)
        one = StreamPlan(**{**vars(plan.streams[0]), "initial": initial})
        plan = deployment(one, min_batch=2)
        events = crowd(plan, users=USERS, periods=PERIODS, seed=3)
        runtime = run(plan, events, lambda event, i: _never_valid(event))
        heard = {e.user for e in events if not _never_valid(e) and (domain != "values" or e.value != "elsewhere")}
        waiting = len({event.user for event in events} - heard)
        assert waiting >= 20
        spoken = runtime.of_stage["perturb"]
        frozen = [task.stage._streams["screen"].values for task in spoken]  # type: ignore[attr-defined]
        assert sum(values.initial for values in frozen) == waiting
        assert sum(task.stage.initial["screen"] for task in spoken) == waiting  # type: ignore[attr-defined]
        assert one.initial_code == code
        for values in frozen:
            stands = values.close(FIRST + PERIODS, len(values._shown)).values
            waits = (values._code < 0) & (values._shown < (FIRST + 1) * SECOND)
            assert (stands[waits] == code).all()


def _never_valid(event: Event) -> bool:
    return int(event.user.removeprefix("user-")) < 20


def recorded(folder: Path, events: Sequence[Event], kind: str, *, wrong: bool) -> str:
    """A file of these events, their values valid or malformed in every way that leaves a line a line."""
    path = folder / f"{wrong}.{kind}"
    kinds: Mapping[str, bytes] = {name: value for name, value in WRONG.items() if value and b"\n" not in value}
    if kind == "jsonl":
        lines = []
        for i, event in enumerate(events):
            value = list(kinds.values())[i % len(kinds)] if wrong else b'"home"'
            head = b'"user": "%b"' % event.user.encode()
            lines.append(b"{%b, %b}" % ((head, b'"value": %b, "time": %d' % (value, event.time)) if i % 2 else
                                        (b'"time": %d, "value": %b' % (event.time, value), head)))  # fmt: skip
        path.write_bytes(b"\n".join(lines) + b"\n")
        return str(path)
    cells = [b"", b"cellar", b'5" tall', b'"open', b"a,b,c", b'"a,b"', b"\xff", b"x" * 70_000, b'"x""']
    rows = [b"user,value,time"]
    for i, event in enumerate(events):
        value = cells[i % len(cells)] if wrong else b"home"
        rows.append(b"%b,%b,%d" % (event.user.encode(), value, event.time))
    path.write_bytes(b"\n".join(rows) + b"\n")
    return str(path)


@pytest.mark.parametrize(
    ("kind", "carry_ms"),
    [
        ("jsonl", 0), ("csv", None),
        pytest.param("jsonl", None, marks=pytest.mark.audit), pytest.param("csv", 2000, marks=pytest.mark.audit),
    ],
)  # fmt: skip
def test_a_replay_asks_and_hears_the_same_users_whatever_their_values_are(
    kind: str, carry_ms: int | None, tmp_path: Path
) -> None:
    changes: dict[str, Any] = {"carry_ms": carry_ms, "w": 2, "slots": 64, "fields": Fields()}
    plan = deployment(stream("screen", "lpu", domain=DOMAINS["values"], **changes), min_batch=2)
    events = sorted(crowd(plan, users=USERS, periods=PERIODS, seed=3), key=lambda event: event.time)
    events = [Event(e.stream, e.user, e.time + 10**12, e.value, 0, 0) for e in events]
    saw = []
    for wrong in (False, True):
        one = recorded(tmp_path, events, kind, wrong=wrong)
        if wrong:  # a file without one good event is an error: a line of somebody who is late
            with Path(one).open("ab") as file:
                late = events[0].time
                file.write(b'{"user": "late", "time": %d, "value": "home"}\n' % late if kind == "jsonl" else
                           b"late,home,%d\n" % late)  # fmt: skip
        outcome = Replay(plan, open_source(one, plan), KEYS).run()
        releases = [orjson.loads(record) for record in outcome.releases]
        saw.append(
            [(r["t"], r["decision"], r["reports"]) for r in releases]
            + [(period.t, period.users) for period in outcome.truth]
        )
        assert len(releases) >= PERIODS
    assert saw[0] == saw[1]
