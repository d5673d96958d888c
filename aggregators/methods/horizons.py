# SPDX-License-Identifier: Apache-2.0
"""Methods that ask node by node through a horizon: SaO2, and what it is compared with.

Contract: time is cut into horizons of T periods, and slots are dealt to K cohorts that take turns: as many as let a
cohort rest for w - 1 periods before its next horizon, so that no w periods touch two of its bills.  In each period the
nodes that end there are asked, one round after the other, each of the slots of its level.  A release is the
least-squares estimate from all nodes of the horizon so far; where a node that it needs is missing it repeats the last
one, with a variance that grows with its age.  Source: Wang et al. 2023 (SaO2), sections 4 and 5; ARCHITECTURE section
5.18.  Not here: how many slots a level has (horizon_levels.py), the mathematics of the tree (aggregators/trees), what
users do (randomizers/sessions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from murmurate.aggregators.methods.drift import Drift
from murmurate.aggregators.methods.horizon_levels import (
    PAPER,
    HorizonLevels,
    LevelsTask,
    cohorts_needed,
    horizon_levels,
)
from murmurate.aggregators.methods.last_estimate import LastEstimate
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Request, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.trees.residue import NodeEstimate, ResidueEstimates
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions import Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.state import Arrays
from murmurate.topics.release_parts import PLACES, HorizonStep

UNKNOWN: Final = "0"
"""The number of users where nobody has said one."""


class HorizonMethod(MethodBase):
    """A method of horizons, whose users do what its protocol says."""

    division = "population"
    protocol: ClassVar[str]
    """The name of the protocol of all levels."""
    usual_words = MappingProxyType({"portions": "uniform", "form": PAPER})
    """Users are divided between levels as papers have it or, for SaO2, by exact variances."""
    through_tree: ClassVar[bool] = True
    """Whether changes over longer stretches are told besides those from period to period."""
    simplicity = 20

    def __init__(
        self, setting: Setting, *, horizon: str, changes: str = "8", fanout: str = "2", goal: str = "mean",
        users: str = UNKNOWN, portions: str = "", form: str = "",
    ) -> None:  # fmt: skip
        """horizon: T in periods. changes: the most that a user tells in one. goal: what the users are divided for.
        users: how many are expected in the stream, so that each level has enough of them; "0" if nobody knows.
        portions: how users are divided between levels; form: of reports by ExSub; the method's own words if empty.
        """
        self._ones = setting.measure.ones()
        asked = int(horizon), int(changes), int(fanout), goal, int(users)
        words = {name: said for name, said in (("portions", portions), ("form", form)) if said}
        self._levels = self.levels(setting, *asked, words)
        self._horizons = [self._horizon(setting, cohort, int(changes)) for cohort in range(self._levels.cohorts)]
        first = Node(self._horizons[0], 0, 1)
        super().__init__(
            setting, would_use=first, horizon=horizon, changes=changes, fanout=fanout, goal=goal, users=users, **words
        )
        d = setting.measure.d_of_ones
        self.standing = LastEstimate(None, np.zeros(d), np.ones(d), first)
        self._drift = Drift()
        self._estimates = ResidueEstimates(self._levels.tree, self._ones.d)
        self._told: list[NodeEstimate] = []
        self._begins = setting.first_t + setting.measure.says_none
        """The first period of the first horizon: where users may have no value nobody belongs to the stream's first."""

    # ---- who is asked ----

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        """The names of its options; reports of other protocols than ExSub have one form alone."""
        return tuple(name for name in super().takes() if name != "form" or cls.protocol == SaO2.protocol)

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """A rough part, from the shape of the tree alone: `smallest_asked` knows better."""
        tree = ResidueTree(int(options.horizon or 1), int(options.fanout or 2))
        return Fraction(1, 2 * tree.levels * cohorts_needed(w, tree.periods))

    @classmethod
    def smallest_asked(cls, setting: Setting, options: MethodOptions) -> Fraction:
        """The part of the slots that the level with the fewest has."""
        made = cls(setting, **options.own)
        return Fraction(min(made._levels.slots), setting.slots)

    @classmethod
    def levels(
        cls, setting: Setting, periods: int, changes: int, fanout: int, goal: str, users: int, words: Mapping[str, str]
    ) -> HorizonLevels:
        """The levels of a horizon: a tree that its users can fill, and their slots."""
        said = {**cls.usual_words, **words}
        task = LevelsTask(
            cls.protocol, cls.through_tree, said["portions"], said["form"], periods, changes, fanout, goal, users  # type: ignore[arg-type]
        )  # fmt: skip
        return horizon_levels(setting, task)

    def _horizon(self, setting: Setting, cohort: int, changes: int) -> Horizon:
        levels = self._levels
        return Horizon(
            levels.tree, cohort, levels.cohorts, setting.slots, levels.slots, self._ones, changes, levels.protocols
        )

    @property
    def _step(self) -> int:
        """The step of the present period in its horizon, from 1."""
        return (self.t - self._begins) % self._levels.tree.periods + 1

    def _node(self, place: int) -> Node:
        """The node that is asked in this place of the present period."""
        turn = (self.t - self._begins) // self._levels.tree.periods % self._levels.cohorts
        level, node = self._levels.tree.ending(self._step)[place]
        return Node(self._horizons[turn], level, node)

    def _slots(self, amount: int) -> int:
        return self._levels.slots[self._node(amount).level]

    # ---- the rounds of a period ----

    def _begin(self) -> Request | Decision:
        if self.t < self._begins:
            return self._last_release()
        if self._step == 1:
            self._estimates = ResidueEstimates(self._levels.tree, self._ones.d)
        self._told = []
        return self._ask(0)

    def _ask(self, place: int) -> Request | Decision:
        if place == len(self._levels.tree.ending(self._step)):
            return self._decided()
        node = self._node(place)
        self.waiting = "publication", place
        return Request(node, node.horizon.asked(node.level), "publication")

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        node = self._node(amount)
        if answer.counted:
            n = answer.counted
            estimate = node.estimate(answer.support, n)
            weighing = node.moments()[0] / n
            self._told.append(NodeEstimate(node.level, node.node, estimate, weighing, node.plug_in(answer.support, n)))
        return self._ask(amount + 1)

    def _decided(self) -> Decision:
        """1. Close the step. 2. Release its value; the last one again where a node that it needs is missing. 3. Say how
        the nodes that ended were weighed.
        """
        closed, tree = self._estimates.close(self._told), self._levels.tree
        if not self._told or not np.isfinite(closed.variance).all():
            decision = self._last_release()
        else:
            statistics, variance = self.setting.measure.of_ones(closed.estimate, closed.variance)
            old = self.standing
            self.standing = LastEstimate(self.t, statistics, variance, self._node(0))
            self._drift.note(old, self.standing)
            decision = self.standing.decision(self.t)
        shares = tuple(round(share, PLACES) for share in closed.shares)
        step = HorizonStep(first_t=self.t - self._step + 1, periods=tree.periods, fanout=tree.fanout,
                           levels=tree.levels, shares=shares)  # fmt: skip
        return replace(decision, horizon=step)

    def _last_release(self) -> Decision:
        """Release the last estimate again."""
        return self.standing.decision(self.t, mean_square=self._drift.bound(self.standing, self.t))

    # ---- what a horizon told, for whoever filters or revises it (filtered_horizon.py, after_horizon.py) ----

    @property
    def tree(self) -> ResidueTree:
        """The tree of a horizon."""
        return self._levels.tree

    @property
    def cohorts(self) -> int:
        """K, the number of cohorts that take turns."""
        return self._levels.cohorts

    @property
    def coordinates(self) -> int:
        """The number of coordinates of a node."""
        return self._ones.d

    def told_now(self) -> tuple[int, list[NodeEstimate]]:
        """The step of the present period in its horizon, 0 before the first one, and the nodes told in it."""
        return (self._step, self._told) if self.t >= self._begins else (0, [])

    # ---- state ----

    def _facts(self) -> dict[str, Any]:
        told = [[one.level, one.node, one.weighing] for one in self._told]
        return {"moved": self._drift.facts(), "told": told}

    def _arrays(self) -> Arrays:
        kept = {f"tree {name}": array for name, array in self._estimates.arrays().items()}
        for i, one in enumerate(self._told):
            kept[f"told {i}"] = np.stack((one.estimate, np.broadcast_to(one.actual_variance, one.estimate.shape)))
        return kept

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self._drift.load(facts["moved"])
        self._estimates.load({name[5:]: array for name, array in arrays.items() if name.startswith("tree ")})
        self._told = [
            NodeEstimate(level, node, arrays[f"told {i}"][0].copy(), weighing, arrays[f"told {i}"][1].copy())
            for i, (level, node, weighing) in enumerate(facts["told"])
        ]


class SaO2(HorizonMethod):
    """SaO2: ExSub online over a residue tree."""

    name = "sao2"
    protocol = "exsub_online"
    usual_words = MappingProxyType({"portions": "best", "form": PAPER})


class EFMRTTMethod(HorizonMethod):
    """Erlingsson et al. 2019: one of a user's changes is told, over the same tree."""

    name = "efmrtt"
    protocol = "efmrtt_online"


class DDRMMethod(HorizonMethod):
    """Xue et al. 2022: each change is told with its part of epsilon, over the same tree. ToPL adapted to changes is the
    same.
    """

    name = "ddrm"
    protocol = "ddrm_online"


class FutureRandMethod(HorizonMethod):
    """Ohrimenko et al. 2022: flips drawn beforehand for all changes, tuned to the exact ratio, over the same tree."""

    name = "future_rand"
    protocol = "future_rand_online"


class FutureRandPrintedMethod(HorizonMethod):
    """FutureRand with the inner epsilon of its paper, which uses a part of epsilon alone."""

    name = "future_rand_printed"
    protocol = "future_rand_printed"


class DirectMethod(HorizonMethod):
    """ExSub online without a tree: changes from period to period alone."""

    name = "direct"
    protocol = "exsub_online"
    through_tree = False
