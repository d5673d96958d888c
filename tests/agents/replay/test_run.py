# SPDX-License-Identifier: Apache-2.0
"""A replay in process: its releases and its truth follow the same rules, whatever the source is like.

Where everybody answers at epsilon 20, a report lies once in 10^8: a release is then the truth itself, membership,
carried values and refusals included, computed by the stages on one side and by truth.py on the other.
"""

from __future__ import annotations

import dataclasses
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Frame, Outcome, Replay, keys
from murmurate.agents.replay.source import Batch, Source, SourceError
from murmurate.agents.replay.sources import open_source
from murmurate.agents.replay.truth import by_period
from murmurate.agents.stages.stage import Out
from murmurate.agents.web.feed import Feed
from murmurate.config.plan import Plan, StreamPlan
from murmurate.topics.block import REFUSED
from tests.agents.replay.plans import MINUTE, START, counts, plan, stream
from tests.cases import drawn

MOST = 20_000_000
"""Micro-nats, the most there are: a mechanism of a few values then lies once in 10^8."""
EXACT = 2e-6
"""Six places of a release, and the 10^-8."""
Event = tuple[str, int, int, int]
"""Stream, user, milliseconds after START, code."""


class Scripted(Source):
    """Batches as a test says them: (clock, events), clocks in order."""

    def __init__(self, plan: Plan, script: list[tuple[int, list[Event]]], end: int, enrolled: int | None) -> None:
        super().__init__(plan, tuple(each.name for each in plan.streams))
        self.enrolled, self._n, self._script, self._end = enrolled is not None, enrolled, script, START + end

    def users(self) -> int | None:
        return self._n

    def first_t(self, stream: str) -> int:
        return START // self.plan.stream(stream).every_ms

    def batches(self) -> Iterator[Batch]:
        for clock, events in self._script:
            for name in self.streams:
                mine = [event for event in events if event[0] == name]
                users = [user for _, user, _, _ in mine]
                yield Batch(
                    name, START + clock,
                    None if self.enrolled else [b"u-%d" % user for user in users],
                    np.array(users, np.int64) if self.enrolled else None,
                    np.array([time for _, _, time, _ in mine], np.int64) + START,
                    np.array([code for _, _, _, code in mine], np.uint32), {}, len(mine),
                )  # fmt: skip


def replayed(of: Plan, source: Source) -> Outcome:
    return Replay(of, source, keys(known_secrets(of.name), of.name)).run()


def sure(first: StreamPlan, *others: StreamPlan, **changes: Any) -> Plan:
    """A plan under which everybody answers every round; for the first stream as good as nobody ever lies."""
    shares = [1_000_000 - 1_000 * len(others), *(1_000 for _ in others)]
    pairs = zip((first, *others), shares, strict=True)
    streams = tuple(dataclasses.replace(found, share_micro=share) for found, share in pairs)
    split = "budget" if others else "users"
    usual: dict[str, Any] = {"split": split, "epsilon_micro": MOST, "min_batch": 1, "partitions": 2, "targets": 2}
    return plan(*streams, **(usual | changes))


def agreed(of: Plan, exact: str, outcome: Outcome) -> int:
    """Compare every release with the truth: who was asked in all streams, what they say in one. How many had users."""
    true, told, known = by_period(iter(outcome.truth)), 0, set[str]()
    released = {(release["stream"], release["t"]): release for release in map(orjson.loads, outcome.releases)}
    assert true.keys() <= released.keys()
    assert len(released) == len(outcome.releases)
    for place, release in released.items():
        users = true[place].users if place in true else 0  # no truth: the source began after this period's end
        assert release["reports"]["counted"] == release["reports"]["received"] == users, place
        nobody = "approximated" if place[0] in known else "unmeasured"
        assert release["decision"] == ("published" if users else nobody), place
        known |= {place[0]} if users else set()
        assert (None in release["estimate"].values()) == (place[0] not in known), place
        if users and place[0] == exact:
            told += 1
            unbiased = np.array([release["unbiased"][name] for name in of.stream(exact).names])
            assert np.abs(unbiased - true[place].figures).max() < EXACT, place
    assert outcome.over_budget == 0
    return told


def moments(first: int, last: int) -> st.SearchStrategy[int]:
    """Minutes, in milliseconds: mostly where something begins or ends, or a millisecond beside it."""
    steps = st.integers(first * 6, last * 6)  # lateness is a step, carry three or more, future thirty
    return st.builds(lambda step, beside: step * 10_000 + beside, steps, st.sampled_from([0, 0, 0, -1, 1, 4_321]))


single = st.tuples(
    st.sampled_from(["a", "b"]), st.integers(0, 5), moments(-2, 9), st.sampled_from([0, 1, 2, 2, REFUSED])
)
scripts = st.lists(st.tuples(moments(0, 8), st.lists(single, max_size=12)), min_size=1, max_size=8).map(
    lambda found: list(zip(sorted(clock for clock, _ in found), [events for _, events in found], strict=True))
)
carries = st.sampled_from([0, 30_000, MINUTE, 3 * MINUTE, None])
orders: st.SearchStrategy[Literal["last", "first"]] = st.sampled_from(["last", "first"])


