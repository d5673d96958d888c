# SPDX-License-Identifier: Apache-2.0
"""What publish's state holds of a stream, and a stream as it was from that.

Contract: `restored` of what `kept` gave is the open period as it was, but for counts in blocks, which the log holds; a
stream of another config or revision than the state's is refused.  Not here: what publish does (publish.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.errors import WAY_ON, StateError
from murmurate.agents.stages.open_period import OpenPeriod, OutstandingRound, release_of
from murmurate.agents.stages.tallies import tallies_of
from murmurate.aggregators.methods.last_estimate import packed, unpacked
from murmurate.config.plan import CentralPlan, StreamPlan
from murmurate.randomizers.state import Arrays
from murmurate.topics.codec import encode

AnyPlan = TypeVar("AnyPlan", StreamPlan, CentralPlan)


def kept(period: OpenPeriod) -> dict[str, Any]:
    """The part of a stream's open period that is no array."""
    return {
        "first_t": period.first_t,
        "t": period.t,
        "slots": period.slots,
        **({"fakes": period.fakes} if period.fakes else {}),
        "since": period.since,
        "open": period.open.kept() if period.open else None,
        "ahead": [outstanding.kept() for outstanding in period.ahead.values()],
        "tallies": [encode(tally).decode() for tally in period.tallies],
        "past": list(period.past.values()),
        "mixed": period.mixed.kept(),
        "turn": period.state.now.value,
        "config": period.plan.config,
        "revision": period.plan.revision,
    }


def kept_arrays(periods: Mapping[str, OpenPeriod]) -> dict[str, NDArray[np.uint8]]:
    """The state of every stream's method, and the decisions that wait for the end of their period."""
    decided = {name: period.decided for name, period in periods.items() if period.decided is not None}
    return {f"{name}/method": np.frombuffer(c.method.state(), np.uint8) for name, c in periods.items()} | {
        f"{name}/unasked": np.frombuffer(packed(decision), np.uint8) for name, decision in decided.items()
    }


def announces_blocks(stored: Mapping[str, Any]) -> bool:
    """Whether tallies of the period, as `kept` gave it, are announced whose counts stand in blocks of the log."""
    return any("at" in one for one in (stored["open"] or {}, *stored["ahead"]))


def restored(period: OpenPeriod, stored: Mapping[str, Any], arrays: Arrays) -> OpenPeriod:
    """The period at its beginning, with all that `kept` and `kept_arrays` gave."""
    name = period.plan.name
    period.state.load(stored["turn"])
    period.method.load(arrays[f"{name}/method"].tobytes())
    period.mixed.load(stored["mixed"])
    period.slots, period.since, period.fakes = stored["slots"], stored["since"], stored.get("fakes", 0)
    decided = arrays.get(f"{name}/unasked")
    period.decided = None if decided is None else unpacked(decided.tobytes())
    period.open = OutstandingRound.of(stored["open"]) if stored["open"] else None
    period.ahead = {outstanding.round.t: outstanding for outstanding in map(OutstandingRound.of, stored["ahead"])}
    period.tallies = list(tallies_of(stored["tallies"]))
    period.past = {release_of(text).t: text for text in stored["past"]}
    return period


def written_under(name: str, stored: Mapping[str, Any], plan: AnyPlan | None) -> AnyPlan:
    """The stream's plan, if this part of a state was written under it."""
    if plan is None or (plan.config, plan.revision) != (stored["config"], stored["revision"]):
        found = "no such stream" if plan is None else f"config {plan.config}, revision {plan.revision}"
        raise StateError(
            f"publish: stream {name!r}: the state was written under config {stored['config']}, revision "
            f"{stored['revision']}; found {found}; {WAY_ON}"
        )
    return plan
