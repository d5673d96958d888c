"""Horizons through perturb: whatever a server writes into `rounds`, whoever comes or goes, wherever it stops.

In each test the stages read their logs in several orders and die in between; all of that gives the same reports, and
the auditor, who shares no code with devices and sessions, finds nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from murmurate.agents.embedded.log import Logs
from murmurate.agents.stages.perturb import Perturb
from murmurate.randomizers import GRR
from murmurate.topics.message import Message
from murmurate.topics.messages import Round
from murmurate.topics.slots import Slots
from tests.agents.stages.hands import RAW, ROUNDS, Hand, dones, perturb, question, reports, settled
from tests.agents.stages.horizon_rounds import (
    COHORTS,
    FEW,
    HOME,
    PLAN,
    SCREEN,
    SLOT,
    USERS,
    Course,
    T,
    W,
    audited,
    habits,
    lawful,
    made,
    node,
    of_level,
    opening,
    raw_of,
    run,
    sent,
    whole,
)
from tests.agents.world import FIRST, KEYS, TOPIC
from tests.cases import every

UNTIL = FIRST + 3 * T + 1
"""Three horizons, of the one cohort, the other one, and the first one again."""
LAWFUL = [
    *lawful(COHORTS[0], FIRST), *lawful(COHORTS[1], FIRST + T), *lawful(COHORTS[0], FIRST + 2 * T),
]  # fmt: skip
ALL = [(FIRST - 1, user, user % 4) for user in range(USERS)]
"""Everybody is there from the beginning."""


def checked(course: Course, seed: int) -> Logs:
    """The logs of a course, which are the same however it is read and whoever dies."""
    rng = random.Random(seed)
    usual = run(course, rng, order=["raw", "rounds"])
    found = audited(usual)
    assert found.holds, found.where
    for way in ({"order": ["rounds", "raw"]}, {}, {"crashes": True}):
        again = run(course, rng, **way)  # type: ignore[arg-type]
        assert sorted(again.all("reports")) == sorted(usual.all("reports")), way
    return usual


# ---- a server that asks what it likes ----


def cheat(rng: random.Random, before: list[Message]) -> Round:
    """A question that no honest server asks, about a period near that of an earlier one."""
    of, first_t = rng.choice([(COHORTS[0], FIRST), (COHORTS[1], FIRST + T), (COHORTS[0], FIRST + 2 * T)])
    asked = [one for one in before if isinstance(one, Round)]
    now = asked[-1].t if asked else FIRST
    step = rng.randrange(1, T + 1)
    level, number = rng.choice(of.tree.ending(step))
    strange = rng.choice([
        made(0, changes=2), made(1, changes=1), made(0, name="ddrm_online"), made(2, cohorts=3, each=1),
        made(0, 2), made(0, 8, cohorts=1, each=1), made(1, every=False),
    ])  # fmt: skip
    other = rng.choice([level for level in range(of.tree.levels) if level != level_of(of, level)] or [0])
    return rng.choice([
        lambda: asked[-1].model_copy(update={"patience_ms": rng.randrange(1, 99)}) if asked else node(of, first_t, 0, 1),
        lambda: rng.choice(asked) if asked else node(of, first_t, 0, 1),
        lambda: node(of, first_t, level, number, patience_ms=rng.randrange(1, 99)),
        lambda: node(of, first_t, 0, 1, patience_ms=rng.randrange(1, 99)),
        lambda: node(of, now, 0, 1),
        lambda: node(strange, now, 0, 1),
        lambda: node(strange, first_t, *rng.choice(strange.tree.ending(1 + (now - first_t) % strange.tree.periods))),
        lambda: node(of, first_t, level, number, slots=Slots.chosen(of.asked(other))),
        lambda: question(PLAN, SCREEN, now, slots=Slots.chosen(np.array([rng.random() < 0.3 for _ in range(12)]))),
        lambda: question(PLAN, SCREEN, now + rng.randrange(3), mechanism=GRR(d=5, epsilon=0.5).spec()),
    ])()  # fmt: skip


def level_of(of: Any, level: int) -> int:
    return level


def hostile(rng: random.Random) -> Iterator[Message]:
    """The lawful rounds, some of them skipped, with cheats in between."""
    given: list[Message] = []
    for one in LAWFUL:
        while rng.random() < 0.35:
            given.append(cheat(rng, given))
        if not (isinstance(one, Round) and rng.random() < 0.2):
            given.append(one)
    return iter(given)


@every("seeds", [range(10)], long=[range(10, 1000)])
def test_no_server_hears_a_second_transcript_in_any_order_of_the_logs(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        checked(Course(raw_of(habits(rng, UNTIL), UNTIL), opening(*hostile(rng))), seed)
