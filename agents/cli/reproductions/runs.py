# SPDX-License-Identifier: Apache-2.0
"""Runs of methods over streams, each made once: what tables and figures are computed from.

Contract: a run is a function of its case and seed alone, in whatever process it is made; the same seed gives all
methods the same stream.  Users are drawn all at once (agents/simulate/simulated_answers.py); with `stages` each answers
for itself, through every stage of the embedded runtime.  Not here: which runs a figure needs (figures.py), progress
bars.
"""

from __future__ import annotations

import hashlib
import math
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.cli.reproductions.recorded import RecordedFile, recorded
from murmurate.agents.replay.error_measures import area, events, roc
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.synthetic import PACE, SPREAD
from murmurate.agents.simulate.series import Series, series
from murmurate.agents.simulate.synthetic_counts import PERIODS, USERS, CountsSource, numbers, stream
from murmurate.aggregators.chooser import choose
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import ADAPTIVE, OFF, MethodOptions
from murmurate.aggregators.methods.registry import METHODS
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.randomizers.thresholds import MICRO

Holders = NDArray[np.int64]
What = Literal["mre", "bits", "area"]

MOST_PROCESSES = 64
"""However many are asked for: each is an interpreter that loads NumPy, and no machine we know has more use for them."""
SLOTS = 4_000
CELLS = 65
"""The number of cells of the grid on which made-up numbers lie."""
AT = np.linspace(0, 1, 41)
"""Shares of false alarms at which a curve of event monitoring is kept."""
FILTERED = " + filter"
"""Behind the name of a method whose releases are the adaptive filter's."""
_PAPER = ("lpd", "lpa", "lp-dsat", "lp-rescuedp", "lp-fast", "lp-pegasus")


@dataclass(frozen=True)
class Case:
    """What is run: a stream and a method."""

    stream: str
    """The stream: "lns", "sin" or "log", or the name of a recording."""
    method: str
    epsilon: float = 1.0
    w: int = 20
    users: int = USERS
    periods: int = PERIODS
    spread: float = SPREAD
    pace: float = PACE
    first_share: str | None = None
    numbers: bool = False
    """Whether users hold numbers, of which the mean is asked."""


@dataclass(frozen=True)
class RunFigures:
    """What came of a run."""

    mre: float
    bits: float
    area: float
    """The area under the curve of event monitoring."""
    roc: tuple[float, ...]
    """The curve of event monitoring: the share of events found at the shares AT of false alarms."""


@dataclass(frozen=True)
class RunToMake:
    """A run that is still to be made, with all that another process needs."""

    case: Case
    seed: int
    stages: bool
    data: RecordedFile | None


class Lab:
    """Runs by case and seed. `tell` is called after each one that is made."""

    def __init__(self, seeds: range, *, stages: bool, processes: int, data: Mapping[str, RecordedFile]) -> None:
        """data: recordings by their names."""
        self.seeds, self._stages, self._processes, self._data = seeds, stages, processes, data
        self._found: dict[tuple[Case, int], RunFigures] = {}

    def jobs(self, cases: Iterable[Case]) -> list[RunToMake]:
        """What is still to be made for these cases, each once."""
        wanted = dict.fromkeys((case, seed) for case in cases for seed in self.seeds)
        return [
            RunToMake(case, seed, self._stages, self._data.get(case.stream))
            for case, seed in wanted
            if (case, seed) not in self._found
        ]

    def work(self, jobs: list[RunToMake], tell: Callable[[], None] = lambda: None) -> None:
        """Make them."""
        for job, found in zip(jobs, spread_out(made, jobs, self._processes), strict=True):
            self._found[job.case, job.seed] = found
            tell()

    def each(self, case: Case, what: What) -> list[float]:
        """A figure of each seed's run."""
        return [getattr(self._found[case, seed], what) for seed in self.seeds]

    def mean(self, case: Case, what: What) -> float:
        """The mean of a figure over the seeds."""
        return math.fsum(self.each(case, what)) / len(self.seeds)

    def roc(self, case: Case) -> list[float]:
        """The mean curve of event monitoring."""
        return np.mean([self._found[case, seed].roc for seed in self.seeds], axis=0).tolist()  # type: ignore[no-any-return]