@drawn(
    12,
    long=1000,
    script=scripts,
    enrolled=st.sampled_from([None, 6]),
    carry=carries,
    other=carries,
    several=orders,
    alone=st.booleans(),
)
def test_late_future_carried_and_missing_values_count_in_releases_as_in_the_truth(
    script: list[tuple[int, list[Event]]],
    enrolled: int | None,
    carry: int | None,
    other: int | None,
    several: Literal["last", "first"],
    alone: bool,
) -> None:
    a = stream("a", carry_ms=carry, several=several, method="lbu", w=1)
    b = stream("b", carry_ms=other, method="lbu", w=2, every_ms=2 * MINUTE)
    if alone:
        of = sure(a)
        script = [(clock, [event for event in events if event[0] == "a"]) for clock, events in script]
    else:
        of = sure(a, b)
    assume(any(events for _, events in script))
    source = Scripted(of, script, 10 * MINUTE, enrolled)
    agreed(of, "a", replayed(of, source))


def noisy(seed: int, folder: Path, *, clean: bool = False) -> tuple[str, Counter[str]]:
    """JSON lines of 60 users over a quarter of an hour, in order, with late, future, doubled and bad lines among them,
    and how many of each; or, clean, without all that should change nothing.
    """
    rng, lines, count = random.Random(seed), list[bytes](), Counter[str]()
    for i in range(4_000):
        time = START + i * 225  # 15 minutes
        line = {"user": f"u-{rng.randrange(60)}", "time": time, "value": rng.choice(["home", "search", "help"])}
        lines.append(orjson.dumps(line))
        kind = rng.choices(["", "twice", "late", "future", "value", "json"], [77, 5, 10, 4, 2, 2])[0]
        bad = {"twice": line, "late": line | {"time": time - 4 * MINUTE, "user": f"late-{i}"},
               "future": line | {"time": time + 9_000 * MINUTE, "user": f"future-{i}"},
               "value": line | {"value": "cellar", "user": f"new-{i % 9}"}}  # fmt: skip
        if not kind or (kind in ("late", "future") and i < 1_500):
            continue
        count[kind] += kind != "twice"
        if kind == "value" or not clean:
            lines.append(orjson.dumps(bad[kind]) if kind in bad else b'{"user": "cut-o')
    path = folder / f"{seed}-{clean}.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path), count


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.audit) for seed in (2, 3))])
@pytest.mark.parametrize("carry_ms", [0, 90_000, None])
def test_a_noisy_file_is_released_as_the_truth_and_each_refusal_is_counted(
    seed: int, carry_ms: int | None, tmp_path: Path
) -> None:
    path, count = noisy(seed, tmp_path)
    of = sure(stream("screen", carry_ms=carry_ms, method="lbu", w=1))
    source = open_source(path, of)
    outcome = replayed(of, source)
    assert +outcome.refused == count
    assert agreed(of, "screen", outcome) >= 14


@pytest.mark.parametrize("method", ["lpu", *(pytest.param(name, marks=pytest.mark.audit) for name in ("lbu", "lpa"))])
def test_late_future_doubled_and_unreadable_lines_change_no_byte_of_a_release(method: str, tmp_path: Path) -> None:
    of = plan(stream(method=method, carry_ms=90_000), min_batch=1)
    disturbed, calm = (replayed(of, open_source(noisy(4, tmp_path, clean=clean)[0], of)) for clean in (False, True))
    assert disturbed.releases == calm.releases
    assert [counts(period) for period in disturbed.truth] == [counts(period) for period in calm.truth]
    assert disturbed.refused["late"] > 100
    assert not calm.refused["late"]


def test_a_replay_shows_its_stages_when_periods_close_and_no_time_of_an_event(tmp_path: Path) -> None:
    path, _ = noisy(5, tmp_path, clean=True)
    own = {orjson.loads(line)["time"] for line in Path(path).read_bytes().splitlines()}
    of = plan(stream("a"), stream("b", every_ms=90_000), min_batch=1)
    replay = Replay(of, open_source(path, of, "a"), keys(known_secrets(of.name), of.name))
    shown = list[int]()

    def listen(records: Sequence[Out]) -> None:
        shown.extend(orjson.loads(value)["time"] for _, value, *_ in records if b"murmurate/progress/1" in value)

    replay._runtime.logs.listeners.append(listen)
    replay.run()
    assert len(shown) > 4 * 15
    assert {time for time in shown if (time - 10_000) % MINUTE and (time - 10_000) % 90_000} == set()
    assert not own & set(shown)


def test_periods_in_which_nobody_speaks_count_from_the_first_one_on(tmp_path: Path) -> None:
    path = tmp_path / "gap.npy"
    np.save(path, np.array([[-1] * 5] * 3 + [[0, 1, 2, 2, -1]] + [[-1] * 5] * 3))
    of = sure(stream(method="lbu", w=1))
    outcome = replayed(of, open_source(str(path), of))
    assert agreed(of, "screen", outcome) == len(outcome.releases) == 7
    assert [counts(period) for period in outcome.truth[2:5]] == [[0, 0, 0, 5], [1, 1, 2, 1], [0, 0, 0, 5]]


