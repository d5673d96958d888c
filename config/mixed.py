# SPDX-License-Identifier: Apache-2.0
"""What a central target makes of a stream: which question its devices are asked, at the local epsilon that keeps it.

Contract: a function of the file alone.  The smallest batch that is released keeps the stream's part of the target, of
its epsilon and of its delta; the local epsilon is at most what a device may spend.  Devices answer the questions named
here and no other one, for no more in a window than was chosen.  A target that mixing cannot reach with such batches is
refused, with the size that would do.  Fake reports only make a claim better: the choice is among what takes them, and
keeps the target without them.  Not here: the choice itself
(aggregators/accounting/target.py), what a release claims for the batches that came (aggregators/accounting/window.py).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from murmurate.aggregators.accounting.added_ones import appended
from murmurate.aggregators.accounting.claim import window_claim
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.target import Chosen, MixedTarget, smallest_batch, under_target
from murmurate.aggregators.candidates import candidates, cells_at
from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import kind_of
from murmurate.aggregators.methods.tree_hist_all import TreeHistOfAll
from murmurate.aggregators.summed_names import name_of
from murmurate.config.errors import ConfigError, Mistake
from murmurate.config.mixed_searches import searched_at
from murmurate.config.plan import MixedPlan, Plan, StreamPlan
from murmurate.randomizers import ParameterError
from murmurate.randomizers.thresholds import MICRO

KEY: Final = "privacy.mixed.epsilon"


def asks_one_question(method: str) -> bool:
    """Whether the questions of a method are one, whatever is answered: all of epsilon, or the same part each period."""
    kind = kind_of(method)
    return kind.division == "population" or kind.fixed


def mixed(made: Plan, stream: StreamPlan) -> MixedPlan | None:
    """What the plan's central target makes of a stream; None without one."""
    if made.mixed is None:
        return None
    rounds = _rounds(stream)
    limit = made.epsilon_of(stream.name)
    share = Fraction(stream.share_micro, MICRO) if made.split == "budget" else Fraction(1)
    part = float(Fraction(repr(made.mixed)) * share)
    delta = float(Fraction(repr(made.delta)) * share)
    target = MixedTarget(part, delta, made.assumed_corrupt)
    if stream.unprotected:
        return _added_up(stream, target, made.min_batch, rounds)
    try:
        if isinstance(stream.measure, FoundStrings):
            chosen = searched_at(stream.measure.layout, target, made.min_batch, limit // rounds, rounds)
        else:
            chosen = _chosen(
                stream.measure, stream.mechanism, stream.prefer, target, made.min_batch, limit // rounds, rounds,
                made.fakes,
            )  # fmt: skip
    except AccountingError as error:
        raise ConfigError([Mistake(KEY, f"{part:g}", f"another target: {error}")]) from None
    if chosen.claim.bound == "local" or chosen.gain <= 1:
        raise ConfigError(
            [Mistake(KEY, f"{part:g} with min_batch = {made.min_batch}", _enough(chosen, target, rounds))]
        )
    asked = chosen.question.claimed_as().digest.hex()
    return MixedPlan(part, chosen.epsilon_micro * rounds, chosen.name, asked, chosen.claim, chosen.gain)


def _rounds(stream: StreamPlan) -> int:
    """How many rounds a user answers in a window."""
    if stream.method.name == TreeHistOfAll.name and isinstance(stream.measure, FoundStrings):
        return TreeHistOfAll.rounds(stream.measure, stream.w)
    return stream.w if kind_of(stream.method.name).division == "budget" else 1


def _added_up(stream: StreamPlan, target: MixedTarget, smallest: int, rounds: int) -> MixedPlan:
    """What it makes of a stream whose reports are added up: a window's rounds have equal parts of epsilon and delta."""
    try:
        asked = appended(
            d=stream.measure.d, n=smallest, central=Fraction(repr(target.epsilon)) / rounds,
            delta=target.delta / rounds, corrupt=target.corrupt,
        )  # fmt: skip
        claim = window_claim([(asked, smallest, rounds)], target.delta, target.corrupt)
    except (AccountingError, ParameterError) as error:
        raise ConfigError([Mistake(KEY, f"{target.epsilon:g}", f"another target: {error}")]) from None
    ways = [one.question(asked.central_micro) for one in candidates(stream.measure, prefer=stream.prefer)]
    local = min(stream.measure.usual_variance(way, smallest) for way in ways)
    gain = local / float(asked.variance(smallest, 0.0))
    return MixedPlan(target.epsilon, asked.central_micro * rounds, name_of(asked), asked.digest.hex(), claim, gain)


def as_asked_by(made: Plan, stream: StreamPlan, name: str) -> StreamPlan:
    """The stream as another method would ask it: under a central target with a question and an epsilon of its own."""
    if made.mixed is None or stream.method.name == name or not asks_one_question(name):
        return stream
    return replace(stream, mixed=mixed(made, replace(stream, method=MethodOptions(name), mixed=None)))


@lru_cache(maxsize=64)
def _chosen(
    measure: Measure, mechanism: str, prefer: Prefer, target: MixedTarget, smallest: int, limit: int, rounds: int,
    fakes: int,
) -> Chosen:  # fmt: skip
    cells = cells_at(measure, target, smallest=smallest, limit=limit, rounds=rounds)
    able = candidates(measure, mechanism, prefer, fakes, cells)
    return under_target(able, target, smallest=smallest, limit=limit, rounds=rounds, prefer=prefer)


def _enough(chosen: Chosen, target: MixedTarget, rounds: int) -> str:
    """What would do where mixing adds nothing to a report's own epsilon."""
    least = smallest_batch(chosen.question, target._replace(epsilon=target.epsilon / 2), rounds=rounds)
    if least is None:
        return f"a larger target, or epsilon = {target.epsilon:g} without mixed"
    return f"a min_batch of {least} or more, which halves what a report has alone; or a larger target"
