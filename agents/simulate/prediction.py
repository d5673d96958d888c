# SPDX-License-Identifier: Apache-2.0
"""The expected errors and costs of every method and mechanism on a stream, and which to take: `murmurate plan`.

Contract: a function of the deployment, the users and what is assumed of the truth.  Of lbu, lpu and lsp the error of
the series is a closed form; all else is simulated with the mechanism that "auto" takes (by what the file prefers,
unless it names a mechanism), and scaled to other mechanisms by the ratio of their exact variances (`How`).  The
recommended pair has the smallest error that was found, with the filter or, where it would not help, without it; of
all pairs within 5 % of that the one that costs fewer bits, then the simpler one; and it does not starve.  Numbers are
planned for in their declared range.  Not here: words and tables (cli/plan.py), closed forms (aggregators/expected.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import sqrt
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.error_measures import report_bits
from murmurate.agents.simulate.simulate_method import MOST, Bench, Tried, settled
from murmurate.agents.simulate.simulated_answers import Holders
from murmurate.agents.simulate.trial_truths import made_up
from murmurate.aggregators.batches import users_needed
from murmurate.aggregators.chooser import QUICK
from murmurate.aggregators.expected import (
    filtered_error,
    heard_error,
    moved,
    uniform_error,
    usual_mechanism,
    usual_users,
)
from murmurate.aggregators.faked_questions import question_with_fakes, taking_fakes
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.options import DECLARED, OFF, MethodOptions
from murmurate.aggregators.methods.registry import METHODS, kind_of
from murmurate.config.errors import ConfigError
from murmurate.config.mixed import as_asked_by, asks_one_question
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.thresholds import MICRO

How = Literal["closed form", "simulated", "scaled"]

DRIFT: Final = 0.002
"""The assumed drift, where the command gives none."""
TIE: Final = 1.05
"""Errors within this ratio count as equal."""
FEWEST_PERIODS, MOST_PERIODS = 800, 2_000
"""The smallest and the largest number of periods of a synthetic truth, which is five windows within these limits."""

SEVERAL: Final = 4
"""The number of truths over which closed forms are averaged."""


@dataclass(frozen=True)
class Expected:
    """The expected errors and costs of one mechanism under one method. Errors are standard errors, in the scale of the
    stream's figures.
    """

    mechanism: str
    series: float
    """The standard error of the method's own series."""
    series_by: How
    filtered: float
    """The standard error of the filter's estimates."""
    filtered_by: How
    bits: float
    """Bits sent per user and period."""
    wire_bytes: int
    """The bytes of a report."""

    @property
    def helped(self) -> bool:
        """Whether the filter's estimates are at least as good as the method's own series, up to TIE."""
        return self.filtered <= TIE * self.series

    @property
    def error(self) -> float:
        """The standard error with the filter, or without it where it would not help."""
        return self.filtered if self.helped else self.series


@dataclass(frozen=True)
class Prospect:
    """The expectations for one method."""

    method: str
    published: float
    """The expected number of publications in w periods."""
    within: float
    """The relative standard error of simulated errors."""
    starves: bool
    """Whether its smallest round would often stay below min_batch."""
    users_needed: int
    """The number of users, in the whole deployment, from which on its smallest round reaches min_batch."""
    mechanisms: tuple[Expected, ...]
    """The mechanisms in the order of their errors. The one that "auto" takes comes first."""

    @property
    def best(self) -> Expected:
        """The expectations for the mechanism that was simulated."""
        return self.mechanisms[0]


