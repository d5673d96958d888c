# SPDX-License-Identifier: Apache-2.0
"""Raw blocks to releases on the embedded runtime, and what a newcomer waits for: `python -m benchmarks.pipeline`.

LPU, then LPA: a million users each say something in each of 20 periods, w = 20, d = 16.  The
door's JSON is left out, the making of raw blocks is not.  A run is a fresh process, so that its peak memory is its own
(input arrays and Python's modules included); of three runs the best one counts, and the middle one is shown.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np

from benchmarks.measure import Row, at_least, at_most, heading, line, short
from benchmarks.memory import held_mb
from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.replay.run import keys
from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.topics.block import REFUSED
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress

USERS, PERIODS, D, FIRST = 1_000_000, 20, 16, 100
RUNS = 3


def rows() -> Iterator[Row]:
    rates = {}
    for method in ("lpu", "lpa"):
        runs = [json.loads(fresh("-m", "benchmarks.pipeline", method)) for _ in range(RUNS)]
        best = max(runs, key=lambda run: run["rate"])
        middle = sorted(run["rate"] for run in runs)[RUNS // 2]
        rates[method] = best["rate"]
        yield at_least(f"{method}, raw to releases", best["rate"], 3e6 if method == "lpu" else 2e6)
        yield Row("  the middle run", f"{short(middle)}/s", f"of {RUNS}", True)
        for stage, share in best["shares"].items():
            yield Row(f"  {stage}", f"{share:.1%}", "of the time", True)
        yield at_most("  peak memory", min(run["peak_mb"] for run in runs), 600, "MB")
    yield at_most("lpu's rate over lpa's", rates["lpu"] / rates["lpa"], 1.5, "x")
    yield at_most("murmurate --help", min(help_s() for _ in range(5)), 0.3, "s")
    yield at_most("demo to its first release", min(first_release_s() for _ in range(3)), 3, "s")


def _deployment(method: str) -> Plan:
    """One stream of frequencies by this method, in one partition."""
    stream = {
        "measure": "frequency", "values": [f"v{i}" for i in range(D)], "every": "1m", "method": method,
        "missing": {"carry": "always"},
    }  # fmt: skip
    return plan(
        build({
            "schema": 1, "name": "bench", "privacy": {"epsilon": 1.0, "window": {"periods": 20}},
            "population": {"partitions": 1}, "kafka": {"targets": 1}, "time": {"lateness": "1ms"},
            "streams": {"x": stream},
        })
    )  # fmt: skip


def replayed(method: str) -> dict[str, object]:
    """Events a second, each stage's share of the time, and the most memory that was held."""
    of = _deployment(method)
    (streamed,) = of.streams
    every, start = streamed.every_ms, FIRST * streamed.every_ms
    runtime = Runtime(of, keys(known_secrets("bench"), "bench"))
    chance = np.random.default_rng(1)
    users = chance.integers(0, 256, (USERS, 16), np.uint8)

    def reach(clock: int) -> None:
        runtime.write([Out(Log("raw", 0), encode(Progress(topic=streamed.topic, partition=0, time=clock)))])
        assert runtime.run()

    runtime.start({"x": FIRST})
    reach(start - 1)
    runtime.write(raw_records(of, "x", users, np.full(USERS, start - 1), np.full(USERS, REFUSED, np.uint32)))
    reach(start + 1)
    runtime.seconds.clear()
    spent = 0.0
    for t in range(PERIODS):
        times = start + t * every + chance.integers(0, every, USERS)
        codes = chance.integers(0, D, USERS, np.uint32)
        began = time.perf_counter()
        runtime.write(raw_records(of, "x", users, times, codes))
        reach(start + (t + 1) * every + 1)
        spent += time.perf_counter() - began
    assert len(runtime.releases()) == PERIODS
    shares = {stage: seconds / spent for stage, seconds in runtime.seconds.items()}
    shares["making raw blocks"] = 1 - sum(shares.values())
    return {
        "rate": USERS * PERIODS / spent,
        "shares": {stage: share for stage, share in shares.items() if share >= 0.001},
        "peak_mb": held_mb("VmHWM"),
    }


def help_s() -> float:
    """From the start of the process to its end."""
    began = time.perf_counter()
    fresh("-m", "murmurate", "--help")
    return time.perf_counter() - began


def first_release_s() -> float:
    """From the start of the process to the first release on /v1/feed."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "murmurate", "demo", "--once", "--port", "0"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert running.stdout
        address = next(row.split()[2] for row in running.stdout if "Live page" in row)
        connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
        connection.request("GET", "/v1/feed")
        answer = connection.getresponse()
        while b'"type":"release"' not in answer.readline():
            assert not answer.closed
        return time.perf_counter() - began
    finally:
        running.kill()
        running.wait()


def fresh(*words: str) -> bytes:
    return subprocess.run([sys.executable, *words], check=True, capture_output=True).stdout


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(replayed(sys.argv[1])))
        return
    print(heading())
    for row in rows():
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
