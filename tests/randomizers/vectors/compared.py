# SPDX-License-Identifier: Apache-2.0
"""The mechanisms that sparse vectors are compared with, to be checked all alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from murmurate.randomizers.vectors import (
    DDRM,
    EFMRTT,
    KVUE,
    PCKVAGRR,
    PCKVGRR,
    PCKVUE,
    FutureRand,
    PrivKV,
    SparseOracle,
)

Make = Callable[[Any, Any], SparseOracle]


def tuned(layout: Any, epsilon: Any) -> PrivKV:
    """PrivKV with the whole epsilon."""
    return PrivKV(layout, epsilon, tuned=1)


def two_told(layout: Any, epsilon: Any) -> DDRM:
    """DDRM with two entries that are told, where there are two."""
    return DDRM(layout, epsilon, min(2, layout[2]))


COMPARED: dict[str, Make] = {
    "kvue": KVUE,
    "privkv": PrivKV,
    "privkv, tuned": tuned,
    "pckv_ue": PCKVUE,
    "pckv_grr": PCKVGRR,
    "pckv_agrr": PCKVAGRR,
    "efmrtt": EFMRTT,
    "ddrm": DDRM,
    "ddrm, k = 2": two_told,
    "future_rand": FutureRand,
    "future_rand, printed": FutureRand.printed,
}
"""Those whose reports support signs, by what they are called here."""


def small(*shapes: tuple[int, int]) -> Iterator[tuple[str, int, int, int]]:
    """Layouts with so many items and entries, signed and of sets, with and without *none*."""
    for d, most in shapes:
        for kind in ("signed", "items"):
            yield kind, d, most, (d + most + (kind == "items")) % 2
