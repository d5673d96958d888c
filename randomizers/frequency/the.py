# SPDX-License-Identifier: Apache-2.0
"""Thresholded histogram encoding (THE): Laplace noise on a one-hot row, of which only cells above theta are sent.

Contract: the noise of a cell is Laplace of scale 2 / epsilon and independent, so that a report is a unary encoding
with p = 1 - e^(eps(theta-1)/2) / 2 and q = e^(-eps theta/2) / 2; it is drawn as one, and no noise is ever computed.
With x = e^(-eps theta/2) and y = e^(-eps(1-theta)/2) the ratio is e^eps x(2-x) y(2-y) < e^eps: 10 percent below the
promise at epsilon 1.  q is rounded up, p down.  Source: Wang 2021, section 3.3.2.
"""

from decimal import Context, Decimal, localcontext
from functools import lru_cache

from murmurate.randomizers.frequency.unary import Levels, Unary
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.thresholds import MICRO, Epsilon, micro_nats

STEPS = 1 << 16  # steps of theta in one unit
_WORDS = 1 << 32
_DIGITS = Context(prec=60)  # the same on every machine: Decimal's exp is correctly rounded


class THE(Unary):
    """Thresholded histogram encoding. `theta` counts steps of 2^-16; without it, the one of least variance.

    A report is d bits, as unary encoding's. Never better than OUE, which spends all of epsilon.
    """

    name = "the"

    def __init__(self, *, d: int, epsilon: Epsilon, theta: int | None = None) -> None:
        best = optimal_theta(micro_nats(epsilon)) if theta is None else theta
        self.theta = whole(self.name, "theta", best, 0, STEPS)
        super().__init__(d=d, epsilon=epsilon)

    def spec(self) -> dict[str, str | int]:
        """The description, with theta, so that whoever reads it need not search for it."""
        return {**super().spec(), "theta": self.theta}

    def _levels(self) -> Levels:
        with localcontext(_DIGITS):
            silent, loud = _tails(self.epsilon_micro, self.theta)
            return Levels(_WORDS - (int(silent * _WORDS) + 1), int(loud * _WORDS) + 1, 32)


@lru_cache(maxsize=1024)
def optimal_theta(epsilon_micro: int) -> int:
    """The theta, in steps of 2^-16, at which the variance of a value that nobody holds is least.

    It has one minimum, between 1/2 and 1: the interval is cut in three until nothing is left.
    """
    with localcontext(_DIGITS):
        low, high = STEPS // 2, STEPS
        while high - low > 2:
            left, right = low + (high - low) // 3, high - (high - low) // 3
            if _variance(epsilon_micro, left) <= _variance(epsilon_micro, right):
                high = right
            else:
                low = left
        return min(range(low, high + 1), key=lambda theta: _variance(epsilon_micro, theta))


def _tails(epsilon_micro: int, theta: int) -> tuple[Decimal, Decimal]:
    """The probabilities that noise keeps the own cell below theta, and that it lifts another one above."""
    half = Decimal(epsilon_micro) / (2 * MICRO)
    return (-half * (STEPS - theta) / STEPS).exp() / 2, (-half * theta / STEPS).exp() / 2


def _variance(epsilon_micro: int, theta: int) -> Decimal:
    silent, q = _tails(epsilon_micro, theta)
    return q * (1 - q) / (1 - silent - q) ** 2
