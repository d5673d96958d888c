# SPDX-License-Identifier: Apache-2.0
"""From the answer of a hold-out phase to the threshold at which a mean is clipped, and to the mean itself.

Contract: `find` is a pure function of a setting, of what the method's answers will be like, and of one answer.
  1. The mean released meanwhile is EM's, whose error is its distance from the unbiased one, and that one's own.
  2. The threshold is the edge of a cell with the least squared error: of what clipping there may take, as far as the
     reports cannot exclude it, with room for growth (clipping.py), and of the noise that is left in the end.
  3. The mean of values clipped there, unbiased, is handed on: nobody's answer is thrown away.
EM alone says how large noise is, and what growth would do; never that nothing is clipped.  Source: ARCHITECTURE
sections 5.1 and 5.4.  Not here: when is asked (holdout.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from murmurate.aggregators import clipping
from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.measures.holders import holding, seen
from murmurate.aggregators.methods.asking import oracle
from murmurate.aggregators.methods.method import Answer, Estimate, Floats, Setting
from murmurate.aggregators.wave_readings import Readings
from murmurate.randomizers import SW, Clipped, Question, Viewed, WaveAndPresence, view_clipped
from murmurate.randomizers.numeric import WaveHistogram, WaveMean, WaveMeanAndPresence
from murmurate.randomizers.thresholds import MICRO

CELLS: Final = 512
"""The cells of the coarse grid: the source's 1024 find no better threshold (clipping.QUIET), and take EM twice as long.
"""


@dataclass(frozen=True)
class ExpectedAnswers:
    """The answers that the method will usually have."""

    share: Fraction
    """The part of the users that a usual answer asks, or, where epsilon is divided, the part of epsilon that it spends.
    """
    divided: bool
    """Whether it is epsilon that is divided."""
    periods: int
    """How many periods' answers are behind a release."""


@dataclass(frozen=True, eq=False)
class FoundThreshold:
    """The threshold that the phase found, with the mean and the errors."""

    t: int
    """The period whose answer showed the threshold."""
    clip: int
    """The highest code that counts as itself."""
    clipped: float
    """How much the threshold may take from the mean, as a part of the declared range: as much as the reports cannot
    exclude.
    """
    cut: float
    """How far the phase's mean may be off besides its noise, as a part of the range: from the unbiased one of the same
    reports, and as a cell's middle stands for all of its values.
    """
    statistics: Floats
    """The statistics of the phase's mean, as the phase's mechanism has them."""
    level: float
    """The mean of clipped values, unbiased, in codes."""
    growth: clipping.Growth
    """What clipping takes besides, should the amounts grow."""

    def clipped_at(self, estimate: Estimate, top: int) -> float:
        """What clipping may take at a later estimate of the mean of clipped values."""
        if self.clip == top:
            return 0.0
        level, error = level_of(estimate.statistics, estimate.variance, self.clip)
        grown = max(0.0, level + 2 * error - self.level)  # as far as it cannot be excluded
        return float(np.hypot(self.clipped, self.growth.at(grown) / top))


def top_of(setting: Setting) -> int:
    """The highest code of a number."""
    return setting.d - 1 - setting.says_none


