# SPDX-License-Identifier: Apache-2.0
"""What post-processing has to know about the oracle an estimate comes from, and the checks that every method shares.

Contract: a Context that could not belong to an oracle cannot be built; an estimate that is no estimate is refused with
what was found.  Source: Wang 2021, equation 3.3 for the variance.  Not here: any method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.mechanism import PureOracle

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Context:
    """The oracle behind an estimate: what it was asked with, how many answered.

    >>> Context(p=0.5, q=0.25, n=1200, d=6).deviation
    0.05
    """

    p: float
    """Probability that a report supports its own value."""
    q: float
    """Probability that a report supports one certain other value."""
    n: int
    """Reports received."""
    d: int
    """Values in the domain."""
    alpha: float | None = None
    """Values that nobody holds and that may pass a threshold by chance, over the whole domain. None: what the method
    at hand takes by itself (2 for Base-Cut, .05 for the significance threshold).
    """
    spread: float | None = None
    """The variance of the estimate of a value that nobody holds, where something else than n reports of this oracle
    alone gave it, such as a filter. None: the oracle's own with n reports.
    """
    k: int | None = None
    """How many values Base-Cut keeps, where that is known. None: those that stand out of the noise."""

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("d", 2)):
            found = getattr(self, name)
            if isinstance(found, bool) or not isinstance(found, int) or found < least:
                raise ParameterError(f"context: {name}: found {shown(found)}; allowed: a whole number from {least}")
        if not (_real(self.p) and _real(self.q) and 0 < self.q < self.p < 1):
            raise ParameterError(f"context: found p = {shown(self.p)}, q = {shown(self.q)}; allowed: 0 < q < p < 1")
        if self.alpha is not None and not (_real(self.alpha) and self.alpha > 0):
            raise ParameterError(f"context: alpha: found {shown(self.alpha)}; allowed: above 0, or None")
        if self.spread is not None and not (_real(self.spread) and self.spread > 0):
            raise ParameterError(f"context: spread: found {shown(self.spread)}; allowed: a variance above 0, or None")
        known = self.k is None or (isinstance(self.k, int) and not isinstance(self.k, bool) and 1 <= self.k <= self.d)
        if not known:
            raise ParameterError(f"context: k: found {shown(self.k)}; allowed: 1 to d = {self.d}, or None")

    @classmethod
    def of(cls, oracle: PureOracle, n: int, alpha: float | None = None) -> Context:
        """That of an oracle with n reports, from its realised probabilities."""
        return cls(p=float(oracle.p), q=float(oracle.q), n=n, d=oracle.d, alpha=alpha)

    @property
    def variance(self) -> float:
        """Var* = q(1-q) / (n (p-q)^2): of the estimate of a value that nobody holds, on the frequency scale."""
        return self.spread or self.q * (1 - self.q) / (self.n * (self.p - self.q) ** 2)

    @property
    def deviation(self) -> float:
        """The square root of Var*: what T and Power measure in. Equation 8.1 calls the variance by this name."""
        return math.sqrt(self.variance)

    @property
    def possible(self) -> tuple[float, float]:
        """The lowest and the highest estimate that support counts from 0 to n can give."""
        return -self.q / (self.p - self.q), (1 - self.q) / (self.p - self.q)

    def checked(self, estimate: Floats) -> Floats:
        """The estimate, if it has one finite number for each of the d values."""
        f = finite(estimate)
        if len(f) != self.d:
            raise ParameterError(f"estimate: found float64[{len(f)}]; allowed: float64[{self.d}], one for each value")
        return f


def finite(estimate: Floats) -> Floats:
    """The estimate as float64[d], if it is one: at least one number, all finite, in one dimension."""
    f = np.asarray(estimate)
    if f.ndim != 1 or not len(f) or f.dtype.kind not in "iuf":
        raise ParameterError(f"estimate: found {f.dtype}{list(f.shape)}; allowed: finite, float64[d]")
    f = f.astype(np.float64)
    if not np.isfinite(f).all():
        bad = np.flatnonzero(~np.isfinite(f))
        raise ParameterError(
            f"estimate: found {len(bad)} not finite (the first in place {bad[0]}); allowed: finite, float64[d]"
        )
    return f


def sum_of(values: Floats) -> float:
    """The sum, rounded once: the same on every machine, whatever way NumPy adds."""
    return math.fsum(values.tolist())


def slack(d: int) -> float:
    """How far from 1 d frequencies may add up in float64 and still count as 1: the bound that Norm-Sub keeps."""
    return 4 * d * float(np.finfo(np.float64).eps)


def _real(found: object) -> bool:
    return isinstance(found, (int, float, Fraction)) and not isinstance(found, bool) and math.isfinite(found)
