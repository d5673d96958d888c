# SPDX-License-Identifier: Apache-2.0
"""Every metric by its name: names and labels are API, units stand in the name, labels are bounded.

Contract: no user, value or pseudonym.  There are two sets: what an edge stage does, how often and how long, follows
from raw events, so all of it is in the edge's set, which only the edge's endpoint serves (ARCHITECTURE rule 9); the set
of the other stages is a function of rounds and reports.  Not here: who counts (metrics.py), HTTP (web/server.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

EDGE_ONLY: Final = frozenset(
    {
        "murmurate_audit_violations",
        "murmurate_audit_lag_records",
        "murmurate_audit_unaudited_seconds",
        "murmurate_audit_reports",
        "murmurate_audit_pending",
        "murmurate_audit_since_seconds",
        "murmurate_events",
        "murmurate_refusals",
        "murmurate_curated",
        "murmurate_users",
        "murmurate_users_initial",
        "murmurate_epsilon_spent_max",
        "murmurate_source_transaction_seconds",
        "murmurate_source_transaction_limit_seconds",
        "murmurate_source_lost_records",
        "murmurate_late_share",
        "murmurate_tick_waits_seconds",
        "murmurate_ticks_bounded",
        "murmurate_door_ahead_seconds",
    }
)
"""Families that no other endpoint serves, not even empty."""
GAUGES: Final = {
    "murmurate_users": ("Users in the ledger.", ("partition",)),
    "murmurate_users_initial": ("Users who count as the initial value: none of theirs was valid yet.", ("stream",)),
    "murmurate_rounds_open": ("Rounds that are asked and not yet complete.", ("stream",)),
    "murmurate_release_estimate": ("The newest release: the statistic itself, where it is known.", ("stream", "name")),
    "murmurate_release_stderr": ("The newest release: its standard error.", ("stream", "name")),
    "murmurate_mixed_epsilon": (
        "The newest release: what holds against everybody but the mixing zone, where it is claimed.",
        ("stream",),
    ),
    "murmurate_mixed_reports": ("The newest release: the honest reports that hide each other then.", ("stream",)),
    "murmurate_release_age_seconds": ("Since the newest release, or since the stream came here.", ("stream",)),
    "murmurate_epsilon_spent_max": ("The largest window of any user.", ("stream",)),
    "murmurate_lag_records": ("End of a log less what is folded and committed.", ("topic", "partition")),
    "murmurate_source_transaction_seconds": (
        "Since a producer's transaction has been open in a source, behind which everything waits.",
        ("topic", "partition"),
    ),
    "murmurate_source_transaction_limit_seconds": ("How long one may be open: as brokers allow, and a minute.", ()),
    "murmurate_source_lost_records": (
        "Offsets of a source that were gone before they were read, and skipped.",
        ("topic", "partition"),
    ),
    "murmurate_retention_used_ratio": (
        "Age of the oldest record that is still needed, in parts of how long its log keeps one.",
        ("topic", "partition"),
    ),
    "murmurate_late_share": (
        "Share of the last minute's events that were refused as late or too far ahead, 0 where few came.",
        ("stream", "stage"),
    ),
    "murmurate_clock_skew_seconds": (
        "How far this machine's clock is certainly ahead of the brokers'; below 0: behind.",
        (),
    ),
    "murmurate_clock_skew_limit_seconds": ("How far it may be, ahead or behind; beyond that no tick is given.", ()),
    "murmurate_tick_waits_seconds": ("Since a door's next tick waits for its events.", ("topic", "partition")),
    "murmurate_ticks_bounded": (
        "Ticks cut to where their source ends, since the worker began.",
        ("topic", "partition"),
    ),
    "murmurate_door_ahead_seconds": (
        "How far a door's clock stands ahead of the wall clock: what comes until then is late.",
        ("topic", "partition"),
    ),
    "murmurate_state_bytes": ("Newest snapshot, or the small state.", ("stage", "partition")),
    "murmurate_brokers_silent_seconds": ("Since a broker has answered; they are asked every 5 seconds.", ()),
    "murmurate_partitions_unowned": ("Source partitions that no member of the stage's group has.", ("stage",)),
    "murmurate_audit_violations": ("What the auditor that follows has found, by kind.", ("kind",)),
    "murmurate_audit_lag_records": ("Records that the auditor has not taken.", ("topic",)),
    "murmurate_audit_unaudited_seconds": ("Since the moment up to which everything written has been judged.", ()),
    "murmurate_audit_reports": ("Reports that the auditor has judged since it began to prove.", ()),
    "murmurate_audit_pending": ("Answers that may still come, at the newest pass.", ()),
    "murmurate_audit_since_seconds": ("Since when the auditor proves, as a Unix time.", ()),
    "murmurate_info": ("What runs here.", ("version", "deployment", "config")),
}
"""What is looked up when somebody asks: name, help, labels."""
FLUSH_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DELAY_S: Final = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 900.0, 3600.0)


class Families:
    """Counters and histograms of the stages that know no raw data."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.reports = Counter(
            "murmurate_reports", "Reports: ok | malformed, and wrong_round, whose stream is not known.",
            ("stream", "stage", "result"), registry=registry,
        )  # fmt: skip
        self.batches = Counter(
            "murmurate_batches",
            "Sub-batches: sealed | too_small | deadline, and wrong_round, whose stream is not known.",
            ("stream", "result"), registry=registry,
        )  # fmt: skip
        self.releases = Counter(
            "murmurate_releases",
            "Releases: published | approximated | unmeasured | revised.",
            ("stream", "decision"),
            registry=registry,
        )
        self.given_up = Counter(
            "murmurate_rounds_given_up", "Open rounds whose patience was over.", ("stream",),
            registry=registry,
        )  # fmt: skip
        self.dead = Counter(
            "murmurate_dead_letters", "Records that nobody could read, or that are nobody's, named in dead letters.",
            ("stage", "reason"), registry=registry,
        )  # fmt: skip
        self.close_delay = Histogram(
            "murmurate_close_delay_seconds", "From the end of a period to its release.", ("stream",),
            registry=registry, buckets=DELAY_S,
        )  # fmt: skip
        self.flush = Histogram(
            "murmurate_flush_seconds", "A transaction, snapshots included.", ("stage",),
            registry=registry, buckets=FLUSH_S,
        )  # fmt: skip


