"""Whether so many users give a stream's rounds the reports that a release needs: by the plan and their number alone.

Contract: users fall into slots by chance, so a round is expected to have so many reports, and hardly ever five standard
deviations more or fewer.  Whoever says how many users there are answers for it: on Kafka that is raw data.  Not here:
what came of rounds that were asked (agents/shortage.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from murmurate.aggregators.methods.registry import FOUND
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.streams import METHODS
from murmurate.randomizers.thresholds import MICRO

SIGMAS: Final = 5
"""A unit is expected this many standard deviations above min_batch, so that it is hardly ever too small (rule 8)."""
LARGER: Final = {"lp-rescuedp": Fraction(7, 50)}
"""Methods whose first round is larger than their smallest one: its part of the users, at most."""
REMEDY: Final = "Allow a smaller min_batch, longer periods or a shorter window."


def users_needed(part: Fraction, min_batch: int) -> int:
    """The least n with n part - 5 sqrt(n part (1 - part)) >= min_batch: users fall into slots by chance.

    >>> users_needed(Fraction(1, 122), 1000), users_needed(Fraction(1), 1000)
    (142783, 1000)
    """
    spread = SIGMAS * math.sqrt(1 - part)
    root = (spread + math.sqrt(spread * spread + 4 * min_batch)) / 2
    return math.ceil(Fraction(root * root) / part) if spread else math.ceil(min_batch / part)


def smallest_round(made: Plan, stream: StreamPlan) -> Fraction:
    """The part of all users that a stream's smallest round asks."""
    part = METHODS[str(stream.method["name"])].part(stream.w, stream.method)
    return _shared(made, stream, part)


def first_round(made: Plan, stream: StreamPlan) -> Fraction:
    """The part of all users that its first round asks: without an answer to that, nothing is ever measured."""
    if stream.method.get("clip") == FOUND:
        return _shared(made, stream, Fraction(1))
    larger = LARGER.get(str(stream.method["name"]))
    return smallest_round(made, stream) if larger is None else _shared(made, stream, larger)


def shortage(made: Plan, stream: StreamPlan, users: int) -> str | None:
    """What so many users, in the whole deployment, are too few for; None where they are enough."""
    part = smallest_round(made, stream)
    needed = users_needed(part, made.min_batch)
    if users >= needed:
        return None
    expected, above = _expected(users, part)
    said = f"{spaced(users)} users give a round about {spaced(int(expected))} reports"
    least = f"min_batch = {made.min_batch}"
    first, above_first = _expected(users, first_round(made, stream))
    if users < made.min_batch or first + above_first < made.min_batch:
        takes = f"It takes {spaced(round_up(needed))} users"
        return f"{said}, below {least}: nothing will ever be released. {takes}. {REMEDY}"
    if stream.method.get("clip") == FOUND and expected + above < made.min_batch:
        return f"{said}, below {least}: once the threshold is found, nothing will be measured any more. {REMEDY}"
    wanted = spaced(math.ceil(made.min_batch + above))
    return (
        f"{said}, below min_batch + {SIGMAS} sigma = {wanted}: rounds would often be asked, spent and not released. "
        f"{REMEDY}"
    )


def needs(made: Plan, stream: StreamPlan) -> str:
    """What is known before anybody has come: how many users there have to be."""
    part = smallest_round(made, stream)
    asked = "all users" if part == 1 else f"{part} of the users"
    needed = spaced(round_up(users_needed(part, made.min_batch)))
    return f"a round asks {asked}, and a release needs {made.min_batch} reports: it takes {needed} users"


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
