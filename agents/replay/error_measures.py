# SPDX-License-Identifier: Apache-2.0
"""The papers' measures of a series of releases: relative error, squared error, bits, and the detection of events.

Contract: arrays are [periods, values].
  MRE   mean over periods of |r - c| / max(|c|, .001); of the second value where there are two (the papers' value 1),
        else the mean over all values.  Of sums it is a thousandth of the largest one, in the place of .001.
  MSE   mean over periods and values of (r - c)^2.
    bits  per user and period (ARCHITECTURE section 5.1), from what was received. A report costs b = ceil(log2 d) bits,
    d
        where it is a bit vector.  Population: (b + 1) a report, the one being the announcement to its sender.  Budget:
        b a report, and for a method that decides min(m, w - m) / w a user, m publications in w periods: who publishes
        rarely announces that, who publishes mostly announces the rest.
  ROC   an event is a period above three quarters of the way from the stream's lowest to its highest; a release
        detects it if it is above a threshold, which runs through all values.
Not here: where the series come from (score.py, simulate/series.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.registry import kind_of

Floats = NDArray[np.float64]

SMALLEST: Final = 0.001
"""The smallest frequency by which a relative error divides."""
EVENT: Final = 0.75
"""The position of the threshold above which a period is an event, from a stream's lowest to its highest value."""
_BIT_VECTORS = ("oue", "sue")


def mean_relative_error(released: Floats, held: Floats, *, second: bool, smallest: float = SMALLEST) -> float:
    """The mean relative error. second: of the second value alone; smallest: what smaller figures count as."""
    relative = np.abs(released - held) / np.maximum(np.abs(held), smallest)
    return float(relative[:, 1].mean() if second else relative.mean())


def mean_squared_error(released: Floats, held: Floats) -> float:
    """The mean squared error."""
    return float(((released - held) ** 2).mean())


def report_bits(mechanism: Mapping[str, Any], d: int) -> int:
    """The bits b of one report of a mechanism, as the papers count them. For branches those of the branch's number and
    of the longest report, to which all are filled.
    """
    if parts := mechanism.get("of"):
        inner = [(part, part.get("mechanism", part)) for _, part in parts]
        return (len(parts) - 1).bit_length() + max(report_bits(part, one["d"]) for part, one in inner)
    inner = mechanism.get("mechanism", mechanism["name"])  # of what stands behind a view, by name or as a spec
    name = inner if isinstance(inner, str) else inner["name"]
    if name == "sr":
        return 1
    if name == "aue":
        return 2 * d
    return d if name in _BIT_VECTORS else max(1, (d - 1).bit_length())


def bits(answers: Iterable[tuple[int, int]], users: int, *, method: str, published: float) -> float:
    """The bits per user and period. answers: b and the number of reports; users: the sum over the periods; published:
    the share of the periods.
    """
    kind = kind_of(method)
    announced = 1 if kind.division == "population" else 0
    each = sum((size + announced) * reports for size, reports in answers) / users
    decides = kind.division == "budget" and not kind.fixed
    return each + min(published, 1 - published) if decides else each


def events(path: Floats) -> NDArray[np.bool_]:
    """The periods of a path, float64[periods], that are events."""
    low, high = float(path.min()), float(path.max())
    return np.asarray(path > low + EVENT * (high - low))


def roc(released: Floats, event: NDArray[np.bool_], at: Floats) -> Floats:
    """For each false-alarm rate in `at` the share of events detected at the best threshold that allows no more, with
    straight lines between thresholds.
    """
    alarms, detected = _rates(released, event)
    return np.interp(at, alarms, detected)


def area(released: Floats, event: NDArray[np.bool_]) -> float:
    """The area under that curve: the probability that an event is released higher than another period, ties counted
    half.
    """
    alarms, detected = _rates(released, event)
    return float(np.trapezoid(detected, alarms))


def _rates(released: Floats, event: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The rates of false and true alarms from the highest threshold to the lowest; equal values share a threshold."""
    order = np.argsort(-released, kind="stable")
    last = np.flatnonzero(np.append(np.diff(released[order]) != 0, True))
    detected = np.cumsum(event[order])[last]
    alarms = last + 1 - detected
    positive, negative = max(1, int(event.sum())), max(1, int((~event).sum()))
    return np.concatenate(([0.0], alarms / negative)), np.concatenate(([0.0], detected / positive))