def spread_out(function: Callable[[Any], Any], jobs: list[Any], processes: int) -> Iterator[Any]:
    """The results in the jobs' order, from so many processes, but no more than there are jobs, nor than the most."""
    processes = min(processes, len(jobs), MOST_PROCESSES)
    if processes < 2:
        yield from map(function, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(function, jobs)


def made(job: RunToMake) -> RunFigures:
    """One run."""
    case = job.case
    holders = held(case, job.seed) if job.data is None else recorded(job.data)
    setting = setting_of(case, holders.shape[1], job.seed)
    name, filtered = case.method.removesuffix(FILTERED), case.method.endswith(FILTERED)
    options = MethodOptions(
        name,
        variance="paper" if name in _PAPER and not case.numbers else None,
        first_share=case.first_share,
        filter=ADAPTIVE if filtered else OFF,
    )
    if job.stages:
        found = _through_stages(holders, options, setting, case, job.seed)
    else:
        found = series(holders, options, setting, seed=job.seed)
    said = found.best if filtered and found.best is not None else found.said
    event = events(watched(found.true))
    return RunFigures(
        found.relative_error(said),
        found.bits,
        area(watched(said), event),
        tuple(roc(watched(said), event, AT).tolist()),
    )


def held(case: Case, seed: int) -> Holders:
    """Who holds what in a made-up stream."""
    sizes: dict[str, Any] = {"users": case.users, "periods": case.periods}
    shape: dict[str, Any] = {"spread": case.spread, "pace": case.pace}
    if case.numbers:
        return numbers(case.stream, seed, cells=CELLS, **sizes, **shape).holders
    return stream(case.stream, seed, **sizes, **shape).holders


def setting_of(case: Case, d: int, seed: int) -> Setting:
    """What the method knows."""
    epsilon_micro = round(case.epsilon * MICRO)
    return Setting(
        (Mean if case.numbers else Frequency).of_size(d, says_none=False),
        epsilon_micro=epsilon_micro, w=case.w, slots=slots(case.w), first_t=1, seed=_bytes(seed),
        mechanism="hm" if case.numbers else _oracle(d, epsilon_micro, case),
    )  # fmt: skip


def slots(w: int) -> int:
    """S: the first multiple of 2 w from SLOTS.

    >>> slots(20), slots(30)
    (4000, 4020)
    """
    return -(-SLOTS // (2 * w)) * 2 * w


def watched(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is watched for events: the second of two values; of more the mean of their numbers; a mean itself."""
    places = np.arange(series.shape[1]) if series.shape[1] > 1 else np.ones(1)
    return np.asarray(series @ places)


def _oracle(d: int, epsilon_micro: int, case: Case) -> str:
    """The papers' choice between GRR and OUE, at the epsilon of the first round."""
    shared = METHODS[case.method.removesuffix(FILTERED)].division == "budget"
    epsilon = epsilon_micro // (2 * case.w) if shared else epsilon_micro
    return choose(d=d, epsilon=max(1, epsilon) / MICRO, rule="paper").name


def _bytes(seed: int) -> bytes:
    return hashlib.sha256(b"murmurate reproduce %d" % seed).digest()


def _through_stages(holders: Holders, options: MethodOptions, setting: Setting, case: Case, seed: int) -> Series:
    """A run by the path of every user: raw events, devices, shuffle, tallies, releases."""
    own = {key: float(value) if key == "first_share" else value for key, value in options.own.items()}
    method = {"name": options.name, "filter": options.filter} | own
    values = [str(value) for value in range(setting.d)]
    measured = {"measure": "mean", "range": [-1, 1]} if case.numbers else {"measure": "frequency", "values": values}
    deployment = plan(
        build({
            "schema": 1, "name": "papers",
            "privacy": {"epsilon": case.epsilon, "window": {"periods": case.w}, "min_batch": 2},
            "population": {"partitions": 1}, "kafka": {"targets": 1},
            "streams": {"bit": {
                **measured, "every": "1m", "slots": setting.slots, "method": method, "mechanism": setting.mechanism,
                "missing": {"carry": "always"},
            }},
        })
    )  # fmt: skip
    source = CountsSource(holders, seed, deployment, "bit")
    outcome = Replay(deployment, source, keys(known_secrets(f"papers {seed}"), deployment.name)).run()
    releases = [orjson.loads(record) for record in outcome.releases]
    said, best = (
        # Before the first publication the papers' r_0 = 0 stands, where a release says null.
        np.array([[release[which][name] or 0.0 for name in deployment.streams[0].names] for release in releases])
        for which in ("unbiased", "estimate")
    )
    bits = outcome.score(deployment).bits
    return Series(said, setting.measure.true_statistics(holders), float(bits or 0), 0.0, best, None)
