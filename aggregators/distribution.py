# SPDX-License-Identifier: Apache-2.0
"""The distribution of a number from Square Wave reports: EM in time linear in the cells, EMS, and SW-W for thresholds.

Contract: `em` climbs the likelihood from the uniform distribution, th* = M'(counts / M th), and stops when the
likelihood moves less than `tau` (from the third step on), when th moves at most `shift` (1 / n) in all, or after
`most` steps.  The wave's matrix M (distribution_waves.py) is never built: it is a constant and a band.  Source:
ARCHITECTURE section 5.4; Li et al. 2020 for EM and EMS; ToPL for SW-W (there: plain EM, then cut the tail of noise).
Not here: which threshold minimises the error of what follows.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import ParameterError

Floats = NDArray[np.float64]

TAU = 1e-3
MOST = 10_000
QUIET = 5
FAINT = 1e-4


class Channel(Protocol):
    """What EM asks of a matrix of chances: its products, from either side."""

    inputs: int
    outputs: int

    def forward(self, x: Floats) -> Floats:
        """M x: float64[outputs] of float64[inputs]."""
        ...

    def backward(self, w: Floats) -> Floats:
        """M' w: float64[inputs] of float64[outputs]."""
        ...


@dataclass(frozen=True, slots=True)
class EstimatedDistribution:
    """What EM found."""

    frequencies: Floats
    """The share of each cell: not negative, summing to 1."""
    iterations: int
    log_likelihood: float


def em(
    channel: Channel,
    counts: NDArray[Any],
    *,
    smooth: bool = False,
    tau: float = TAU,
    shift: float | None = None,
    most: int = MOST,
) -> EstimatedDistribution:
    """The likeliest distribution behind these counts of outputs; `smooth` averages neighbours at each step (EMS)."""
    cnt = np.asarray(counts)
    if cnt.shape != (channel.outputs,) or cnt.dtype.kind not in "iuf" or not np.isfinite(cnt).all() or cnt.min() < 0:
        raise ParameterError(
            f"counts: found {cnt.dtype}{list(cnt.shape)}, or one below 0; allowed: [{channel.outputs}], 0 or more each"
        )
    cnt = cnt.astype(np.float64)
    n = float(cnt.sum())
    if not n > 0:
        raise ParameterError("counts: found no reports; allowed: at least one")
    if not tau >= 0 or not most >= 1 or not (shift is None or shift >= 0):
        raise ParameterError(f"em: found tau {tau}, shift {shift}, most {most}; allowed: 0 or more, most at least 1")
    enough = 1 / n if shift is None else shift
    theta = np.full(channel.inputs, 1 / channel.inputs)
    seen = channel.forward(theta)
    before, step = -np.inf, 0
    while True:
        step += 1
        new = channel.backward(cnt / seen)
        new *= theta
        new /= new.sum()
        if smooth:
            new = smoothed(new)
        theta -= new
        moved = float(np.abs(theta, out=theta).sum())
        theta, seen = new, channel.forward(new)
        likelihood = float(cnt @ np.log(seen))
        if step >= most or moved <= enough or (step > 2 and abs(likelihood - before) < tau):
            return EstimatedDistribution(theta, step, likelihood)
        before = likelihood


def smoothed(theta: Floats) -> Floats:
    """Each cell averaged with its neighbours, (1, 2, 1) / 4 and (2, 1) / 3 at the ends, summing to 1."""
    if len(theta) < 2:
        return np.asarray(theta / theta.sum())
    out = np.empty_like(theta)
    out[1:-1] = (theta[:-2] + 2 * theta[1:-1] + theta[2:]) / 4
    out[0], out[-1] = (2 * theta[0] + theta[1]) / 3, (2 * theta[-1] + theta[-2]) / 3
    return np.asarray(out / out.sum())


def pruned(frequencies: Floats, *, quiet: int = QUIET, faint: float = FAINT) -> Floats:
    """SW-W: nothing after the first cell that `quiet` cells follow which are all below `faint`; the rest sums to 1.

    >>> pruned(np.array([0.5, 0.4999, 0.00005, 0.00003, 0.00002]), quiet=2).round(4).tolist()
    [0.5001, 0.4999, 0.0, 0.0, 0.0]
    """
    f = np.asarray(frequencies, np.float64)
    if f.ndim != 1 or not np.isfinite(f).all() or not len(f) or f.min() < 0 or quiet < 1:
        raise ParameterError(f"frequencies: found float64{list(f.shape)} or one below 0; allowed: [d], 0 or more each")
    loud = np.concatenate(([0], np.cumsum(f >= faint)))
    following = loud[quiet + 1 :] - loud[1:-quiet]  # loud cells among the next `quiet` of cell w
    ends = np.flatnonzero(following == 0)
    out = f.copy()
    if len(ends):
        out[ends[0] + 1 :] = 0
    total = out.sum()
    if not total > 0:
        raise ParameterError("frequencies: found none above 0 before the tail; allowed: some")
    return np.asarray(out / total)
