# SPDX-License-Identifier: Apache-2.0
"""Streams without local protection: what a deployment file has to say before there are any, and what is said of them.

Contract: reports of such a stream show their values to whoever reads them; only the sums that the mixing zone hands on
are protected.  So a file that names such a mechanism says `unprotected_locally = true` and a central target, and a file
that says so has such a stream: nobody gets there by leaving something out.  Devices answer the one question of the
target (mixed.py).  Not here: what the sums are worth (aggregators/accounting/summed_claim.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from murmurate.config.errors import Mistake
from murmurate.config.promises import PrivacyTable
from murmurate.randomizers.frequency.appended import AUE

if TYPE_CHECKING:  # tables of streams are read by the same module that asks for mistakes
    from murmurate.config.measures.stream import StreamTable
    from murmurate.config.plan import Plan

KEY: Final = "privacy.unprotected_locally"
UNPROTECTED: Final = (AUE.name,)
"""The mechanisms, by the names that a file has for them."""
SHOWN: Final = "WITHOUT LOCAL PROTECTION"
"""What stands where the epsilon of a report would."""


def undeclared(privacy: PrivacyTable, streams: Mapping[str, StreamTable]) -> Iterator[Mistake]:
    """What is missing for the streams without local protection; or the word for them without such a stream."""
    named = {name: stream.mechanism for name, stream in streams.items() if stream.mechanism in UNPROTECTED}
    if privacy.unprotected_locally and not named:
        yield Mistake(KEY, "true", f"false, since no stream has mechanism = {AUE.name}")
    for name, mechanism in named.items():
        if not privacy.unprotected_locally:
            allowed = f"another one, or {KEY} = true: its reports show their values"
            yield Mistake(f"streams.{name}.mechanism", mechanism, allowed)
        elif privacy.mixed is None:
            allowed = f"a table with epsilon, since only sums of streams.{name} are protected"
            yield Mistake("privacy.mixed", "nothing", allowed)


def local_promise(made: Plan, learns: str) -> Iterator[str]:
    """What holds without any mixing: for streams without local protection that there is none, in capital letters.
    learns: the promise of the others.
    """
    shown = [stream.name for stream in made.streams if stream.unprotected]
    if not shown:
        yield f"Nobody who sees everything but the raw events learns more than {learns}."
        return
    yield (
        f"NO LOCAL PROTECTION ({', '.join(shown)}): REPORTS SHOW THEIR VALUES. WHOEVER READS THEM, THE MIXING ZONE AND "
        "WHOEVER RUNS THE BROKERS, SEES WHAT USERS SAY. ONLY THE SUMS THAT THE MIXING ZONE HANDS ON ARE PROTECTED."
    )
    if len(shown) < len(made.streams):
        whose = "Of the users of other streams" if made.split == "users" else "By other streams alone"
        yield f"{whose} nobody who sees everything but the raw events learns more than {learns}."


def at_epsilon(epsilon: float | None) -> str:
    """What stands behind the name of a mechanism."""
    return SHOWN if epsilon is None else f"at epsilon {epsilon:g}"


def left_by_zones_together(made: Plan) -> str:
    """What is left of a central target if the mixing and the analysis zone work together."""
    shown = [stream.name for stream in made.streams if stream.unprotected]
    alone = "what a stream's reports have by themselves is all that holds: the epsilon of its mechanism"
    if not shown:
        return alone
    if len(shown) == len(made.streams):
        return "NOTHING HOLDS"
    return f"{alone}, AND NOTHING FOR {', '.join(shown)}"