@pytest.mark.parametrize("method", ["lpu", pytest.param("lpa", marks=pytest.mark.audit)])
def test_a_sample_of_users_is_off_by_no_more_than_its_stated_error(method: str) -> None:
    of = plan(stream(method=method, carry_ms=None, values=("0", "1"), w=4), min_batch=2, epsilon_micro=MOST)
    whole = dataclasses.replace(of, streams=(dataclasses.replace(of.streams[0], share_micro=1_000_000),))
    outcome = replayed(whole, open_source("synthetic:sin,n=4000,periods=40", whole))
    true = {period.t: period.figures for period in outcome.truth}
    published = [r for r in map(orjson.loads, outcome.releases) if r["decision"] == "published"]
    assert len(published) >= 8
    # Known keys: these are always the same numbers. 5 sigma of 80 would come up once in 20 000 sets of keys.
    off = [
        abs(release["unbiased"][name] - true[release["t"]][i]) / release["stderr"][name]
        for release in published
        for i, name in enumerate(("0", "1"))
    ]
    assert max(off) < 5
    assert 0.1 < np.mean(off) < 1.6  # of a normal error .8: the stated one is neither far too small nor far too large


def test_the_same_keys_give_the_same_bytes_and_other_keys_others() -> None:
    of = plan(stream(carry_ms=None, values=("0", "1")))
    text = "synthetic:lns,n=2000,periods=12"
    first, again = (replayed(of, open_source(text, of)) for _ in range(2))
    assert first.releases == again.releases
    secrets = known_secrets(of.name) | {"randomness": bytes(range(32))}
    other = Replay(of, open_source(text, of), keys(secrets, of.name)).run()
    assert other.releases != first.releases
    assert [counts(period) for period in other.truth] == [counts(period) for period in first.truth]


def test_frames_come_as_a_page_wants_them_each_release_with_its_truth() -> None:
    of, frames = plan(stream(carry_ms=None, values=("0", "1"))), list[Frame]()
    source = open_source("synthetic:log,n=500,periods=9", of)
    outcome = Replay(of, source, keys(known_secrets(of.name), of.name), frames.append).run()
    kinds = [frame["type"] for frame in frames]
    assert (kinds[0], kinds[-2:], kinds.count("hello"), kinds.count("done")) == ("hello", ["progress", "done"], 1, 1)
    releases = [frame for frame in frames if frame["type"] == "release"]
    assert [frame["release"] for frame in releases] == [orjson.loads(record) for record in outcome.releases]
    assert [frame["truth"] for frame in releases] == [
        {"0": round(1 - p, 6), "1": round(p, 6)} for p in (period.figures[1] for period in outcome.truth)
    ]
    assert frames[-1]["summary"] == outcome.summary(of)
    feed = Feed()
    for frame in frames:
        feed.put(frame)
    assert feed.ended


def test_a_stopped_run_ends_with_what_is_done_so_far() -> None:
    of, seen = plan(stream(carry_ms=None, values=("0", "1"))), list[Frame]()

    def tell(frame: Frame) -> None:
        seen.append(frame)
        if frame["type"] == "release" and frame["release"]["t"] % 10 == 5:
            replay.stop()

    source = open_source("synthetic:lns,n=500,periods=60", of)
    replay = Replay(of, source, keys(known_secrets(of.name), of.name), tell)
    outcome = replay.run()
    assert outcome.interrupted
    assert 0 < len(outcome.releases) == len(outcome.truth) < 11
    assert seen[-1] == {"type": "done", "summary": outcome.summary(of)}
    whole = replayed(of, open_source("synthetic:lns,n=500,periods=60", of))
    assert whole.releases[: len(outcome.releases)] == outcome.releases


def test_a_stop_ends_the_pause_after_a_release() -> None:
    of, told = plan(stream(carry_ms=None, values=("0", "1"))), threading.Event()
    source = open_source("synthetic:lns,n=500,periods=40", of)

    def tell(frame: Frame) -> None:
        if frame["type"] == "release":
            told.set()

    replay = Replay(of, source, keys(known_secrets(of.name), of.name), tell)
    thread = threading.Thread(target=replay.run, kwargs={"pause_s": 3600.0}, daemon=True)
    thread.start()
    assert told.wait(60)
    replay.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert replay.outcome.interrupted
    assert replay.outcome.releases


def test_a_source_without_a_good_event_is_an_error_that_says_why(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"user": "u-1"}\nnonsense\n', encoding="utf-8")
    of = plan()
    with pytest.raises(SourceError, match=r"found no good event \(field 1, json 1\)"):
        replayed(of, open_source(str(path), of))


def test_each_stage_says_how_long_it_took() -> None:
    of = plan(stream(carry_ms=None, values=("0", "1")))
    outcome = replayed(of, open_source("synthetic:lns,n=500,periods=9", of))
    assert {"perturb", "shuffle", "aggregate", "publish"} <= outcome.stages.keys()
    assert 0 < sum(outcome.stages.values()) < outcome.seconds
