# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire: bytes of blocks per second each way, and JSON events per second to coded columns."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import orjson

from benchmarks.measure import Row, at_least, best_seconds
from murmurate.agents.stages.admission import cut
from murmurate.agents.stages.door import BATCH
from murmurate.randomizers.identity import Pepper, PseudonymCache
from murmurate.topics.block import RawBlock, decode, encode_raw, encode_reports
from murmurate.topics.domains import Categories, Items
from murmurate.topics.events import EventReader

DIGEST = b"\x01" * 32
REPORTS, EVENTS = 200_000, 100_000


def rows() -> Iterator[Row]:
    yield from blocks()
    yield from events()
    yield from sets()


def blocks() -> Iterator[Row]:
    """Reports of 128 bytes (OUE at d = 1024) and raw rows."""
    chance = np.random.default_rng(0)
    reports = chance.integers(0, 256, (REPORTS, 128), np.uint8)
    users = chance.integers(0, 256, (REPORTS, 16), np.uint8)
    times, codes = np.arange(REPORTS), chance.integers(0, 128, REPORTS, np.uint32)
    report_blocks, raw_blocks = list(encode_reports(DIGEST, 0, reports)), list(encode_raw(DIGEST, users, times, codes))
    took = best_seconds(
        {
            "encode reports": lambda: list(encode_reports(DIGEST, 0, reports)),
            "decode reports": lambda: [decode(block) for block in report_blocks],
            "encode raw rows": lambda: list(encode_raw(DIGEST, users, times, codes)),
            "decode raw rows": lambda: [decode(block) for block in raw_blocks],
        }
    )
    for name, seconds in took.items():
        made = report_blocks if name.endswith("reports") else raw_blocks
        yield at_least(f"blocks: {name}", sum(map(len, made)) / seconds, 1e9, "B/s")


def events() -> Iterator[Row]:
    """Events of 30 000 users over ten minutes, in nearly the order of their times (RFC 3339), 100 categories."""
    chance = np.random.default_rng(1)
    start = datetime(2026, 11, 18, 9, tzinfo=UTC)
    categories = Categories(tuple(f"page-{i}" for i in range(100)), other=True)
    records = []
    for i, (user, value) in enumerate(
        zip(chance.integers(0, 30_000, EVENTS), chance.integers(0, 100, EVENTS), strict=True)
    ):
        time = start + timedelta(milliseconds=int(i * 6 + chance.integers(0, 3000)))
        text = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        records.append(orjson.dumps({"stream": "screen", "user": f"u-{user}", "time": text, "value": f"page-{value}"}))
    reader, pepper = EventReader({"screen": categories}), Pepper(bytes(range(32)), deployment="bench")
    assert len(reader.read(records).index) == EVENTS
    took = best_seconds(
        {
            "to columns": lambda: reader.read(records),
            "to pseudonyms": lambda: pepper.pseudonyms(reader.read(records).users),
        }
    )
    yield at_least("events to columns", EVENTS / took["to columns"], 400e3)
    yield at_least("  with pseudonyms", EVENTS / took["to pseudonyms"], 250e3)


def sets() -> Iterator[Row]:
    """The door's work on events that say five of a thousand items: read, pseudonymise, cut, pack; in one of twenty
    events there are twelve items, and eight count.
    """
    chance = np.random.default_rng(2)
    domain = Items(tuple(f"item-{i}" for i in range(1000)), 8)
    records = []
    for i, user in enumerate(chance.integers(0, 30_000, EVENTS).tolist()):
        said = [f"item-{item}" for item in chance.choice(1000, 12 if i % 20 == 0 else 5, replace=False).tolist()]
        records.append(orjson.dumps({"stream": "basket", "user": f"u-{user}", "time": 10**12 + 6 * i, "value": said}))
    reader, pepper = EventReader({"basket": domain}), Pepper(bytes(range(32)), deployment="bench")

    def door() -> list[bytes]:
        blocks: list[bytes] = []
        for at in range(0, EVENTS, BATCH):
            columns = reader.read(records[at : at + BATCH])
            users, part = PseudonymCache(pepper).pseudonyms(columns.users), columns.of(0, domain.words)
            values = cut(domain, pepper, users, part.values, part.long)
            blocks += encode_raw(DIGEST, users, part.times, values)
        return blocks

    assert sum(len(block.users) for block in map(decode, door()) if isinstance(block, RawBlock)) == EVENTS
    took = best_seconds({"columns": lambda: reader.read(records), "door": door})
    yield at_least("sets of 5 items to columns", EVENTS / took["columns"], 150e3)
    yield at_least("  cut, with pseudonyms, packed", EVENTS / took["door"], 150e3)
