# SPDX-License-Identifier: Apache-2.0
"""What a page has to know before the first release: the deployment, its promise, and what each stream measures.

Contract: a function of the plan alone, but for what a replay knows of its source beforehand; the same for a replay and
for a live deployment, in which nothing is known beforehand.  Not here: the frames that follow (replay/run.py,
web/serving.py), what is done with them (web/static).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from murmurate.aggregators.measures.figure_kinds import page_question
from murmurate.config.enough import shortage
from murmurate.config.explain import promises
from murmurate.config.plan import AnyStreamPlan, CentralPlan, Plan


def page_header(
    plan: Plan,
    mode: Literal["replay", "live"],
    streams: Iterable[str] | None = None,
    periods: int | None = None,
    users: int | None = None,
) -> dict[str, Any]:
    """The first frame of a run. streams: those that there will be releases of, all unless said; periods: how many of
    each, and users: how many in all, where that is known.
    """
    names = [stream.name for stream in plan.everything] if streams is None else streams
    specs = [_spec(plan, plan.any_stream(name), periods, users) for name in names]
    promise, curator = promises(plan)
    return {
        "type": "hello", "deployment": plan.name, "promise": list(promise), "curator": list(curator),
        "mode": mode, "serve_all": plan.split == "budget", "streams": specs,
    }  # fmt: skip


def _spec(plan: Plan, stream: AnyStreamPlan, periods: int | None, users: int | None) -> dict[str, Any]:
    central = isinstance(stream, CentralPlan)
    said = {
        "name": stream.name, "names": list(stream.names), "every_ms": stream.every_ms, "periods": periods,
        "measure": stream.measure.name, **stream.measure.page(), "unit": stream.unit,
        "thresholds": dict(stream.thresholds), "min_batch": plan.min_batch,
        **page_question(stream.measure.name, stream.names, central=central),
    }  # fmt: skip
    if isinstance(stream, CentralPlan):  # sums have no range, and nobody is asked
        own = {"central": True, "range": None, "method": "tops", "warning": None}
        units = {name: stream.measure.unit_of(name) or "" for name in stream.names}
        return said | own | {"epsilon": stream.epsilon_micro / 1e6, "units": units}
    return said | {
        "range": stream.measure.axis, "w": stream.w,
        "epsilon": None if stream.unprotected else plan.spent_micro(stream.name) / 1e6,
        "method": stream.method.name, "warning": None if users is None else shortage(plan, stream, users),
    }  # fmt: skip
