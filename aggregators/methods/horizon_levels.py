# SPDX-License-Identifier: Apache-2.0
"""How many slots of a cohort tell each level of a horizon, and by which protocol.

Contract: a function of the deployment file alone.  Slots are dealt to K cohorts, as many as let a cohort rest for w - 1
periods before its next horizon, and within a cohort to levels by portions: those with the least exact error ("best"),
or by a rule of the paper's.  A level that users cannot fill is cut.  Of an unknown word the error names the key and
what is allowed.  Source: ARCHITECTURE section 5.18.  Not here: portions of users (aggregators/trees), who is asked
when (horizons.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.trees.residue_portions import (
    GOALS,
    REPORT_FORMS,
    Goal,
    ReportForm,
    ResidueTask,
    Rule,
    best_tree,
    enough,
    in_slots,
)
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions import Ones, Protocol
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.sessions.protocols import protocol
from murmurate.randomizers.thresholds import MICRO

PORTIONS: Final[Mapping[str, Rule]] = MappingProxyType(
    {"best": "optimal", "uniform": "uniform", "simple": "simple", "calibrated": "calibrated"}
)
"""How users may be divided between levels, by the word for it in a deployment file."""
PAPER: Final[ReportForm] = "paper"


def cohorts_needed(w: int, periods: int) -> int:
    """K: the fewest cohorts of which each rests for w - 1 periods between two horizons.

    >>> cohorts_needed(20, 128), cohorts_needed(129, 128), cohorts_needed(130, 128)
    (2, 2, 3)
    """
    return 1 + -(-(w - 1) // periods)


@dataclass(frozen=True)
class HorizonLevels:
    """Who tells which level: what all horizons of a method have in common."""

    tree: ResidueTree
    cohorts: int
    slots: tuple[int, ...]
    """The number of slots of each level of a cohort."""
    protocols: tuple[Protocol, ...]


@dataclass(frozen=True)
class LevelsTask:
    """What a method of horizons and its options say of levels."""

    protocol: str
    """The name of the protocol of all levels."""
    through_tree: bool
    """Whether changes over longer stretches are told besides those from period to period."""
    portions: str
    """One of PORTIONS."""
    form: ReportForm
    """The form of reports by ExSub; other protocols have the paper's alone."""
    periods: int
    changes: int
    fanout: int
    goal: Goal
    users: int
    """How many are expected in the stream; 0 if nobody knows."""

    def __post_init__(self) -> None:
        forms = REPORT_FORMS if self.of_exsub else (PAPER,)
        for name, known in (("goal", GOALS), ("portions", PORTIONS), ("form", forms)):
            if getattr(self, name) not in known:
                raise ParameterError(f"{name}: found {shown(getattr(self, name))}; allowed: {', '.join(known)}")

    @property
    def of_exsub(self) -> bool:
        """Whether changes are told by ExSub, whose reports have a length."""
        return self.protocol == ExSubOnline.name


def horizon_levels(setting: Setting, task: LevelsTask) -> HorizonLevels:
    """The levels of a horizon: a tree that its users can fill, and their slots."""
    ones, slots = setting.measure.ones(), setting.slots
    return _levels(ones, setting.epsilon_micro, setting.w, slots, setting.min_batch, task)


@lru_cache(maxsize=64)
def _levels(ones: Ones, epsilon_micro: int, w: int, slots: int, min_batch: int, of: LevelsTask) -> HorizonLevels:
    """1. The tree with the smaller error. 2. Its levels in slots, cut where they cannot be filled. 3. Protocols."""
    cohorts = cohorts_needed(w, of.periods)
    each, rule = slots // cohorts, PORTIONS[of.portions]
    task = ResidueTask(ones.d, of.changes, ones.most_changes, epsilon_micro, of.goal, rule, of.form)
    whole = best_tree(of.periods, of.fanout, task).tree
    if not of.through_tree:
        whole = replace(whole, cut=whole.cut + whole.levels - 1)
    if each < whole.levels:
        raise ParameterError(
            f"slots: found {slots} for {cohorts} cohorts of {whole.levels} levels; allowed: at least "
            f"{cohorts * whole.levels}"
        )
    a_slot = of.users / slots if of.users else enough(min_batch)
    dealt = in_slots(whole, task, each, a_slot, min_batch)
    epsilon = Fraction(epsilon_micro, MICRO)
    protocols = tuple(
        protocol(
            of.protocol,
            ones.d,
            level.nodes,
            epsilon,
            {"s": level.changes, **({"m": level.m, "tau": level.tau} if of.of_exsub else {})},
        )
        for level in dealt.levels
    )
    return HorizonLevels(dealt.tree, cohorts, dealt.slots, protocols)
