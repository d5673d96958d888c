# SPDX-License-Identifier: Apache-2.0
"""Releases of horizons that are revised once, a horizon later: by least squares over all that the horizon told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.methods.after_horizon import AfterHorizon
from murmurate.aggregators.methods.horizon_levels import HorizonLevels
from murmurate.aggregators.methods.horizons import EFMRTTMethod, HorizonMethod
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.aggregators.trees.residue import NodeEstimate
from murmurate.randomizers import ParameterError
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.protocols import protocol
from tests.aggregators.methods.test_horizons import USERS, answered, setting, truth

FIRST, PERIODS = 5, 8


def made(name: str = "sao2", periods: int = PERIODS, *, revise: bool = True) -> AfterHorizon | HorizonMethod:
    own = {"horizon": str(periods), "changes": "4", "fanout": "2", "users": str(USERS)}
    found = method(MethodOptions(name, **own, revise=periods if revise else 0), setting())
    assert isinstance(found, AfterHorizon if revise else HorizonMethod)
    return found


def run(
    machine: AfterHorizon | HorizonMethod, shares: np.ndarray, seed: int, *,
    lost: Callable[[int, int], bool] = lambda t, place: False,
) -> list[Decision]:  # fmt: skip
    """The decisions of these periods, where lost rounds have no answer."""
    rng, decisions = np.random.default_rng(seed), list[Decision]()
    for t in range(FIRST, FIRST + len(shares)):
        step, place = machine.open(t), 0
        while isinstance(step, Request):
            answer = answered(step, t, shares, FIRST, rng)
            step = machine.tally(Answer(np.zeros_like(answer.support), 0) if lost(t, place) else answer)
            place += 1
        decisions.append(step)
    return decisions


def test_each_period_is_revised_a_horizon_later_and_nothing_else_changes() -> None:
    shares = truth(20, 1)
    found, plain = (run(made(revise=revise), shares, 2) for revise in (True, False))
    assert [one.revised and one.revised.t for one in found] == [None] * 8 + [*range(FIRST, FIRST + 12)]
    for ours, alone in zip(found, plain, strict=True):
        assert ours.vector.unbiased.tolist() == alone.vector.unbiased.tolist()
        assert ours.vector.variance.tolist() == alone.vector.variance.tolist()
    last, revised = found[7].vector, found[15].revised  # all nodes had ended with the last period
    assert revised is not None
    np.testing.assert_allclose(revised.statistics, last.unbiased, rtol=1e-12)
    np.testing.assert_allclose(revised.variance, last.variance, rtol=1e-12)


def test_two_standard_errors_hold_revised_values_as_often_as_they_say() -> None:
    shares, off = truth(16, 3), []
    for seed in range(80):
        for decision in run(made(), shares, seed)[8:]:
            assert decision.revised is not None
            error = decision.revised.statistics - shares[decision.revised.t - FIRST]
            off.append(error / np.sqrt(decision.revised.variance))
    scores = np.concatenate(off)
    assert abs(scores.mean()) < 5 / np.sqrt(len(scores) / 8)  # errors of a horizon hang together
    assert 0.93 < (np.abs(scores) < 2).mean() < 0.97


class EqualNodes(EFMRTTMethod):
    """All six levels of 32 periods are told, with a variance of as many units, and the truth is 0."""

    rng = np.random.default_rng(4)

    @classmethod
    def levels(
        cls, setting: Setting, periods: int, changes: int, fanout: int, goal: str, users: int, words: Mapping[str, str]
    ) -> HorizonLevels:
        tree = ResidueTree(32, 2, every=True)
        found = super().levels(setting, periods, changes, fanout, goal, users, words)
        protocols = [protocol(cls.protocol, 4, len(tree.nodes(h)), Fraction(2), {"s": 1}) for h in range(tree.levels)]
        return replace(found, tree=tree, slots=(48,) * tree.levels, protocols=tuple(protocols))

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        node, levels = self._node(amount), float(self.tree.levels)
        noise = self.rng.normal(size=self.coordinates) * levels**0.5
        self._told.append(NodeEstimate(node.level, node.node, noise, levels))
        return self._ask(amount + 1)


def test_of_32_periods_with_uniform_portions_half_of_the_variance_is_left() -> None:
    """10.0 and 5.0 units: tests/aggregators/trees/test_residue.py has where they come from."""
    own = {"horizon": "32", "changes": "1", "users": str(USERS)}
    decisions = run(AfterHorizon(EqualNodes(setting(), **own)), np.tile(truth(1, 5), (320, 1)), 4)
    released = np.array([(one.vector.unbiased, one.vector.variance) for one in decisions])
    revised = np.array([(one.revised.statistics, one.revised.variance) for one in decisions if one.revised is not None])
    for found, units in ((released, 10.0), (revised, 5.0)):
        assert round(float(found[:, 1].mean()), 1) == units
        assert float((found[:, 0] ** 2).mean()) == pytest.approx(units, rel=0.15)
        assert 0.93 < (found[:, 0] ** 2 < 4 * found[:, 1]).mean() < 0.97


def test_what_the_other_nodes_determine_is_revised_and_the_rest_is_not() -> None:
    # all rounds of the third period, and the round of node 1 of level 1 in the second one: then 2 has no way round
    alone = run(made(), truth(16, 6), 7, lost=lambda t, place: t == FIRST + 2)
    assert [one.t for one in alone if not one.published] == [FIRST + 2]
    assert all(one.revised is not None for one in alone[8:])
    found = run(made(), truth(16, 6), 7, lost=lambda t, place: t in (FIRST + 2, FIRST + 3) and place == 0)
    assert [one.revised and one.revised.t for one in found[8:]] == [
        None if k == 2 else FIRST + k for k in range(PERIODS)
    ]


def test_a_crash_between_any_two_calls_changes_nothing() -> None:
    shares = truth(20, 8)
    whole, one, other = made(), np.random.default_rng(9), np.random.default_rng(9)
    state = made().state()
    for t in range(FIRST, FIRST + len(shares)):
        step, calm = made(), whole.open(t)
        step.load(state)
        torn = step.open(t)
        state = step.state()
        while isinstance(calm, Request):
            assert isinstance(torn, Request)
            calm = whole.tally(answered(calm, t, shares, FIRST, one))
            again = made()
            again.load(state)
            torn = again.tally(answered(torn, t, shares, FIRST, other))
            state = again.state()
        assert isinstance(torn, Decision)
        assert state == whole.state()
        for ours, theirs in ((torn.revised, calm.revised),):
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                assert ours.t == theirs.t
                assert ours.statistics.tolist() == theirs.statistics.tolist()
                assert ours.variance.tolist() == theirs.variance.tolist()


def test_another_lag_than_the_horizon_is_refused() -> None:
    with pytest.raises(ParameterError, match="revise: found 3; allowed: 0, or 8, the horizon"):
        MethodOptions("sao2", horizon="8", revise=3)
