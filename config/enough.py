# SPDX-License-Identifier: Apache-2.0
"""Whether so many users give a stream's rounds the reports that a release needs: by the plan and their number alone.

Contract: users fall into slots by chance, so a round is expected to have so many reports, and hardly ever five standard
deviations more or fewer.  Whoever says how many users there are answers for it: on Kafka that is raw data.  Not here:
what came of rounds that were asked (agents/shortage.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from murmurate.aggregators.batches import SIGMAS, users_needed, worth_asking
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.registry import finds_first, kind_of
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import resolve
from murmurate.randomizers.thresholds import MICRO

REMEDY: Final = "Allow a smaller min_batch, longer periods or a shorter window."


def smallest_round(made: Plan, stream: StreamPlan) -> Fraction:
    """The part of all users that a stream's smallest round asks."""
    part = kind_of(stream.method.name).smallest_asked(stream.setting(made, 0), stream.method)
    return _shared(made, stream, part)


def first_round(made: Plan, stream: StreamPlan) -> Fraction:
    """The part of all users that its first round asks: without an answer to that, nothing is ever measured."""
    whole = asks_everybody_first(made, stream)
    part = Fraction(1) if whole else kind_of(stream.method.name).first(stream.w, stream.method)
    return _shared(made, stream, part)


def asks_everybody_first(made: Plan, stream: StreamPlan) -> bool:
    """Whether it begins with one round of everybody, that finds a clipping threshold."""
    of = Setting(
        stream.measure,
        epsilon_micro=made.spent_micro(stream.name),
        w=stream.w,
        slots=stream.slots,
        first_t=0,
        seed=bytes(32),
        mechanism=stream.mechanism,
        prefer=stream.prefer,
    )
    return finds_first(stream.method, of)


def shortage(made: Plan, stream: StreamPlan, users: int) -> str | None:
    """What so many users, in the whole deployment, are too few for; None where they are enough."""
    part = smallest_round(made, stream)
    needed = users_needed(part, made.min_batch)
    if users >= needed:
        return _few_in_a_group(made, stream, users * part)
    expected, above = _expected(users, part)
    said = f"{spaced(users)} users give a round about {spaced(int(expected))} reports"
    least = f"min_batch = {made.min_batch}"
    first, above_first = _expected(users, first_round(made, stream))
    if users < made.min_batch or first + above_first < made.min_batch:
        takes = f"It takes {spaced(round_up(needed))} users"
        return f"{said}, below {least}: nothing will ever be released. {takes}. {REMEDY}"
    if asks_everybody_first(made, stream) and expected + above < made.min_batch:
        return f"{said}, below {least}: once the threshold is found, nothing will be measured any more. {REMEDY}"
    wanted = spaced(math.ceil(made.min_batch + above))
    return (
        f"{said}, below min_batch + {SIGMAS} sigma = {wanted}: rounds would often be asked, spent and not released. "
        f"{REMEDY}"
    )


def _few_in_a_group(made: Plan, stream: StreamPlan, expected: Fraction) -> str | None:
    """Where each user answers for one group: what its rarest one has too few reports for."""
    rarest = resolve(made, stream.name).smallest_part
    least, each = worth_asking(0), round(expected * rarest)  # chances end at a 2^-64
    if rarest == 1 or each >= least:
        return None
    groups = f"about {spaced(each)} of the {spaced(int(expected))} reports of a round, below {least}"
    return (
        f"the rarest of its groups of users has {groups}: rounds in which it has none would be asked, spent and not "
        "released. Allow fewer groups, longer periods or a shorter window."
    )


def needs(made: Plan, stream: StreamPlan) -> str:
    """What is known before anybody has come: how many users there have to be."""
    part = smallest_round(made, stream)
    part_of_users = "all users" if part == 1 else f"{part} of the users"
    needed = spaced(round_up(users_needed(part, made.min_batch)))
    return f"a round asks {part_of_users}, and a release needs {made.min_batch} reports: it takes {needed} users"


def spaced(number: int) -> str:
    """Digits in threes: 60 000."""
    return f"{number:,}".replace(",", " ")


def round_up(number: int) -> int:
    """To two leading digits, never less than it is.

    >>> round_up(142_783)
    150000
    """
    grain: int = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // grain) * grain


def _expected(users: int, part: Fraction) -> tuple[float, float]:
    """How many of them a round reaches, and how many more it may by chance."""
    expected = float(users * part)
    return expected, SIGMAS * math.sqrt(expected * float(1 - part))


def _shared(made: Plan, stream: StreamPlan, part: Fraction) -> Fraction:
    """A part of the stream's users as one of all users. Under budget division everybody answers in every round."""
    whole = part if stream.division == "population" else Fraction(1)
    return whole * Fraction(stream.share_micro, MICRO) if made.split == "users" else whole
