"""Truths to try methods on before there is anybody: made up of a drift and a presence, or as a recording has it.

Contract: counts of users by value, int64[periods, d], the same number of users in every period; the same question, the
same truth.  Drift is the root mean square of what a statistic moves in a period: of a share, or of a mean as a part of
its range.  A made-up truth wanders around where it begins, drawn back by a 500th of the way a period, so that it
neither ends at a border nor grows with the time simulated.  Numbers lie on a coarse grid (`coarse`): noise and sampling
on it are those of the fine one within 1.5 %.  Not here: the papers' streams (synthetic.py, made_up.py), reports
(drawn.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.made_up import Holders, apportioned
from murmurate.agents.replay.source import Source, SourceError
from murmurate.agents.replay.synthetic import Synthetic
from murmurate.agents.replay.truth import Truth
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key
from murmurate.randomizers.randomness import contexts
from murmurate.topics.domains import Grid

Floats = NDArray[np.float64]

POINTS = 33
"""Cells of the coarse grid of a mean."""
MOST = 1_000
"""Periods of a recording that are looked at."""
BACK = 0.002
"""How much of its way a made-up truth is drawn back in a period."""
BUMP = 0.3
"""How numbers lie around their mean: standard deviation, where the range is 2 long."""
FARTHEST = 0.5
"""How far from the middle a made-up mean goes."""
_KEY = Key(hashlib.sha256(b"murmurate/shapes/1").digest(), deployment="shapes")  # no secret: nobody is there yet


def coarse(stream: StreamPlan) -> int:
    """The domain by which a stream is tried: its own, but for a mean a coarse grid, and none."""
    return POINTS + stream.says_none if stream.measure == "mean" else stream.d


def made_up(stream: StreamPlan, users: int, *, drift: float, presence: float, periods: int, seed: int) -> Holders:
    """A truth that wanders. Each seed has another way."""
    values = coarse(stream) - stream.says_none
    if stream.measure == "mean":
        shares = _bumps(_way(2 * drift, periods, seed), values) * presence
        if stream.says_none:
            shares = np.column_stack((shares, np.full(periods, 1 - presence)))
        return apportioned(shares, users)
    # Of texts the k-th has a k-th of the first one's share; numbers lie around the middle.
    sizes = 1 / np.arange(1.0, values + 1) if stream.measure == "frequency" else _bumps(np.zeros(1), values)[0]
    base = sizes / sizes.sum() * presence
    if stream.says_none:
        base = np.append(base, 1 - presence)
    return apportioned(_walk(base, drift, periods, seed), users)


def recorded(plan: Plan, source: Source, name: str, users: int) -> Holders:
    """The truth of a source about one of its streams (the first MOST periods), among so many users."""
    stream = plan.stream(name)
    each = _promised(stream, source) if isinstance(source, Synthetic) else _shares(plan, source, name)
    found = [_binned(stream, shares) for shares in islice(each, MOST)]
    if not found:
        raise SourceError("source: found no period of which anything is true; allowed: one with events in time")
    return apportioned(np.array(found), users)


def _promised(stream: StreamPlan, source: Synthetic) -> Iterator[Floats]:
    """What a synthetic stream is made from: its users need not be made to be counted."""
    grid = stream.domain
    codes = [grid.code(0), grid.code(1)] if isinstance(grid, Grid) else [0, 1]
    for p in source.p.tolist():
        shares = np.zeros(stream.d)
        shares[codes] = 1 - p, p
        yield shares


def _shares(plan: Plan, source: Source, name: str) -> Iterator[Floats]:
    """Of each period with users, the share of every code: also of numbers, whose mean alone says too little."""
    counting = replace(plan.stream(name), measure="distribution")
    others = tuple(stream for stream in plan.streams if stream.name != name)
    truth = Truth(replace(plan, streams=(counting, *others)), source)
    for batch in source.batches():
        yield from (period.figures for period in truth.fold(batch) if period.users and period.stream == name)
    yield from (period.figures for period in truth.close(source.end_clock) if period.users and period.stream == name)


def _binned(stream: StreamPlan, shares: Floats) -> Floats:
    """On the grid by which the stream is tried."""
    if stream.measure != "mean":
        return shares
    cells = stream.domain.none
    nearest = np.rint(np.arange(cells) * ((POINTS - 1) / (cells - 1))).astype(np.int64)
    binned = np.bincount(nearest, weights=shares[:cells], minlength=POINTS)
    return np.asarray(np.append(binned, shares[cells:]), np.float64)


def _walk(base: Floats, drift: float, periods: int, seed: int) -> Floats:
    """Shares whose steps go with their size, so that none falls below 0, all of them together by `drift`."""
    steps = _normal(f"walk {seed}", (periods, len(base)))
    shares, path = base, np.empty_like(steps)
    for t, step in enumerate(steps):
        path[t] = shares
        away = shares * (step - shares @ step)
        usual = np.sqrt((shares**2 * (1 - 2 * shares + shares @ shares)).mean())
        shares = shares + (drift / usual * away if usual else 0) + BACK * (base - shares)
        shares = np.maximum(shares, 0)
        shares = shares / shares.sum()
    return path


def _way(drift: float, periods: int, seed: int) -> Floats:
    """A number that wanders around the middle: float64[periods]."""
    at, path = 0.0, np.empty(periods)
    for t, step in enumerate(_normal(f"way {seed}", (periods, 1))[:, 0].tolist()):
        path[t] = at
        at = min(max((1 - BACK) * at + drift * step, -FARTHEST), FARTHEST)
    return path


def _bumps(middles: Floats, cells: int) -> Floats:
    """Shares of cells around each of these numbers: float64[len(middles), cells]."""
    heights = np.exp(-(((np.linspace(-1, 1, cells) - middles[:, None]) / BUMP) ** 2) / 2)
    return np.asarray(heights / heights.sum(axis=1, keepdims=True))


def _normal(purpose: str, shape: tuple[int, int]) -> Floats:
    """Normal numbers of a name, by Box and Muller."""
    rows = contexts(np.arange(shape[0] * shape[1]))
    words = _KEY.words("permutation", rows, round=hashlib.sha256(purpose.encode()).digest(), k=2)
    one, other = ((words >> np.uint64(11)).astype(np.float64).T + 0.5) / (1 << 53)
    return np.asarray((np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * other)).reshape(shape))
