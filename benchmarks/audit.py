# SPDX-License-Identifier: Apache-2.0
"""How fast the auditor judges, and what it holds: `python -m benchmarks.audit`.

Users in two raw partitions each say something in every period, w = 20, d = 16; LBU asks everybody in each period and
LPU a twentieth of them.  The logs of such a run are played to an auditor in the order in which they were written, by
CPU time: in `follow` it settles again and again, `at once` is the audit of logs that have ended.  The auditor of commit
a57ad1f0 judged user by user: 4 468, 4 161 and 737 reports a second of the same three runs with 2 000 users.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.measure import at_least, at_most, heading, line
from murmurate.agents.audit.auditor import ORDER, Auditor, audit
from murmurate.agents.audit.findings import ALL, Extent
from murmurate.agents.audit.packed import pack
from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.embedded.runtime import Keys, Runtime
from murmurate.agents.replay.run import keys
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.randomizers.identity import partitions
from murmurate.topics.block import encode_raw
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress
from murmurate.topics.names import stream_id

USERS, PERIODS, D, FIRST = 100_000, 24, 16, 100
Written = list[tuple[str, int, int, bytes]]
"""Topic, partition, number and bytes of every record, in the order of writing."""


def deployment(method: str, mechanism: str) -> Plan:
    stream = {
        "measure": "frequency", "values": [f"v{i}" for i in range(D)], "every": "1m", "method": method,
        "mechanism": mechanism,
    }  # fmt: skip
    return plan(
        build({
            "schema": 1, "name": "bench", "privacy": {"epsilon": 1.0, "window": {"periods": 20}},
            "population": {"partitions": 2}, "kafka": {"targets": 2}, "time": {"lateness": "1ms"},
            "streams": {"x": stream},
        })
    )  # fmt: skip


def recorded(of: Plan, users: int = USERS, periods: int = PERIODS) -> tuple[Written, Keys]:
    """The logs of a run."""
    held = keys(known_secrets("bench"), "bench")
    runtime = Runtime(of, held, keep=True)
    written: Written = []
    ends: dict[Log, int] = {}

    def note(records: Sequence[Out]) -> None:
        for out in records:
            if out.log.topic in ORDER:
                written.append((out.log.topic, out.log.partition, ends.get(out.log, 0), out.value))
                ends[out.log] = ends.get(out.log, 0) + 1

    runtime.logs.listeners.append(note)
    (streamed,) = of.streams
    chance, every = np.random.default_rng(1), streamed.every_ms
    everybody = chance.integers(0, 256, (users, 16), np.uint8)
    homes = partitions(everybody, of.partitions)
    runtime.start({"x": FIRST})
    for t in range(periods):
        start = (FIRST - 1 + t) * every
        for p in range(of.partitions):
            mine = everybody[homes == p]
            times, codes = start + chance.integers(0, every, len(mine)), chance.integers(0, D, len(mine), np.uint32)
            for part in np.array_split(np.arange(len(mine)), max(1, len(mine) // 4096)):
                blocks = encode_raw(stream_id("x"), mine[part], times[part], codes[part])
                runtime.write([Out(Log("raw", p), block) for block in blocks])
            runtime.write(
                [Out(Log("raw", p), encode(Progress(topic=streamed.topic, partition=0, time=start + every + 1)))]
            )
        runtime.run()
    return written, held


def followed(of: Plan, held: Keys, written: Written) -> Auditor:
    """Every record in the order of writing; settled with the marks of its moment after every period."""
    auditor = Auditor(of, held.edge.devices, {of.streams[0].topic: 1})
    for topic, partition, number, data in written:
        auditor.take(topic, partition, number, data)
        if topic == "rounds":
            auditor.settle(Extent(folded={}, tallied={}))
    auditor.settle(ALL)
    return auditor


def at_once(of: Plan, held: Keys, written: Written) -> object:
    logs: dict[tuple[str, int], list[bytes]] = {}
    for topic, partition, _, data in written:
        logs.setdefault((topic, partition), []).append(data)
    return audit(of, held.edge.devices, lambda *log: logs.get(log, []), {of.streams[0].topic: 1})


def cpu_s(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    users = int(sys.argv[1]) if len(sys.argv) > 1 else USERS
    print(heading())
    for method, mechanism in (("lbu", "grr"), ("lbu", "oue"), ("lpu", "oue")):
        of = deployment(method, mechanism)
        written, held = recorded(of, users)
        auditor = followed(of, held, written)
        found = auditor.found
        assert found.holds, found.where
        seconds = min(cpu_s(lambda: followed(of, held, written)) for _ in range(3))  # noqa: B023 - run at once
        once = min(cpu_s(lambda: at_once(of, held, written)) for _ in range(3))  # noqa: B023
        events = users * PERIODS
        print(line(at_least(f"{method} {mechanism}: {found.reports} reports, follow", found.reports / seconds, 3e5)))
        print(line(at_least("  at once", found.reports / once, 3e5)))
        print(line(at_least("  raw events with them", events / seconds, 3e5)))
        size = sum(array.nbytes for array in pack(auditor.state())[1].values())
        print(line(at_most("  a checkpoint", size / users, 200, "B a user")))


if __name__ == "__main__":
    main()
