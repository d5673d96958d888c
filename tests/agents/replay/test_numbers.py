# SPDX-License-Identifier: Apache-2.0
"""Streams of numbers through all stages: every mechanism for them, users without a value, and errors that hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Outcome, Replay, keys
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.total import Total
from murmurate.config.plan import Plan
from murmurate.randomizers.registry import serving
from murmurate.topics.codec import decode
from murmurate.topics.domains import Grid
from murmurate.topics.release import Release
from tests.agents.replay.plans import plan, stream

USERS, PERIODS = 4000, 12
LOW, HIGH = -10.0, 30.0
POINTS = Grid(LOW, HIGH, (1 << 16) + 1, "points")
GRIDS = {"mean": POINTS, "total": POINTS, "distribution": Grid(LOW, HIGH, 16, "stretches")}
CASES = [
    (measure, says_none, name)
    for measure in ("mean", "distribution")
    for says_none in (True, False)
    for name in ("auto", *serving(measure, says_none=says_none))
]


def numbers(*, silent: float, seed: int = 3, users: int = USERS, periods: int = PERIODS) -> np.ndarray:
    """Temperatures that rise, some beyond the range; NaN where a user says nothing."""
    rng = np.random.default_rng(seed)
    said = rng.normal(np.linspace(0, 8, periods)[:, None], 6, (periods, users))
    return np.where(rng.random((periods, users)) < silent, np.nan, said)


def deployed(measure: str, *, says_none: bool, mechanism: str = "auto", method: str = "lpu", **changes: Any) -> Plan:
    kinds: dict[str, type[Mean | Total | Distribution]] = {"mean": Mean, "total": Total, "distribution": Distribution}
    of = kinds[measure](GRIDS[measure], says_none, "°C")
    one = stream("sensor", method=method, carry_ms=0 if says_none else None)
    one = dataclasses.replace(one, measure=of, share_micro=1_000_000, mechanism=mechanism)
    return plan(one, **({"partitions": 2, "targets": 2, "epsilon_micro": 2_000_000} | changes))


def replayed(of: Plan, folder: Path, array: np.ndarray) -> tuple[Outcome, list[Release]]:
    np.save(folder / "a.npy", array)
    outcome = Replay(of, open_source(str(folder / "a.npy"), of), keys(known_secrets(of.name), of.name)).run()
    releases = [found for found in map(decode, outcome.releases) if isinstance(found, Release)]
    assert outcome.over_budget == 0
    assert len(releases) == len(outcome.releases)
    return outcome, releases


def told(of: Plan, statistics: Mapping[str, float | None]) -> np.ndarray:
    """In the order of the stream's names, all of which are there and known."""
    assert statistics.keys() == set(of.streams[0].names)
    assert None not in statistics.values()
    return np.array([statistics[name] for name in of.streams[0].names])


def bounded(of: Plan, release: Release) -> np.ndarray:
    """The figures whose error `stderr` is without a filter: a mean's own; of a distribution only the estimate's."""
    return told(of, release.estimate if of.streams[0].measure.ordered else release.unbiased)


@pytest.mark.parametrize(("measure", "says_none", "name"), CASES)
def test_a_mechanism_by_its_name_gives_releases_within_their_errors(
    tmp_path: Path, measure: str, says_none: bool, name: str
) -> None:
    of = deployed(measure, says_none=says_none, mechanism=name)
    outcome, releases = replayed(of, tmp_path, numbers(silent=0.3 * says_none))
    for release, period in zip(releases, outcome.truth, strict=True):
        assert (release.decision, release.unit, release.range) == ("published", "°C", (LOW, HIGH))
        assert name in ("auto", release.mechanism["name"])
        assert (np.abs(bounded(of, release) - period.figures) < 6 * told(of, release.stderr)).all()
        assert all(LOW <= value <= HIGH for key, (value, _) in release.known.items() if key == "mean")


@pytest.mark.parametrize(
    ("measure", "says_none", "method"),
    [
        ("mean", True, "lpa"),
        ("distribution", True, "lbu"),
        *(
            pytest.param(*case, marks=pytest.mark.audit)
            for case in product(("mean", "distribution"), (True, False), ("lbu", "lpa"))
            if case not in (("mean", True, "lpa"), ("distribution", True, "lbu"))
        ),
    ],
)
def test_two_errors_hold_nineteen_times_in_twenty(tmp_path: Path, measure: str, says_none: bool, method: str) -> None:
    of = deployed(measure, says_none=says_none, method=method, epsilon_micro=4_000_000)
    outcome, releases = replayed(of, tmp_path, numbers(silent=0.3 * says_none, periods=40))
    off = np.array([
        np.abs(bounded(of, release) - period.figures) / told(of, release.stderr)
        for release, period in zip(releases, outcome.truth, strict=True)
        if release.measured_t == release.t
    ])  # fmt: skip
    assert off.size >= 10
    within = float((off < 2).mean())
    # Fresh figures cover 95.4 %; five standard errors of that many figures, were they independent, and no more than 1.
    assert within > 0.954 - 5 * (0.954 * 0.046 / off.size) ** 0.5


