# SPDX-License-Identifier: Apache-2.0
"""Means of whole numbers through all stages, from users' changes and from their values: truth, score, and coverage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Outcome, Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from tests.cases import every

USERS, PERIODS, STEPS = 600, 8, 4


def deployed(method: Any) -> Plan:
    stream = {
        "measure": "mean", "range": [1, 1 + STEPS], "step": 1, "unit": "stars", "every": "1s", "method": method,
        "missing": {"carry": "always"},
    }  # fmt: skip
    return plan(build({
        "name": "stars", "privacy": {"epsilon": 3.0, "window": {"periods": 1}, "min_batch": 2},
        "population": {"partitions": 2, "users": USERS}, "streams": {"rating": stream},
    }))  # fmt: skip


def numbers(horizons: int, seed: int, kind: str = "walk") -> np.ndarray:
    """Ratings that begin low, and go a step up or down twice in a horizon on average, some by two steps; or that jump,
    half of them from the lowest to the highest and the others back.
    """
    rng, found = np.random.default_rng(seed), []
    for _ in range(horizons):
        if kind == "jump":
            ends = np.where(rng.random(USERS) < 0.5, 1, 1 + STEPS)
            found += [ends] * (PERIODS // 2) + [2 + STEPS - ends] * (PERIODS - PERIODS // 2)
            continue
        said = rng.integers(1, 3, USERS)
        for _ in range(PERIODS):
            moves = rng.choice([-1, 1, 2], USERS) * (rng.random(USERS) < 2 / PERIODS)
            said = np.clip(said + moves, 1, 1 + STEPS)
            found.append(said + rng.choice([0.0, 0.4], USERS))  # what lies between is rounded
    return np.array(found)


def replayed(of: Plan, folder: Path, array: np.ndarray) -> tuple[Outcome, np.ndarray]:
    """The outcome, and how far estimates are off in standard errors."""
    np.save(folder / "a.npy", array)
    outcome = Replay(of, open_source(str(folder / "a.npy"), of), keys(known_secrets(of.name), of.name)).run()
    assert outcome.over_budget == 0
    said = [json.loads(text) for text in outcome.releases]
    assert [one["t"] for one in said] == [period.t for period in outcome.truth]
    off = [
        (one["unbiased"]["mean"] - period.figures[0]) / one["stderr"]["mean"]
        for one, period in zip(said, outcome.truth, strict=True)
    ]
    assert all((one["range"], one["unit"], one["measure"]) == ([1.0, 5.0], "stars", "mean") for one in said)
    return outcome, np.array(off)


@every(
    ("form", "kind", "horizons"),
    [("best", "walk", 8)],
    long=[(form, kind, 30) for form in ("paper", "majority", "best") for kind in ("walk", "jump")],
)
def test_releases_of_changes_are_held_by_their_errors(tmp_path: Path, form: str, kind: str, horizons: int) -> None:
    of = deployed({"name": "sao2", "horizon": f"{PERIODS}s", "changes": 12, "form": form})
    array = numbers(horizons, 2, kind)
    outcome, off = replayed(of, tmp_path, array)
    rounded = [np.rint(said).mean() for said in array]
    assert [period.figures[0] for period in outcome.truth] == pytest.approx(rounded, abs=1e-9)
    # Errors of a horizon hang together: about three of its eight periods count; 5 standard errors of that many.
    count = 3 * horizons
    assert abs(off.mean()) < 5 / count**0.5
    within = float((np.abs(off) < 2).mean())
    assert within > 0.954 - 5 * (0.954 * 0.046 / count) ** 0.5
    scored = outcome.score(of)
    assert scored.coverage == within
    assert scored.streams[0].scale == "mean of stars"


@every("method", ["lpu"], long=["lbu", "lpa", {"name": "efmrtt", "horizon": "8s"}, {"name": "direct", "horizon": "8s"}])
def test_other_methods_ask_for_the_same_points(tmp_path: Path, method: Any) -> None:
    of = deployed(method)
    outcome, off = replayed(of, tmp_path, np.repeat(numbers(1, seed=3)[:1], 6, axis=0))
    assert np.abs(off).max() < 5.5
    assert outcome.score(of).releases == 6
