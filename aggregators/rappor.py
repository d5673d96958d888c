# SPDX-License-Identifier: Apache-2.0
"""Decoding RAPPOR's cohorts: which of many values are there, and how frequent are they.

Library only: no stage and no verb imports it, since streams take the unbiased estimate; whoever counts RAPPOR's reports
in Python does.
Contract: the same counts give the same answer; what is selected depends on counts and parameters alone, so it is
post-processing and costs no privacy.  Debiased bits of all cohorts are regressed on the values' hashes: a
non-negative LASSO selects values, ordinary least squares among the selected takes the LASSO's shrinkage out again.
A test may follow.  "penalty" is none: what the LASSO selects is kept, and its penalty is Wang's significance threshold
for the noise of the bits.  "regression" is Erlingsson's: a selected value is kept where the least squares find it above
0 at level alpha / d, with the error that their own residuals show; what values that were not selected leave in the
bits is in that error, and in no noise that is known beforehand.
Not unbiased: a value that is not selected is given 0, and its bits go to those that share them.  Source: Erlingsson,
Pihur and Korolova 2014, section 4; Wang 2021, sections 3.1.2 and 3.5.2.  Not here: the unbiased estimate for domains
that the bits tell apart (RAPPOR.estimate).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.frequency.rappor import RAPPOR
from murmurate.randomizers.mechanism import Counts, Floats

_STILL = 1e-12  # a turn that moves no frequency further than this is the last one
_TURNS = 10_000
Test = Literal["penalty", "regression"]


@dataclass(frozen=True)
class Decoded:
    """What a regression found, over all d values."""

    frequencies: Floats
    """The shares of the selected values by least squares, 0 elsewhere. Raw: one may be negative, and they need not sum
    to 1.
    """
    selected: NDArray[np.bool_]
    standard_errors: Floats
    """Standard errors given the selection: of the bits' noise, and under "regression" of what else their residuals
    show; NaN where nothing was selected or the bits cannot tell apart.
    """


def decode(mechanism: RAPPOR, support: Counts, n: int, *, alpha: float = 0.05, test: Test = "penalty") -> Decoded:
    """Frequencies of the values that stand out of the noise.

    The LASSO's penalty is what the noise of a value's bits exceeds with chance alpha / d: among values that nobody
    holds, and that share no bits with held ones, one in 1 / alpha decodings selects any. With test="regression" the
    same holds where they do share bits, because what is selected is tested again.
    """
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0 < alpha < 1:
        raise ParameterError(f"rappor: alpha: found {shown(alpha)}; allowed: a number between 0 and 1")
    if test not in get_args(Test):
        raise ParameterError(f"rappor: test: found {shown(test)}; allowed: {', '.join(get_args(Test))}")
    sums = mechanism.debiased(support, n).reshape(-1)
    noise = math.sqrt(float(mechanism.p * mechanism.q / (mechanism.p - mechanism.q) ** 2) * mechanism.cohorts / n)
    cells, kept = _cells(mechanism)
    sizes = kept.sum(axis=1)
    penalties = NormalDist().inv_cdf(1 - alpha / mechanism.d) * noise * np.sqrt(sizes)
    selected = lasso(sums, cells, kept, penalties) > 0
    frequencies, errors = np.zeros(mechanism.d), np.full(mechanism.d, math.nan)
    if selected.any():
        columns = np.zeros((len(sums), int(selected.sum())))
        for column, value in enumerate(np.flatnonzero(selected)):
            columns[cells[value][kept[value]], column] = 1
        found, _, rank, _ = np.linalg.lstsq(columns, sums, rcond=None)
        frequencies[selected] = found
        if rank == columns.shape[1]:
            unit = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))
            if test == "regression":
                free = len(sums) - int(rank)
                left = math.sqrt(float(((sums - columns @ found) ** 2).sum()) / free) if free else math.inf
                errors[selected] = max(noise, left) * unit
                selected &= frequencies > student(1 - alpha / mechanism.d, free) * np.nan_to_num(errors)
            else:
                errors[selected] = noise * unit
        elif test == "regression":
            selected[:] = False  # nothing is known apart
    frequencies[~selected], errors[~selected] = 0, math.nan
    return Decoded(frequencies, selected, errors)


def student(chance: float, free: int) -> float:
    """Below which Student's t with so many degrees of freedom lies with this chance: Cornish and Fisher's expansion.

    >>> round(student(1 - 1e-5, 500), 3), round(student(0.975, 30), 3)
    (4.306, 2.042)
    """
    if free < 1:
        return math.inf
    z = NormalDist().inv_cdf(chance)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3


def lasso(sums: Floats, cells: NDArray[np.int64], kept: NDArray[np.bool_], penalties: Floats) -> Floats:
    """The x >= 0 that minimises |sums - D x|^2 / 2 + penalties x, by coordinate descent: float64[d].

    Column v of D is 1 in `cells[v]` where `kept[v]`, else 0. Only values that ask to enter are moved; when they stand
    still all others are asked again, at once, until none enters.
    """
    x, rest = np.zeros(len(cells)), sums.copy()
    sizes = kept.sum(axis=1)
    moving = np.zeros(len(cells), np.bool_)
    for _ in range(_TURNS):
        asking = ~moving & ((rest[cells] * kept).sum(axis=1) > penalties + _STILL)
        if not asking.any():
            return x
        moving |= asking
        _descend(x, rest, [(int(v), cells[v][kept[v]], float(penalties[v])) for v in np.flatnonzero(moving)], sizes)
    return x


def _descend(
    x: Floats, rest: Floats, columns: list[tuple[int, NDArray[np.int64], float]], sizes: NDArray[np.int64]
) -> None:
    """Move one frequency after the other to its best place, until none moves. Changes x and rest = sums - D x."""
    for _ in range(_TURNS):
        farthest = 0.0
        for value, mine, penalty in columns:
            move = max(-x[value], (rest[mine].sum() - penalty) / sizes[value])
            if move:
                x[value] += move
                rest[mine] -= move
                farthest = max(farthest, abs(move))
        if farthest <= _STILL:
            return


def _cells(mechanism: RAPPOR) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each value's hashes point among all bits, and which of them point there first: [d, cohorts * hashes]."""
    places = np.sort(mechanism.places.astype(np.int64), axis=2)
    kept = np.ones(places.shape, np.bool_)
    kept[:, :, 1:] = places[:, :, 1:] != places[:, :, :-1]
    places += np.arange(mechanism.cohorts)[:, None, None] * mechanism.bits
    return tuple(part.transpose(1, 0, 2).reshape(mechanism.d, -1) for part in (places, kept))  # type: ignore[return-value]
