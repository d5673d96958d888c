"""What the papers measure of a series of releases: relative error, squared error, bits, and how well it tells events.

Contract: arrays are [periods, values].
  MRE   mean over periods of |r - c| / max(|c|, .001); of the second value where there are two (the papers' value 1),
        else the mean over all values.
  MSE   mean over periods and values of (r - c)^2.
    bits  per user and period (ARCHITECTURE section 5.1), from what was received. A report costs b = ceil(log2 d) bits,
    d
        where it is a bit vector.  Population: (b + 1) a report, the one being the announcement to its sender.  Budget:
        b a report, and for a method that decides min(m, w - m) / w a user, m publications in w periods: who publishes
        rarely announces that, who publishes mostly announces the rest.
  ROC   an event is a period above three quarters of the way from the stream's lowest to its highest; what is released
        tells it where it is above a threshold, which goes through all there are.
Not here: where the series come from (score.py, simulate/series.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.registry import METHODS

Floats = NDArray[np.float64]

SMALLEST: Final = 0.001
"""Frequencies below count as this one in a relative error."""
EVENT: Final = 0.75
"""Where an event begins, from a stream's lowest to its highest."""
_BIT_VECTORS = ("oue", "sue")


def mean_relative_error(said: Floats, held: Floats, *, second: bool) -> float:
    """MRE; second: of the second value alone."""
    relative = np.abs(said - held) / np.maximum(np.abs(held), SMALLEST)
    return float(relative[:, 1].mean() if second else relative.mean())


def mean_squared_error(said: Floats, held: Floats) -> float:
    """MSE."""
    return float(((said - held) ** 2).mean())


def report_bits(mechanism: Mapping[str, Any], d: int) -> int:
    """b: what one report of a mechanism costs, as the papers count. Of branches the number of the branch, and as much
    as the longest, to which every report is filled.
    """
    if parts := mechanism.get("of"):
        inner = [(told, told.get("mechanism", told)) for _, told in parts]
        return (len(parts) - 1).bit_length() + max(report_bits(told, one["d"]) for told, one in inner)
    inner = mechanism.get("mechanism", mechanism["name"])  # of what stands behind a view, by name or as a spec
    name = inner if isinstance(inner, str) else inner["name"]
    if name == "sr":
        return 1
    return d if name in _BIT_VECTORS else max(1, (d - 1).bit_length())


def bits(answers: Iterable[tuple[int, int]], users: int, *, method: str, published: float) -> float:
    """Bits per user and period. answers: b and how many reports; users: the sum over the periods; published: the share
    of the periods.
    """
    kind = METHODS[method]
    announced = 1 if kind.division == "population" else 0
    each = sum((size + announced) * reports for size, reports in answers) / users
    decides = kind.division == "budget" and not kind.fixed
    return each + min(published, 1 - published) if decides else each


def events(path: Floats) -> NDArray[np.bool_]:
    """Which periods of a path, float64[periods], are events."""
    low, high = float(path.min()), float(path.max())
    return np.asarray(path > low + EVENT * (high - low))


def roc(said: Floats, event: NDArray[np.bool_], at: Floats) -> Floats:
    """The share of the events that is told where this share of the other periods is told too, for each of `at`: the
    best threshold that allows no more; straight lines between thresholds.
    """
    alarms, told = _rates(said, event)
    return np.interp(at, alarms, told)


def area(said: Floats, event: NDArray[np.bool_]) -> float:
    """The area under that curve: how likely an event is released higher than another period, ties half."""
    alarms, told = _rates(said, event)
    return float(np.trapezoid(told, alarms))


def _rates(said: Floats, event: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False and true alarms from the highest threshold to the lowest; a threshold lets all equal values through."""
    order = np.argsort(-said, kind="stable")
    last = np.flatnonzero(np.append(np.diff(said[order]) != 0, True))
    told = np.cumsum(event[order])[last]
    alarms = last + 1 - told
    positive, negative = max(1, int(event.sum())), max(1, int((~event).sum()))
    return np.concatenate(([0.0], alarms / negative)), np.concatenate(([0.0], told / positive))
