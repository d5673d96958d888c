# SPDX-License-Identifier: Apache-2.0
"""Values of several words as an array of them (.npy).

Contract: users are numbers, as in arrays.py.  The array is unsigned 32-bit integers [periods, users, words], or [users,
words] for one period: the words that docs/WIRE.md describes (`Domain.rows` makes them), 0xFFFFFFFF in every word for no
event.  Words that are no value of the stream are an error with their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.arrays import PeriodSource, mapped
from murmurate.agents.replay.source import SourceError
from murmurate.config.plan import Plan
from murmurate.randomizers.layouts import layout
from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Domain

_CHECKED_ROWS: Final = 1 << 18


class WideNpy(PeriodSource):
    """A .npy file of words as a source, mapped into memory and never loaded whole."""

    def __init__(self, path: Path, plan: Plan, stream: str) -> None:
        array = mapped(path)
        domain = plan.any_stream(stream).domain
        words = domain.words
        fits = isinstance(array, np.ndarray) and array.dtype.kind == "u" and array.dtype.itemsize == 4
        if not fits or array.ndim not in (2, 3) or array.shape[-1] != words or not array.size:
            found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else "several arrays"
            allowed = f"uint32 [periods, users, {words}] or [users, {words}], not empty"
            raise SourceError(f"{path.name}: found {found}; allowed: {allowed}")
        self._array = array if array.ndim == 3 else array[np.newaxis]
        super().__init__(plan, stream, self._array.shape[1], self._array.shape[0])
        self._check(path, domain)

    def _check(self, path: Path, domain: Domain) -> None:
        valid = layout(domain.layout(none=False))
        for row, period in enumerate(self._array):
            for start in range(0, self._users, _CHECKED_ROWS):
                values = np.ascontiguousarray(period[start : start + _CHECKED_ROWS], np.uint32)
                bad = valid.wrong(values) & ~(values == REFUSED).all(axis=1)
                if bad.any():
                    place = f"[{row}, {start + int(np.argmax(bad))}]"
                    allowed = (
                        f"words of {valid.spec()} for stream {self._stream.name!r}, {REFUSED} throughout: no event"
                    )
                    raise SourceError(f"{path.name}: at {place}: found words that are no value; allowed: {allowed}")

    def values(self) -> Iterator[NDArray[Any]]:
        """The rows of words of each period."""
        yield from self._array
