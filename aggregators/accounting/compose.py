# SPDX-License-Identifier: Apache-2.0
"""What several rounds are worth together, when the same users' reports were shuffled in each of them.

Contract: the rounds of a window, each with a question fixed beforehand or chosen after earlier releases, together
satisfy (`composed_epsilon`, delta).  A round's blanket at every E = e^epsilon gives delta of one fixed pair of laws, so
that pair dominates the round, and the product of the pairs dominates the rounds together (Zhu, Dong and Wang 2022,
theorem 10): whoever is in all of them, whatever the others hold.  Between the points of a grid of epsilons delta is
convex in E, hence below the straight line between two upper bounds of it: the lower hull of these is the delta of a
pair of laws with finitely many losses (Doroshenko et al. 2022), which is no better than the round.  Losses are added by
FFT, tilted to where delta is decided.  Not here: one round alone (blanket.py), which users are in all (claim.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from murmurate.aggregators.accounting.blanket import COARSE, epsilon
from murmurate.aggregators.accounting.delta_curve import deltas, loss_variance
from murmurate.aggregators.accounting.errors import NotCertifiedError
from murmurate.aggregators.accounting.search import FLOOR, CertifiedDelta, least_epsilon
from murmurate.aggregators.accounting.sums import U
from murmurate.randomizers.question import Blanket, Floats

_LEFT = 1e-5
"""How much of delta may be a loss beyond the grid, over all rounds."""
_MOST_POINTS = 1 << 20
_MOST_EPSILONS = 600
_AT_ONCE = 24


class Fineness(NamedTuple):
    """How fine the grids of a composition are."""

    points: int
    """Points of the grid of losses in one standard deviation of a round's, about."""
    sharpness: float
    """How fine the lattice of scores is, as a part of that of one round."""


FINE: Final = Fineness(10, 0.5)
QUICK: Final = Fineness(8, COARSE)
"""Gives at most half a percent more, in a tenth of the time."""


class MixedRound(NamedTuple):
    """Rounds alike."""

    blanket: Blanket
    """What reports have in common."""
    n: int
    """Honest reports that are shuffled together."""
    local: float
    """The epsilon that each report has by itself."""
    times: int
    """How many such rounds there are."""


class Losses(NamedTuple):
    """A pair of laws by its privacy loss: how likely each is under the first law."""

    chances: Floats
    """Chances of the losses -m step to m step: float64[2 m + 1]."""
    beyond: float
    """The chance of a loss that is counted as infinite."""


def composed_epsilon(rounds: Sequence[MixedRound], delta: float, digits: int = 6, fineness: Fineness = FINE) -> float:
    """The least epsilon of so many digits that is certified for these rounds together; their local sum, if less."""
    limit = sum(round_.local * round_.times for round_ in rounds)
    times = sum(round_.times for round_ in rounds)
    if times == 1:
        only = rounds[0]
        return epsilon(only.blanket, only.n, delta, limit, digits)
    steps = [_spread(round_, delta / times, fineness) / fineness.points for round_ in rounds]
    step = min(steps)
    law = [
        (losses(round_, step, _LEFT * delta / times, int(own / step), fineness), round_.times)
        for round_, own in zip(rounds, steps, strict=True)
    ]
    curve = Composition(law, step, delta)
    return least_epsilon(curve.delta, curve.delta, delta, limit, digits)


def _spread(round_: MixedRound, delta: float, fineness: Fineness) -> float:
    """The standard deviation of the losses, roughly: of normal ones that have this delta at the round's epsilon; or of
    a sum of so many reports, which is quicker.
    """
    if fineness == QUICK:
        return max(FLOOR, math.sqrt(loss_variance(round_.blanket) / round_.n))
    alone = epsilon(round_.blanket, round_.n, delta, round_.local, 3)
    return max(alone, FLOOR) / max(1.0, math.sqrt(2 * math.log(1 / delta)))


def losses(round_: MixedRound, step: float, left: float, apart: int = 1, fineness: Fineness = FINE) -> Losses:
    """A pair that dominates the round, of losses that are multiples of the step, and of so many steps where rounds with
    smaller losses need a step too fine for this one.

    1. Upper bounds of delta at the multiples, up to the one where it is at most `left`; below 0 by symmetry.
    2. Their lower hull over E: what its slope grows by at a point is the second law's chance there.
    3. What rounding took off the hull is added to the chance of an infinite loss.
    """
    step *= apart
    up = _upper(round_, step, left, fineness.sharpness)
    m = len(up) - 1
    ratios = np.exp(step * np.arange(-m, m + 1))
    height = np.concatenate(((1 - ratios[:m]) + ratios[:m] * up[:0:-1], up))
    x, y = np.append(0.0, ratios), np.append(1.0, height)
    kept = _hull(x.tolist(), y.tolist())
    x, y = x[kept], y[kept]
    slopes = np.append(np.diff(y) / np.diff(x), 0.0)
    second = np.maximum(np.diff(slopes), 0.0)
    chances = np.zeros(2 * m + 1)
    chances[np.array(kept[1:]) - 1] = second * x[1:]
    made = np.maximum(1 - ratios[:, None] / ratios, 0) @ chances
    missing = float((height - made * (1 - 2**-46)).max())
    spread = np.zeros(2 * m * apart + 1)
    spread[::apart] = chances
    return Losses(spread, max(0.0, missing) + 2**-50)


