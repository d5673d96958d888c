# SPDX-License-Identifier: Apache-2.0
"""How long a soak is, how much is written and of what, when somebody comes; and the deployment that follows from it.

Contract: each user sends one event in a period, so that nobody's share of nothing is lawful.  Not here: the run
(soak_run.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tests.faults.soak_load import VALUES

PARTITIONS, WIDER = 2, 3
WIDENED_AT: Final = 0.32
"""Parts of the run, like those below: just before its second third."""
VISITS_AT: Final = (0.1, 0.25, 0.42, 0.56, 0.72, 0.87)
PLANTED_AT: Final = (0.05, 0.18, 0.36, 0.5, 0.64, 0.8, 0.95)

BUSY: Final = {"broker.session.timeout.ms": "120000"}
"""Of the broker: where the machine has much else to do, the only one is not given up by its own controller."""


@dataclass(frozen=True)
class Options:
    """How long, how much, and of what."""

    name: str = "soak"
    kind: Literal["plain", "mixed"] = "plain"
    minutes: float = 30.0
    rate: int = 10_000
    """Events a second and source; each user sends one in a period."""
    every_s: int = 10
    lateness_s: int = 60
    sample_s: float = 30.0
    stay_s: float = 20.0
    """How long a worker stays that was refused."""
    turn_s: float = 60.0
    """How long a producer lives."""
    visits_at: tuple[float, ...] = VISITS_AT

    @property
    def text(self) -> str:
        """The deployment's file."""
        promise = f"""
[privacy]
epsilon = 1.0
window = {{ periods = 12 }}
min_batch = 20
[population]
partitions = 2
forget_after = "1h"
[time]
lateness = "{self.lateness_s}s"
patience = "2m"
[releases]
queries = true
"""
        names = ("screen", "basket")[: 1 + (self.kind == "mixed")]
        return promise + "".join(
            f"""
[streams.{name}]
measure = "frequency"
values = {list(VALUES)}
every = "{self.every_s}s"
method = "lpa"
share = {1 / len(names)}
source = {{ topic = "applications-of-{self.name}.{name}", time = "/time" }}
"""
            for name in names
        )
