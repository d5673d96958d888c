# SPDX-License-Identifier: Apache-2.0
"""The edge's own page, at `web.edge`: whether clocks are right, and how much of the last minute was late.

Contract: raw-side facts, so it is served at the edge's address alone, beside the edge's metrics, of which it is an
excerpt for people.  Plain tables, no script; it asks for itself again every few seconds.  Not here: the page of the
releases (server.py), metrics (observe/).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from murmurate.agents.kafka.worker import Worker
from murmurate.agents.observe.health import readiness
from murmurate.agents.observe.late_share import MUCH, words
from murmurate.agents.observe.metrics import Metrics

AGAIN_S = 5


def edge_page(worker: Worker, metrics: Metrics) -> str:
    """The page as it is now."""
    minute, skew = metrics.late.minute(), worker.clock.skew
    lines = [words(row) for row in minute if row.share > MUCH]
    lines += readiness(worker).said.get("waiting", [])
    shown = "not measured yet" if skew is None else f"{skew.least_ms / 1000:.3f} to {skew.most_ms / 1000:.3f} s"
    rows = [(row.stream, row.stage, row.judged, row.late, row.future, f"{100 * row.share:.0f} %") for row in minute]
    doors = [] if worker.doors is None else sorted(worker.doors.ticks.waits_s.items())
    ahead = {} if worker.doors is None else worker.doors.ticks.ahead_ms
    clocks = [
        (f"{place.topic} {place.partition}", f"{waits:.0f} s", f"{ahead.get(place, 0) / 1000:.0f} s")
        for place, waits in doors
    ]
    body = [
        f"<h1>{escape(metrics.plan.name)}: the edge</h1>",
        "".join(f"<p><strong>{escape(line)}</strong></p>" for line in lines) or "<p>Nothing to be put right.</p>",
        f"<p>This machine's clock is ahead of the brokers' by {shown}.</p>",
        _table("Events of the last minute", ("stream", "at", "came", "late", "too far ahead", "refused"), rows),
        _table("Doors", ("source", "a tick waits", "clock ahead"), clocks),
        '<p><a href="metrics">all metrics</a></p>',
    ]
    head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="{AGAIN_S}"><title>Murmurate: the edge</title>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>'


def _table(title: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>"