def _upper(round_: MixedRound, step: float, left: float, sharpness: float) -> Floats:
    """Upper bounds of delta at 0, step, 2 step, ..., up to the first that is at most `left`."""
    bounds = np.zeros(0)
    while not (bounds <= left).any():
        if len(bounds) > _MOST_EPSILONS:
            raise NotCertifiedError(f"composition: found losses beyond {_MOST_EPSILONS} steps; allowed: fewer")
        at = np.asarray(np.arange(len(bounds), len(bounds) + _AT_ONCE) * step, np.float64)
        inner = at[at < round_.local]
        more = np.concatenate((deltas(round_.blanket, round_.n, inner, sharpness), np.zeros(len(at) - len(inner))))
        bounds = np.concatenate((bounds, more))
    return bounds[: int(np.argmax(bounds <= left)) + 1]


def _hull(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """Which points are corners of the largest convex function below all of them."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return kept


class Composition:
    """The law of the sum of all rounds' losses, exact where a sum of them decides about this delta."""

    def __init__(self, rounds: Sequence[tuple[Losses, int]], step: float, delta: float) -> None:
        """Tilt chances by the theta of the best Chernoff bound, multiply transforms, and transform back."""
        self._step = step
        self._beyond = sum(times * law.beyond for law, times in rounds)
        reach = sum(times * (len(law.chances) // 2) for law, times in rounds)
        points = 1 << (2 * reach + 1).bit_length()
        if points > _MOST_POINTS:
            raise NotCertifiedError(f"composition: found {points} points of losses; allowed: {_MOST_POINTS}")
        self._theta = _best_theta(rounds, step, delta)
        transform, log_scale, times_all = np.ones(points // 2 + 1, np.complex128), 0.0, 0
        for law, times in rounds:
            half = len(law.chances) // 2
            tilted = law.chances * np.exp(self._theta * step * np.arange(-half, half + 1))
            total = float(tilted.sum())
            room = np.zeros(points)
            room[: half + 1], room[points - half :] = tilted[half:] / total, tilted[:half] / total
            transform *= np.fft.rfft(room) ** times
            log_scale += times * math.log(total)
            times_all += times
        self._places = np.arange(-reach, reach + 1)
        self._chances = np.maximum(np.fft.irfft(transform, points)[self._places % points], 0.0)
        self._error = 16 * U * math.log2(points) * (times_all + 4)
        self._log_scale = log_scale

    def delta(self, epsilon: float) -> CertifiedDelta:
        """The delta of all rounds together at this epsilon, with what inaccuracy may add."""
        first = max(0, math.floor(epsilon / self._step) + 1 + len(self._places) // 2)
        sums = self._places[first:] * self._step
        weights = -np.expm1(epsilon - sums) * np.exp(self._log_scale - self._theta * sums)
        weights = np.maximum(weights, 0.0)
        excess = float(weights.sum()) * self._error + self._beyond
        bound = float(weights @ self._chances[first:])
        return CertifiedDelta(bound * (1 + 2**-40) + excess, excess)


def _best_theta(rounds: Sequence[tuple[Losses, int]], step: float, delta: float) -> float:
    """The theta whose Chernoff bound gives the least epsilon for this delta, by thirds of its logarithm."""

    def bound(log_theta: float) -> float:
        theta, total = math.exp(log_theta), -math.log(delta)
        for law, times in rounds:
            half = len(law.chances) // 2
            exponents = theta * step * np.arange(-half, half + 1)
            top = float(exponents.max())
            total += times * (top + math.log(float(law.chances @ np.exp(exponents - top))))
        return total / theta

    low, high = math.log(1e-3), math.log(1e9)
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) <= bound(right) else (left, high)
    most = step * sum(times * (len(law.chances) // 2) for law, times in rounds)
    return min(math.exp(low), 4 * math.log(1 / delta) / most)  # beyond that, sums far below the largest would be lost
