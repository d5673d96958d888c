# SPDX-License-Identifier: Apache-2.0
"""What `murmurate plan` predicts beside what runs then have: python -m benchmarks.predictions sin

Every method on a stream of LDP-IDS (n = 200 000, T = 800, epsilon = 1, w = 20): standard errors with the filter and
without, predicted from `--like` the stream, or with --drift from that alone, and measured in runs of other seeds; with
--drift each of those runs has a path of its own.  --stages measures through the path of every user: a run is 160
million events and takes a minute or two.
"""

from __future__ import annotations

import argparse

import numpy as np
import orjson

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.agents.replay.synthetic import probabilities
from murmurate.agents.simulate.prediction import Assumed, MethodToTry, Prospect, jobs, prospect
from murmurate.agents.simulate.series import series
from murmurate.agents.simulate.synthetic_counts import CountsSource, Holders, apportioned
from murmurate.agents.simulate.trial_truths import recorded
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan

USERS, PERIODS, W = 200_000, 800, 20
PATH = 77
"""The seed of the path that is shared, where one is."""
OTHER = 1_000
"""Seeds of measured runs begin here: plan's begin at 0."""


def papers(method: str = "lpu", d: int = 2, mechanism: str = "auto") -> Plan:
    bit = {
        "measure": "frequency", "values": [str(k) for k in range(d)], "every": "1m", "method": method,
        "missing": {"carry": "always"}, "mechanism": mechanism,
    }  # fmt: skip
    privacy = {"epsilon": 1.0, "window": {"periods": W}, "min_batch": 2}
    few = {"population": {"partitions": 1}, "kafka": {"targets": 1}}
    return plan(build({"schema": 1, "name": "papers", "privacy": privacy, **few, "streams": {"bit": bit}}))


def truth(model: str, seed: int, d: int, drift: float) -> Holders:
    """d = 2: the paper's stream; more values: walks of logits, drawn here by other means than plan's."""
    if d == 2:
        p = probabilities(model, PERIODS, seed)  # type: ignore[arg-type]
        return apportioned(np.column_stack((1 - p, p)), USERS)
    rng, base = np.random.default_rng([seed, 9]), 1 / np.arange(1.0, d + 1)
    logits, path = np.log(base), np.empty((PERIODS, d))
    for t in range(PERIODS):
        path[t] = np.exp(logits) / np.exp(logits).sum()
        step = rng.normal(0, 1, d)
        move = path[t] * (step - path[t] @ step)
        logits = logits + step * drift / np.sqrt((move**2).mean()) + 0.01 * (np.log(base) - logits)
    return apportioned(path, USERS)


def measured(case: tuple[str, str, int, int, float | None]) -> tuple[float, float]:
    """Mean squared errors with the filter and without, of one run."""
    model, method, seed, d, drift = case
    path = truth(model, PATH if drift is None else seed, d, drift or 0)
    setting = Setting(
        Frequency.of_size(d, says_none=False),
        epsilon_micro=1_000_000, w=W, slots=papers().streams[0].slots, first_t=1,
        seed=bytes([seed % 251]) * 32,
    )  # fmt: skip
    found = series(path, MethodOptions(method, filter="adaptive"), setting, seed=seed)
    assert found.best is not None
    best = np.array([norm_sub(one) for one in found.best])
    return tuple(float(((said - found.true)[W:] ** 2).mean()) for said in (best, found.said))  # type: ignore[return-value]


def through_stages(model: str, method: str, seed: int) -> tuple[float, float]:
    """The same by every user for itself."""
    deployment = papers(method)
    source = CountsSource(truth(model, PATH, 2, 0), seed, deployment, "bit")
    outcome = Replay(deployment, source, keys(known_secrets(f"papers {seed}"), deployment.name)).run()
    releases = [orjson.loads(record) for record in outcome.releases]
    true = np.array([period.figures for period in outcome.truth])
    # Before the first publication the papers' r_0 = 0 stands, where a release says null.
    said = (np.array([[one[what][k] or 0.0 for k in "01"] for one in releases]) for what in ("estimate", "unbiased"))
    return tuple(float(((one - true)[W:] ** 2).mean()) for one in said)  # type: ignore[return-value]


def main() -> None:
    """Print a line a method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stream", choices=("lns", "sin", "log", "walk"))
    parser.add_argument("--drift", type=float, help="predict from this alone; of a walk: what it is")
    parser.add_argument("--d", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--within", type=float, default=0.03)
    parser.add_argument("--method", action="append", help="only this one; may be repeated")
    parser.add_argument("--stages", action="store_true", help="measure through every stage")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    deployment = papers(d=args.d)
    like = None
    if args.drift is None:
        source = open_source(f"synthetic:{args.stream},seed={PATH}", deployment)
        like = recorded(deployment, source, "bit", USERS).holders
    assumed = Assumed(drift=args.drift or 0, like=like)
    work = jobs(deployment, deployment.streams[0], USERS, assumed, within=args.within)
    work = [job for job in work if job.method in (args.method or [job.method])]
    seeds = range(OTHER, OTHER + args.seeds)
    print("                 filter: predicted measured ratio    series: predicted measured ratio  (s.e. of measured)")
    for job, one in zip(work, spread_out(_predicted, work, args.processes), strict=True):
        if args.stages:
            runs = [through_stages(args.stream, job.method, seed) for seed in seeds]
        else:
            cases = [(args.stream, job.method, seed, args.d, args.drift) for seed in seeds]
            runs = list(spread_out(measured, cases, args.processes))
        squares = np.array(runs)
        roots = np.sqrt(squares.mean(axis=0))
        off = (
            squares.std(axis=0, ddof=1) / np.sqrt(len(runs)) / squares.mean(axis=0) / 2 if len(runs) > 1 else roots * 0
        )
        told = (one.best.filtered, one.best.series)
        cells = [f"{a:18.5f} {b:8.5f} {a / b:6.3f}" for a, b in zip(told, roots.tolist(), strict=True)]
        print(f"{args.stream} {job.method:12} {' '.join(cells)}   {off[0]:.3f} {off[1]:.3f}", flush=True)


def _predicted(job: MethodToTry) -> Prospect:
    found = prospect(job)
    assert isinstance(found, Prospect)
    return found


if __name__ == "__main__":
    main()
