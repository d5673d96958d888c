# SPDX-License-Identifier: Apache-2.0
"""Small deployments with a stream whose reports are added up in the mixing zone, for tests of stages and runtimes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from murmurate.config.mixed import mixed
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import resolve
from murmurate.randomizers.frequency.appended import AUE
from tests.agents.world import deployment, stream

EPSILON, DELTA = 1.5, 0.2
"""A target that a few reports can keep."""


def added_up(*others: StreamPlan, method: str = "lpu", share: int = 1_000_000, **changes: Any) -> Plan:
    """A deployment whose stream `screen` is asked by AUE; `others` are asked as they say, under the same target."""
    streams = stream("screen", method, mechanism="aue", share_micro=share), *others
    made = deployment(*streams, **({"min_batch": 12, "delta": DELTA, "mixed": EPSILON} | changes))
    return replace(made, streams=tuple(replace(one, mixed=mixed(made, one)) for one in made.streams))


def asked(plan: Plan) -> AUE:
    """The question of its stream."""
    found = resolve(plan, "screen")
    assert isinstance(found, AUE)
    return found
