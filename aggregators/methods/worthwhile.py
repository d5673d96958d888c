# SPDX-License-Identifier: Apache-2.0
"""Whether it can pay to find a threshold first, from the setting and the method alone, before anybody is asked.

Contract: `worthwhile` is false in two cases, and the whole range is then used from the stream's first period on.
  1. No amounts could pay.  What everybody's answer leaves unknown of what lies above a threshold, even where nothing
     does, and the noise that is left at that threshold, are together hardly less than the noise of the whole range.
  2. It could cost too much.  Where a release averages over many answers, everybody's answer to the hold-out stands for
     a window of the method's own.  Where that says less of the mean, releases are farther off until it is forgotten:
     for no amounts may they be so by more than COST.
Both are ratios of terms that are linear in the distribution of amounts and, multiplied by the square of the share of
holders, in that share; but for the square of the mean in the noise of holders.  So the least and the most are those of
amounts that are all alike, held by everybody or by hardly anybody.  The number of users cancels.  A function of public
settings: it depends on no report.  Not here: the threshold (threshold.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from murmurate.aggregators import clipping
from murmurate.aggregators.methods.method import Floats, Setting
from murmurate.aggregators.methods.threshold import (
    ExpectedAnswers,
    answers_behind,
    cells_of,
    first_question,
    grid_of,
    noise_of_total,
    usual_answer,
    wave_of,
)
from murmurate.aggregators.wave_readings import noise_where_alike
from murmurate.randomizers import Viewed

COST: Final = 1.1
"""A release that follows a hold-out in vain may have this many times the error of one that follows none."""
USERS: Final = 10**12
"""A number of users so large that a part of them is no fraction."""


def worthwhile(setting: Setting, answers: ExpectedAnswers) -> bool:
    """Whether everybody is to be asked first. answers: what answers the method will have."""
    return _worthwhile(replace(setting, slots=1, first_t=0, seed=b"", min_batch=2, season=None), answers)


@lru_cache(maxsize=64)
def _worthwhile(setting: Setting, answers: ExpectedAnswers) -> bool:
    question, _ = first_question(setting)
    shares = (1.0, 0.0) if question.says_none else (1.0,)
    return any(_pays(setting, answers, question, share) for share in shares) and (
        answers.periods == 1 or all(_affordable(setting, answers, question, share) for share in shares)
    )


def _pays(setting: Setting, answers: ExpectedAnswers, question: Viewed, share: float) -> bool:
    """Whether a threshold could, where this share holds amounts that are all alike: some or other ones."""
    middles, edges = cells_of(grid_of(question))
    unknown = _with(share, _of_what_lies_above(question))[:, : grid_of(question).cells]
    mechanism, n = usual_answer(setting, answers, USERS)
    values = 2 * np.minimum(middles, edges[:, None]) / edges[:, None] - 1
    noise = (edges[:, None] / 2) ** 2 * noise_of_total(mechanism, n, share, values, values**2)
    squared = unknown + noise * USERS / answers_behind(setting, answers)
    return bool((squared[:-1] < clipping.WORTH**2 * squared[-1]).any())


def _affordable(setting: Setting, answers: ExpectedAnswers, question: Viewed, share: float) -> bool:
    """Whether everybody's answer determines the mean nearly as well as a window of the method's own answers, where this
    share holds equal amounts, whatever these are.
    """
    values = 2 * cells_of(grid_of(question))[0] / grid_of(question).clip - 1
    mechanism, n = usual_answer(setting, answers, USERS)
    window = noise_of_total(mechanism, n, share, values, values**2) * USERS * float(answers.share)
    return bool((np.diag(_with(share, _of_the_mean(question))) <= COST**2 * window).all())


def _with(share: float, noise: Floats) -> Floats:
    """Where this share holds one amount, and the others, if there are any, none: times the square of the share."""
    return noise if share == 1 else share * noise + (1 - share) * noise[:, -1:]


@lru_cache(maxsize=4)  # half a second, and 2 MB
def _of_what_lies_above(question: Viewed) -> Floats:
    """The variance, for one user, with which everybody's answer determines what lies above each edge: where all hold an
    amount of one cell, and last where all report none: float64[edges, inputs].
    """
    return _noise(question, clipping.excess(*cells_of(grid_of(question))))


@lru_cache(maxsize=4)
def _of_the_mean(question: Viewed) -> Floats:
    """The noise of how far the mean is from what a cell stands for, on a scale from -1 to 1: float64[cells, inputs]."""
    values = 2 * cells_of(grid_of(question))[0] / grid_of(question).clip - 1
    return _noise(question, values - values[:, None])


def _noise(question: Viewed, functions: Floats) -> Floats:
    """functions: of the cells of holders."""
    return noise_where_alike(wave_of(question), np.pad(functions, ((0, 0), (0, int(bool(question.says_none))))))
