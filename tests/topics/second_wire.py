# SPDX-License-Identifier: Apache-2.0
"""The wire written a second time, from docs/WIRE.md alone and in plain Python: it shares no code with the library.

Run it to write tests/data/wire_golden.json, whose bytes stand in docs/WIRE.md too: python tests/topics/second_wire.py
"""

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent.parent / "data" / "wire_golden.json"


def sealed(record: bytes | bytearray) -> bytes:
    """The record with the checksum its bytes should have."""
    crc = zlib.crc32(bytes(record[:28]) + bytes(record[32:]))
    return bytes(record[:28]) + struct.pack("<I", crc) + bytes(record[32:])


def block(kind: int, rows: int, width: int, part: int, sequence: int, subject: bytes, payload: bytes) -> bytes:
    head = b"MURM" + struct.pack("<BBHIIIII", 1, kind, 0, rows, width, part, sequence, len(payload))
    return sealed(head + bytes(4) + subject + payload)


def raw(stream: str, rows: Sequence[tuple[bytes, int, Sequence[int]]], sequence: int = 0) -> bytes:
    users = b"".join(user for user, _, _ in rows)
    times = b"".join(struct.pack("<q", time) for _, time, _ in rows)
    values = b"".join(struct.pack("<I", word) for _, _, value in rows for word in value)
    return block(
        1,
        len(rows),
        24 + 4 * len(rows[0][2]),
        0,
        sequence,
        hashlib.sha256(stream.encode()).digest(),
        users + times + values,
    )


def reports(kind: int, digest: bytes, part: int, rows: list[bytes], sequence: int = 0) -> bytes:
    return block(kind, len(rows), len(rows[0]), part, sequence, digest, b"".join(rows))


def counts(digest: bytes, q: int, numbers: list[int], sequence: int = 0) -> bytes:
    return block(4, len(numbers), 8, q, sequence, digest, b"".join(struct.pack("<q", number) for number in numbers))


def sums(stream: str, contributor: int, t: int, numbers: list[int]) -> bytes:
    payload = b"".join(struct.pack("<q", number) for number in (t, *numbers))
    return block(5, 1 + len(numbers), 8, contributor, 0, hashlib.sha256(stream.encode()).digest(), payload)


def cells(row: bytes, d: int) -> list[int]:
    """The numbers of a report of two bits a cell."""
    return [int.from_bytes(row, "little") >> 2 * cell & 3 for cell in range(d)]


def canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def round_digest(fields: dict[str, Any]) -> bytes:
    return hashlib.sha256(b"murmurate/round/1\n" + canonical(fields)).digest()