@dataclass(frozen=True)
class Outlook:
    """The expectations for one stream."""

    stream: str
    users: int
    """The number of the deployment's users who serve this stream."""
    epsilon: float | None  # None where reports show their values
    w: int
    method: str
    """The method that the file names."""
    mechanism: str
    """The mechanism that the file names, or "auto"."""
    unit: str | None
    """The unit of the errors; None for shares."""
    prospects: tuple[Prospect, ...]
    """The expectations for each method, the smallest error with the filter first; methods that starve come last."""
    impossible: tuple[str, ...]
    """The methods that cannot serve the stream, each with the reason."""

    @property
    def named(self) -> tuple[Prospect, Expected] | None:
        """Method and mechanism of the file; None where they are not possible."""
        for one in self.prospects:
            if one.method == self.method:
                of_file = (it for it in one.mechanisms if self.mechanism in (AUTO, it.mechanism))
                return next(((one, it) for it in of_file), None)
        return None

    @property
    def recommended(self) -> tuple[Prospect, Expected] | None:
        """The recommended method and mechanism; None where all starve."""
        pairs = [(prospect, one) for prospect in self.prospects if not prospect.starves for one in prospect.mechanisms]
        if not pairs:
            return None

        def cost(pair: tuple[Prospect, Expected]) -> tuple[float, int, int, int]:
            one = pair[1]
            return round(one.bits, 4), kind_of(pair[0].method).simplicity, one.wire_bytes, _device_cost(one.mechanism)

        most = TIE * min(one.error for _, one in pairs)
        return min((pair for pair in pairs if pair[1].error <= most), key=cost)

    def document(self) -> dict[str, Any]:
        """The prediction in a form for JSON."""
        named = None
        if self.recommended is not None:
            method, expected = self.recommended
            filtering = "adaptive" if expected.helped else "off"
            named = {"method": method.method, "mechanism": expected.mechanism, "filter": filtering}
        return {**asdict(self), "recommended": named}


@dataclass(frozen=True)
class Assumed:
    """The assumed truth: synthetic from these parameters, or `like` a recorded one."""

    drift: float = DRIFT
    presence: float = 1.0
    like: Holders | None = None
    values: NDArray[np.uint32] | None = None
    """The values that the recorded counts are of, where they are rows of words."""


@dataclass(frozen=True)
class MethodToTry:
    """A method to simulate, with all that another process needs for it."""

    plan: Plan
    stream: StreamPlan
    users: int
    """The number of users of the deployment."""
    assumed: Assumed
    within: float
    """The relative standard error to which simulated errors are to be known."""
    method: str


def outlook(plan: Plan, stream: StreamPlan, users: int, found: Sequence[Prospect | str]) -> Outlook:
    """The predictions for one stream, from `prospect` of each of its `jobs`."""
    prospects = [one for one in found if isinstance(one, Prospect)]
    return Outlook(
        stream=stream.name,
        users=serving_users(plan, stream, users),
        epsilon=None if stream.unprotected else plan.spent_micro(stream.name) / MICRO,
        w=stream.w,
        method=stream.method.name,
        mechanism=stream.mechanism,
        unit=stream.unit,
        prospects=tuple(sorted(prospects, key=lambda prospect: (prospect.starves, prospect.best.error))),
        impossible=tuple(one for one in found if isinstance(one, str)),
    )


def jobs(plan: Plan, stream: StreamPlan, users: int, assumed: Assumed, *, within: float) -> list[MethodToTry]:
    """One job for each method."""
    # Thresholds change no error, and their read-only table could not be sent to another process.
    sent = replace(plan, streams=tuple(replace(one, thresholds={}) for one in plan.streams))
    return [MethodToTry(sent, sent.stream(stream.name), users, assumed, within, name) for name in METHODS]


def prospect(job: MethodToTry) -> Prospect | str:
    """The expectations for a method, or the reason why it cannot serve this stream."""
    if job.plan.mixed is not None and not asks_one_question(job.method):
        return f"{job.method}: asks more than the one question of privacy.mixed"
    try:
        asked = replace(job, stream=as_asked_by(job.plan, job.stream, job.method))
        return _MethodOnStream(asked).prospect(job.method)
    except (ConfigError, ParameterError) as error:
        return f"{job.method}: {error}" if isinstance(error, ConfigError) else str(error)


def serving_users(plan: Plan, stream: StreamPlan, users: int) -> int:
    """The number of a deployment's users who answer for a stream."""
    return users if plan.split == "budget" else max(1, round(users * Fraction(stream.share_micro, MICRO)))


