# SPDX-License-Identifier: Apache-2.0
"""What an auditor that follows shows to Prometheus: violations by kind, how far it has come, and since when it proves.

Contract: everything follows from raw data, so it is served at the auditor's own address in the edge and nowhere else
(ARCHITECTURE rule 9).  Ages count from a moment of the wall clock up to which everything written has been judged.  Not
here: names (families.py), HTTP (web/server.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from murmurate.agents.audit.findings import VIOLATIONS, Audit
from murmurate.agents.observe.families import gauge


class AuditMetrics(Collector):
    """Told after every pass what was found. now_ms: the wall clock."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.found = Audit()
        self.judged_ms = now_ms()
        """Everything written before has been judged; before the first pass, when the auditor began."""
        self.since_ms: int | None = None
        """Since when it proves; None while that is not known."""
        self.behind: Mapping[str, int] = {}
        """Per log the records that are there and not yet taken."""
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All gauges as they stand."""
        violations = gauge("murmurate_audit_violations")
        for kind in VIOLATIONS:
            violations.add_metric((kind,), getattr(self.found, kind))
        yield violations
        lag = gauge("murmurate_audit_lag_records")
        for name, records in sorted(self.behind.items()):
            lag.add_metric((name,), records)
        yield lag
        for name, figure in (
            ("murmurate_audit_unaudited_seconds", (self._now_ms() - self.judged_ms) / 1000),
            ("murmurate_audit_reports", self.found.reports),
            ("murmurate_audit_pending", self.found.pending),
            *([] if self.since_ms is None else [("murmurate_audit_since_seconds", self.since_ms / 1000)]),
        ):
            one = gauge(name)
            one.add_metric((), figure)
            yield one
