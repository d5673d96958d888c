# SPDX-License-Identifier: Apache-2.0
"""The expected error of a method before any round: closed forms for schedules that depend on no answer, and
how an error changes with the mechanism.

Contract: pure arithmetic over the mechanisms' exact variances.  A profile is what `Question.profile` would find
without noise.  Source: LDP-IDS sections 4 and 5, ARCHITECTURE section 5.1 (V; equation 5 with m = w and m = 1).  Not
here: methods that decide by answers, and the adaptive filter, which are simulated (agents/simulate/simulate_method.py).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from murmurate.aggregators.filters.wholes import Wholes
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.methods.method import Floats, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import kind_of
from murmurate.aggregators.methods.registry import method as method_of
from murmurate.randomizers import Question


def heard_error(measure: Measure, mechanism: Question, n: float, users: float | None, profile: Floats) -> float:
    """`Measure.round_error` of what a filter hears, which knows that shares of a whole sum to 1: where their errors are
    independent, each is less by its part of the sum's.
    """
    error = measure.round_error(mechanism, n, users, profile)
    lengths = measure.wholes(mechanism)
    if lengths is None:
        lengths = (mechanism.statistics,) if measure.sums_to_one else ()
    exact = mechanism.summing()
    wholes = [whole for whole in Wholes(lengths).slices if not exact[whole.start]]
    if not wholes:
        return error
    near = mechanism.plausible(profile)
    noise = (mechanism.noise(near) - mechanism.drawn(near)) / n + mechanism.added_variance(max(1, round(n)), near)
    known = np.zeros(len(noise))
    for whole in wholes:
        known[whole] = noise[whole] ** 2 / noise[whole].sum()
    return error - float(known[measure.shown].mean())


def usual_mechanism(method: str, setting: Setting) -> Question:
    """By what a method asks most of its questions."""
    made = method_of(MethodOptions(method), setting)
    assert isinstance(made, MethodBase)  # noqa: S101 - no filter is asked for
    return made.standing.mechanism


def usual_users(method: str, setting: Setting, users: int) -> float:
    """How many it asks then, as far as an error's dependence on the mechanism goes: all, or a w-th."""
    kind = kind_of(method)
    return users if kind.division == "budget" else float(users * kind.usual(setting.w))


def uniform_error(method: str, mechanism: Question, setting: Setting, users: int, profile: Floats) -> float:
    """The mean squared error of a fresh release of LBU, LPU or LSP; LSP's repeats are older, which `moved` adds."""
    error = setting.measure.round_error
    if method == "lpu":
        # Groups differ by one slot where S is no multiple of w: the mean over them of an error that goes with 1 / n.
        small, more = divmod(setting.slots, setting.w)
        sizes = ((small, setting.w - more), (small + 1, more))
        each = (groups * error(mechanism, users * size / setting.slots, users, profile) for size, groups in sizes)
        return sum(each) / setting.w
    return error(mechanism, users, None, profile)


def moved(truth: Floats, w: int, after: int) -> float:
    """How far the truth is, in mean square, from where it stood in the last period of everybody's turn (every w-th
    from the first one on); over the periods from `after` on.
    """
    stands = truth[[t - t % w for t in range(len(truth))]]
    return float(((truth - stands)[after:] ** 2).mean())


def filtered_error(error: float, unit: float, ratio: float) -> float:
    """The mean squared error of a filter if observations had `ratio` times the noise, where it is `error` with `unit`
    of observation variance a period: by the Kalman filter of a random walk, whose drift would give that error.

    >>> round(filtered_error(0.25, 1.0, 4.0), 3), filtered_error(0.5, 0.4, 4.0)
    (0.537, 2.0)
    """
    if not 0 < error < unit:
        return error * ratio
    drift = error * error / (unit - error)
    return (sqrt(drift * drift + 4 * drift * unit * ratio) - drift) / 2
