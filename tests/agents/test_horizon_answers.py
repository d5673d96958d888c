# SPDX-License-Identifier: Apache-2.0
"""Answers over stretches of time from a method of horizons: their standard errors hold what they say.

Releases are the product's own, of answers that are drawn from the laws of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.stages.release import Came, release
from murmurate.aggregators.methods.last_estimate import packed, unpacked
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.aggregators.queries import ReleaseIndex, answer
from murmurate.config.plan import Plan
from murmurate.topics import decode
from murmurate.topics.errors import MessageError
from murmurate.topics.times import instant
from tests.agents.world import FIRST, SECOND, deployment, stream
from tests.aggregators.methods.test_horizons import USERS, answered, truth
from tests.cases import every

W, SLOTS, PERIODS, HORIZON = 9, 576, 20, 8
LOST = {2: {(FIRST + 3, 1), (FIRST + 10, 0)}, 3: {(FIRST + 2, 1), (FIRST + 9, 0)}}
"""The rounds that fail, by fan-out, period and place: one for which other nodes make up, and one without which nothing
is new.
"""


def deployed(fanout: int = 2, goal: str = "mean") -> Plan:
    options = MethodOptions("sao2", horizon=str(HORIZON), changes="4", fanout=str(fanout), goal=goal, users=str(USERS))
    return deployment(stream("screen", stated_model="local", carry_ms=None, method=options, w=W, slots=SLOTS))


def run(plan: Plan, shares: np.ndarray, seed: int, lost: set[tuple[int, int]]) -> list[Decision]:
    """The decisions of a run in which some rounds have no answer."""
    of, rng, found = plan.streams[0], np.random.default_rng(seed), list[Decision]()
    made = method(of.method, Setting(of.measure, 2_000_000, W, SLOTS, FIRST, bytes(32), min_batch=100))
    for t in range(FIRST, FIRST + len(shares)):
        step, place = made.open(t), 0
        while isinstance(step, Request):
            got = answered(step, t, shares, FIRST, rng)
            step = made.tally(Answer(np.zeros_like(got.support), 0) if (t, place) in lost else got)
            place += 1
        found.append(step)
    return found


def released(plan: Plan, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Their releases, as they are written."""
    came = Came(32, [], "nothing was counted")
    return [orjson.loads(release(plan, plan.streams[0], one, came).canonical()) for one in decisions]


def index(records: Sequence[dict[str, Any]]) -> ReleaseIndex:
    found = ReleaseIndex()
    for record in records:
        found.add(record)
    return found


def over(of: ReleaseIndex, low: int, high: int, what: str = "share") -> Any:
    """The answer over the periods low..high-1, counted from the first one."""
    return answer(of, f"{what} of screen over {instant((FIRST + low) * SECOND)} .. {instant((FIRST + high) * SECOND)}")


@every(("fanout", "seeds"), [(2, 40)], long=[(2, 400), (3, 400)])
def test_two_standard_errors_hold_averages_over_any_stretch(fanout: int, seeds: int) -> None:
    plan, shares = deployed(fanout), truth(PERIODS, 1)
    prefixes, stretches, apart = list[bool](), list[bool](), list[bool]()
    for seed in range(seeds):
        rng, silent = np.random.default_rng([seed, 1]), max(LOST[fanout])[0] - FIRST
        records = released(plan, run(plan, shares, seed, LOST[fanout]))
        of, repeated = index(records), [record["measured_t"] - FIRST for record in records]
        assert repeated == [t - (t == silent) for t in range(PERIODS)]
        ends = [(0, int(rng.integers(1, PERIODS + 1))) for _ in range(2)]
        ends += [tuple(sorted(rng.choice(PERIODS + 1, 2, replace=False).tolist())) for _ in range(4)]
        for low, high in ends:
            told = shares[repeated[low:high]].mean(axis=0)
            for row in over(of, low, high).rows:
                off = abs(row.value - told[plan.streams[0].measure.names.index(row.name)])
                (stretches if low else prefixes).append(off < 2 * row.stderr)
                errors = [record["stderr_unbiased"][row.name] for record in records[low:high]]
                apart.append(off < 2 * np.linalg.norm(errors) / (high - low))
    assert 0.93 < np.mean(prefixes) < 0.97
    assert 0.93 < np.mean(stretches) < 0.97
    assert np.mean(apart) < 0.85  # as if errors were independent


def test_a_decision_that_waits_in_a_state_keeps_its_horizon() -> None:
    (*_, last) = run(deployed(), truth(4, 2), 1, set())
    assert last.horizon is not None
    assert len(last.horizon.shares) == 2
    assert unpacked(packed(last)).horizon == last.horizon


def test_a_release_without_a_model_says_nothing_of_its_horizon() -> None:
    """Its bytes are those of versions that knew of none."""
    plan = deployed()
    plain = replace(plan, streams=(replace(plan.streams[0], stated_model=None),))
    (record,) = released(plain, run(plan, truth(1, 3), 1, set()))
    assert not {"horizon", "model", "stderr_unbiased"} & record.keys()
    (said,) = released(plan, run(plan, truth(1, 3), 1, set()))
    moved = orjson.dumps(said | {"horizon": said["horizon"] | {"first_t": FIRST - HORIZON}})
    with pytest.raises(MessageError, match="found another period's horizon, or no model"):
        decode(moved)
