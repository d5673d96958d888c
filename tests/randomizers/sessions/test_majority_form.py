# SPDX-License-Identifier: Apache-2.0
"""The majority form of ExSub online as a file asks for it: exact laws, devices, and estimates of a node's changes."""

from __future__ import annotations

import numpy as np

from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.horizon_levels import HorizonLevels, LevelsTask, horizon_levels
from murmurate.aggregators.methods.method import Setting
from murmurate.randomizers.sessions import Count
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.sessions.node import Node
from tests.cases import every
from tests.randomizers.guards import people
from tests.randomizers.sessions.horizons import Crowd, ask, horizon
from tests.randomizers.sessions.transcripts import Laws, audit, check_marginals, courses

USERS = 4_000


def levels(steps: int, epsilon: float, changes: int, form: str) -> HorizonLevels:
    """Those of four periods of a mean of whole numbers, for as many users as they need."""
    of = Setting(Mean.of_size(steps + 1, says_none=False), round(epsilon * 10**6), 1, 576, first_t=1, seed=bytes(32))
    return horizon_levels(of, LevelsTask("exsub_online", True, "best", form, 4, changes, 2, "mean", 10**6))  # type: ignore[arg-type]


@every(
    ("steps", "epsilon", "changes"),
    [(1, 0.5, 3), (1, 2.0, 2)],
    long=[(1, e, s) for e in (0.25, 1.0, 4.0) for s in (2, 3)] + [(2, 1.0, 2)],
)
def test_every_level_that_a_file_can_have_keeps_epsilon_exactly(steps: int, epsilon: float, changes: int) -> None:
    for made in levels(steps, epsilon, changes, "majority").protocols:
        assert isinstance(made, ExSubOnline)
        assert made.tau >= 1
        laws = Laws(made)
        assert audit(laws, courses(made.d, made.nodes, made.s)).holds(made)
        for course in courses(made.d, made.nodes, min(2, made.s)):
            check_marginals(laws, course, 2 * (1 - made.kept))


def test_the_best_form_is_the_papers_where_majorities_would_cost_who_is_still() -> None:
    low, high = (levels(1, epsilon, 4, "best").protocols[0].parameters()["tau"] for epsilon in (0.5, 6.0))
    assert (low, high) == (1, 0)


def test_devices_alone_and_together_give_the_same_reports_and_a_node_estimates_the_mean_change() -> None:
    made = horizon(4, every=True, of=Count(4, none=False), each=1, changes=3, parameters={"tau": 1})
    crowd, before = Crowd(made, people(60)), np.zeros((5, 60), np.int64)
    off = list[np.ndarray]()
    for step in range(1, 5):
        before[step] = (np.arange(60) * 7 + step * (np.arange(60) % 2)) % 4 if step % 2 else before[step - 1]
        for level, number in made.tree.ending(step):
            assert crowd.round(ask(made, 10, level, number), before[step].tolist()) is not None
        crowd.crash()
        crowd.look(9 + step, before[step].tolist())
    users = Crowd(made, people(USERS)).array
    numbers = np.arange(USERS) % 4
    for level in (0, 0, 0):
        one = ask(made, 10 + 100 * len(off), level, 1)
        rows, _, reports = users.answer(users.charge(one), numbers)  # type: ignore[arg-type]
        question = one.question
        assert isinstance(question, Node)
        told = made.ones.vectors(numbers[rows])[:, :3].astype(float)
        estimate = question.estimate(question.support(reports), len(rows))
        off.append((estimate - told.mean(axis=0)) / np.sqrt(question.variance(len(rows), told.mean(axis=0))))
        users.end_sessions(one.t + 50)
    assert np.abs(np.concatenate(off)).max() < 4.5
