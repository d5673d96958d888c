# SPDX-License-Identifier: Apache-2.0
"""How many ones appended unary encoding (AUE) adds for a central target: the fewest that are exactly enough.

Contract: `appended` gives the mechanism whose chance of an added one is the smallest of ten binary digits such that the
counts of n honest reports are (epsilon, delta)-DP by `counted_delta`.  Chances p and 1 - p have the same delta and the
same variance; the smaller one sends fewer ones.  The paper adds them with p = 1 - 200 ln(4 / delta) / (epsilon^2 n)
(Wang 2021, section 9.3.4), which is some twenty times more than needed.  Not here: what a cell holds
(randomizers/frequency/appended.py).
"""

from __future__ import annotations

from typing import Final

from murmurate.aggregators.accounting.claim import checked_delta, honest
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.randomizers.frequency.appended import AUE, LEVELS, counted_delta
from murmurate.randomizers.thresholds import MICRO, Epsilon, micro_nats

_BITS: Final = 10


def appended(*, d: int, n: int, central: Epsilon, delta: float, corrupt: float = 0.0) -> AUE:
    """AUE with the fewest added ones for batches of n reports, a share of which may be an attacker's."""
    reports, micro = honest(n, corrupt), micro_nats(central)
    ones = fewest_ones(reports, micro / MICRO, checked_delta(delta))
    return AUE(d=d, ones=ones, batch=reports, central=central, delta=delta)


def fewest_ones(n: int, epsilon: float, delta: float) -> int:
    """The level out of 2^32 of an added one's chance, rounded up to ten binary digits; at most one half."""
    if counted_delta(LEVELS // 2, n, epsilon) > delta:
        raise AccountingError(
            f"central epsilon: found {epsilon:g} at delta {delta:g} with {n} reports, which no added ones reach; "
            "allowed: more reports, or a larger target"
        )
    low, high = 0, LEVELS // 2  # `high` is always enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if counted_delta(middle, n, epsilon) <= delta else (middle, high)
    while counted_delta(rounded := _short(high), n, epsilon) > delta:
        high = rounded + 1
    return rounded


def _short(level: int) -> int:
    """The least whole number of so many binary digits, and zeros behind them, that is not below this one."""
    shift = max(0, level.bit_length() - _BITS)
    return -(-level >> shift) << shift