class EdgeFamilies(Families):
    """The families of edge stages, and counts of raw events."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self.events = Counter(
            "murmurate_events",
            "Events: accepted, of them second, cut, over; or late | malformed | ...; unknown: of no stream; tombstone.",
            ("stream", "result"), registry=registry,
        )  # fmt: skip
        self.refusals = Counter(
            "murmurate_refusals", "Users that a round asked in vain: budget | gap | slot | closed | ...",
            ("stream", "reason"), registry=registry,
        )  # fmt: skip
        self.curated = Counter(
            "murmurate_curated", "What the curator made of exact sums: periods | leaves; and foreign records.",
            ("stream", "result"), registry=registry,
        )  # fmt: skip


def gauge(name: str) -> GaugeMetricFamily:
    """A gauge without samples."""
    told, labels = GAUGES[name]
    return GaugeMetricFamily(name, told, labels=labels)


def names() -> dict[str, tuple[str, ...]]:
    """Every name that a sample may have, and its labels: what rules and dashboards may ask for."""
    found = {name: labels for name, (_, labels) in GAUGES.items()}
    registry = CollectorRegistry()
    for family in vars(EdgeFamilies(registry)).values():
        if isinstance(family, Counter):
            found[f"{family._name}_total"] = family._labelnames
        elif isinstance(family, Histogram):
            labels = family._labelnames
            found |= {f"{family._name}_{part}": labels for part in ("count", "sum")}
            found[f"{family._name}_bucket"] = (*labels, "le")
    return found


class Served(Collector):
    """Several registries as one: a family once, a sample once, of two the larger; no `_created`, which is no name."""

    def __init__(self, *registries: CollectorRegistry) -> None:
        self._registries = registries

    def collect(self) -> Iterator[Metric]:
        """The families that have samples."""
        merged: dict[str, Metric] = {}
        for metric in (metric for registry in self._registries for metric in registry.collect()):
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            if metric.name in merged:
                merged[metric.name].samples = _merged([*merged[metric.name].samples, *metric.samples])
            else:
                merged[metric.name] = metric
        yield from (metric for metric in merged.values() if metric.samples)


def served(*registries: CollectorRegistry) -> CollectorRegistry:
    """A registry to serve, of all of these."""
    registry = CollectorRegistry()
    registry.register(Served(*registries))
    return registry


def _merged(samples: Iterable[Sample]) -> list[Sample]:
    found: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
    for sample in samples:
        key = sample.name, frozenset(sample.labels.items())
        if key not in found or sample.value > found[key].value:
            found[key] = sample
    return list(found.values())
