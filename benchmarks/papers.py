"""The papers' setting through the real stages, beside what the papers and the spec of LDP-IDS say: python -m
benchmarks.papers

n = 200 000 users, T = 800 periods, epsilon = 1, w = 20, values that stand for ever, variance as the paper has it. A
run is 160 million events and takes about a minute on one core; --seeds and --periods shorten it.
"""

from __future__ import annotations

import argparse
import statistics

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import build
from murmurate.config.planning import plan

# LDP-IDS at w = 20, epsilon = 1: mean relative error, and bits per user and period of the paper's table 2
MRE = {("lpa", "sin"): 0.093, ("lpa", "log"): 0.0274, ("lpu", "sin"): 0.126, ("lpu", "log"): 0.0375}
BITS = {("lpa", "lns"): 0.0804, ("lpa", "sin"): 0.0806, ("lpa", "log"): 0.0803} | {
    ("lpu", s): 0.1 for s in ("lns", "sin", "log")
}


def measured(method: str, stream: str, seed: int, periods: int, users: int) -> tuple[float, float, int]:
    """MRE, bits per user and period, and reports over budget of one run."""
    settings = {
        "schema": 1,
        "name": "papers",
        "privacy": {"epsilon": 1.0, "window": {"periods": 20}, "min_batch": 2},
        "population": {"partitions": 1},
        "kafka": {"targets": 1},
        "streams": {
            "bit": {
                "measure": "frequency",
                "values": ["0", "1"],
                "every": "1m",
                "slots": 40_000,
                "method": {"name": "lpa", "variance": "paper"} if method == "lpa" else method,
                "missing": {"carry": "always"},
            }
        },
    }
    deployment = plan(build(settings))
    source = open_source(f"synthetic:{stream},n={users},periods={periods},seed={seed}", deployment)
    found = Replay(deployment, source, keys(known_secrets(f"papers {seed}"), deployment.name)).run().summary(deployment)
    return found["mre"], found["bits_per_user_per_period"], found["over_budget"]


def main() -> None:
    """Print a line a method and stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--periods", type=int, default=800)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--only", help="such as lpa/lns")
    options = parser.parse_args()
    print("              MRE    spec   ratio    bits  papers   ratio  over budget", flush=True)
    for method, stream in BITS:
        if options.only not in (None, f"{method}/{stream}"):
            continue
        runs = [measured(method, stream, seed, options.periods, options.users) for seed in range(1, options.seeds + 1)]
        mre, bits = (statistics.mean(run[i] for run in runs) for i in (0, 1))
        spec, papers = MRE.get((method, stream)), BITS[method, stream]
        beside = f"{spec:7.4f} {mre / spec:7.3f}" if spec else "      -       -"
        over = sum(run[2] for run in runs)
        print(
            f"{method} {stream}   {mre:7.4f} {beside} {bits:7.4f} {papers:7.4f} {bits / papers:7.3f} {over:12d}",
            flush=True,
        )


if __name__ == "__main__":
    main()
