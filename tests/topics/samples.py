# SPDX-License-Identifier: Apache-2.0
"""One message of each kind, and the arbitrary JSON and bytes that the fuzzers throw."""

import copy
import json
from typing import Any

from hypothesis import strategies as st

from murmurate.topics import Rejected, Round, Slots
from murmurate.topics.codec import decode
from murmurate.topics.curated import Curated, Planted
from murmurate.topics.latest import Latest
from murmurate.topics.message import Message
from murmurate.topics.messages import (
    Close,
    Config,
    Dead,
    Done,
    GiveUp,
    Progress,
    Seal,
    Settled,
    Start,
    Tally,
    TallyInBlocks,
    Tick,
)
from murmurate.topics.quiet import Quiet

ROUND = Round(
    stream="screen",
    t=29_916_540,
    slots=Slots.every(32),
    mechanism={"name": "oue", "d": 7, "epsilon_micro": 1_000_000},
    purpose="publication",
    contributors=8,
    targets=4,
    patience_ms=5000,
    config="5d1c0e7a92f3b864",
    revision=1,
)
DIGEST = ROUND.digest.hex()

# the records of the design's example, which say what subscribers rely on
RELEASES = (
    b'{"schema": "murmurate/release/2", "deployment": "shop", "stream": "screen", "revision": 1, "t": 29916540, '
    b'"start": "2026-11-18T09:00:00Z", "end": "2026-11-18T09:01:00Z", "measure": "frequency", "decision": "published", '
    b'"measured_t": 29916540, "estimate": {"home": 0.325442, "search": 0.224348, "basket": 0.124802, "checkout": '
    b'0.06033, "help": 0.012362, "other": 0.0, "none": 0.252716}, "stderr": {"home": 0.013838, "search": 0.012682, '
    b'"basket": 0.011213, "checkout": 0.01002, "help": 0.008956, "other": 0.008643, "none": 0.013036}, '
    b'"unbiased": {"home": 0.325739, "search": 0.224645, "basket": 0.125099, "checkout": 0.060627, "help": 0.012659, '
    b'"other": -0.001783, "none": 0.253014}, "reports": {"slots": 32, "received": 4067, "counted": 4063, '
    b'"rejected": {"malformed": 4}}, "privacy": {"unit": "user", "epsilon": 2.0, "window": "1h", '
    b'"w": 61, "shuffled": {"epsilon": 0.193154, "delta": 1e-08, "per": "window", "n": 3656, "assumed_corrupt": 0.1, '
    b'"bound": "blanket"}}, "mechanism": {"name": "grr", "d": 7, "epsilon": 2.0, "digest": "5d1c0e7a92f3b864"}, '
    b'"method": {"name": "lpa", "variance": "sampling", "filter": "adaptive"}}',
    b'{"schema": "murmurate/release/2", "deployment": "shop", "stream": "fare", "revision": 1, "t": 5983308, '
    b'"start": "2026-11-18T09:00:00Z", "end": "2026-11-18T09:05:00Z", "measure": "mean", "unit": "EUR", '
    b'"range": [0, 120], "decision": "approximated", "measured_t": 5983306, "estimate": {"mean": 14.61, '
    b'"present": 0.3124}, "stderr": {"mean": 1.93, "present": 0.0147}, "unbiased": {"mean": 14.61, "present": 0.3124}, '
    b'"reports": {"slots": 166, "received": 9602, "counted": 9602, "rejected": {"malformed": 0}}, '
    b'"privacy": {"unit": "user", "epsilon": 2.0, "window": "1h", "w": 16, "shuffled": null}, "mechanism": '
    b'{"name": "presence-hm", "epsilon": 2.0, "digest": "c07be4415a6f2d98"}, "method": {"name": "lpa", '
    b'"variance": "sampling", "filter": "adaptive"}}',
    b'{"schema": "murmurate/release/2", "deployment": "shop", "stream": "visits", "revision": 1, "t": 29916540, '
    b'"start": "2026-11-18T09:00:00Z", "end": "2026-11-18T09:01:00Z", "measure": "count", "decision": "published", '
    b'"measured_t": 29916540, "estimate": {"count": 40.2}, "stderr": {"count": 7.3}, "unbiased": {"count": 40.2}, '
    b'"central": {"unit": "user", "epsilon": 0.5, "events": 4, "window": "1d"}, "noise": {"fanout": 2, "levels": 3, '
    b'"block": 2, "first_t": 29916537, "node": {"count": 12.1}}, "block": {"first_t": 29916539, "total": '
    b'{"count": 80.4}}, "mechanism": {"name": "discrete_laplace", "epsilon": 0.5, "digest": "5d1c0e7a92f3b864"}, '
    b'"method": {"name": "tops", "smoother": "recent"}}',
)

MESSAGES: tuple[Message, ...] = (
    Start(stream="screen", t=5, config="0123456789abcdef", revision=1),
    Config(number=2, values={"privacy.min_batch": 1000, "time.clock": "wall"}, secrets={"shuffle": "0123456789abcdef"}),
    ROUND,
    GiveUp(round=DIGEST),
    Close(round=DIGEST, contributors=(0, 2, 7)),
    Settled(stream="screen", t=5),
    Progress(topic="app.clicks", partition=3, time=1_794_992_412_480),
    Quiet(topic="app.clicks", partitions=(0, 1, 47), time=1_794_992_412_480),
    Tick(topic="app.clicks", partition=3, time=1_794_992_412_480, end=77),
    Done(round=DIGEST, contributor=3, sent=10, total=40),
    Seal(
        round=DIGEST, q=1, received=12, counted=9, rejected=Rejected(malformed=3), missing=(4,),
        blocks=1, descriptor=ROUND,
    ),
    Tally(
        round=DIGEST, q=1, received=0, counted=0, rejected=Rejected(malformed=0, undersized=True),
        missing=(), stream="screen", t=5, targets=4, counts=(0, 0, 0),
    ),
    TallyInBlocks(
        round=DIGEST, q=1, received=900, counted=900, rejected=Rejected(malformed=0), missing=(), stream="screen", t=5,
        targets=4, cells=70_000, blocks=(DIGEST, "0" * 64),
    ),
    Curated(
        stream="revenue", t=70, config="0123456789abcdef", sums=((12, 3), (-1, 0)),
        tree=Planted(first_t=64, threshold=2500, digest="0123456789abcdef"),
    ),
    *(decode(record) for record in RELEASES),
    Latest(
        deployment="shop", stream="revenue", name="total", revision=1, t=29_916_540, start="2026-11-18T09:00:00Z",
        end="2026-11-18T09:01:00Z", measure="total", unit="EUR", decision="published", measured_t=29_916_540,
        estimate=247.11, stderr=339.4, unbiased=None,
    ),
    Dead(reason="torn", topic="shop.reports", partition=0, offset=12),
)  # fmt: skip

SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def tables(message: Message) -> dict[str, Any]:
    """The message as Python's own types."""
    table: dict[str, Any] = json.loads(message.canonical())
    return table


def places(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path of a JSON value."""
    found = [path] if path else []
    if isinstance(table, dict):
        for key, inner in table.items():
            found += places(inner, (*path, key))
    elif isinstance(table, list):
        for at, inner in enumerate(table):
            found += places(inner, (*path, at))
    return found


def put(table: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with another value at that path."""
    changed = copy.deepcopy(table)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def without(table: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """A copy without that path."""
    changed = copy.deepcopy(table)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return changed
