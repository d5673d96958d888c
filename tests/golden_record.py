# SPDX-License-Identifier: Apache-2.0
"""The golden record: what every mechanism reports and every digest is, for fixed keys, users and values.

Contract: the same code gives the same record.  For each mechanism, at several domains, claims and parameters: its
spec, its digest, SHA-256 of the reports of all users in both forms and of what they count.  For rounds, streams and
deployments: every digest and frozen fact, pseudonyms, partitions, slots and the stream of a user.  `python -m
tests.golden_record` writes tests/data/golden_record.json anew, and says what differs from the one there.
Not here: what streams release (agents/replay/recorded.py, a record of its own).
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from murmurate.config.agreement import values
from murmurate.config.loader import build, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.config.samples import events, example
from murmurate.randomizers import Key, Pepper, Question, mechanism, question
from murmurate.randomizers.identity import partitions, slots, streams
from murmurate.topics.messages import Round
from murmurate.topics.names import stream_id, stream_partition
from murmurate.topics.slots import Slots
from tests.config.deployments import SHOP, small

RECORD = Path(__file__).resolve().parent / "data" / "golden_record.json"
SECRET = bytes(range(7, 39))
ROUND = hashlib.sha256(b"a round").digest()
USERS, SINGLE = 400, 12
EPSILONS = (700_000, 2_500_000)
EXAMPLES = ("papers", "sensor", "telemetry", "trips")
"""Those of values that are single codes, as they were when the record was made."""

MECHANISMS: dict[str, list[dict[str, Any]]] = {
    "grr": [{"d": 2}, {"d": 3}, {"d": 1000}],
    "oue": [{"d": 2}, {"d": 9}, {"d": 130}],
    "sue": [{"d": 2}, {"d": 9}, {"d": 130}],
    "olh": [{"d": 2}, {"d": 9}, {"d": 130}, {"d": 5, "pool": 4}],
    "olh_counts": [{"d": 2}, {"d": 9, "pool": 4}, {"d": 130, "pool": 16_400}, {"d": (1 << 52) + 1, "pool": 64}],
    "blh": [{"d": 2}, {"d": 9}, {"d": 130, "pool": 64}],
    "hr": [{"d": 2}, {"d": 9}, {"d": 130}],
    "subset": [{"d": 2}, {"d": 9}, {"d": 130}, {"d": 12, "k": 3}],
    "she": [{"d": 2}, {"d": 9}, {"d": 12, "grid": 32, "reach": 15}],
    "the": [{"d": 2}, {"d": 9}, {"d": 130}],
    "sr": [{"d": 65_537}, {"d": 2}],
    "pm": [{"d": 65_537}, {"d": 17}],
    "hm": [{"d": 65_537}, {"d": 17}],
    "value_presence": [{"d": 65_538}, {"d": 3}],
    "sw": [{"d": 64}, {"d": 3}],
    "sw_presence": [{"d": 65}, {"d": 3}],
    "recoded": [
        {"d": 65_537},
        {"d": 65_537, "inner": "hm", "clip": 20_000},
        {"d": 65_537, "inner": "pm", "clip": 5_000, "group": 8},
        {"d": 65_537, "inner": "sr", "clip": 60_000, "group": 3},
        {"d": 65_538, "inner": "value_presence", "clip": 30_000},
        {"d": 65_538, "inner": "value_presence", "clip": 9, "group": 2},
        {"d": 65_537, "inner": "sw_mean", "clip": 65_536, "group": 64},
        {"d": 65_538, "inner": "sw_mean_presence", "clip": 40_000, "group": 128},
    ],
    "rappor": [{"d": 2}, {"d": 9}, {"d": 9, "steps": 2}],
    "rappor_cohorts": [{"d": 9}, {"d": 300, "bits": 32, "hashes": 3, "cohorts": 4}],
}
"""By name: parameters besides epsilon."""

STREAMS: dict[str, dict[str, Any]] = {
    "other": {"screen__other": True},
    "carry": {"screen__missing": {"carry": "15m"}},
    "always": {"screen__missing": {"carry": "always"}, "screen__initial": "help"},
    "season": {"screen__season": "24m", "screen__method": {"name": "lpa", "revise": 5}},
    "prefer": {"screen__prefer": "bytes", "screen__several": "first"},
    "method": {"screen__method": {"name": "lpd", "variance": "paper", "first_share": 0.3, "filter": "off"}},
    "grouping": {"screen__method": {"name": "lb-pegasus", "grouping": "paid"}, "screen__mechanism": "subset"},
    "source": {"screen__source": {"topic": "clicks", "user": "/who", "time": "/when", "value": "/what"}},
    "periods": {"privacy__window": {"periods": 20}, "privacy__split": "budget", "screen__slots": 8000},
    "mean": {"streams": {"m": {"measure": "mean", "range": [0, 9.5], "unit": "EUR", "every": "5m"}}},
    "found": {"streams": {"m": {"measure": "mean", "range": [-1, 1], "every": "5m", "clip": "found"}}},
    "mean of everybody": {
        "streams": {
            "m": {"measure": "mean", "range": [0, 9], "every": "1m", "missing": {"carry": "always"}, "initial": 3}
        }
    },
    "distribution": {
        "streams": {
            "a": {"measure": "distribution", "range": [0, 1e6], "every": "1m", "cells": 12, "share": 0.25},
            "b": {"measure": "distribution", "range": [0, 1], "every": "2m", "share": 0.75, "mechanism": "sw_presence"},
        }
    },
}
"""Changes of a small deployment, each of which enters a digest."""


def _sha(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def _users(n: int) -> np.ndarray:
    return Pepper(SECRET[::-1], deployment="golden").pseudonyms(b"user %d" % i for i in range(n))


def _values(d: int) -> np.ndarray:
    """Of all users: both ends of the domain, and what lies between."""
    spread = np.arange(USERS, dtype=np.int64) * 2_654_435_761 % d
    spread[:4] = 0, d - 1, 1, d // 2
    return spread


def reports() -> Iterator[tuple[str, dict[str, Any]]]:
    """Of every mechanism."""
    key, users = Key(SECRET, deployment="golden"), _users(USERS)
    for name, cases in MECHANISMS.items():
        for case in cases:
            for epsilon_micro in EPSILONS:
                spec = {"name": name, **case, "epsilon_micro": epsilon_micro}
                made: Question = question(spec) if name == "recoded" else mechanism(spec)
                made = made.of_round(ROUND)
                told = _values(made.layout[1])
                said = made.perturb(told, key.draw(users, round=ROUND))
                one = [
                    made.perturb_one(int(told[i]), key.draw_one(users[i].tobytes(), round=ROUND)) for i in range(SINGLE)
                ]
                title = ", ".join(
                    f"{key} = {value}" for key, value in (case | {"epsilon_micro": epsilon_micro}).items()
                )
                yield (
                    f"mechanism {name}: {title}",
                    {
                        "spec": dict(made.spec()),
                        "digest": made.digest.hex(),
                        "reports": _sha(said.tobytes()),
                        "one by one": _sha(b"".join(one)),
                        "counts": _sha(made.support(said).astype("<i8").tobytes()),
                    },
                )


def rounds() -> Iterator[tuple[str, dict[str, Any]]]:
    """Digest and canonical bytes of rounds."""
    mask = np.zeros(4148, np.bool_)
    mask[::34] = True
    specs = (
        {"name": "grr", "d": 5, "epsilon_micro": 2_000_000},
        {"name": "olh", "d": 1000, "epsilon_micro": 1_000_000, "pool": 1024},
        {"name": "subset", "d": 30, "epsilon_micro": 1_000_000, "k": 9},
        {"name": "value_presence", "d": 65_538, "epsilon_micro": 1_000_000},
        {"name": "recoded", "d": 65_538, "epsilon_micro": 500_000, "inner": "value_presence", "clip": 30_000},
        {"name": "recoded", "d": 65_537, "epsilon_micro": 500_000, "inner": "sw_mean", "clip": 65_536, "group": 64},
    )
    for spec in specs:
        full = question(spec).spec()
        whole = Round(
            stream="screen", t=29_916_540, slots=Slots.every(4148), mechanism=full, purpose="publication",
            contributors=8, targets=4, patience_ms=30_000, config="0123456789abcdef", revision=1,
        )  # fmt: skip
        part = whole.model_copy(update={"purpose": "dissimilarity", "slots": Slots.chosen(mask)})
        for found in (whole, part):
            title = f"round {found.purpose}: " + ", ".join(map(str, spec.values()))
            yield title, {"digest": found.digest.hex(), "canonical": _sha(found.canonical())}


def deployments() -> Iterator[tuple[str, dict[str, Any]]]:
    """Config digests, frozen facts and what zones compare, of deployment files."""
    yield "deployment shop", _deployment(plan(load(SHOP, {})))
    for name in EXAMPLES:
        found = plan(build(tomllib.loads(example(name)), where=name))
        yield f"deployment {name}", {**_deployment(found), "events": _sha(b"".join(events(found)))}
    yield "deployment central", _deployment(plan(build(tomllib.loads(example("central")), where="central")))
    for name, changes in STREAMS.items():
        yield f"deployment of small streams: {name}", _deployment(plan(build(small(**changes))))


def _deployment(of: Plan) -> dict[str, Any]:
    fingerprints = {"pepper": "0" * 16, "slots": "1" * 16, "split": "2" * 16}
    return {
        "config": {stream.name: stream.config for stream in of.everything},
        "facts": of.terms(fingerprints).facts(),
        "compared": _sha(orjson.dumps(values(of, fed=False), option=orjson.OPT_SORT_KEYS)),
        "method": {stream.name: stream.method.described() for stream in of.streams},
        "names": {stream.name: _sha("\n".join(stream.names).encode()) for stream in of.streams},
    }


def people() -> Iterator[tuple[str, dict[str, Any]]]:
    """Who is who: pseudonyms, partitions, slots, streams; and words of every purpose."""
    key, users = Key(SECRET, deployment="golden"), _users(USERS)
    yield (
        "people",
        {
            "pseudonyms": _sha(users.tobytes()),
            "partitions": _sha(partitions(users, 12).tobytes()),
            "slots": {name: _sha(slots(key, users, 4148, name).tobytes()) for name in ("screen", "m")},
            "streams": _sha(streams(key, users, [250_000, 600_000, 100_000]).tobytes()),
            "stream ids": {name: stream_id(name).hex() for name in ("screen", "m")},
            "stream partitions": {name: stream_partition(name, 7) for name in ("screen", "m")},
            "scatter": _sha(key.words("scatter", users, round=ROUND, k=3).tobytes()),
            "permutation": _sha(key.words("permutation", users, round=ROUND, k=2).tobytes()),
            "fingerprint": key.fingerprint,
        },
    )


def record() -> dict[str, dict[str, Any]]:
    """All of it."""
    return {name: told for part in (reports, rounds, deployments, people) for name, told in part()}


def recorded() -> dict[str, dict[str, Any]]:
    """What the file says."""
    found: dict[str, dict[str, Any]] = orjson.loads(RECORD.read_bytes())
    return found


def differences(found: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> list[str]:
    """One line for each entry that is not the same: what of it differs."""
    lines = [f"{name}: is no longer found" for name in before.keys() - found.keys()]
    for name, told in found.items():
        if name not in before:
            lines.append(f"{name}: is not in the record")
        elif parts := [part for part in told.keys() | before[name].keys() if told.get(part) != before[name].get(part)]:
            lines.append(f"{name}: {', '.join(sorted(parts))} differ")
    return sorted(lines)


def main() -> None:
    """Write the record, and say what is new in it."""
    before = recorded() if RECORD.exists() else {}
    found = record()
    for line in differences(found, before):
        sys.stdout.write(line + "\n")
    sys.stdout.write(f"{len(found)} entries\n")
    RECORD.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
