# SPDX-License-Identifier: Apache-2.0
"""All that a period of a search in sets of items tells costs each user epsilon once, in exact arithmetic.

What a phase asks follows from what earlier users told.  So these are laws of whole transcripts: of every phase the
question and the report, for all sets of a small universe that one user may hold.  A user who is asked in two phases is
seen.  Not here: methods and devices, and what their reports show (test_search_devices.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from murmurate.aggregators.hitters.itemset_search import guesses, itemset_candidates
from murmurate.aggregators.hitters.ldp_miner import miner_question
from murmurate.aggregators.hitters.set_search import (
    correction,
    first_candidates,
    kept_sizes,
    length_from,
    sampled_question,
    size_question,
)
from murmurate.randomizers import Size, Viewed
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.thresholds import exp_floor
from tests.audit.registry import ROUND
from tests.cases import every

Told = tuple[tuple[Viewed, np.ndarray], ...]
"""The questions so far as they are in their rounds, each with its reports."""
Server = Callable[[Told], Viewed | None]


# ---- servers ----


def shares(told: tuple[Viewed, np.ndarray]) -> np.ndarray:
    question, reports = told
    return question.estimate(question.support(reports), len(reports))


def sizes(told: tuple[Viewed, np.ndarray]) -> np.ndarray:
    """Sizes that are kept, without those below 0: of one report all others could be chance."""
    view = told[0].view
    assert isinstance(view, Size)
    return kept_sizes(shares(told)[: view.most + 1], 0.0)


def svim(of: Any, epsilon: float, k: int) -> Server:
    """Candidates, sizes, shares."""

    def asks(told: Told) -> Viewed | None:
        if not told:
            return sampled_question(of, 1, None, epsilon, pool=2)
        candidates = first_candidates(shares(told[0]), k).tolist()
        if len(told) == 1:
            return size_question(of, candidates, epsilon, pool=2)
        if len(told) == 2:
            return sampled_question(of, length_from(sizes(told[1])), candidates, epsilon, pool=2)
        return None

    return asks


def svsm(of: Any, epsilon: float, k: int) -> Server:
    """Sizes and shares of all items, then of the two sets that they make likeliest."""
    items = list(range(of[1]))

    def asks(told: Told) -> Viewed | None:
        if not told:
            return size_question(of, items, epsilon, pool=2)
        if len(told) == 1:
            return sampled_question(of, length_from(sizes(told[0])), items, epsilon, pool=2)
        kept = sizes(told[0])
        found = shares(told[1]) * correction(kept, length_from(kept))
        likely = guesses(found - found.min() + 0.01, k, of[2], number=2)  # of one report hardly an item is above 0
        itemsets = itemset_candidates(items, likely)
        if len(told) == 4:
            return None
        if len(told) == 2:
            return size_question(of, itemsets, epsilon, pool=2)
        return sampled_question(of, length_from(sizes(told[2])), itemsets, epsilon, pool=2)

    return asks


def miner(of: Any, epsilon: float, k: int) -> Server:
    """Sizes of all, candidates, shares."""

    def asks(told: Told) -> Viewed | None:
        if not told:
            return size_question(of, None, epsilon, pool=2)
        if len(told) == 1:
            return miner_question(of, length_from(sizes(told[0])), None, epsilon, pool=2)
        candidates = first_candidates(shares(told[1]), k).tolist()
        return miner_question(of, 2 * k, candidates, epsilon, pool=2) if len(told) == 2 else None

    return asks


# ---- exactly: one user a phase, all that each of them may hold ----

SETS = ("items", 3, 2, 1)
EPSILON = Fraction(1)
BOUND = exp_floor(10**6)
SERVERS: dict[str, Server] = {
    "svim": svim(SETS, 1.0, 1),
    "svsm": svsm(SETS, 1.0, 5),
    "ldp_miner": miner(SETS, 1.0, 1),
}


def most_told(server: Server, users: Sequence[int]) -> Fraction:
    """The largest ratio of any transcript over what one user holds, whoever the user is.

    users: who answers each phase. What a transcript's other reports contribute is the same whatever one user holds.
    """
    values, laws = list(layout(SETS).enumerate()), dict[bytes, list[Any]]()
    most, transcripts = Fraction(1), 0

    def follow(told: Told, products: dict[int, list[Fraction]]) -> None:
        nonlocal most, transcripts
        asked = server(told)
        if asked is None:
            transcripts += 1
            most = max(most, *(max(of) / min(of) for of in products.values()))
            return
        question = asked.of_round(ROUND)
        of = laws.setdefault(question.digest, [])
        if not of:
            of += [question.law(value) for value in values]
            assert all(sum(law.values()) == 1 and law.keys() == of[0].keys() for law in of)
        user = users[len(told)]
        before = products.get(user, [Fraction(1)] * len(values))
        for report in of[0]:
            mine = [chance * law[report] for chance, law in zip(before, of, strict=True)]
            heard = np.frombuffer(report, np.uint8)[None, :]
            follow((*told, (question, heard)), {**products, user: mine})

    follow((), {})
    assert transcripts > 100
    return most


@every("name", ["svim", "ldp_miner"], long=["svsm"])
def test_all_that_a_period_tells_of_a_user_is_epsilon_once(name: str) -> None:
    told = most_told(SERVERS[name], range(4 if name == "svsm" else 3))
    assert told <= BOUND
    assert float((told - 1) / (BOUND - 1)) > 0.999


@every(
    ("name", "users"),
    [("svim", (0, 1, 0)), ("svim", (0, 0, 1)), ("ldp_miner", (0, 1, 1))],
    long=[("svsm", (0, 1, 2, 1))],
)
def test_a_user_who_is_asked_in_two_phases_is_seen_exactly(name: str, users: tuple[int, ...]) -> None:
    assert most_told(SERVERS[name], users) > BOUND * Fraction(5, 4)
