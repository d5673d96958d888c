# SPDX-License-Identifier: Apache-2.0
"""The figures of LDP-IDS as runs: which curves there are, over what, and which run is behind each point.

Contract: a figure is a function of streams, users and periods alone; figures that show the same run name the same case,
so that it is made once.  The text names the defaults and epsilon .5 to 2.5, w 10 to 50, beta .1 to .9; how n, the root
of Q and b were varied it does not say, and these steps are ours.  Figure 10 has made-up numbers instead of Taobao's
prices, figure 9 nothing else and is left out.  Our own line, LPU with the adaptive filter, is in figures 3 to 5 and 11.
Source: LDP-IDS section 7.2.  Not here: making the runs (runs.py), drawing (pictures.py), what should come out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from murmurate.agents.cli.reproductions.published import (
    EPSILONS,
    EXPECTED_BY_EPSILON,
    EXPECTED_BY_WINDOW,
    EXPECTED_OTHERS,
    METHODS,
    OTHERS,
    STREAMS,
    WINDOWS,
)
from murmurate.agents.cli.reproductions.runs import FILTERED, Case, What
from murmurate.agents.simulate.synthetic_counts import PERIODS, USERS
from murmurate.errors import UsageError

FIGURES: Final = (3, 4, 5, 6, 7, 8, 10, 11)
TITLES: Final = {
    3: "relative error by epsilon, w = 20",
    4: "relative error by w, epsilon 1",
    5: "events told, epsilon 1, w = 50: area under ROC",
    6: "relative error by users, fluctuation, epsilon 1, w = 20",
    7: "bits per user and period, LNS, epsilon 1, w = 20",
    8: "relative error by the share of first rounds, epsilon 1, w = 20",
    10: "relative error of means, epsilon 1, w = 20",
    11: "relative error of all stream methods, epsilon 1, w = 30",
}
OURS: Final = "lpu" + FILTERED
MANY_USERS: Final = (50_000, 100_000, 200_000, 400_000, 800_000)
SPREADS: Final = (0.001, 0.002, 0.004, 0.008, 0.016)
PACES: Final = (0.005, 0.01, 0.02, 0.04, 0.08)
SHARES: Final = tuple(f"0.{tenth}" for tenth in range(1, 10))
Expected = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Panel:
    """Curves over one thing that varies."""

    title: str
    over: str
    """The name of what varies."""
    steps: tuple[str, ...]
    """The values that it takes, as they are printed."""
    curves: Mapping[str, tuple[Case, ...]]
    """The curves by name, each with a case for each step."""
    expected: Expected = field(default_factory=dict)
    """What should come out, where that is known."""


@dataclass(frozen=True)
class Figure:
    """One figure of the paper."""

    number: int
    what: What
    panels: tuple[Panel, ...]

    @property
    def title(self) -> str:
        """What it shows."""
        return TITLES[self.number]

    def cases(self) -> Iterable[Case]:
        """All runs it needs."""
        for panel in self.panels:
            for curve in panel.curves.values():
                yield from curve


def chosen(text: str) -> tuple[int, ...]:
    """The figures that a text names: numbers and ranges, in any order.

    >>> chosen("3-5,11"), chosen("8-11")
    ((3, 4, 5, 11), (8, 10, 11))
    """
    found: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", part.strip())
        if ends is None:
            raise UsageError(f"--figures: found {text[:40]!r}; allowed: numbers and ranges, such as 3-8,10,11")
        low, high = int(ends[1]), int(ends[2] or ends[1])
        found.update(number for number in FIGURES if low <= number <= high)
    if not found:
        raise UsageError(f"--figures: found {text[:40]!r}; allowed: some of {', '.join(map(str, FIGURES))}")
    return tuple(sorted(found))


def figure(number: int, plain: Case, recordings: Sequence[str] = ()) -> Figure:
    """A figure, at the sizes of `plain`, over the made-up streams and recordings."""
    streams = (*STREAMS, *recordings)
    many = (*METHODS, OURS)
    base = [replace(plain, stream=stream) for stream in streams]
    lns, sin, log = base[:3]
    known = (plain.users, plain.periods) == (USERS, PERIODS)

    if number == 3:
        over = _over("epsilon", EPSILONS, many, EXPECTED_BY_EPSILON if known else {})
        return Figure(3, "mre", tuple(over(case) for case in base))
    if number == 4:
        over = _over("w", WINDOWS, many, EXPECTED_BY_WINDOW if known else {})
        return Figure(4, "mre", tuple(over(case) for case in base))
    if number == 5:
        over = _over("w", (WINDOWS[-1],), ("lba", "lsp", "lpu", "lpd", "lpa", OURS))
        return Figure(5, "area", tuple(over(case) for case in base))
    if number == 6:
        by_users = _over("users", MANY_USERS, METHODS)
        fluctuation = _over("spread", SPREADS, METHODS)(lns), _over("pace", PACES, METHODS)(sin)
        return Figure(6, "mre", (by_users(lns), by_users(sin), *fluctuation))
    if number == 7:
        ways: tuple[tuple[str, Sequence[Any]], ...] = (
            ("users", MANY_USERS), ("spread", SPREADS), ("epsilon", EPSILONS), ("w", WINDOWS),
        )  # fmt: skip
        return Figure(7, "bits", tuple(_over(name, steps, METHODS)(lns) for name, steps in ways))
    if number == 8:
        over = _over("first_share", SHARES, ("lbd", "lba", "lpd", "lpa"))
        return Figure(8, "mre", tuple(over(case) for case in base))
    if number == 10:
        lns, sin, log = (replace(case, numbers=True) for case in base[:3])
        panels = (
            _over("spread", SPREADS, METHODS)(lns), _over("pace", PACES, METHODS)(sin),
            _over("epsilon", EPSILONS, METHODS)(log), _over("w", WINDOWS, METHODS)(log),
        )  # fmt: skip
        return Figure(10, "mre", panels)
    return Figure(11, "mre", tuple(_compared(replace(case, w=30), known=known) for case in base))


WORDS: Final = {
    "epsilon": "epsilon", "w": "w", "users": "users", "spread": "root of Q", "pace": "b", "first_share": "beta",
}  # fmt: skip


def _over(
    name: str, steps: Sequence[Any], methods: Sequence[str], expected: Mapping[str, Expected] = MappingProxyType({})
) -> Callable[[Case], Panel]:
    """Panels of these methods over this field of a case."""
    shown = tuple(_written(name, step) for step in steps)

    def panel(case: Case) -> Panel:
        curves = {method: tuple(replace(case, method=method, **{name: step}) for step in steps) for method in methods}
        return Panel(_title(case), WORDS[name], shown, curves, expected.get(case.stream, {}))

    return panel


def _written(name: str, step: float | str) -> str:
    if name == "users":
        return f"{int(step) // 1000}k"
    return (step if isinstance(step, str) else f"{step:g}").removeprefix("0")


def _compared(case: Case, *, known: bool) -> Panel:
    """Every method by budget and by population, and ours, which has no steps."""
    kinds = (*OTHERS, "a")
    curves = {
        side: tuple(replace(case, method=f"{side}{kind}" if kind == "a" else f"{side}-{kind}") for kind in kinds)
        for side in ("lb", "lp")
    }
    curves[OURS] = (replace(case, method=OURS),) * len(kinds)
    others = EXPECTED_OTHERS.get(case.stream, {}) if known else {}
    expected = {side: [others[kind][i] for kind in OTHERS] for i, side in enumerate(("lb", "lp")) if others}
    return Panel(_title(case), "method", ("dsat", "rescuedp", "fast", "pegasus", "lba, lpa"), curves, expected)


def _title(case: Case) -> str:
    named = {"lns": "LNS", "sin": "Sin", "log": "Log"}.get(case.stream, case.stream)
    return f"{named}-Con" if case.numbers else named
