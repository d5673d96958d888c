# SPDX-License-Identifier: Apache-2.0
"""The exact errors of methods of horizons before any round, and where they cross those of LPU.

Contract: no simulation.  A period's value has the variance sum F_h V_h, averaged over a horizon, with F_h the squared
weights of level h (residue_portions.py) and V_h that of a node's estimate from the users of level h of one cohort
(`node_variance`): mechanism and sampling of users.  Users are taken to tell so many changes in a horizon, each at any
coordinate and period alike, as many up as down; 0 of them gives ResiduePortions.error, K cohorts and n users in it.
What clamping takes from users who change more often is not in it.
Source: ARCHITECTURE section 5.18.  Not here: which horizon to take (agents/simulate/horizon_outlook.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf
from typing import Final

import numpy as np

from murmurate.aggregators.expected import usual_mechanism
from murmurate.aggregators.methods.horizon_levels import cohorts_needed
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Floats, Setting
from murmurate.aggregators.trees.residue_portions import ReportForm, ResidueTask, enough, factors, portions
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions import Ones
from murmurate.randomizers.sessions.node import Node

LONGEST: Final = 8_192
"""The largest w at which a crossing is looked for."""


@dataclass(frozen=True)
class HorizonError:
    """What to expect of a method of horizons."""

    periods: int
    """T, the length of a horizon."""
    fanout: int
    cohorts: int
    """K, the number of cohorts that take turns."""
    levels: int
    """The number of levels that so many users fill."""
    changes: int
    """The most changes that a user tells in a horizon, the first value included."""
    variance: float
    """The mean squared error of a statistic in a period, on the scale on which a method follows it."""
    users_needed: int
    """The number of the stream's users from which on all these levels have enough of them."""


def horizon_error(made: HorizonMethod, users: float, told: float | None = None) -> HorizonError:
    """What so many users of the stream give. told: how many changes they tell; all they may where it is None."""
    setting, levels = made.setting, made._levels
    tree, d = levels.tree, setting.measure.ones().d
    weighing, actual = np.zeros(tree.levels), np.zeros(tree.levels)
    changes = made._horizons[0].changes
    for level, slots in enumerate(levels.slots):
        absent, held = Node(made._horizons[0], level, tree.nodes(level)[0]).moments()
        n = users * slots / setting.slots
        mine = min(changes if told is None else told, levels.protocols[level].s)
        changed = min(1.0, mine / (d * len(tree.nodes(level))))
        weighing[level] = absent / n
        actual[level] = (changed * held + (1 - changed) * absent) / n + changed * (1 / n - 1 / users)
    variance = float(factors(tree, "mean", weighing) @ actual) / tree.periods
    needed = ceil(enough(setting.min_batch) * setting.slots / min(levels.slots))
    return HorizonError(
        tree.periods, tree.fanout, levels.cohorts, tree.levels, changes, _followed(setting, variance), needed
    )


def _followed(setting: Setting, variance: float) -> float:
    """The mean variance of the statistics that a release shows, from that of a coordinate."""
    measure, d = setting.measure, setting.measure.ones().d
    _, found = measure.of_ones(np.zeros(d), np.full(d, variance))
    return float(np.mean(found[measure.shown]))


def lpu_error(setting: Setting, w: int, profile: Floats) -> float:
    """LPU's mean squared error at this w, times the number of users of whom a w-th answer each period."""
    question = usual_mechanism("lpu", setting)
    users = 1e12  # so many that rounding and the sample's share of all users do not matter
    return setting.measure.round_error(question, users / w, users, profile) * users


@lru_cache(maxsize=512)
def horizon_unit(
    ones: Ones, epsilon_micro: int, changes: int, w: int, periods: int, *, told: bool = True, form: ReportForm = "paper"
) -> float:
    """A coordinate's variance under SaO2 with fan-out 2 times the number of users, for slots as fine as one likes: by
    the tree of every node, cut where that is best. told: whether users tell all changes that they may, or none.

    >>> from murmurate.randomizers.sessions import Count
    >>> [round(horizon_unit(Count(2, none=False), 10**6, 1, 128, 128, told=told), 1) for told in (False, True)]
    [129.5, 129.5]
    """
    task = ResidueTask(ones.d, changes, ones.most_changes, epsilon_micro, form=form)
    whole, best = ResidueTree(periods, 2, every=True), inf
    for cut in range(whole.levels):
        dealt = portions(replace(whole, cut=cut), task)
        shares = np.array(dealt.portions)
        absent, held = (np.array([getattr(level, name) for level in dealt.levels]) for name in ("absent", "held"))
        changed = np.array([told * min(1.0, level.changes / level.coordinates) for level in dealt.levels])
        actual = (absent + changed * (held - absent + 1)) / shares
        error = float(factors(dealt.tree, "mean", absent / shares) @ actual)
        if error >= best:
            break
        best = error
    return best * cohorts_needed(w, periods) / periods


def crossing(setting: Setting, tried: Setting, changes: int, profile: Floats, form: ReportForm = "paper") -> int | None:
    """The smallest power of two w up to LONGEST at which SaO2 with T = w has a smaller error than LPU; None: there is
    none. tried: the setting with the measure on which LPU is tried, of which a profile is. form: that of reports.
    """
    ones = setting.measure.ones()
    for w in (1 << exponent for exponent in range(1, LONGEST.bit_length())):
        unit = horizon_unit(ones, setting.epsilon_micro, changes, w, w, form=form)
        if _followed(setting, unit) < lpu_error(tried, w, profile):
            return w
    return None
