"""Raw blocks to releases on the embedded runtime, beside the goals: python -m benchmarks.pipeline

LPU, then LPA: 1 M users x 20 periods, d = 16, from arrays (the door's JSON is left out), one process, one core.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.replay.run import keys
from murmurate.agents.stages.door import raw_records
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.topics.block import REFUSED
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress

USERS, PERIODS, D, FIRST = 1_000_000, 20, 16, 100


def measured(method: str) -> tuple[float, dict[str, float]]:
    """Events a second, and seconds in each stage."""
    settings = {
        "schema": 1,
        "name": "bench",
        "privacy": {"epsilon": 1.0, "window": {"periods": 20}},
        "population": {"partitions": 1},
        "kafka": {"targets": 1},
        "time": {"lateness": "1ms"},
        "streams": {
            "x": {
                "measure": "frequency",
                "values": [f"v{i}" for i in range(D)],
                "every": "1m",
                "method": method,
                "missing": {"carry": "always"},
            }
        },
    }
    of = plan(build(settings))
    (stream,) = of.streams
    runtime = Runtime(of, keys(known_secrets("bench"), "bench"))
    generator = np.random.default_rng(1)
    users = generator.integers(0, 256, (USERS, 16), np.uint8)
    runtime.start({"x": FIRST})
    start = FIRST * stream.every_ms

    def reach(clock: int) -> None:
        runtime.write([Out(Log("raw", 0), encode(Progress(topic=stream.topic, partition=0, time=clock)))])
        runtime.run()

    reach(start - 1)
    shown, nothing = np.full(USERS, start - 1), np.full(USERS, REFUSED, np.uint32)
    runtime.write(raw_records(of, "x", users, shown, nothing))
    reach(start + 1)
    runtime.seconds.clear()
    spent = 0.0
    for t in range(PERIODS):
        times = start + t * stream.every_ms + generator.integers(0, stream.every_ms, USERS)
        codes = generator.integers(0, D, USERS).astype(np.uint32)
        began = time.perf_counter()
        runtime.write(raw_records(of, "x", users, times, codes))
        reach(start + (t + 1) * stream.every_ms + 1)
        spent += time.perf_counter() - began
    if len(runtime.releases()) != PERIODS:
        raise SystemExit(f"{method}: found {len(runtime.releases())} releases of {PERIODS} periods")
    return USERS * PERIODS / spent, {stage: seconds / spent for stage, seconds in runtime.seconds.items()}


def main() -> None:
    """Print a line a method."""
    print("raw blocks to releases: 1 M users x 20 periods, d = 16, one core")
    for method, goal in (("lpu", ">= 3 M"), ("lpa", ">= 2 M")):
        rate, shares = measured(method)
        parts = "  ".join(f"{stage} {share:.0%}" for stage, share in shares.items() if share >= 0.005)
        print(f"{method}   {rate / 1e6:5.2f} M events/s  {goal}   {parts}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB  <= 600 MB")


if __name__ == "__main__":
    main()
