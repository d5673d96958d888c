# SPDX-License-Identifier: Apache-2.0
"""Truths on which methods are simulated: synthetic ones with a drift and a presence, or those of a recording.

Contract: counts of users by the codes of the measure on which methods are tried (`Measure.tried`), or by the different
values there are where these are rows of words (different.py), int64[periods, d], the same number of users in every
period; the same question, the same truth.  Drift is the root mean square of what a statistic moves in a period: of a
share, or of a mean as a part of its range.  Not here: how a truth wanders (aggregators/measures), the papers' streams
(replay/synthetic.py, synthetic_counts.py), reports (simulated_answers.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import Source, SourceError
from murmurate.agents.replay.synthetic import Synthetic
from murmurate.agents.replay.truth import Figures, Truth
from murmurate.agents.simulate.different import Different
from murmurate.agents.simulate.synthetic_counts import Holders, apportioned
from murmurate.config.plan import Plan, StreamPlan

Floats = NDArray[np.float64]

MOST = 1_000
"""The largest number of periods of a recording that is used."""


def made_up(stream: StreamPlan, users: int, *, drift: float, presence: float, periods: int, seed: int) -> Holders:
    """A synthetic truth that wanders; each seed gives another path."""
    shares = stream.measure.tried().made_up(drift=drift, presence=presence, periods=periods, seed=seed)
    return apportioned(shares, users)


@dataclass(frozen=True, eq=False)
class Recorded:
    """The truth of a recorded source."""

    holders: Holders
    """The number of users who hold each code, or each of `values`: int64[periods, d]."""
    values: NDArray[np.uint32] | None = None
    """The distinct values, where values are rows of words, with *none* last if users may report it."""


def recorded(plan: Plan, source: Source, name: str, users: int) -> Recorded:
    """The truth of one stream of a source (the first MOST periods), scaled to so many users."""
    stream, different = plan.stream(name), None
    if isinstance(source, Synthetic):
        each = _synthetic_shares(stream, source)
    elif stream.domain.coded:
        each = _shares(plan, source, name, stream.measure.every_code().truth)
    else:
        different = Different(stream)
        each = _shares(plan, source, name, different.shares)
    found = list(islice(each, MOST))
    if not found:
        raise SourceError("source: found no period of which anything is true; allowed: one with events in time")
    if different is None:
        return Recorded(apportioned(np.array([stream.measure.binned(shares) for shares in found]), users))
    shares, values = different.all(found)
    return Recorded(apportioned(shares, users), values)


def _synthetic_shares(stream: StreamPlan, source: Synthetic) -> Iterator[Floats]:
    """The shares from which a synthetic stream is made, which need no users to be counted."""
    codes = list(stream.measure.ends())
    for p in source.p.tolist():
        shares = np.zeros(stream.d)
        shares[codes] = 1 - p, p
        yield shares


def _shares(plan: Plan, source: Source, name: str, of: Figures) -> Iterator[Floats]:
    """The share of every code or value in each period with users. Numbers need this, too, since their mean alone does
    not determine errors.
    """
    truth = Truth(plan, source, {name: of})
    for batch in source.batches():
        yield from (period.figures for period in truth.fold(batch) if period.users and period.stream == name)
    yield from (period.figures for period in truth.close(source.end_clock) if period.users and period.stream == name)
