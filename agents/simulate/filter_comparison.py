# SPDX-License-Identifier: Apache-2.0
"""One configuration and seed: the filter behind LPU beside raw LPU, the best of the papers, and an informed filter.

Contract: a function of its arguments.  All methods are the real ones with the real mechanisms (simulated_answers.py) on
the same truth; the first SETTLED periods are not scored.  Errors are mean squares over all cells (a period and value
each), after norm_sub for every one alike.  A cell counts for coverage and width where its truth exceeds one standard
error of the filter's; covered is a truth within two of them of the filter's own estimate, and as shown, of the
projected one. A value's width is the mean of its standard errors, beside the rms error of the best linear filter that
knows how the truth moves (informed_filters.py), over the same cells; values of one rank (by size) are held together
over the seeds. Readings: thresholds at QUANTILES of each value's own truth over time, for at most WATCHED values, those
that move most; of all with a confidence in CERTAIN, the share that is right.  A truth exactly at its threshold is on
neither side, and not counted.  Not here: what the figures should be (agents/cli/reproductions/verdicts.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.error_measures import mean_squared_error
from murmurate.agents.simulate.configurations import Configuration
from murmurate.agents.simulate.filter_error import SETTLED
from murmurate.agents.simulate.informed_filters import squared_errors, summed
from murmurate.agents.simulate.series import Series, series
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.monitoring import reading
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.randomizers.registry import mechanism

Floats = NDArray[np.float64]
Cells = NDArray[np.bool_]

PEERS: Final = ("lsp", "lp-rescuedp", "lp-pegasus", "lp-fast", "lpa")
RANKS: Final = 32
"""The largest number of values whose width is measured, those with the largest shares."""
RARELY: Final = 0.1
"""A rank is ignored if it has fewer counted cells than this part of those of the most frequent rank."""
WATCHED: Final = 8
QUANTILES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
CERTAIN: Final = (0.95, 0.99)


@dataclass(frozen=True, eq=False)
class Compared:
    """The sums of one seed, or of several seeds."""

    seeds: int
    filtered: float
    """The sum over seeds of the filter's mean squared errors."""
    raw: float
    """The sum over seeds of LPU's own mean squared errors."""
    peers: Floats
    """The sums over seeds of the mean squared errors of each of PEERS."""
    counted: int
    """The number of cells whose truth exceeds one standard error."""
    covered: int
    """The number of counted cells whose truth lies within two standard errors of the estimate."""
    shown: int
    """The number of counted cells whose truth lies within two standard errors of the projected estimate."""
    width: Floats
    """The sum of standard errors over the cells of each rank: float64[ranks]."""
    cells: Floats
    """The number of cells of each rank summed in `width` and `told`: float64[ranks]."""
    told: Floats
    """The sum over the cells of each rank of squared errors of the filters that know how the truth moves:
    float64[filters, ranks].
    """
    readings: int
    """The number of threshold readings with a confidence in CERTAIN."""
    right: int
    """The number of these readings that are right."""

    @property
    def coverage(self) -> float:
        """The share of counted cells within two standard errors; 1 where none counts."""
        return self.covered / self.counted if self.counted else 1.0

    @property
    def coverage_shown(self) -> float:
        """The share of counted cells within two standard errors of the projected estimate."""
        return self.shown / self.counted if self.counted else 1.0

    @property
    def over_raw(self) -> float:
        """The filter's error relative to that of LPU alone."""
        return self.filtered / self.raw

    @property
    def best(self) -> int:
        """The index of the method of PEERS with the smallest mean error over the seeds."""
        return int(self.peers.argmin())

    @property
    def over_best(self) -> float:
        """The filter's error relative to that of the best of PEERS."""
        return self.filtered / float(self.peers[self.best])

    @property
    def over_lpa(self) -> float:
        """The filter's error relative to LPA's own."""
        return self.filtered / float(self.peers[PEERS.index("lpa")])

    @property
    def wide(self) -> float:
        """The mean width relative to the rms error of the best linear filter that knows how the truth moves; nan where
        no cell counts. Ranks with few counted cells are left out, since the best of many filters over few cells would
        be so by chance.
        """
        known = self.cells > RARELY * self.cells.max(initial=0)
        best = np.sqrt(self.told[:, known].min(axis=0) / self.cells[known]) * self.cells[known]
        return float(self.width[known].sum() / best.sum()) if known.any() else float("nan")

    @property
    def trusted(self) -> float:
        """The share of certain readings that are right; nan where there is none."""
        return self.right / self.readings if self.readings else float("nan")


