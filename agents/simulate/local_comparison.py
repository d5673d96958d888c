# SPDX-License-Identifier: Apache-2.0
"""The errors of ToPL: thresholds found from Square Wave reports, sums from HM reports of numbers clipped there.

Contract: a function of its arguments: the same seed gives the same errors.  All reports are the product's own, keyed;
stretches and bootstrap are NumPy's, with the seed, and are those of central_comparison.py.  Every event reports once:
those that are held out say where they lie (1,024 cells from 0 to the top), those after them their clipped number.
  SW     EMS's distribution as it is, and the threshold that costs least by it
  SW-W   plain EM, whose tail is cut off where five cells in a row are faint
  Base   zeros
Source: ToPL, sections 4.1 and 5.5; ARCHITECTURE erratum E11.  Not here: the streams (value_streams.py), thresholds of
means in the product (aggregators/clipping.py).
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.central_comparison import BASE, key_of, squared_error, stretches
from murmurate.agents.simulate.value_streams import HELD_OUT, Numbers, ValueStream
from murmurate.aggregators.central.range_error import best_threshold
from murmurate.aggregators.distribution import em, pruned
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.randomizers import HM, SW
from murmurate.randomizers.randomness import contexts

Floats = NDArray[np.float64]

CELLS: Final = 1024
FOUND: Final = ("SW", "SW-W")
SUM_EPSILON: Final = 1
"""The epsilon of the reports that are summed."""


def local_thresholds(stream: ValueStream, epsilon: float, seed: int) -> dict[str, tuple[float, float]]:
    """The threshold that each method finds, and the squared error to which it leads; Base's is 0."""
    held_out = stream.values[:HELD_OUT]
    drawn = np.random.default_rng([seed, 10]).integers(0, len(held_out), len(stream.values) - len(held_out))
    values = held_out[drawn]
    ends = stretches(len(values), seed)
    out = {BASE: (0.0, squared_error(None, values, ends))}
    for name, theta in zip(FOUND, found_by_waves(stream, epsilon, seed, len(values)), strict=True):
        out[name] = float(theta), squared_error(hybrid_numbers(values, theta, seed), values, ends)
    return out


def found_by_waves(stream: ValueStream, epsilon: float, seed: int, longest: int) -> tuple[int, int]:
    """The thresholds that SW and SW-W find from the same reports, as whole numbers."""
    wave = SW(d=CELLS, epsilon=epsilon)
    held_out = stream.values[:HELD_OUT]
    cells = np.minimum(held_out * CELLS // stream.top, CELLS - 1)
    counts = wave.support(wave.perturb(cells, key_of(seed).draw(_events(len(cells)), round=_digest("threshold"))))
    channel = channel_of(wave)
    mechanism = HM(epsilon=SUM_EPSILON)
    variance = float(mechanism.floor) + max(0.0, float(mechanism.slope))
    smooth, sharp = em(channel, counts, smooth=True).frequencies, pruned(em(channel, counts).frequencies)
    one, other = (
        max(1, round(best_threshold(found, stream.top, longest=longest, variance=variance)))
        for found in (smooth, sharp)
    )
    return one, other


def hybrid_numbers(values: Numbers, theta: int, seed: int) -> Floats:
    """What HM's reports of these numbers, clipped at a threshold, say that they are: unbiased, one by one."""
    hybrid = HM(d=theta + 1, epsilon=SUM_EPSILON)
    clipped = np.minimum(values, theta)
    reports = hybrid.perturb(clipped, key_of(seed).draw(_events(len(values)), round=_digest("sum")))
    known, which = _different(reports)
    worth = np.array([float(hybrid.worth(report.tobytes())) for report in known])
    return np.asarray((worth[which] + 1) * (theta / 2))


def _different(reports: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Reports of at most 8 bytes that differ, and which of them each is."""
    numbers = np.zeros((len(reports), 8), np.uint8)
    numbers[:, : reports.shape[1]] = reports
    known, which = np.unique(numbers.view("<u8")[:, 0], return_inverse=True)
    return known.view(np.uint8).reshape(-1, 8)[:, : reports.shape[1]], which


def _events(n: int) -> NDArray[np.uint8]:
    """Each event as a user of its own: uint8[n, 16]."""
    return contexts(np.arange(n))


def _digest(what: str) -> bytes:
    return hashlib.sha256(what.encode()).digest()
