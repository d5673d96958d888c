# SPDX-License-Identifier: Apache-2.0
"""The errors and costs of a method on a truth, with and without the filter, by simulation.

Contract: runs of the method's own code over users whose counts are drawn at once (simulated_answers.py), each with
another seed, until both errors are known well enough, with control variates (control_variates.py); the same arguments
give the same figures.  Errors are those of a release (`unbiased`, `estimate`), for a mean those of the mean alone, in
the stream's unit.  The first periods, in which little is known, do not count; where an estimate takes EM, only some
periods are scored (`scored`).  Not here: the truths (trial_truths.py), closed forms (aggregators/expected.py).
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
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.vector import ItemNumbers
from murmurate.aggregators.methods.dissimilarity import publication_error
from murmurate.aggregators.methods.method import Decision, Setting
from murmurate.aggregators.methods.options import ADAPTIVE, MethodOptions
from murmurate.aggregators.methods.registry import kind_of

Floats = NDArray[np.float64]

FEWEST, MOST = 3, 60
"""The smallest and the largest number of runs."""
MOST_OF_COSTLY: Final = 6
"""The largest number of runs where estimates are costly. The result states how well the errors are known by then."""
GOLDEN: Final = (5**0.5 - 1) / 2
SCORED: Final = 80
"""The number of periods of a run at which costly estimates (by EM, a hundredth of a second or more each) are scored.
All of 800 periods would give an error no better than these, half of these one that is 1.4 times worse.
"""


@dataclass(frozen=True)
class Tried:
    """The errors and costs of a method, averaged over runs."""

    series: float
    """The mean squared error of the method's own series."""
    filtered: float
    """The mean squared error of the filter's estimates."""
    within: float
    """The relative standard error of the root of either error, whichever is larger."""
    published: float
    """The share of periods whose release is measured from reports of their own."""
    bits: float
    """Bits sent per user and period."""
    reports: float
    """Reports sent per user and period."""
    unit: float
    """The observation variance of a period: one over the mean precision that its rounds add."""


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """The result of one run; errors and control variates are of the periods that count."""

    series: Floats
    """The mean squared error of the method's own series in each period: float64[periods]."""
    filtered: Floats
    """The mean squared error of the filter's estimates, at the periods `scored`."""
    luck: Floats
    """The control variates of each period (control_variates.py): float64[periods, lucks]."""
    published: float
    bits: float
    reports: float
    precision: float
    """The mean precision that the rounds of a period add."""


@dataclass(frozen=True)
class Bench:
    """The conditions under which methods are simulated: truths, costs and required precision, the same for all."""

    truths: Callable[[int], Holders]
    """The truth of each run; all have the same length."""
    bits_of: int
    """The size of the domain for which the bits of a report are counted: the stream's, also where a coarser one is
    simulated.
    """
    within: float
    """The relative standard error at which runs end."""
    counts_from: int | None = None
    """The number of reports from which a round counts; None for the setting's own min_batch."""

    def try_out(self, options: MethodOptions, setting: Setting) -> Tried:
        """Run a method, with a filter, until its errors are known well enough."""
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
        precision = float(np.mean([one.precision for one in runs]))
        return Tried(series, filtered, within, **means, unit=1 / precision if precision else inf)

    def _run(self, options: MethodOptions, setting: Setting, number: int) -> SimulatedRun:
        holders, measure = self.truths(number), setting.measure
        setting = replace(setting, seed=hashlib.sha256(b"murmurate/trial/1 %d" % number).digest())
        true, profiles = measure.true_figures(holders), measure.true_profiles(holders)
        users, whole, luck = int(holders[0].sum()), profiles.mean(axis=0), ControlVariates()
        raw, best, lucks = np.empty_like(true), np.empty_like(true), []
        answers, published, precision = list[tuple[int, int]](), 0, 0.0
        after, name = settled(setting.w, len(holders)), options.name
        counted = scored(name, setting, len(holders), number)
        looked = set(counted.tolist())
        periods = run(holders, replace(options, filter=ADAPTIVE), setting, seed=number, counts_from=self.counts_from)
        for i, period in enumerate(periods):
            if i in looked:
                raw[i], best[i] = (
                    _guessed(of, true.shape[1], measure.guess) for of in _figures(measure, period.decision)
                )
            else:  # not scored, or costly shares, whose raw estimates a result takes unchanged
                raw[i] = period.decision.vector.unbiased[: true.shape[1]]
            published += period.decision.published
            luck.advance()
            for one in period.rounds:
                if n := one.answer.counted:
                    mechanism, sampled = one.request.question, users if one.request.asked is not None else n
                    answers.append((report_bits(mechanism.spec(), self.bits_of), n))
                    precision += 1 / heard_error(measure, mechanism, n, users if sampled > n else None, whole)
                    at = mechanism.profile(one.answer.support, n)[: mechanism.statistics]
                    expected = publication_error(mechanism, n, sampled, profiles[i], "sampling")
                    is_publication = one.request.purpose == "publication"
                    luck.hear(at, profiles[i][: mechanism.statistics], expected, published=is_publication)
            lucks.append(luck.row)
        share, total = published / len(holders), int(holders.sum())
        return SimulatedRun(
            series=((raw - true)[after:] ** 2).mean(axis=1),
            filtered=((best[counted] - true[counted]) ** 2).mean(axis=1),
            luck=np.array(lucks)[after:],
            published=share,
            bits=bits(answers, total, method=name, published=share),
            reports=sum(n for _, n in answers) / total,
            precision=precision / len(holders),
        )


def _figures(measure: Measure, decision: Decision) -> tuple[Floats, Floats]:
    """The method's own figures and those of a release: those that are scored come first."""
    if isinstance(measure, ItemNumbers) and decision.measured_t is not None:
        return measure.means(decision)
    shown = measure.result(decision).named
    return shown.unbiased, shown.estimate


def _guessed(figures: Floats, count: int, middle: float) -> Floats:
    """The first `count` figures, where unknown ones are replaced by what a reader would guess: otherwise a method that
    estimates nothing would seem to have no error.
    """
    return np.where(np.isnan(figures[:count]), middle, figures[:count])


def scored(method: str, setting: Setting, periods: int, seed: int) -> NDArray[np.int64]:
    """The periods at which the filter's estimate is scored: all that count; or, where estimates are costly, one out of
    each of SCORED equal parts, by multiples of the golden ratio, since a fixed step could be in phase with the method.
    """
    first = settled(setting.w, periods)
    if not setting.measure.costly or kind_of(method).division == "budget" or periods - first <= SCORED:
        return np.arange(first, periods)
    cuts = np.linspace(first, periods, SCORED + 1).astype(np.int64)
    places = (seed * SCORED + np.arange(SCORED)) * GOLDEN % 1
    return np.asarray(cuts[:-1] + np.diff(cuts) * places).astype(np.int64)


def settled(w: int, periods: int) -> int:
    """The first period whose errors count: after a window, or a quarter of a short truth."""
    return min(w, periods // 4)
