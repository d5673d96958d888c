# SPDX-License-Identifier: Apache-2.0
"""The synthetic binary streams of LDP-IDS: LNS, Sin and Log (SIGMOD'22, section 7.1.1; ARCHITECTURE section 5.7).

Contract: in period t exactly round(p_t n) users, drawn anew without replacement, hold 1 and the others 0, as in the
paper; the same seed gives the same stream.  With t from 1:  LNS  p_0 = .05, p_t = min(1, |p_{t-1} + N(0, .0025^2)|)
(the paper is silent about the ends; without reflection it goes negative);  Sin  .05 sin(.01 t) + .075;  Log  .25 / (1 +
e^(-.01 t)). It may use NumPy's generators, since no values are real.  Not here: other synthetic streams
(simulate/synthetic_counts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.arrays import PeriodSource
from murmurate.agents.replay.source import SourceError
from murmurate.config.plan import Plan
from murmurate.errors import UsageError

Model = Literal["lns", "sin", "log"]
BINARY: Final[tuple[Model, ...]] = ("lns", "sin", "log")
WIDE: Final = ("sets", "vectors", "rows", "strings", "measured")
"""The synthetic values of several words, which synthetic_rows.py makes."""
DEFAULTS: Final[Mapping[str, int]] = {"n": 200_000, "periods": 800, "seed": 1}
"""The paper's setting."""
MOST: Final = 100_000_000
SPREAD: Final = 0.0025
"""The standard deviation of a step of LNS: the paper's root of Q."""
PACE: Final = 0.01
"""The pace at which Sin turns: the paper's b."""


def probabilities(
    model: Model, periods: int, seed: int, *, spread: float = SPREAD, pace: float = PACE
) -> NDArray[np.float64]:
    """The probabilities p_1 to p_T: float64[periods]. Only LNS is random."""
    t = np.arange(1, periods + 1, dtype=np.float64)
    path: NDArray[np.float64]
    if model == "sin":
        path = 0.05 * np.sin(pace * t) + 0.075
        return path
    if model == "log":
        path = 0.25 / (1 + np.exp(-0.01 * t))
        return path
    path, p = np.empty(periods), 0.05
    for i, step in enumerate(_generator(seed, 0).normal(0, spread, periods).tolist()):
        path[i] = p = min(1.0, abs(p + step))
    return path


class Synthetic(PeriodSource):
    """One of the synthetic streams as a source; value 1 is the plan's second category, or the number 1.

    >>> parse("synthetic:sin,n=1000,periods=20")
    ('sin', {'n': 1000, 'periods': 20, 'seed': 1})
    """

    def __init__(self, text: str, plan: Plan, stream: str) -> None:
        model, options = parse(text)
        self.model: Model = next(name for name in BINARY if name == model)
        domain = plan.any_stream(stream).domain
        if domain.none < 2:
            raise SourceError(f"{text}: stream {stream!r} has {domain.none} value; allowed: at least two, for 0 and 1")
        super().__init__(plan, stream, options["n"], options["periods"])
        self.seed = options["seed"]
        self._zero, self._one = plan.any_stream(stream).measure.ends()
        self.p = probabilities(self.model, self._periods, self.seed)

    def values(self) -> Iterator[NDArray[Any]]:
        """The values of all users: uint32[n] for each period."""
        generator, n = _generator(self.seed, 1), self._users
        for p in self.p.tolist():
            codes = np.full(n, self._zero, np.uint32)
            codes[generator.choice(n, round(p * n), replace=False, shuffle=False)] = self._one
            yield codes


def parse(text: str) -> tuple[str, dict[str, int]]:
    """The model and its parameters in `synthetic:MODEL,n=...,periods=...,seed=...`, in any order, completed by
    DEFAULTS.
    """
    model, *options = text.removeprefix("synthetic:").split(",")
    allowed = f"synthetic:{'|'.join((*BINARY, *WIDE))}, then any of n=200000,periods=800,seed=1"
    if model not in (*BINARY, *WIDE):
        raise UsageError(f"source: found {text!r}; allowed: {allowed}")
    found = dict(DEFAULTS)
    for option in options:
        key, _, number = option.partition("=")
        if key not in DEFAULTS or not (number.isascii() and number.isdigit()) or int(number) > MOST:
            raise UsageError(f"source: {option!r}: found in {text!r}; allowed: {allowed}")
        found[key] = int(number)
    if not found["n"] or not found["periods"]:
        raise UsageError(f"source: found {text!r}; allowed: n and periods of at least 1")
    return model, found


def _generator(seed: int, part: int) -> np.random.Generator:
    """A random generator for either the path or the users, so that a longer stream begins like a shorter one."""
    return np.random.default_rng([seed, part])
