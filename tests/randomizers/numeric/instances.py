# SPDX-License-Identifier: Apache-2.0
"""The numeric mechanisms under test, users, and what a report is worth, as arrays."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from murmurate.randomizers import Draw, Key, Mechanism
from murmurate.randomizers.mechanism import Reports
from murmurate.randomizers.numeric import (
    HM,
    PM,
    SR,
    SW,
    MeanMechanism,
    ValueAndPresence,
    WaveAndPresence,
    WaveHistogram,
)
from murmurate.randomizers.randomness import contexts

KEY = Key(hashlib.sha256(b"numeric").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
MEANS: list[type[MeanMechanism]] = [SR, PM, HM]
WAVES: list[type[WaveHistogram]] = [SW, WaveAndPresence]
KINDS: list[type[Mechanism]] = [*MEANS, ValueAndPresence, *WAVES]
GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "numeric_golden.json").read_text(encoding="ascii")
)


def draw(n: int, part: int = 0) -> Draw:
    return KEY.draw(contexts(np.arange(n), part), round=ROUND)


def worths(made: Mechanism, reports: Reports) -> np.ndarray:
    """What each report by itself says is each statistic: float64[n, statistics]."""
    listed = np.frombuffer(b"".join(made.law(0)), np.uint8).reshape(-1, made.wire_size)
    table = {int.from_bytes(report.tobytes(), "little"): report for report in listed}
    lookup = np.zeros((max(table) + 1, made.statistics))
    for number, report in table.items():
        lookup[number] = made.estimate(made.support(report[None]), 1)
    wide = np.zeros((len(reports), 8), np.uint8)
    wide[:, : made.wire_size] = reports
    return np.asarray(lookup[wide.view("<u8")[:, 0].astype(np.int64)])


def moments(made: Mechanism, value: int, statistic: int = 0) -> tuple[Fraction, Fraction]:
    """The exact mean and variance of one report's worth."""
    mean = square = Fraction(0)
    for report, chance in made.law(value).items():
        worth = made.worth(report)  # type: ignore[attr-defined]
        worth = worth[statistic] if isinstance(worth, tuple) else worth
        mean += chance * worth
        square += chance * worth**2
    return mean, square - mean**2
