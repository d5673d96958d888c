# SPDX-License-Identifier: Apache-2.0
"""`murmurate audit ledger --follow`: the auditor as a worker of the edge zone, what it says while it goes on.

Contract: at most 80 columns; one line that is rewritten on a terminal, else one every ten seconds; each new kind of
violation at once.  Exit 0 when it was stopped and had found nothing, 4 with violations, 2 config, secrets, checkpoint
or address, 3 broker.  Not here: following (kafka/audit_follow.py), the table at the end (audit.py).
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from murmurate.agents.audit.checkpoint import CheckpointError, Checkpoints
from murmurate.agents.audit.findings import VIOLATIONS, Audit
from murmurate.agents.cli.deployment import MISTAKES, Opened
from murmurate.agents.kafka.audit_follow import AuditFollower, AuditProgress
from murmurate.agents.observe.audit_metrics import AuditMetrics
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.web.server import serve
from murmurate.agents.web.serving import address

STATE = Path("audit")
LISTEN = "127.0.0.1:8002"
REST_S = 10.0


def follow(this: Opened, edge: EdgeSecrets, state: Path, listen: str) -> Audit:
    """Follow until SIGTERM or SIGINT; gives what was found."""
    facts = {
        "plan": [[one.name, one.config, one.revision] for one in this.plan.everything],
        "partitions": [this.plan.partitions, this.plan.targets, this.plan.tallies],
        "keys": [key.fingerprint for key in edge.devices],
    }
    checkpoints = Checkpoints(state, this.plan.name, edge.state, facts)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)  # failures are told by our own errors
    try:
        return asyncio.run(_follow(this, edge, checkpoints, listen))
    except CheckpointError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)


async def _follow(this: Opened, edge: EdgeSecrets, checkpoints: Checkpoints, listen: str) -> Audit:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    metrics = AuditMetrics(_now_ms)
    server = await serve(None, *address(listen), metrics=metrics.registry) if listen else None
    if server is not None:
        click.echo(f"metrics at {server.url}/metrics")
    teller = Teller(metrics, terminal=sys.stdout.isatty())
    try:
        follower = AuditFollower(this.plan, this.client, edge.devices, checkpoints, _now_ms, teller.tell)
        return await follower.run(stop)
    finally:
        teller.end()
        if server is not None:
            await server.stop()


class Teller:
    """Says how far an auditor is, to a person and to Prometheus."""

    def __init__(self, metrics: AuditMetrics, *, terminal: bool) -> None:
        self._metrics, self._terminal = metrics, terminal
        self._known: dict[str, int] = dict.fromkeys(VIOLATIONS, 0)
        self._began, self._first, self._spoke = time.monotonic(), 0, 0.0
        self._rate = 0.0
        self._judged = False
        self._from: dict[str, int | None] = {}

    def tell(self, progress: AuditProgress) -> None:
        """What is new, and how far it is."""
        metrics, now = self._metrics, time.monotonic()
        metrics.found, metrics.behind, metrics.since_ms = progress.found, progress.behind, progress.since_ms
        metrics.judged_ms = progress.judged_ms or metrics.judged_ms
        found: dict[str, int] = {name: getattr(progress.found, name) for name in VIOLATIONS}
        if found != self._known:
            self._clear()
            for name, count in found.items():
                if count != self._known[name]:
                    click.echo(f"{_clock(_now_ms())} VIOLATION {name.replace('_', ' ')}: {count}")
            for where in progress.found.where[-3:]:
                click.echo(f"  {where}"[:80])
            self._known = found
        if self._spoke == 0.0:
            for line in progress.forgotten:
                click.echo(f"  forgotten {line}"[:80])
        for stream, t in progress.since_t.items():
            if t is not None and t != self._from.get(stream):
                click.echo(f"  {stream}: who had to answer is judged from period {t} on")
        self._from = dict(progress.since_t)
        if now - self._began >= 1:
            self._rate = (progress.taken - self._first) / (now - self._began)
            self._began, self._first = now, progress.taken
        first = not self._judged and progress.judged_ms is not None
        self._judged |= first
        if self._terminal or first or now - self._spoke >= REST_S:
            self._spoke = now
            click.echo(
                f"\r{self._line(progress):<79}" if self._terminal else self._line(progress), nl=not self._terminal
            )

    def _line(self, progress: AuditProgress) -> str:
        behind = sum(progress.behind.values())
        age = "never yet" if progress.judged_ms is None else f"{(_now_ms() - progress.judged_ms) / 1000:.1f} s ago"
        since = _clock(progress.since_ms)
        many = sum(self._known.values())
        what = f"{many} VIOLATIONS" if many else "holds"
        return f"{what}  {self._rate:,.0f} reports/s  {behind:,} behind, judged {age}  since {since}"

    def _clear(self) -> None:
        if self._terminal:
            click.echo(f"\r{'':<79}\r", nl=False)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._terminal:
            click.echo()


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
