# SPDX-License-Identifier: Apache-2.0
"""Synthetic values of several words: sets, vectors, rows, strings, and any of them with a public number.

Contract: the same seed and sizes give the same values, and a longer stream begins like a shorter one.  Items, strings
and categories have Zipf frequencies, whose order shifts with a cycle ("tide") of TIDE periods; a part QUIET of the
users has no event in a period.  It may use NumPy's generators, since no values are real.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.arrays import PeriodSource
from murmurate.agents.replay.source import SourceError
from murmurate.agents.replay.synthetic import parse
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Bits, Categories, Domain, Grid, Items, Measured, Row, Signed
from murmurate.topics.domains.domain import FILLER
from murmurate.topics.domains.signed import ONE

Rows = NDArray[np.uint32]
MODELS: Final[Mapping[str, type[Domain]]] = {
    "sets": Items, "vectors": Signed, "rows": Row, "strings": Bits, "measured": Measured
}  # fmt: skip
"""The domain that a stream must have for each MODEL of synthetic:MODEL."""
TIDE: Final = 200
QUIET: Final = 0.1
POPULAR: Final = 1024
"""The largest number of different items, strings and values that occur."""


class MadeUp(PeriodSource):
    """The source of synthetic values, as `synthetic:sets,n=1000,periods=20` names it."""

    def __init__(self, text: str, plan: Plan, stream: str) -> None:
        model, options = parse(text)
        domain = plan.any_stream(stream).domain
        if not isinstance(domain, MODELS[model]):
            found = next((name for name, kind in MODELS.items() if isinstance(domain, kind)), "codes")
            raise SourceError(f"{text}: found a stream of {found}; allowed: a stream of {model}")
        super().__init__(plan, stream, options["n"], options["periods"])
        self._seed, self._domain = options["seed"], domain

    def values(self) -> Iterator[NDArray[Any]]:
        """The words of all users: uint32[users, words] for each period."""
        for t in range(self._periods):
            generator = np.random.default_rng([self._seed, 6, t])
            rows = made_up(self._domain, generator, self._users, t)
            rows[generator.random(self._users) < QUIET] = REFUSED
            yield rows


def made_up(domain: Domain, generator: np.random.Generator, n: int, t: int) -> Rows:
    """Values of period t, one for each of so many users: uint32[n, words]."""
    match domain:
        case Items():
            return _sets(generator, n, t, domain.d, domain.most)
        case Signed():
            items = _sets(generator, n, t, domain.d, domain.most)
            center = np.sin(2 * np.pi * (t / TIDE + items / 7))
            numbers = np.rint(np.clip(center + generator.normal(0, 0.3, items.shape), -1, 1) * ONE).astype(np.int64)
            numbers[numbers == 0] = 1
            pairs = np.stack((items, np.where(items == FILLER, 0, numbers + ONE)), axis=2)
            return pairs.reshape(n, -1).astype(np.uint32)
        case Row():
            common = generator.random(n)
            return domain.pack([_alike(generator, common, size, t) for size in domain.sizes])
        case Bits():
            texts = _texts(domain)
            rows: Rows = domain.rows(texts)[_popular(generator, n, len(texts), t)]
            return rows
        case Measured(inner, measure):
            levels = _alike(generator, generator.random(n), measure.cells, t)
            return np.column_stack((made_up(inner, generator, n, t), levels)).astype(np.uint32)
        case Categories() | Grid():
            return _popular(generator, n, domain.none, t)[:, None].astype(np.uint32)
    raise SourceError(f"made up: found {type(domain).__name__}; allowed: {', '.join(MODELS)}")


def _popular(generator: np.random.Generator, n: int | tuple[int, int], d: int, t: int) -> NDArray[np.int64]:
    """Numbers below d with Zipf frequencies; which of them are frequent changes with the tide."""
    known = min(d, POPULAR)
    weights = 1 / np.arange(1, known + 1)
    drawn = np.searchsorted(np.cumsum(weights / weights.sum()), generator.random(n), side="right")
    tide = round(known / 20 * np.sin(2 * np.pi * t / TIDE))
    return np.asarray((np.minimum(drawn, known - 1) + tide) % known * (d // known), np.int64)


def _sets(generator: np.random.Generator, n: int, t: int, d: int, most: int) -> Rows:
    """Sets of up to `most` rising items."""
    items = _popular(generator, (n, most), d, t)
    items[np.arange(most) >= generator.integers(0, most + 1, n)[:, None]] = FILLER
    items.sort(axis=1)
    items[:, 1:][items[:, 1:] == items[:, :-1]] = FILLER
    items.sort(axis=1)
    return items.astype(np.uint32)


def _alike(generator: np.random.Generator, common: NDArray[np.float64], size: int, t: int) -> NDArray[np.int64]:
    """Codes below `size` that depend on a component common to the user's attributes, and on the tide."""
    place = 0.5 * common + 0.4 * generator.random(len(common)) + 0.05 * (1 + np.sin(2 * np.pi * t / TIDE))
    return np.asarray(np.minimum((place * size).astype(np.int64), size - 1))


def _texts(domain: Bits) -> list[str]:
    """The strings that occur: all of them where they are few, else as many as are popular."""
    generator = np.random.default_rng(domain.m)
    if domain.form == "hex":
        digits = domain.m // 4
        if domain.m <= 10:
            return [f"{number:0{digits}x}" for number in range(1 << domain.m)]
        letters, length = string.hexdigits[:16], digits
    else:
        letters, length = string.ascii_lowercase, domain.m // 8
    drawn = generator.integers(0, len(letters), (POPULAR, length)).tolist()
    return sorted({"".join(letters[i] for i in row) for row in drawn})
