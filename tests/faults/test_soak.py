# SPDX-License-Identifier: Apache-2.0
"""The soak itself: a short one with everything in it holds, and what an hour would have to find is found."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from murmurate.topics.times import instant
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.soak_checks import Kept, Releases, lateness, results
from tests.faults.soak_load import Schedule, Source
from tests.faults.soak_options import Options
from tests.faults.soak_run import begun, run
from tests.faults.soak_thirds import Sample, growth

NAMES = ("worker 0", "worker 1")


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_short_soak_of_mixed_sources_finds_nothing_wrong(
    broker: Broker, deployment_name: str, tmp_path: Path
) -> None:
    options = Options(
        name=deployment_name, kind="mixed", minutes=1.0, rate=1500, every_s=2, lateness_s=15, sample_s=5, stay_s=3,
        turn_s=8, visits_at=(0.1, 0.5),
    )  # fmt: skip
    deployed = Deployed(tmp_path, options.name, broker.bootstrap, options.text)
    try:
        begun(deployed)
        found = run(deployed, options)
        assert found.wrong == [], "\n".join(found.told)
        assert len(found.visits) == 2
        for source in found.sources:
            assert source.added > 0
            assert source.lawful > 50 * options.rate
        assert found.sources[1].aborted > 0 or found.sources[0].aborted > 0
    finally:
        deployed.close()


def samples(memory: tuple[float, float, float], *, lag: int = 100, descriptors: int = 60) -> list[Sample]:
    """Of three thirds, ten each, with noise; lag and descriptors are those of the last third."""
    draw, found = random.Random(1), []
    for third, mb in enumerate(memory):
        for i in range(10):
            noisy = mb * (1 + draw.uniform(-0.01, 0.01))
            last = third == 2
            found.append(
                Sample(30.0 * i, (noisy, 100.0), (30, descriptors - 30 if last else 30), lag if last else 100, i)
            )
    return found


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (samples((100, 120, 123)), ""),
        (samples((100, 120, 100)), ""),
        (samples((100, 120, 130)), "worker 0: memory grew by"),
        (samples((100, 120, 120), lag=1300), "lag grew from 100 to 1300 records"),
        (samples((100, 120, 120), descriptors=66), "descriptors grew from 60 to 66"),
        ([], "fewer than three samples"),
    ],
)
def test_what_grows_from_the_second_third_to_the_last_is_found(found: list[Sample], said: str) -> None:
    told, wrong = growth(found, NAMES)
    assert len(wrong) == bool(said)
    assert said in "".join(wrong)
    assert len(told) == (4 if found else 0)


class Nobody:
    """A reader of nothing, and a deployment that waits a second."""

    plan: Any
    name = "soak"
    lateness_ms = 1000

    def __init__(self) -> None:
        self.plan = self

    def at(self, offsets: object) -> None:
        pass


def released(t: int, none: float = 0.0, missing: int = 0) -> bytes:
    return orjson.dumps({
        "stream": "screen", "t": t, "start": instant(t * 1000), "end": instant(t * 1000 + 1000),
        "decision": "published", "reports": {"missing": missing}, "unbiased": {"none": none},
        "stderr_unbiased": {"none": 0.01},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("periods", "said"),
    [
        ((7, 8, 9), []),
        ((7, 9), ["stream screen: found period 9 after a gap; allowed: period 8"]),
        ((7, 8, 8), ["stream screen: found period 8 twice, or out of order; allowed: period 9"]),
        ((8, 7, 9), ["stream screen: found period 7 twice, or out of order; allowed: period 9"]),
    ],
)
def test_a_period_that_is_missing_or_released_twice_is_found(periods: tuple[int, ...], said: list[str]) -> None:
    nobody: Any = Nobody()
    releases = Releases(nobody, nobody)
    for t in periods:
        releases.judge(released(t), t * 1000 + 2500)
    assert releases.wrong == said
    assert releases.delays_ms == [500] * len(periods)
    assert (releases.begins["screen"], releases.ends["screen"]) == (periods[0] * 1000, periods[-1] * 1000 + 1000)


def test_those_who_were_lost_are_seen_in_the_share_of_nothing_and_in_the_contributors() -> None:
    nobody: Any = Nobody()
    releases = Releases(nobody, nobody)
    for t in range(100):
        releases.judge(released(t, none=0.01 if t >= 50 else -0.001), 0)
    assert releases.nobody_silent(0, 50_000) == []
    (line,) = releases.nobody_silent(50_000, 100_000)
    assert line == "stream screen: found 0.0100 (+-0.0014) who sent nothing; allowed: none"
    releases.judge(released(100, missing=2), 0)
    assert releases.wrong == ["stream screen: period 100 lacks 2 contributors; allowed: none"]


def test_events_that_were_lost_counted_twice_or_refused_are_found() -> None:
    source = Source("screen", "screens", 4, 100, 100)
    source.lawful, source.late, source.garbage = 1000, 5, 3
    fine = Kept(Counter(screen=1000), 900, Counter({"edge json": 3}))
    assert fine.compared([source], 1000) == []
    assert lateness(Counter(late=5, accepted=1000), [source]) == []
    for rows in (999, 1001):
        (line,) = Kept(Counter(screen=rows), 0, fine.dead).compared([source], 1000)
        assert line == f"raw: found {rows} events of screen; sent: 1000"
    (line,) = Kept(fine.rows, 1001, fine.dead).compared([source], 1000)
    assert line == "raw: found a time 1001 ms ahead of the brokers'; allowed: 1000 ms"
    (line,) = Kept(fine.rows, 0, Counter({"edge json": 3, "mixing torn": 1})).compared([source], 1000)
    assert line.startswith("dead letters: found {'edge json': 3, 'mixing torn': 1}; planted:")
    assert lateness(Counter(late=6, future=2), [source]) == [
        "6 late events were counted; planted: 5", "2 events were counted as too far ahead",
    ]  # fmt: skip


def test_the_results_that_a_worker_shows_are_added_up() -> None:
    shown = (
        'murmurate_events_total{result="late",stream="screen"} 3.0\n'
        'murmurate_events_total{result="late",stream="basket"} 2.0\n'
        'murmurate_events_total{result="accepted",stream="screen"} 1.5e+03\n'
    )
    assert results(shown) == Counter(late=5, accepted=1500)


def test_each_user_sends_one_event_in_a_period_whoever_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([moment for moment in (5_000, 5_007, 6_990, 9_000) for _ in range(3)])
    monkeypatch.setattr("tests.faults.soak_load.now_ms", lambda: next(moments))
    shares = [Schedule("screen", 100, 200, share, 3, 5_000) for share in range(3)]
    found = [event for _ in range(4) for one in shares for event in one.due()]
    assert len(found) == 400
    for period in (0, 1):
        inside = [one for one in found if 5_000 + 2_000 * period <= one.time_ms < 7_000 + 2_000 * period]
        assert sorted(one.user for one in inside) == list(range(200))
