"""One configuration and seed: the filter behind LPU beside raw LPU, the best of the papers, and a filter told all.

Contract: a function of its arguments.  All methods are the real ones with the real mechanisms (simulated_answers.py) on
the same truth; the first SETTLED periods are not scored.  Errors are mean squares over all cells (a period and value
each), after norm_sub for every one alike.  A cell counts for coverage and width where its truth exceeds one standard
error of the filter's; covered is a truth within two of them of the filter's own estimate, and as shown, of the
projected one. A value's width is the mean of its standard errors, beside the rms error of the best linear filter that
is told how the truth moves (informed_filters.py), over the same cells; values of one rank (by size) are held together
over the seeds. Readings: thresholds at QUANTILES of each value's own truth over time, for at most WATCHED values, those
that move most; of all that are said at CERTAIN, the share that is right.  A truth exactly at its threshold is on
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
"""The most values whose width is measured: of those that count, the largest."""
RARELY: Final = 0.1
"""A rank is left out that counts in fewer cells than this part of those of the rank that counts most."""
WATCHED: Final = 8
QUANTILES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
CERTAIN: Final = (0.95, 0.99)


@dataclass(frozen=True, eq=False)
class Compared:
    """Of one seed, or added over several."""

    seeds: int
    filtered: float
    """The filter's mean squared errors, added up."""
    raw: float
    """LPU's own mean squared errors, added up."""
    peers: Floats
    """The mean squared errors of each of PEERS, added up."""
    counted: int
    """How many cells have a truth that exceeds one standard error."""
    covered: int
    """How many of the counted cells have a truth within two standard errors of the estimate."""
    shown: int
    """How many of the counted cells have a truth within two standard errors of the projected estimate."""
    width: Floats
    """Standard errors of the cells of each rank, added up: float64[ranks]."""
    cells: Floats
    """How many cells of each rank were added up in `width` and `told`: float64[ranks]."""
    told: Floats
    """Squared errors of the filters that know how the truth moves, added up over the cells of each rank:
    float64[filters, ranks].
    """
    readings: int
    """How many threshold readings are said to be that certain."""
    right: int
    """How many of the threshold readings that are said to be that certain are right."""

    @property
    def coverage(self) -> float:
        """Share of counted cells within two standard errors; 1 where none counts."""
        return self.covered / self.counted if self.counted else 1.0

    @property
    def coverage_shown(self) -> float:
        """The same of projected estimates."""
        return self.shown / self.counted if self.counted else 1.0

    @property
    def over_raw(self) -> float:
        """The filter's error over that of LPU alone."""
        return self.filtered / self.raw

    @property
    def best(self) -> int:
        """Which of PEERS has the smallest mean error over the seeds."""
        return int(self.peers.argmin())

    @property
    def over_best(self) -> float:
        """The filter's error over that of the best of the papers."""
        return self.filtered / float(self.peers[self.best])

    @property
    def over_lpa(self) -> float:
        """The filter's error over LPA's own."""
        return self.filtered / float(self.peers[PEERS.index("lpa")])

    @property
    def wide(self) -> float:
        """Mean width over that of a linear filter told how the truth moves; nan where no cell counts. Of ranks that
        count now and then only, the best of so many filters would be the luckiest one: they are left out.
        """
        known = self.cells > RARELY * self.cells.max(initial=0)
        told = np.sqrt(self.told[:, known].min(axis=0) / self.cells[known]) * self.cells[known]
        return float(self.width[known].sum() / told.sum()) if known.any() else float("nan")

    @property
    def trusted(self) -> float:
        """Share of certain readings that are right; nan where there is none."""
        return self.right / self.readings if self.readings else float("nan")


def added(each: Iterable[Compared]) -> Compared:
    """All seeds together."""
    first, *others = each
    for one in others:
        first = Compared(*(
            mine + getattr(one, name) for name, mine in vars(first).items()
        ))  # fmt: skip
    return first


def compared(configuration: Configuration, seed: int, periods: int) -> Compared:
    """One seed."""
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
    """Each period's frequencies by norm_sub."""
    return np.array([norm_sub(row) for row in series])


def _widths(
    configuration: Configuration, said: Floats, true: Floats, stderr: Floats, count: Cells
) -> tuple[Floats, Floats, Floats]:
    """By rank: standard errors and cells, and the squared errors of the told filters."""
    size = np.where(count.any(axis=0), true.mean(axis=0), -1.0)
    ranked = np.argsort(-size, kind="stable")[:RANKS]
    asked = configuration.setting(0)
    oracle = mechanism({"name": asked.mechanism, "d": asked.d, "epsilon_micro": asked.epsilon_micro})
    n = configuration.users // configuration.w
    unit = float((oracle.noise(true.mean(axis=0)) + oracle.sampling(true.mean(axis=0))).mean()) / n
    seen = summed(said, sums=oracle.sums)[:, ranked]
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
    """How many are certain, and how many of these are right."""
    low, high = CERTAIN
    certain = right = 0
    for value in np.argsort(-true.var(axis=0), kind="stable")[:WATCHED].tolist():
        for threshold in np.quantile(true[:, value], QUANTILES).tolist():
            sided = true[:, value] != threshold
            columns = estimate[sided, value], stderr[sided, value], true[sided, value], *course[sided, :, value].T
            for said, error, held, mean, moved in zip(*(column.tolist() for column in columns), strict=True):
                told = reading(said, error, threshold, course=(mean, moved))
                if low <= told.confidence <= high:
                    certain += 1
                    right += told.above == (held > threshold)
    return certain, right