def bitmap(slots: list[int], of: int) -> str:
    if sorted(slots) == list(range(of)):
        return "all"
    bits = bytearray(-(-of // 8))
    for s in slots:
        bits[s // 8] |= 1 << s % 8
    return base64.urlsafe_b64encode(bits).decode().rstrip("=")


def stream_hash(stream: str) -> int:
    return int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little")


RAW_ROWS = [
    (bytes(range(16)), 1_794_992_412_480, (3,)),
    (bytes(range(16, 32)), 1_794_992_413_000, (0xFFFFFFFF,)),
]
WIDE_ROWS = [
    (bytes(range(16)), 1_794_992_412_480, (0, 2, 0x7FFFFFFF)),  # the first and the third item, of at most three
    (bytes(range(16, 32)), 1_794_992_413_000, (0xFFFFFFFF,) * 3),
]
REPORT_ROWS = [b"\x01\x80", b"\xff\x00", b"\x10\x07"]
ADDED_ROWS = [b"\x42\x00", b"\x04\x01", b"\x08\x00"]  # 2 0 0 1 0, 0 1 0 0 1 and 0 2 0 0 0
COUNTS = [12, 0, -1, 1 << 40]
MANY = [v % 4 for v in range(5000)]
SUMS = [17, 25_093]
SLOTS = [0, 3, 9, 19]
ROUND = {
    "schema": "murmurate/round/1",
    "stream": "screen",
    "t": 29_916_540,
    "slots": {"of": 20, "asked": bitmap(SLOTS, 20)},
    "mechanism": {"name": "oue", "d": 7, "epsilon_micro": 1_000_000},
    "purpose": "publication",
    "contributors": 8,
    "targets": 4,
    "patience_ms": 5000,
    "config": "5d1c0e7a92f3b864",
    "revision": 1,
}

FIRST = {
    "schema": "murmurate/release/2", "deployment": "shop", "stream": "fare", "revision": 1, "t": 5_983_308,
    "start": "2026-11-18T09:00:00Z", "end": "2026-11-18T09:05:00Z", "measure": "mean", "unit": "EUR",
    "range": [0.0, 120.0], "decision": "unmeasured", "measured_t": None,
    **{key: {"mean": None, "present": None} for key in ("estimate", "stderr", "unbiased")},
    "reports": {"slots": 256, "received": 0, "counted": 0, "rejected": {"malformed": 0, "undersized": True}},
    "privacy": {"unit": "user", "epsilon": 2.0, "window": "1h", "w": 16, "shuffled": None},
    "mechanism": {"name": "value_presence", "d": 65_538, "epsilon": 2.0, "digest": "c07be4415a6f2d98"},
    "method": {"name": "lpu", "filter": "adaptive"},
}  # fmt: skip
NOBODY = FIRST | {
    "t": 5_983_309, "start": "2026-11-18T09:05:00Z", "end": "2026-11-18T09:10:00Z",
    "decision": "published", "measured_t": 5_983_309, "estimate": {"mean": None, "present": 0.0},
    "stderr": {"mean": None, "present": 0.012031}, "unbiased": {"mean": None, "present": -0.004127},
    "reports": {"slots": 256, "received": 4067, "counted": 4063, "rejected": {"malformed": 4}},
}  # fmt: skip

QUERIED = NOBODY | {
    "stream": "spent", "measure": "total", "model": "local", "estimate": {"total": 7.214503, "present": 0.3124},
    "stderr": {"total": 0.38125, "present": 0.0147}, "unbiased": {"total": 7.918224, "present": 0.331008},
    "stderr_unbiased": {"total": 0.902117, "present": 0.035906},
}  # fmt: skip

_SHARES = {key: NOBODY[key] for key in ("schema", "deployment", "revision", "t", "start", "end", "decision")} | {
    "measured_t": NOBODY["t"], "reports": NOBODY["reports"], "privacy": NOBODY["privacy"], "method": NOBODY["method"],
    "mechanism": {"name": "grr", "d": 4, "epsilon": 2.0, "digest": "5d1c0e7a92f3b864"},
}  # fmt: skip
STEPPED = _SHARES | {
    "stream": "arrived", "measure": "items", "model": "local", "estimate": {"arrived": 0.3124},
    "stderr": {"arrived": 0.035906}, "unbiased": {"arrived": 0.3124}, "stderr_unbiased": {"arrived": 0.035906},
    "mechanism": {"name": "node", "horizon": "exsub_online", "level": 0, "node": 4, "epsilon": 1.0, "digest": "0" * 16},
    "method": {"name": "sao2", "horizon": "8", "changes": "1", "fanout": "2", "goal": "mean", "filter": "off"},
    "horizon": {"first_t": 5983306, "periods": 8, "fanout": 2, "levels": 3, "shares": [0.316614, 0.4125]},
}  # fmt: skip
FAKED = _SHARES | {
    "stream": "answer", "measure": "frequency", "estimate": {"no": 0.4, "yes": 0.6},
    "stderr": {"no": 0.011, "yes": 0.011}, "unbiased": {"no": 0.4012, "yes": 0.6016},
    "mechanism": {"name": "faked", "fakes": 1000, "mechanism": "grr", "epsilon": 2.0, "digest": "0d6b1f2a55c3e790"},
    "privacy": {
        "unit": "user", "epsilon": 2.0, "window": "1h", "w": 16, "shuffled": {
            "epsilon": 0.0302, "delta": 0.0001, "per": "window", "n": 3650, "assumed_corrupt": 0.1, "bound": "fakes",
            "fakes": 1000, "against_users": {"epsilon": 0.0809, "delta": 0.0001},
        },
    },
}  # fmt: skip
ADDED = _SHARES | {
    "stream": "answer", "measure": "frequency", "estimate": {"no": 0.4, "yes": 0.6},
    "stderr": {"no": 0.001, "yes": 0.001}, "unbiased": {"no": 0.4004, "yes": 0.6003},
    "mechanism": {
        "name": "aue", "d": 2, "ones": 115_343_360, "batch": 3600, "central": 0.5, "delta": "0.0001",
        "digest": "5e0c1f7a92f3b864",
    },
    "privacy": {
        "unit": "user", "epsilon": None, "unprotected_locally": True, "window": "1h", "w": 16, "shuffled": {
            "epsilon": 0.492, "delta": 0.0001, "per": "window", "n": 3650, "assumed_corrupt": 0.1, "bound": "counts",
        },
    },
}  # fmt: skip
FOUND = _SHARES | {
    "stream": "words", "measure": "common", "names": "found", "estimate": {"bread": 0.31, "tea": 0.12},
    "stderr": {"bread": 0.012, "tea": 0.011}, "unbiased": {"bread": 0.3104, "tea": 0.1198},
}  # fmt: skip
LISTED = FOUND | {
    "stream": "taste", "measure": "vector", "estimate": {"tea": 0.12, "17": -0.31},
    "stderr": {"tea": 0.011, "17": 0.012}, "unbiased": {"tea": 0.1198, "17": -0.3104}, "selection": {
        "of": 65536, "by": "mean", "named": ["tea"], "found": ["17"], "errors": 5.095872, "threshold": 0.06115,
    },
}  # fmt: skip
SEARCHED = FOUND | {
    "stream": "search", "measure": "strings", "method": {"name": "pem", "filter": "adaptive"},
    "mechanism": {"digest": "5d1c0e7a92f3b864", "epsilon": 2.0, "name": "branches"},
    "estimate": {"news": 0.12, "weather": 0.31},
    "stderr": {"news": 0.012, "weather": 0.011}, "unbiased": {"news": None, "weather": 0.3014}, "discovery": {
        "least": 0.001, "threshold": 0.0204, "since": {"news": 5_983_301, "weather": 5_983_250},
        "seen": {"news": 5_983_308, "weather": 5_983_309}, "rose": ["weather"], "gone": ["map"],
    },
}  # fmt: skip
_CELLS = ("screen=home | os=ios", "screen=home | os=web", "screen=help | os=ios", "screen=help | os=web")
TABLED = _SHARES | {
    "stream": "pairs", "measure": "pairs",
    "tables": [{"of": ["screen", "os"], "values": [["home", "help"], ["ios", "web"]]}],
    "estimate": dict(zip(_CELLS, (0.4, 0.25, 0.2, 0.15), strict=True)), "stderr": dict.fromkeys(_CELLS, 0.011),
    "unbiased": dict(zip(_CELLS, (0.4012, 0.2491, 0.2003, 0.1497), strict=True)),
}  # fmt: skip

CURATED = {
    "schema": "murmurate/curated/1", "stream": "revenue", "t": 29_916_540, "config": "8c1f0e7a92f3b864",
    "tree": {"first_t": 29_916_480, "threshold": 2500, "digest": "0d6b1f2a55c3e790"},
    "sums": [[24_711, 3_000_000_000], [-2, 1_073_741_824]],
}  # fmt: skip
_CENTRAL = {
    "schema": "murmurate/release/2", "deployment": "shop", "stream": "revenue", "revision": 1, "measure": "total",
    "unit": "EUR", "range": [0.0, 120.0], "central": {"unit": "event", "epsilon": 0.5},
}  # fmt: skip
HELD_OUT = _CENTRAL | {
    "t": 29_916_479, "start": "2026-11-18T07:59:00Z", "end": "2026-11-18T08:00:00Z", "decision": "unmeasured",
    "measured_t": None, **{key: {"total": None, "count": None} for key in ("estimate", "stderr", "unbiased")},
    "mechanism": {"name": "noisy_max", "epsilon": 0.5, "digest": "8c1f0e7a92f3b864"},
    "method": {"name": "tops", "holdout_periods": 60, "holdout_events": 65_536},
}  # fmt: skip
SUMMED = _CENTRAL | {
    "t": 29_916_540, "start": "2026-11-18T09:00:00Z", "end": "2026-11-18T09:01:00Z", "decision": "published",
    "measured_t": 29_916_540, "estimate": {"total": 247.11, "count": 0.0}, "stderr": {"total": 339.4, "count": 13.6},
    "unbiased": {"total": 247.11, "count": -1.75}, "noise": {
        "fanout": 16, "levels": 5, "first_t": 29_916_480, "node": {"total": 353.55, "count": 14.14},
    },
    "mechanism": {"name": "discrete_laplace", "epsilon": 0.5, "digest": "0d6b1f2a55c3e790"},
    "method": {"name": "tops", "holdout_periods": 60, "holdout_events": 65_536, "threshold": 25.0},
}  # fmt: skip
PREDICTED = SUMMED | {
    "stream": "visits", "measure": "count", "central": {"unit": "user", "epsilon": 0.5, "events": 4, "window": "1d"},
    "estimate": {"count": 40.2}, "stderr": {"count": 7.3}, "unbiased": {"count": 40.2},
    "noise": {"fanout": 2, "levels": 3, "block": 2, "first_t": 29_916_537, "node": {"count": 12.1}},
    "block": {"first_t": 29_916_539, "total": {"count": 80.4}}, "method": {"name": "tops", "smoother": "recent"},
}  # fmt: skip
for _key in ("unit", "range"):
    del PREDICTED[_key]


def rows(said: dict[str, Any]) -> dict[bytes, bytes]:
    """The rows of a release in the table of the newest ones, by their keys."""
    shared = ("deployment", "stream", "revision", "t", "start", "end", "measure", "unit", "decision", "measured_t")
    head = {"schema": "murmurate/latest/1"} | {key: said[key] for key in shared if key in said}
    return {
        canonical({"stream": said["stream"], "name": name}): canonical(
            head | {"name": name} | {figure: said[figure][name] for figure in ("estimate", "stderr", "unbiased")}
        )
        for name in said["estimate"]
    }


def golden() -> dict[str, str]:
    digest = round_digest(ROUND)
    tally = {
        "schema": "murmurate/tally/1", "round": digest.hex(), "stream": "screen", "t": 29_916_540, "q": 1, "targets": 4,
        "received": 5, "counted": 3, "rejected": {"malformed": 2}, "missing": [6],
        "counts": [1, 0, 2, 0, 0, 1, 3],
    }  # fmt: skip
    announced = {key: value for key, value in tally.items() if key != "counts"} | {
        "schema": "murmurate/tally_in_blocks/1", "cells": len(MANY),
        "blocks": [hashlib.sha256(counts(digest, 1, MANY)).hexdigest()],
    }  # fmt: skip
    config = {
        "schema": "murmurate/config/1", "number": 2, "secrets": {"shuffle": "6bc040b5907b58f1"},
        "values": {"privacy.min_batch": 1000, "time.clock": "wall", "streams.screen.every_ms": 60_000},
    }  # fmt: skip
    change = config | {"number": 3, "until": {"time": 1_795_003_200_000, "values": {"privacy.min_batch": 500}}}
    (row_key, row), *_ = rows(SUMMED).items()
    return {
        "raw block": raw("screen", RAW_ROWS).hex(),
        "wide raw block": raw("basket", WIDE_ROWS).hex(),
        "reports block": reports(2, digest, 5, REPORT_ROWS).hex(),
        "batch block": reports(3, digest, 1, REPORT_ROWS, sequence=2).hex(),
        "empty reports block": block(2, 0, 2, 5, 0, digest, b"").hex(),
        "tally block": counts(digest, 1, COUNTS, sequence=2).hex(),
        "added block": counts(
            digest, 0, [sum(column) for column in zip(*(cells(row, 5) for row in ADDED_ROWS), strict=True)]
        ).hex(),
        "sums block": sums("revenue", 5, 29_916_540, SUMS).hex(),
        "round": canonical(ROUND).decode(),
        "round digest": digest.hex(),
        "tally": canonical(tally).decode(),
        "announced tally": canonical(announced).decode(),
        "config": canonical(config).decode(),
        "config of a change": canonical(change).decode(),
        "unmeasured release": canonical(FIRST).decode(),
        "release of nobody": canonical(NOBODY).decode(),
        "release for queries": canonical(QUERIED).decode(),
        "release within a horizon": canonical(STEPPED).decode(),
        "release with fakes": canonical(FAKED).decode(),
        "release of added reports": canonical(ADDED).decode(),
        "release of found names": canonical(FOUND).decode(),
        "release of listed items": canonical(LISTED).decode(),
        "release of a search": canonical(SEARCHED).decode(),
        "release of tables": canonical(TABLED).decode(),
        "curated": canonical(CURATED).decode(),
        "release before a threshold": canonical(HELD_OUT).decode(),
        "release of sums": canonical(SUMMED).decode(),
        "release of several periods": canonical(PREDICTED).decode(),
        "latest key": row_key.decode(),
        "latest": row.decode(),
        "stream id": hashlib.sha256(b"screen").hexdigest(),
        "stream hash": str(stream_hash("screen")),
        "bitmap": bitmap(SLOTS, 20),
    }


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden(), indent=2) + "\n", encoding="utf-8")