class _MethodOnStream:
    """The simulation of one method on one stream."""

    def __init__(self, job: MethodToTry) -> None:
        stream, self.deployed = job.stream, job.users
        plan = replace(job.plan, streams=tuple(stream if one.name == stream.name else one for one in job.plan.streams))
        self.plan, self.stream = plan, stream
        self.users = users = serving_users(plan, stream, job.users)
        prefer = stream.prefer if stream.mechanism == AUTO else "accuracy"
        setting = replace(stream, mechanism=AUTO, prefer=prefer).setting(plan, first_t=0)
        values = job.assumed.values
        measure = stream.measure.tried() if values is None else stream.measure.tried().over(values)
        self.setting = replace(setting, measure=measure, seed=bytes(32))
        self.truths = _truths(stream, users, job.assumed)
        self.bench = Bench(self.truths, stream.d, job.within, plan.min_batch)
        several = [self.truths(run) for run in range(SEVERAL)]
        self.profile = measure.true_profiles(np.concatenate(several)).mean(axis=0)
        paths = map(measure.true_figures, several)
        self.moved = float(np.mean([moved(path, stream.w, settled(stream.w, len(path))) for path in paths]))
        self.scale = measure.spread**2

    def prospect(self, name: str) -> Prospect:
        """The expectations for the method, all mechanisms included."""
        kind, own = kind_of(name), self.stream.method
        options = replace(own, filter=OFF, revise=0, clip=DECLARED) if own.name == name else MethodOptions(name)
        tried = self.bench.try_out(options, self.setting)
        part = kind.smallest(self.stream.w, options) if kind.division == "population" else Fraction(1)
        share = Fraction(self.stream.share_micro, MICRO) if self.plan.split == "users" else Fraction(1)
        needed = users_needed(part * share, self.plan.min_batch)
        chosen = usual_mechanism(name, self.setting)
        first = chosen.answered_by
        own_question = self.stream.mixed is not None  # of another mechanism the epsilon would be another
        able = taking_fakes(self.stream.measure) if self.setting.fakes else self.stream.measure.possible
        others = [other for other in able if other != first and not own_question]
        return Prospect(
            method=name,
            published=tried.published * self.stream.w,
            within=tried.within,
            starves=self.deployed < needed,
            users_needed=needed,
            mechanisms=tuple(self._expected(name, first, other, tried) for other in (first, *others)),
        )

    def _expected(self, method: str, chosen: str, name: str, tried: Tried) -> Expected:
        ours, mine = (self._mechanism(method, one) for one in (chosen, name))
        by: How = "simulated" if name == chosen else "scaled"
        n = usual_users(method, self.setting, self.users)
        sample = None if n == self.users else self.users
        measure = self.setting.measure
        errors = measure.round_error, partial(heard_error, measure)  # of a round alone, and as a filter uses it
        ratio, filter_ratio = (of(mine, n, sample, self.profile) / of(ours, n, sample, self.profile) for of in errors)
        series, series_by = tried.series * ratio, by
        if kind_of(method).fixed:
            series = self.scale * uniform_error(method, mine, self.setting, self.users, self.profile)
            series, series_by = series + (self.moved if method == "lsp" else 0), "closed form"
        filtered = tried.filtered
        if name != chosen:
            filtered = self.scale * filtered_error(tried.filtered / self.scale, tried.unit, filter_ratio)
        more = report_bits(mine.spec(), self.stream.d) - report_bits(ours.spec(), self.stream.d)
        epsilon = Fraction(mine.bill(0).epsilon_micro, MICRO)
        wire = question_with_fakes(
            self.stream.measure, self._as_declared(name), epsilon, self.setting.prefer, 0
        ).wire_size
        return Expected(name, sqrt(series), series_by, sqrt(filtered), by, tried.bits + more * tried.reports, wire)

    def _mechanism(self, method: str, name: str) -> Question:
        return usual_mechanism(method, replace(self.setting, mechanism=self._as_declared(name)))

    def _as_declared(self, name: str) -> str:
        """The mechanism's name as a file would give it; for several mechanisms the measure's choice, "auto"."""
        if self.stream.mixed is not None:  # it is the only one that is asked
            return self.setting.mechanism
        return name if name in self.stream.measure.serving else AUTO


def _truths(stream: StreamPlan, users: int, assumed: Assumed) -> Callable[[int], Holders]:
    """The truth of each run, which for a recording is always the same."""
    if assumed.like is not None:
        same = assumed.like
        return lambda run: same
    periods = min(max(5 * stream.w, FEWEST_PERIODS), MOST_PERIODS)

    @lru_cache(maxsize=MOST)
    def made(run: int) -> Holders:
        return made_up(stream, users, drift=assumed.drift, presence=assumed.presence, periods=periods, seed=run)

    return made


def _device_cost(mechanism: str) -> int:
    """The rank of a mechanism by its cost on a device."""
    return QUICK.index(mechanism) if mechanism in QUICK else len(QUICK)