def test_where_nobody_lies_the_release_is_the_truth(tmp_path: Path) -> None:
    """Everybody answers, and at epsilon 20 a distribution's report names its own stretch or one beside it."""
    cases: tuple[tuple[str, float], ...] = (("mean", 0.2), ("total", 0.2), ("distribution", 0.01))
    for measure, near in cases:
        of = deployed(measure, says_none=True, method="lbu", epsilon_micro=20_000_000)
        of = dataclasses.replace(of, streams=(dataclasses.replace(of.streams[0], w=1),))
        outcome, releases = replayed(of, tmp_path, numbers(silent=0.3, periods=3))
        for release, period in zip(releases, outcome.truth, strict=True):
            assert np.abs(told(of, release.unbiased) - period.figures).max() < near
            assert np.abs(told(of, release.estimate) - period.figures).max() < near


def test_a_total_is_scored_against_the_sum_of_all_numbers_and_held_by_its_errors(tmp_path: Path) -> None:
    of = deployed("total", says_none=True, method="lpu")
    of = dataclasses.replace(of, streams=(dataclasses.replace(of.streams[0], stated_model="local"),))
    said = numbers(silent=0.3, periods=8)
    outcome, releases = replayed(of, tmp_path, said)
    for release, period in zip(releases, outcome.truth, strict=True):
        sums = np.clip(said[period.t - releases[0].t], LOW, HIGH)
        assert period.figures == pytest.approx([np.nansum(sums) / USERS, (~np.isnan(sums)).mean()], abs=1e-3)
        assert release.model == "local"
        error = told(of, release.stderr_unbiased or {})
        assert (np.abs(told(of, release.unbiased) - period.figures) < 6 * error).all()
    assert outcome.score(of).streams[0].scale == "total of °C"


def test_where_nobody_is_known_to_have_a_value_their_mean_is_no_number(tmp_path: Path) -> None:
    of = deployed("mean", says_none=True, method="lbu")
    of = dataclasses.replace(of, streams=(dataclasses.replace(of.streams[0], w=1, thresholds={"mean": 0.0}),))
    nobody = np.full((40, 4_000), np.nan)
    nobody[:20, 0] = 25.0  # one in four thousand, whom nobody can see; then none at all
    outcome, releases = replayed(of, tmp_path, nobody)
    unknown = [release for release in releases if release.estimate["mean"] is None]
    assert len(unknown) >= 30  # all but those beyond two standard errors by chance, 1 in 44
    for release in unknown:
        assert (release.stderr["mean"], release.unbiased["mean"], release.thresholds) == (None, None, None)
        present = release.estimate["present"]
        assert present is not None
        assert present < 0.05
        assert None not in (release.stderr["present"], release.unbiased["present"])
    told = [period.record(of.streams[0].names)["truth"] for period in outcome.truth]
    assert told[19] == {"mean": 25.0, "present": 0.00025}
    assert told[20:] == [{"mean": None, "present": 0.0}] * 20
    score = outcome.score(of)
    assert score.streams[0].estimated <= 20 - sum(release.t < releases[20].t for release in unknown)
    if score.streams[0].estimated == 0:
        assert (score.estimate_mse, score.coverage) == (None, None)


def test_numbers_of_another_form_are_refused_by_their_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([["1", "2"]]))
    with pytest.raises(SourceError, match=r"a\.npy: found <U1\[1, 2\]; allowed: numbers \[periods, users\]"):
        open_source(str(tmp_path / "a.npy"), deployed("mean", says_none=True))


def test_a_table_of_texts_and_lines_of_json_tell_the_same_numbers(tmp_path: Path) -> None:
    rows = [(f"u{u}", 60_000 * t + 10 * u, u * 0.37 - 12 + t) for t in range(4) for u in range(300)]
    (tmp_path / "a.csv").write_text(
        "user,time,value\n" + "".join(f"{u},{t + 1_794_992_400_000},{v}\n" for u, t, v in rows)
    )
    (tmp_path / "a.jsonl").write_text(
        "".join(f'{{"user":"{u}","time":{t + 1_794_992_400_000},"value":{v}}}\n' for u, t, v in rows)
    )
    of = deployed("mean", says_none=True)
    found = [
        Replay(of, open_source(str(tmp_path / name), of), keys(known_secrets(of.name), of.name)).run()
        for name in ("a.csv", "a.jsonl")
    ]
    assert found[0].releases == found[1].releases
    assert len(found[0].releases) >= 3
