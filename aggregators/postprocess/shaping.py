# SPDX-License-Identifier: Apache-2.0
"""How the estimates of a release are shaped: a post-processing with its options, as a deployment file names it.

Contract: `shaped` takes raw estimates with their variances and gives what a release calls `estimate`; it never fails on
finite numbers, whatever their size.  Standard errors are left alone: they are those of the raw estimates, since a
projection has no exact ones of its own.  The default, Norm-Sub, needs no context.  Not here: the methods (registry.py),
estimates that are shaped when they are read (reading.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from murmurate.aggregators.postprocess.context import Context, Floats
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.aggregators.postprocess.registry import post_process
from murmurate.randomizers import Faked, Question
from murmurate.randomizers.mechanism import PureOracle

PLAIN: Final = 0.75, 0.25
"""The p and q that stand for an oracle that has none of its own: errors are then equally large for every value."""


@dataclass(frozen=True)
class Shaping:
    """One way of shaping estimates."""

    name: str
    """The post-processing."""
    k: int | None = None
    """How many values Base-Cut keeps, where that is known."""
    alpha: float | None = None
    """How many values that nobody has may stay by chance, where the file says so."""

    def described(self) -> dict[str, str | int | float]:
        """As a release's method shows it; the default, Norm-Sub, is not written."""
        if self == NORM_SUB:
            return {}
        options = {"post_k": self.k, "post_alpha": self.alpha}
        return {"post": self.name} | {key: said for key, said in options.items() if said is not None}


NORM_SUB: Final = Shaping("norm-sub")
"""The nearest shares that a population can have."""


def shaped(shaping: Shaping, estimate: Floats, variance: Floats, mechanism: Question) -> Floats:
    """The estimate after its post-processing: float64[d]. Estimate and variance are raw, whatever they come from."""
    if shaping.name == "norm-sub":
        return norm_sub(estimate)
    context = context_of(mechanism, variance, shaping)
    low, high = context.possible
    return post_process(shaping.name, np.clip(estimate, low, high), context)


def context_of(mechanism: Question | None, variance: Floats, shaping: Shaping = NORM_SUB) -> Context:
    """What a post-processing has to know of estimates with these variances: the median is taken for that of a value
    which nobody holds, since most values are rare where it matters, and n reports are as many as would have it.
    """
    mechanism = mechanism.inner if isinstance(mechanism, Faked) else mechanism
    p, q = (float(mechanism.p), float(mechanism.q)) if isinstance(mechanism, PureOracle) else PLAIN
    spread = max(float(np.median(variance)), 1e-15)
    n = max(1, round(q * (1 - q) / (spread * (p - q) ** 2)))
    return Context(p=p, q=q, n=n, d=len(variance), alpha=shaping.alpha, spread=spread, k=shaping.k)
