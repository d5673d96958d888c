# SPDX-License-Identifier: Apache-2.0
"""What a deployment is watched with: compose file, Grafana dashboard, alert rules. `murmurate init` writes them.

Contract: rules are made from the plan, since what is late and how much was promised is each stream's own; compose
file and dashboard fit every deployment.  Every metric they name is one of agents/observe/families.py (a test compares).
Not here: the image (docker/), writing files (agents/cli/init.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from murmurate.config.overdue import allowed_ms
from murmurate.config.plan import Plan
from murmurate.config.quantities import age

_RULE: Final = """      - alert: {alert}
        expr: {expr}
        for: {wait}
        labels: {{severity: {severity}}}
        annotations:
          summary: {summary}
"""


def compose() -> str:
    """compose.yaml: Kafka, a worker a zone, Prometheus, Grafana on one machine."""
    return _text("compose.yaml")


def dashboard() -> str:
    """The Grafana dashboard."""
    return _text("murmurate.json")


def alerts(plan: Plan) -> str:
    """The alert rules of a deployment, for Prometheus."""
    return f"{_text('alerts.yaml')}{''.join(_rules(plan))}"


def _rules(plan: Plan) -> Iterator[str]:
    for stream in plan.everything:
        late = allowed_ms(plan, stream.name)
        yield _RULE.format(
            alert="MurmurateReleaseLate",
            expr=f'murmurate_release_age_seconds{{stream="{stream.name}"}} > {late / 1000:g}',
            wait="0s", severity="warning", summary=f"{stream.name} has released nothing for {age(late)}",
        )  # fmt: skip
    for stream in plan.streams:
        promised = plan.epsilon_of(stream.name) / 1e6
        yield _RULE.format(
            alert="MurmuratePromiseBroken",
            expr=f'murmurate_epsilon_spent_max{{stream="{stream.name}"}} > {promised + 5e-7:.7f}',
            wait="0s", severity="critical", summary=f"{stream.name} has spent more than epsilon {promised:g} of a user",
        )  # fmt: skip


def _text(name: str) -> str:
    return files("murmurate.config.dashboards").joinpath(name).read_text(encoding="utf-8")
