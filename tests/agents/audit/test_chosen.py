# SPDX-License-Identifier: Apache-2.0
"""The threshold that the auditor computes again: it is the curator's, and every planted fault is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from murmurate.agents.audit.chosen import chosen_threshold
from murmurate.agents.stages.curation import Curation
from murmurate.aggregators.measures.summed import CentralTotal
from murmurate.config.plan import CentralPlan, HoldoutPlan
from murmurate.randomizers.trees import Tree
from murmurate.topics.codec import encode
from murmurate.topics.curated import Curated
from tests.agents.audit.test_auditor import Tape
from tests.agents.audit.test_summed import audited, places, run, seen
from tests.agents.central import CENTS, FOUND, FOUND_SPENT, only
from tests.agents.world import FIRST, KEYS, SECOND

KEY = KEYS.edge.devices.randomness
OFTEN = replace(FOUND_SPENT, tree=Tree(2, 1), holdout=HoldoutPlan(1, 40, again=True))
"""A hold-out, two leaves, a hold-out again."""
SAID = 4
"""How many of its thresholds a tree follows, in the 13 periods of a run."""
SHARP = replace(OFTEN, epsilon_micro=20_000_000, holdout=HoldoutPlan(1, 1, again=True))
"""With next to no noise, so that a single event decides where scores are equal."""
Fault = Callable[[Curation, int], int]


@pytest.mark.parametrize(
    "stream",
    [
        FOUND_SPENT,
        SHARP,
        replace(FOUND_SPENT, events=3, window_ms=SECOND, epsilon_micro=300_000),
        replace(FOUND_SPENT, measure=CentralTotal(CENTS, finds=True), holdout=HoldoutPlan(2, 100_000)),
        replace(FOUND_SPENT, measure=CentralTotal(replace(CENTS, high=300.0, cells=3001), finds=True)),
    ],
    ids=["found", "little noise", "users", "steep", "more steps than candidates"],
)
def test_curator_and_auditor_choose_alike_from_every_hold_out(stream: CentralPlan) -> None:
    assert stream.holdout is not None
    rng, plan, found = np.random.default_rng(7), only(stream), set[int]()
    for many in (0, 1, 2, 5, 20, 100, 500, 5000):
        one, held = Curation(plan, stream, KEY), np.zeros(stream.measure.cells, np.int64)
        one.begin(FIRST + many)
        for _ in range(stream.holdout.periods):
            codes = (stream.measure.domain.none * rng.random(many) ** 3).astype(np.uint32)
            held = held + stream.measure.sums(codes)
            one.period(stream.measure.sums(codes))
        told = one.period(np.zeros(stream.measure.cells, np.int64))
        assert told.tree is not None
        assert told.tree.threshold == chosen_threshold(plan, stream, KEY, FIRST + many, held.tolist())
        found.add(told.tree.threshold)
    assert len(found) > 3


def test_an_honest_run_has_each_of_its_thresholds_chosen_again() -> None:
    plan = only(OFTEN)
    found = audited(Tape(run(plan)), plan)
    assert found.holds, found.where
    assert found.thresholds == SAID


def with_fault(fault: Fault, stream: CentralPlan = OFTEN) -> tuple[dict[str, int], int, list[str]]:
    """What is seen where the curator chooses otherwise, in how many hold-outs it did, and the auditor's lines."""
    honest, moved = Curation._chosen, list[bool]()

    def chosen(self: Curation) -> int:
        right, found = honest(self), fault(self, honest(self))
        moved.append(found != right)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curation, "_chosen", chosen)
        runtime = run(only(stream))
    found = audited(Tape(runtime), only(stream))
    assert found.thresholds == SAID
    return seen(found), sum(moved[:SAID]), found.where


def test_a_curator_that_picks_the_neighbour_is_found_in_every_hold_out_and_in_one_line_each() -> None:
    candidates = FOUND.candidates

    def neighbour(one: Curation, right: int) -> int:
        place = candidates.index(right)
        return candidates[place + 1 if place + 1 < len(candidates) else place - 1]

    found, moved, lines = with_fault(neighbour)
    assert found == {"mischosen": moved} == {"mischosen": SAID}
    assert len(lines) == SAID
    assert lines[0].startswith("mischosen: 1 in stream 'found', period ")
    assert " where the hold-out and the key choose " in lines[0]


@pytest.mark.parametrize("many", [1, -1])
def test_a_curator_that_counts_one_event_too_many_or_too_few_is_found_wherever_that_moves_the_choice(many: int) -> None:
    honest = Curation._chosen

    def miscounts(one: Curation, right: int) -> int:
        """The choice from one event more, or less: the first, of all that could be it, that changes it."""
        sums = one._sums
        try:
            for code in range(FOUND.domain.none):
                one._sums = sums + many * FOUND.sums(np.array([code], np.uint32))
                if one._sums.min() >= 0 and (found := honest(one)) != right:
                    return found
        finally:
            one._sums = sums
        return right

    found, moved, _ = with_fault(miscounts, SHARP)
    assert moved > 0
    assert found == {"mischosen": moved}


def test_a_choice_without_the_events_or_with_other_noise_is_found() -> None:
    honest = Curation._chosen

    def forgets(one: Curation, right: int) -> int:
        sums, one._sums = one._sums, np.zeros_like(one._sums)
        found = honest(one)
        one._sums = sums
        return found

    def other_noise(one: Curation, right: int) -> int:
        since, one._since = one._since, one._since + 1
        found = honest(one)
        one._since = since
        return found

    for fault in (forgets, other_noise):
        found, moved, _ = with_fault(fault)
        assert moved > 0
        assert found == {"mischosen": moved}


def test_a_threshold_that_is_no_candidate_is_found_and_its_leaves_lack_their_noise() -> None:
    plan = only(FOUND_SPENT)
    tape = Tape(run(plan))
    for at, one in places(tape, Curated, "found", "tallies"):
        assert isinstance(one, Curated)
        if one.tree is not None:
            tree = one.tree.model_copy(update={"threshold": 10**15})
            tape.records["tallies", 0][at] = encode(one.model_copy(update={"tree": tree}))
    found = audited(tape, plan)
    assert found.mischosen == found.thresholds == 2
    assert seen(found).keys() == {"mischosen", "misnoised"}
    assert found.misnoised == found.leaves > 0
