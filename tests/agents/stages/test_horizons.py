# SPDX-License-Identifier: Apache-2.0
"""A server of horizons that writes what it likes into `rounds`, in front of real perturb stages: no second transcript.

In each test the stages read their logs in several orders and die in between; all of that gives the same reports, and
the auditor, who shares no code with devices and sessions, finds nothing.  Refusals are counted by reason, and horizons
that are asked as they should be go on as if nothing had been asked beside them.  Not here: who comes and goes, and
stops (test_horizon_courses.py).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log
from murmurate.randomizers import GRR
from murmurate.topics.message import Message
from murmurate.topics.messages import Round
from murmurate.topics.slots import Slots
from tests.agents.stages.hands import ROUNDS, Hand, question, reports
from tests.agents.stages.horizon_rounds import (
    ALL,
    COHORTS,
    HOME,
    LAWFUL,
    PLAN,
    SCREEN,
    SLOT,
    UNTIL,
    USERS,
    Course,
    T,
    W,
    checked,
    habits,
    made,
    node,
    opening,
    raw_of,
)
from tests.agents.world import FIRST, KEYS, TOPIC
from tests.cases import every

FIRST_HORIZON = COHORTS[0]
"""The one that is cheated on."""
BEFORE, AFTER = [*LAWFUL[:4], LAWFUL[5]], [LAWFUL[4], *LAWFUL[6:]]
"""What was asked before: all that ends with the first three periods, of which the first is settled."""
ASKED_ALONE = ("a node again, by another round", "a question by itself to those in session",
               "a question by itself to those who rest")  # fmt: skip
"""Cheats that are refused slot by slot, since nobody else was asked."""
GRR_OF_ALL = GRR(d=5, epsilon=2.0).spec()


def edited(round_: Round, of: dict[str, Any] | None = None, **changes: Any) -> Round:
    """The round of a node with other words in its question; of: those of the horizon."""
    spec = {**round_.mechanism, **changes}
    spec["horizon"] = {**round_.mechanism["horizon"], **(of or {})}
    return round_.model_copy(update={"mechanism": spec})


NEXT = node(FIRST_HORIZON, FIRST, 0, 4)
"""The node that should be asked next."""
AGAIN = node(FIRST_HORIZON, FIRST, 0, 3, patience_ms=1)
CHEATS: dict[str, tuple[str, Round]] = {
    "a node again, by another round": ("closed", AGAIN),
    "an older node": ("session", node(FIRST_HORIZON, FIRST, 0, 2, patience_ms=1)),
    "a node of a period that is settled": ("closed", node(FIRST_HORIZON, FIRST, 0, 1, patience_ms=1)),
    "a node under another period's number": ("session", node(FIRST_HORIZON, FIRST, 0, 2, t=FIRST + 3)),
    "another horizon of the cohort at once": ("session", node(FIRST_HORIZON, FIRST + 2, 0, 1)),
    "another protocol for the same horizon": ("session", node(made(0, name="ddrm_online"), FIRST, 0, 4)),
    "fewer changes for the same horizon": ("session", node(made(0, changes=1), FIRST, 0, 4)),
    "other slots than the level's": (
        "session", node(FIRST_HORIZON, FIRST, 0, 4, slots=Slots.chosen(COHORTS[1].asked(0)))
    ),
    "everybody's slots": ("session", node(FIRST_HORIZON, FIRST, 0, 4, slots=Slots.every(12))),
    "a shorter horizon, whose bill would end sooner": ("session", node(made(0, 3), FIRST, 0, 3)),
    "a horizon that is said to cost less": ("session", edited(NEXT, {"epsilon_micro": 1})),
    "a price beside the question": ("mechanism", edited(NEXT, epsilon_micro=1)),
    "a bill beside the question": ("mechanism", edited(NEXT, bill=[FIRST, FIRST])),
    "a bill in the horizon": ("mechanism", edited(NEXT, {"bill": [FIRST, FIRST]})),
    "a horizon of the other cohort that costs more than there is": (
        "budget", edited(node(COHORTS[1], FIRST + 2, 0, 1), {"epsilon_micro": 2_000_001})
    ),
    "a question by itself to those in session": (
        "closed", question(PLAN, SCREEN, FIRST + 2, mechanism=GRR_OF_ALL, slots=Slots.chosen(FIRST_HORIZON.asked(1)))
    ),
    "a question by itself to those who rest": (
        "gap",
        question(PLAN, SCREEN, FIRST + T + W - 2, mechanism=GRR_OF_ALL, slots=Slots.chosen(FIRST_HORIZON.asked(0))),
    ),
}  # fmt: skip


class Told:
    """The perturb stage of one partition, and what it sent of each round."""

    def __init__(self) -> None:
        self._hand = Hand(Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1}))
        self._hand.give(Log("raw", 0), *raw_of(ALL, FIRST + T)[0])
        self._more = raw_of(ALL, UNTIL)[0][len(raw_of(ALL, FIRST + T)[0]) :]
        self.sent: dict[str, list[bytes]] = {}

    def ask(self, *rounds: Message) -> None:
        """Put questions, or settle."""
        for (digest, _), told in sorted(reports(self._hand.give(ROUNDS, *rounds)).items()):
            self.sent.setdefault(digest, []).extend(told)

    def later(self) -> None:
        """Let the other periods pass."""
        for (digest, _), told in sorted(reports(self._hand.give(Log("raw", 0), *self._more)).items()):
            self.sent.setdefault(digest, []).extend(told)

    @property
    def refused(self) -> dict[str, int]:
        """Users, by the reason why a round was refused."""
        assert isinstance(self._hand.stage, Perturb)
        return {reason: n for (_, reason), n in self._hand.stage.refusals.items() if n}


@cache
def undisturbed() -> dict[str, list[bytes]]:
    """What the lawful rounds of all horizons get."""
    told = Told()
    told.ask(*opening(*LAWFUL))
    told.later()
    assert not told.refused
    return told.sent


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused_and_counted_and_lawful_horizons_go_on(name: str) -> None:
    reason, round_ = CHEATS[name]
    told, mine = Told(), SLOT[HOME == 0]
    told.ask(*opening(*BEFORE))
    before = dict(told.sent)
    told.ask(round_)
    users = int(round_.slots.mask()[mine].sum()) if name in ASKED_ALONE else len(mine)
    assert told.sent == before
    assert told.refused == {reason: users}
    assert users
    told.ask(*AFTER)
    told.later()
    assert told.sent == undisturbed()
    assert told.refused == {reason: users}


def test_the_first_round_again_draws_no_secrets_again() -> None:
    told = Told()
    told.ask(*opening(LAWFUL[0]), node(FIRST_HORIZON, FIRST, 0, 1, patience_ms=1), *LAWFUL[1:])
    told.later()
    assert told.sent == undisturbed()
    assert told.refused.keys() == {"closed"}


def test_a_node_that_is_skipped_is_not_answered_and_the_others_are() -> None:
    skipped = node(FIRST_HORIZON, FIRST, 0, 2)
    told = Told()
    told.ask(*opening(*(one for one in LAWFUL if one != skipped)))
    told.later()
    usual = undisturbed()
    assert told.sent.keys() == usual.keys() - {skipped.digest.hex()}
    assert not told.refused
    of_others = {one.digest.hex() for one in LAWFUL if isinstance(one, Round) and one.slots != skipped.slots}
    assert all(told.sent[digest] == usual[digest] for digest in of_others)
    assert all(len(told.sent[digest]) == len(usual[digest]) for digest in told.sent)


def test_a_node_asked_late_is_told_alike_whether_or_not_later_values_were_there() -> None:
    """Cohort 1 is asked about period FIRST + 3, cohort 0 about FIRST + 2 after that: if raw events came first, values
    of later periods have been read by then.
    """
    rounds = [
        node(COHORTS[0], FIRST, 0, 1), node(COHORTS[0], FIRST, 0, 2), node(COHORTS[1], FIRST + 3, 0, 1),
        node(COHORTS[0], FIRST, 0, 3), node(COHORTS[0], FIRST, 0, 4),
    ]  # fmt: skip
    events = [(t, user, (user + t) % 4) for t in range(FIRST - 1, UNTIL) for user in range(USERS)]
    checked(Course(raw_of(events, UNTIL), opening(*rounds)), 1)
    plain = question(PLAN, SCREEN, FIRST + 2, mechanism=GRR_OF_ALL, slots=Slots.chosen(np.arange(12) == 11))
    checked(Course(raw_of(events, UNTIL), opening(*rounds[:2], plain, node(COHORTS[0], FIRST, 1, 1), rounds[3])), 1)


# ---- whatever a server asks ----


def cheat(rng: random.Random, before: Sequence[Message]) -> Round:
    """A question that no honest server asks, about a period near that of an earlier one."""
    of, first_t = rng.choice([(COHORTS[0], FIRST), (COHORTS[1], FIRST + T), (COHORTS[0], FIRST + 2 * T)])
    asked = [one for one in before if isinstance(one, Round)] or [node(of, first_t, 0, 1)]
    now, patience = asked[-1].t, rng.randrange(1, 99)
    level, number = rng.choice(of.tree.ending(rng.randrange(1, T + 1)))
    strange = rng.choice([
        made(0, changes=2), made(1, changes=1), made(0, name="ddrm_online"), made(2, cohorts=3, each=1),
        made(0, 2), made(0, 8, cohorts=1, each=1), made(1, every=False),
    ])  # fmt: skip
    of_it = strange.tree.ending(1 + (now - first_t) % strange.tree.periods)
    some = np.array([rng.random() < 0.3 for _ in range(12)])
    ways: list[Callable[[], Round]] = [
        lambda: asked[-1].model_copy(update={"patience_ms": patience}),
        lambda: rng.choice(asked),
        lambda: node(of, first_t, level, number, patience_ms=patience),
        lambda: node(of, first_t, 0, 1, patience_ms=patience),
        lambda: node(of, now, 0, 1),
        lambda: node(strange, now, 0, 1),
        lambda: node(strange, first_t, *rng.choice(of_it or ((0, 1),))),
        lambda: node(of, first_t, level, number, slots=Slots.chosen(of.asked((level + 1) % 3))),
        lambda: question(PLAN, SCREEN, now, slots=Slots.chosen(some)),
        lambda: question(PLAN, SCREEN, now + rng.randrange(3), mechanism=GRR(d=5, epsilon=0.5).spec()),
    ]
    return rng.choice(ways)()


def hostile(rng: random.Random) -> list[Message]:
    """The lawful rounds, some of them skipped, with cheats in between."""
    given: list[Message] = []
    for one in LAWFUL:
        while rng.random() < 0.35:
            given.append(cheat(rng, given))
        if not (isinstance(one, Round) and rng.random() < 0.2):
            given.append(one)
    return given


@every("seeds", [range(1)], long=[range(1, 1000)])
def test_no_server_hears_a_second_transcript_in_any_order_of_the_logs(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        checked(Course(raw_of(habits(rng, UNTIL), UNTIL), opening(*hostile(rng))), seed, every=True)
