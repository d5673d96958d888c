# SPDX-License-Identifier: Apache-2.0
"""Which post-processing suits a histogram best, by trying all of them on synthetic data.

Contract: a function of its arguments alone; its noise comes from a hash and is the same every time, so that the choice
can be made again.  `on_synthetic` is Wang 2021, section 8.2.4: the estimate after Norm-Sub stands for the truth, the
protocol is run on it again, and the method with the least squared error is named.  A reader may do that with a release
in hand; a deployment may not choose by what it releases, so that `by_shape`, which a file's post = "auto" means, looks
at shares that follow from the size of the domain alone, and only at methods whose results a population can have.
PowerNS as the generator of synthetic data would favour itself.
Not here: the methods (registry.py), which question is asked (query.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from murmurate.aggregators.postprocess.context import Context, Floats
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.aggregators.postprocess.registry import METHODS, NON_NEGATIVE, SUM_TO_ONE

RUNS: Final = 16
"""How often the protocol is run on the synthetic data: errors over a whole domain differ little between runs."""
STEEPNESS: Final = (0.0, 0.5, 1.0, 1.5)
"""Exponents of the shares that `by_shape` looks at: all alike, up to a few values that have nearly everything."""
POSSIBLE: Final = tuple(name for name in METHODS if name in NON_NEGATIVE & SUM_TO_ONE)
"""Methods whose results are always shares of a population."""
TIE: Final = 0.02
"""Norm-Sub, the plain one, is named unless another has less error by more than this part."""


@dataclass(frozen=True)
class Selection:
    """What was chosen, and by what."""

    name: str
    """The method with the least error."""
    errors: dict[str, float]
    """The mean squared error of a share by each method."""


def on_synthetic(estimate: Floats, context: Context, *, runs: int = RUNS) -> Selection:
    """By data like these: the estimate after Norm-Sub is taken for the truth.

    >>> rare = Context(p=0.5, q=0.27, n=10_000, d=64)
    >>> on_synthetic([0.6, 0.4] + [0.0] * 62, rare).name
    'significant'
    """
    return among([norm_sub(context.checked(estimate))], context, METHODS, runs=runs)


def by_shape(context: Context, *, runs: int = RUNS) -> Selection:
    """By nobody's data: shares that fall like a power of the rank, for several powers.

    >>> by_shape(Context(p=0.5, q=0.27, n=1_000_000, d=4)).name
    'norm-sub'
    """
    ranks = np.arange(1.0, context.d + 1)
    return among([ranks**-steep / (ranks**-steep).sum() for steep in STEEPNESS], context, POSSIBLE, runs=runs)


def among(truths: Sequence[Floats], context: Context, names: Iterable[str], *, runs: int = RUNS) -> Selection:
    """By these truths: the least error relative to that of Norm-Sub, in the geometric mean over them."""
    names = tuple(names)
    found = [_errors(truth, context, names, runs, place) for place, truth in enumerate(truths)]
    ratios = {
        name: float(np.mean([np.log(max(one[name], 1e-300) / max(one["norm-sub"], 1e-300)) for one in found]))
        for name in names
    }
    least = min(ratios, key=lambda name: ratios[name])
    chosen = least if ratios[least] < np.log(1 - TIE) else "norm-sub"
    return Selection(chosen, {name: float(np.mean([one[name] for one in found])) for name in ratios})


def _errors(truth: Floats, context: Context, names: Iterable[str], runs: int, place: int) -> dict[str, float]:
    """The mean squared error of these methods on runs of the protocol with this truth."""
    p, q = context.p, context.q
    more = 0.0 if context.spread is not None else (1 - p - q) / ((p - q) * context.n)  # of holders of a value
    deviation = np.sqrt(context.variance + truth * more)
    low, high = context.possible
    sums = dict.fromkeys(names, 0.0)
    for run in range(runs):
        estimate = np.clip(truth + deviation * _normal(len(truth), b"%d %d" % (place, run)), low, high)
        for name in sums:
            sums[name] += float(np.mean((METHODS[name](estimate, context) - truth) ** 2)) / runs
    return sums


def _normal(count: int, context: bytes) -> Floats:
    """Standard normal numbers that follow from a hash (Box and Muller): float64[count]."""
    half = -(-count // 2)
    text = hashlib.shake_256(b"murmurate synthetic noise 1\n" + context).digest(16 * half)
    first, second = (np.frombuffer(text, "<u8").reshape(2, half) + 0.5) / 2.0**64
    length, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
    return np.concatenate((length * np.cos(angle), length * np.sin(angle)))[:count]