def coarse(setting: Setting) -> Setting:
    """The stream as it is asked for the cells of the coarse grid."""
    inner = WaveMeanAndPresence if setting.says_none else WaveMean
    top = top_of(setting)
    return replace(setting, mechanism=inner.name, clip=top, group=max(1, top // CELLS))


def first_question(setting: Setting) -> tuple[Viewed, Clipped]:
    """What everybody is asked, and the coarse grid behind which they are."""
    question = oracle(coarse(setting), setting.epsilon_micro)
    assert isinstance(question, Viewed)  # noqa: S101 - what `coarse` asks for
    return question, grid_of(question)


def grid_of(question: Viewed) -> Clipped:
    """The coarse grid of what everybody is asked."""
    cut_up = view_clipped(question)
    assert cut_up is not None  # noqa: S101 - what `coarse` asks for
    return cut_up


def wave_of(question: Viewed) -> WaveHistogram:
    """Square Wave over the cells of the coarse grid, as its reports are read as a distribution."""
    kind = WaveAndPresence if question.says_none else SW
    return kind(d=question.view.d, epsilon=Fraction(question.epsilon_micro, MICRO))


def cells_of(cut_up: Clipped) -> tuple[Floats, Floats]:
    """The middle of each cell of the coarse grid, and its upper edge, at which numbers may be clipped: in codes."""
    middles = np.array([float(cut_up.middle(cell)) for cell in range(cut_up.cells)])
    edges = np.minimum(np.arange(1, cut_up.cells + 1) * cut_up.group, cut_up.clip)
    return middles, edges.astype(np.float64)


def find(
    setting: Setting, answers: ExpectedAnswers, t: int, answer: Answer
) -> tuple[FoundThreshold, OutsideEstimate] | None:
    """The threshold found in the answer of period t, and the estimates from it for a method that clips there; None
    where nobody is known to hold a value.
    """
    question, cut_up = first_question(setting)
    unbiased = _unbiased(question, answer)
    if unbiased is None:
        return None
    wave = wave_of(question)
    likely = em(channel_of(wave), answer.support).frequencies
    present = min(1.0, float(likely[: cut_up.cells].sum()))
    frequencies = likely[: cut_up.cells] / present
    middles, edges = cells_of(cut_up)
    low, high = map(float, cut_up.ends)
    top, scale = top_of(setting), (high - low) / 2

    mean, error = unbiased
    kept = clipping.whole_or_pruned(frequencies, middles, low + scale * (mean + 1), scale * error)
    pruned = float(kept @ middles - low) / scale - 1
    statistics = np.array([present, present * pruned] if question.says_none else [pruned])
    cut = np.hypot(min(1.0, abs(pruned - mean) / 2), cut_up.group / 2 / top)

    readings = Readings.of(wave, answer.support, likely)
    above, of_above = _above(readings, middles, edges)
    weighed = clipping.taken_at_most(np.maximum(above, clipping.doubled(kept, middles, edges, top)), of_above)
    at = clipping.best(weighed, noise_left(setting, answers, frequencies, middles, edges, present, answer.counted))
    clip = int(edges[at])
    known = _known(readings, middles, clip, cut_up.group)
    level, _ = level_of(known.known, known.variance, clip)
    growth = clipping.Growth.of(frequencies, middles, clip, top)
    clipped = clipping.taken_at_most(above, of_above)[at] / top
    return FoundThreshold(t, clip, float(clipped), float(cut), statistics, level, growth), known


def _unbiased(question: Viewed, answer: Answer) -> tuple[float, float] | None:
    """The mean of holders from -1 to 1 without EM, and its standard error; None where nobody is known to hold one."""
    n = answer.counted
    profile = question.profile(answer.support, n)
    noise = question.noise(question.plausible(profile)) / n
    holders = holding(question.inner)
    if holders is None:
        return float(profile[0]), float(np.sqrt(noise[0]))
    share = float(profile[0])
    if not seen(share, float(noise[0])):
        return None
    return float(profile[1]) / share, holders.mean_error(profile, n)


def _above(readings: Readings, middles: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """What clipping at each edge takes from the mean of holders: unbiased, and its standard error."""
    holders, above = _of_holders(readings, np.ones((1, len(middles))), clipping.excess(middles, edges))
    share = float(readings.averages(holders)[0])
    taken = readings.averages(above) / share
    apart = above - taken[:, None] * holders  # the ratio's linear part
    return taken, np.sqrt(readings.noise(apart) + readings.sampling(apart)) / abs(share)


def _known(readings: Readings, middles: Floats, clip: int, group: int) -> OutsideEstimate:
    """The statistics of values clipped there, as a mechanism that clips there has them. A value may be anywhere in its
    cell: half of a cell is an error that all may share.
    """
    values = 2 * np.minimum(middles, clip) / clip - 1
    holders, powers = _of_holders(readings, np.ones((1, len(middles))), np.stack((values, values**2)))
    functions = powers if holders.all() else np.vstack((holders, powers))
    variance = readings.noise(functions[:-1])
    variance[-1] += (group / clip) ** 2
    return OutsideEstimate(readings.averages(functions), variance, readings.users)


def _of_holders(readings: Readings, *functions: Floats) -> tuple[Floats, ...]:
    """Functions of the cells as functions of all that a user can hold: 0 for none, where there is that."""
    none = len(readings.likely) - functions[0].shape[1]
    return tuple(np.pad(rows, ((0, 0), (0, none))) for rows in functions)


def level_of(statistics: Floats, variance: Floats, clip: int) -> tuple[float, float]:
    """The mean of clipped values and its standard error, in codes, from statistics of a mechanism that clips there."""
    share, of_share = (1.0, 0.0) if len(variance) == 1 else (float(statistics[0]), float(variance[0]))
    if share <= 0:
        return 0.0, float(clip)
    mean = float(statistics[len(variance) - 1]) / share
    return clip / 2 * (mean + 1), clip / 2 * float(np.sqrt(variance[-1] + mean * mean * of_share)) / share


def noise_left(
    setting: Setting,
    answers: ExpectedAnswers,
    shares: Floats,
    middles: Floats,
    edges: Floats,
    present: float,
    users: int,
) -> Floats:
    """The variance of a mean that so many periods' answers are behind, in squared codes, for each threshold."""
    mechanism, n = usual_answer(setting, answers, users)
    values = 2 * np.minimum(middles, edges[:, None]) / edges[:, None] - 1
    noise = mean_noise(mechanism, n, present, values @ shares, values**2 @ shares)
    return np.asarray((edges / 2) ** 2 * noise / answers_behind(setting, answers))


def usual_answer(setting: Setting, answers: ExpectedAnswers, users: int) -> tuple[Question, int]:
    """By what a usual answer is given, and by how many of these users."""
    if answers.divided:
        return oracle(setting, max(1, int(setting.epsilon_micro * answers.share))), users
    return oracle(setting, setting.epsilon_micro), max(1, int(users * answers.share))


def answers_behind(setting: Setting, answers: ExpectedAnswers) -> float:
    """How many usual answers a release averages."""
    return max(1.0, answers.periods / float(setting.w * answers.share))


def mean_noise(mechanism: Question, n: int, present: float, means: Floats, squares: Floats) -> Floats:
    """The variance of the mean of n users, this share of whom hold values of such a mean and mean square."""
    return noise_of_total(mechanism, n, present, means, squares) / present**2


def noise_of_total(mechanism: Question, n: int, present: float, means: Floats, squares: Floats) -> Floats:
    """The noise of the mean times the square of the share of holders, so that it is a number where nobody holds a
    value: linear in the mean square, as everything of which it is made.
    """
    holders = holding(mechanism)
    if holders is None:
        none, one = (float(mechanism.noise(np.array([0.0, square]))[0]) for square in (0.0, 1.0))
        return np.asarray((none + (one - none) * squares) / n * present**2)
    none, one = (holders.total_variance(n, present, square) for square in (0.0, 1.0))
    together, of_share = holders.covariance(n, present, 1.0), float(holders.variance(n, present))
    return np.asarray(none + (one - none) * squares + means**2 * (of_share - 2 * together))
