"""A method tried on a truth: its error with the filter and without, what it publishes, what it costs, by simulation.

Contract: runs of the method's own code over users that are drawn all at once (simulated_answers.py), each with another
seed, until both errors are known well enough, luck taken off (control_variates.py); the same question gives the same
figures. Errors are those of what a release shows (`unbiased`, `estimate`), and of a mean those of the mean alone, in
the stream's unit.  The first periods, while nothing is known, do not count; and of those at which an estimate takes EM,
some do (`scored`). Not here: what is tried (trial_truths.py), closed forms (aggregators/expected.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.error_measures import bits, report_bits
from murmurate.agents.simulate.control_variates import ControlVariates, adjusted
from murmurate.agents.simulate.simulated_answers import Holders, run
from murmurate.aggregators.expected import heard_error
from murmurate.aggregators.methods.dissimilarity import publication_error
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import ADAPTIVE, MethodOptions
from murmurate.aggregators.methods.registry import METHODS

Floats = NDArray[np.float64]

FEWEST, MOST = 3, 60
"""The fewest and the most runs."""
MOST_OF_COSTLY: Final = 6
"""The most runs where estimates are costly, since a run takes seconds: how well errors are known by then is said."""
GOLDEN: Final = (5**0.5 - 1) / 2
SCORED: Final = 80
"""Periods of a run at which an estimate is scored that takes EM, a hundredth of a second or more each. Of 800 periods
all tell an error no better than these, half of them 1.4 times worse.
"""


@dataclass(frozen=True)
class Tried:
    """What came of it."""

    series: float
    """The mean squared error of the method's own series."""
    filtered: float
    """The mean squared error of the filter's estimates."""
    within: float
    """How far the roots of both are likely off, as a part of them: the larger of their standard errors."""
    published: float
    """The share of periods that speak by reports of their own."""
    bits: float
    """Bits sent per user and period."""
    reports: float
    """Reports sent per user and period."""
    unit: float
    """The observation variance of a period: one over the mean of what its rounds tell."""


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One run. Errors and luck are of the periods that count."""

    series: Floats
    """The mean squared error of the method's own series in each period: float64[periods]."""
    filtered: Floats
    """The mean squared error of the filter's estimates, at the periods `scored`."""
    luck: Floats
    """The luck of each period, as `control_variates.py` measures it: float64[periods, lucks]."""
    published: float
    bits: float
    reports: float
    told: float
    """The precision that rounds add in a period."""


@dataclass(frozen=True)
class Bench:
    """Where methods are tried: the same truths, scales and patience for all."""

    truths: Callable[[int], Holders]
    """The truth of each run; all of the same length."""
    bits_of: int
    """The domain whose codes a report costs: the stream's, where it is tried on a coarser one."""
    within: float
    """Runs go on until errors are known to this part of them."""
    counts_from: int | None = None
    """The number of reports from which a round counts; None: as many as are worth asking for."""

    def try_out(self, options: MethodOptions, setting: Setting) -> Tried:
        """Run a method, filtered, as often as it takes."""
        runs = [self._run(options, setting, number) for number in range(FEWEST)]
        most = MOST_OF_COSTLY if setting.measure.costly else MOST
        while True:
            lucks = [one.luck for one in runs]
            series, off = adjusted([one.series for one in runs], lucks)
            filtered, within = adjusted([one.filtered for one in runs], lucks)
            within = max(off, within)
            if within <= self.within or len(runs) == most:
                break
            runs.append(self._run(options, setting, len(runs)))
        means = {
            name: float(np.mean([getattr(one, name) for one in runs])) for name in ("published", "bits", "reports")
        }
        told = float(np.mean([one.told for one in runs]))
        return Tried(series, filtered, within, **means, unit=1 / told if told else inf)

    def _run(self, options: MethodOptions, setting: Setting, number: int) -> SimulatedRun:
        holders, measure = self.truths(number), setting.measure
        setting = replace(setting, seed=hashlib.sha256(b"murmurate/trial/1 %d" % number).digest())
        true, profiles = measure.true_figures(holders), measure.true_profiles(holders)
        users, whole, luck = int(holders[0].sum()), profiles.mean(axis=0), ControlVariates()
        said, best, lucks = np.empty_like(true), np.empty_like(true), []
        answers, published, told = list[tuple[int, int]](), 0, 0.0
        after, name = settled(setting.w, len(holders)), options.name
        counted = scored(name, setting, len(holders), number)
        looked = set(counted.tolist())
        periods = run(holders, replace(options, filter=ADAPTIVE), setting, seed=number, counts_from=self.counts_from)
        for i, period in enumerate(periods):
            if i in looked:
                shown = measure.result(period.decision).named
                figures = shown.unbiased, shown.estimate
                said[i], best[i] = (_guessed(of, true.shape[1], measure.guess) for of in figures)
            else:  # does not count, or is costly and has shares, which a result takes as they are
                said[i] = period.decision.vector.unbiased[: true.shape[1]]
            published += period.decision.published
            luck.advance()
            for heard in period.rounds:
                if n := heard.answer.counted:
                    mechanism, sampled = heard.request.question, users if heard.request.asked is not None else n
                    answers.append((report_bits(mechanism.spec(), self.bits_of), n))
                    told += 1 / heard_error(measure, mechanism, n, users if sampled > n else None, whole)
                    at = mechanism.profile(heard.answer.support, n)[: mechanism.statistics]
                    expected = publication_error(mechanism, n, sampled, profiles[i], "sampling")
                    is_publication = heard.request.purpose == "publication"
                    luck.hear(at, profiles[i][: mechanism.statistics], expected, published=is_publication)
            lucks.append(luck.row)
        share, total = published / len(holders), int(holders.sum())
        return SimulatedRun(
            series=((said - true)[after:] ** 2).mean(axis=1),
            filtered=((best[counted] - true[counted]) ** 2).mean(axis=1),
            luck=np.array(lucks)[after:],
            published=share,
            bits=bits(answers, total, method=name, published=share),
            reports=sum(n for _, n in answers) / total,
            told=told / len(holders),
        )


def _guessed(told: Floats, count: int, middle: float) -> Floats:
    """The first so many figures. Where nothing is known a reader can but guess, the middle of a range or no share: else
    a method that knows nothing would come out as one that never errs.
    """
    return np.where(np.isnan(told[:count]), middle, told[:count])


def scored(method: str, setting: Setting, periods: int, seed: int) -> NDArray[np.int64]:
    """At which periods the filter's estimate is scored: at all that count; or where that takes EM, at one out of each
    of SCORED equal parts, by multiples of the golden ratio, since a fixed step could keep time with the method's own.
    """
    first = settled(setting.w, periods)
    if not setting.measure.costly or METHODS[method].division == "budget" or periods - first <= SCORED:
        return np.arange(first, periods)
    cuts = np.linspace(first, periods, SCORED + 1).astype(np.int64)
    places = (seed * SCORED + np.arange(SCORED)) * GOLDEN % 1
    return np.asarray(cuts[:-1] + np.diff(cuts) * places).astype(np.int64)


def settled(w: int, periods: int) -> int:
    """From which period on errors count: after a window, or a quarter of a short truth."""
    return min(w, periods // 4)
