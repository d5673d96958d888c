# SPDX-License-Identifier: Apache-2.0
"""A central target in both runtimes: the error that was promised, one report too few for a release, the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import load
from murmurate.config.planning import plan as planned
from tests.agents.central_target import formula, held, local, record, squared_errors, text
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed

SIZES = [(40, 20_000, 20.0), pytest.param(915, 602_325, 20.0, marks=pytest.mark.faults)]
"""Values, users and what a device may spend; the second as in the dissertation's example."""
PERIODS = 4


def replayed(folder: Path, d: int, users: int, limit: float, present: int) -> tuple[list[bytes], float]:
    """The releases of a replay in which so many of the users are present, and the error of each."""
    file = folder / f"{present}.toml"
    file.write_text('name = "target"\n' + text(d=d, users=users, limit=limit), encoding="utf-8")
    plan, values = planned(load(file, {})), held(d, users, PERIODS)[:, :present]
    source = record(folder / f"{present}.jsonl", values)
    found = Replay(plan, open_source(source, plan, None), keys(known_secrets(plan.name), plan.name)).run().releases
    errors = squared_errors(found, values, d)
    return found, float(np.mean(errors)) / formula(plan, users, d) if errors else 0.0


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("d", "users", "limit"), SIZES)
def test_the_error_is_that_of_the_formula_and_far_below_a_local_promise_of_the_same_epsilon(
    d: int, users: int, limit: float, tmp_path: Path
) -> None:
    releases, off = replayed(tmp_path, d, users, limit, users)
    claims = [orjson.loads(line)["privacy"]["shuffled"] for line in releases]
    measured = [claim for claim in claims if claim is not None]
    assert len(measured) >= PERIODS - 1
    assert all(claim["epsilon"] <= 0.5 and claim["delta"] <= 1e-9 for claim in measured)
    assert 1 - max(0.1, 3 / d**0.5) < off < 1 + max(0.1, 3 / d**0.5)
    plan = planned(load(tmp_path / f"{users}.toml", {}))
    assert local(users, d) > 100 * formula(plan, users, d)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("d", "users", "limit"), SIZES)
def test_a_batch_one_short_of_the_smallest_is_withheld_and_said_to_be_too_small(
    d: int, users: int, limit: float, tmp_path: Path
) -> None:
    releases, _ = replayed(tmp_path, d, users, limit, users - 1)
    for release in map(orjson.loads, releases):
        assert release["decision"] == "unmeasured"
        assert (release["reports"]["received"], release["reports"]["counted"]) == (0, 0)
        assert release["reports"]["rejected"]["undersized"] is True
        assert release["privacy"]["unshuffled"] == "nothing was counted"


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("d", "users", "limit"), SIZES)
def test_a_target_gives_the_same_bytes_on_a_broker(
    d: int, users: int, limit: float, broker: Broker, deployment_name: str, tmp_path: Path
) -> None:
    told = Deployed(tmp_path / "deployed", deployment_name, broker.bootstrap, text(d=d, users=users, limit=limit))
    try:
        told.create()
        source = record(tmp_path / "all.jsonl", held(d, users, PERIODS))
        wanted = told.expected(source)
        told.worker().until('"ready"', 60.0)
        feed = told.feed(source)
        assert told.releases(len(wanted), 300.0) == wanted
        assert feed.wait() == 0
        assert any(orjson.loads(line)["decision"] == "published" for line in wanted)
        audit = told.run("audit", "ledger", "--json", within_s=2400.0)  # it draws every report again by itself
        assert audit.returncode == 0, audit.stdout + audit.stderr
    finally:
        told.close()