def added(each: Iterable[Compared]) -> Compared:
    """The sums over all seeds."""
    first, *others = each
    for one in others:
        first = Compared(*(
            mine + getattr(one, name) for name, mine in vars(first).items()
        ))  # fmt: skip
    return first


def compared(configuration: Configuration, seed: int, periods: int) -> Compared:
    """The comparison for one seed."""
    holders, setting = configuration.holders(seed, periods), configuration.setting(seed)
    true = np.asarray(holders / holders.sum(axis=1, keepdims=True))[SETTLED:]

    def run(name: str, filter_: str = "off") -> Series:
        return series(holders, MethodOptions(name, filter=filter_), setting, seed=seed)

    lpu = run("lpu", "adaptive")
    if lpu.best is None or lpu.variance is None or lpu.course is None:
        raise TypeError("a series without a filter")
    best, stderr = lpu.best[SETTLED:], np.sqrt(lpu.variance[SETTLED:])
    near = projected(best)
    peers = np.array([mean_squared_error(projected(run(name).said[SETTLED:]), true) for name in PEERS])
    count = true > stderr
    width, cells, told = _widths(configuration, lpu.said, true, stderr, count)
    readings, right = _readings(near, stderr, lpu.course[SETTLED:], true)
    return Compared(
        seeds=1,
        filtered=mean_squared_error(near, true),
        raw=mean_squared_error(projected(lpu.said[SETTLED:]), true),
        peers=peers,
        counted=int(count.sum()),
        covered=int((np.abs(best - true) <= 2 * stderr)[count].sum()),
        shown=int((np.abs(near - true) <= 2 * stderr)[count].sum()),
        width=width,
        cells=cells,
        told=told,
        readings=readings,
        right=right,
    )


def projected(series: Floats) -> Floats:
    """The frequencies of each period after norm_sub."""
    return np.array([norm_sub(row) for row in series])


def _widths(
    configuration: Configuration, raw: Floats, true: Floats, stderr: Floats, count: Cells
) -> tuple[Floats, Floats, Floats]:
    """For each rank the sums of standard errors and of cells, and the squared errors of the informed filters."""
    size = np.where(count.any(axis=0), true.mean(axis=0), -1.0)
    ranked = np.argsort(-size, kind="stable")[:RANKS]
    setting = configuration.setting(0)
    oracle = mechanism({"name": setting.mechanism, "d": setting.d, "epsilon_micro": setting.epsilon_micro})
    n = configuration.users // configuration.w
    unit = float((oracle.noise(true.mean(axis=0)) + oracle.sampling(true.mean(axis=0))).mean()) / n
    seen = summed(raw, sums=oracle.sums)[:, ranked]
    whole = np.concatenate((np.zeros((SETTLED, len(ranked))), true[:, ranked]))
    start = 1 / configuration.d
    squares = squared_errors(seen, whole, start=start, unit=unit, season=configuration.season)[:, SETTLED:]
    held = count[:, ranked]
    return (
        (stderr[:, ranked] * held).sum(axis=0),
        held.sum(axis=0).astype(np.float64),
        np.einsum("ftv,tv->fv", squares, held.astype(np.float64)),
    )


def _readings(estimate: Floats, stderr: Floats, course: Floats, true: Floats) -> tuple[int, int]:
    """The number of certain readings, and of those among them that are right."""
    low, high = CERTAIN
    certain = right = 0
    for value in np.argsort(-true.var(axis=0), kind="stable")[:WATCHED].tolist():
        for threshold in np.quantile(true[:, value], QUANTILES).tolist():
            sided = true[:, value] != threshold
            columns = estimate[sided, value], stderr[sided, value], true[sided, value], *course[sided, :, value].T
            for figure, error, held, mean, moved in zip(*(column.tolist() for column in columns), strict=True):
                answer = reading(figure, error, threshold, course=(mean, moved))
                if low <= answer.confidence <= high:
                    certain += 1
                    right += answer.above == (held > threshold)
    return certain, right
