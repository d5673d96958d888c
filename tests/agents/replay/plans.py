# SPDX-License-Identifier: Apache-2.0
"""Plans for the tests of the replay, built without a deployment file."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from murmurate.agents.replay.true_period import TruePeriod
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan, StreamPlan
from murmurate.topics.domains import Categories
from murmurate.topics.events import Fields

MINUTE = 60_000
FIELDS = Fields()
START = 1_794_992_400_000  # 2026-11-18T09:00:00Z, a whole minute and hour


def stream(
    name: str = "screen",
    values: tuple[str, ...] = ("home", "search", "help"),
    *,
    every_ms: int = MINUTE,
    carry_ms: int | None = 0,
    several: Literal["last", "first"] = "last",
    other: bool = False,
    method: str = "lpa",
    w: int = 4,
    fields: Fields = FIELDS,
) -> StreamPlan:
    return StreamPlan(
        name, Frequency(Categories(values, other), carry_ms is not None), every_ms, w, 500_000, 64 * w,
        MethodOptions(method), "auto",
        several, carry_ms, "shop.events", fields, "0" * 16,
    )  # fmt: skip


def plan(*streams: StreamPlan, lateness_ms: int = 10_000, future_ms: int = 300_000, **changes: Any) -> Plan:
    fixed: dict[str, Any] = {
        "name": "shop", "epsilon_micro": 1_000_000, "split": "users", "window_ms": None, "delta": 1e-8, "min_batch": 2,
        "assumed_corrupt": 0.1, "partitions": 4, "targets": 4, "enrol": "seen", "forget_after_ms": 7 * 86_400_000,
        "patience_ms": 30_000,
    }  # fmt: skip
    return Plan(**(fixed | changes), lateness_ms=lateness_ms, future_ms=future_ms, streams=streams or (stream(),))


def counts(period: TruePeriod) -> list[int]:
    """How many users hold each value; of nobody no shares are true."""
    assert np.isnan(period.figures).all() == (not period.users)
    found: list[int] = np.rint(np.nan_to_num(period.figures) * period.users).astype(int).tolist()
    return found
