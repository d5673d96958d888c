# SPDX-License-Identifier: Apache-2.0
"""What SaO2 would give a stream beside LPU, LPA and LSP on the same promise, with the best horizon that was tried.

Contract: exact variances, no simulation (aggregators/methods/horizon_errors.py); users tell all the changes that they
may, which is the most that a variance can be, and nobody changes more often.  Horizons of half a window to eight are
tried, with fan-outs of 2 and 4, and with the best form of reports where that has less error.  It is a comparison alone:
nothing here is recommended or taken.  Errors of the other methods are handed in.  Not here: words
(cli/plan_horizons.py), simulated errors (prediction.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil, sqrt
from typing import Any, Final

from murmurate.agents.simulate.prediction import DRIFT, Outlook, serving_users
from murmurate.agents.simulate.trial_truths import made_up
from murmurate.aggregators.batches import users_needed
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.horizon_errors import HorizonError, crossing, horizon_error
from murmurate.aggregators.methods.horizon_levels import PAPER
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import HORIZON_METHODS
from murmurate.aggregators.trees.residue_portions import ReportForm
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import ParameterError
from murmurate.randomizers.residue_tree import MAX_PERIODS
from murmurate.randomizers.thresholds import MICRO

CHANGES: Final = (1, 2, 4, 8)
"""The numbers of changes that are tried where the file names none."""
STRETCHES: Final = (0.5, 1, 2, 4, 8)
"""The lengths of horizons that are tried, in windows."""
FANOUTS: Final = (2, 4)
BEST: Final[ReportForm] = "best"
"""The form of reports that has less error at every level."""
NOTICED: Final = 0.995
"""The best form has a row of its own where its error is below this part of the paper's form."""
MOST_COORDINATES: Final = 1_024
"""Streams of more coordinates are left out, since their parameters take long to find."""
BESIDE: Final = ("lpu", "lpa", "lsp")
"""The methods that stand beside."""


@dataclass(frozen=True)
class HorizonOutlook:
    """The comparison for one stream. Errors are standard errors, in the scale of the stream's figures."""

    rows: tuple[HorizonRow, ...]
    """The best horizon of each number of changes, and with the best form of reports where that has less error; that of
    the file comes first where its method is one of horizons.
    """
    crossings: dict[int, int | None]
    """By the number of changes, the smallest power of two w at which SaO2 has less variance than LPU; None: up to
    8 192 there is none.
    """
    others: dict[str, tuple[float, float]]
    """LPU, LPA and LSP where they do not starve: with the filter, and of the series."""

    @property
    def best(self) -> HorizonRow | None:
        """The row of SaO2 with the smallest error; None where users are too few for all."""
        able = [row for row in self.rows if row.method == "sao2" and row.error is not None]
        return min(able, key=lambda row: row.error or 0.0, default=None)

    def document(self) -> dict[str, Any]:
        """The comparison in a form for JSON."""
        return {**asdict(self), "crossings": {str(s): w for s, w in self.crossings.items()}}


@dataclass(frozen=True)
class HorizonRow:
    """One number of changes."""

    method: str
    changes: int
    of_file: bool
    """Whether it is what the file names."""
    error: float | None
    """The standard error; None where so many users cannot fill a level."""
    users_needed: int
    """The number of users, in the whole deployment, from which on its levels are filled."""
    periods: int = 0
    fanout: int = 0
    cohorts: int = 0
    levels: int = 0
    form: str = PAPER
    """The form of reports by ExSub."""


def horizon_outlook(plan: Plan, stream: StreamPlan, users: int, prediction: Outlook) -> HorizonOutlook | None:
    """The comparison for a stream; None where no method of horizons could serve it."""
    if plan.mixed is not None or plan.fakes or stream.unprotected:  # which horizons cannot have
        return None
    bare = replace(stream, mechanism=AUTO).setting(plan, first_t=0)
    try:
        ones = bare.measure.ones()
    except ParameterError:
        return None
    if ones.d > MOST_COORDINATES:
        return None
    serving, own = serving_users(plan, stream, users), stream.method
    of_file = own.name in HORIZON_METHODS
    wanted = (int(own.changes or CHANGES[-1]),) if of_file else CHANGES
    rows = list[HorizonRow]()
    if of_file:
        rows.append(_row(plan, stream, bare, own.name, (own,), serving, of_file=True))
    for changes in wanted:
        lengths = [
            MethodOptions("sao2", horizon=str(periods), changes=str(changes), fanout=str(fanout))
            for periods in _lengths(stream.w)
            for fanout in FANOUTS
        ]
        plain = _row(plan, stream, bare, "sao2", lengths, serving, of_file=False)
        best = _row(plan, stream, bare, "sao2", [replace(one, form=BEST) for one in lengths], serving, of_file=False)
        rows += [plain, best] if best.error and plain.error and best.error < NOTICED * plain.error else [plain]
    tried = replace(bare, measure=stream.measure.tried())
    truth = made_up(stream, serving, drift=DRIFT, presence=1.0, periods=24, seed=0)
    profile = tried.measure.true_profiles(truth).mean(axis=0)
    others = {
        one.method: (one.best.filtered, one.best.series)
        for one in prediction.prospects
        if one.method in BESIDE and not one.starves
    }
    crossings = {s: crossing(bare, tried, s, profile, BEST) for s in wanted}
    return HorizonOutlook(tuple(rows), crossings, others)


def _lengths(w: int) -> list[int]:
    return sorted({min(max(2, round(part * w)), MAX_PERIODS) for part in STRETCHES})


def _row(
    plan: Plan, stream: StreamPlan, setting: Setting, name: str, tried: Sequence[MethodOptions], users: int, *,
    of_file: bool,
) -> HorizonRow:  # fmt: skip
    """The best of these options."""
    found, changes = list[HorizonError](), int(tried[0].changes or CHANGES[-1])
    for options in tried:
        try:
            made = HORIZON_METHODS[name](setting, **{**options.own, "users": str(users)})
        except ParameterError:  # too few users, or too few slots
            continue
        found.append(horizon_error(made, users))
    share = Fraction(stream.share_micro, MICRO) if plan.split == "users" else Fraction(1)
    if not found:  # two cohorts of one level
        return HorizonRow(name, changes, of_file, None, users_needed(share / 2, plan.min_batch))
    best = min(found, key=lambda one: one.variance)
    scale = stream.measure.spread**2
    return HorizonRow(
        name, changes, of_file, sqrt(best.variance * scale), ceil(best.users_needed / share), best.periods,
        best.fanout, best.cohorts, best.levels, tried[0].form or PAPER,
    )  # fmt: skip
