# SPDX-License-Identifier: Apache-2.0
"""Streams whose values take several words, one of each kind, in a small deployment: what they measure, who says what.

The kinds that no statistic of the product takes yet are told by a view of the tests' own, a number from all words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.cli.main import main
from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.measure import AUTO, Measure, stands
from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.config.measures.registry import TABLES, register
from murmurate.config.measures.stream import StreamTable
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.streams import OneOf
from murmurate.randomizers import GRR, Question, Viewed
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.padding import Padded
from murmurate.randomizers.question import Value, Values
from murmurate.randomizers.randomness import Draw
from murmurate.randomizers.registry import VIEWS
from murmurate.randomizers.row_views import Marginal
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.views import Prefix, View
from murmurate.topics.domains import Bits, Categories, Domain, Grid, Items, Measured, Row, Signed
from murmurate.topics.events import Fields
from tests.agents.world import FIRST, SECOND, TOPIC, Event, deployment

ITEMS = ("home", "basket", "help", "search")
PLAN = Categories(("free", "pro", "team"))
DOMAINS: dict[str, Domain] = {
    "sets": Items(ITEMS, 3),
    "vectors": Signed(ITEMS, 2),
    "rows": Row(
        (
            ("plan", PLAN),
            ("age", Grid(0, 100, 4, "stretches")),
            ("visits", Grid(0, 1, 1 << 22, "stretches")),
            ("spent", Grid(0, 9, 1 << 10, "points")),
        )
    ),
    "strings": Bits(48),
    "short strings": Bits(8, "hex"),
    "measured": Measured(Items(ITEMS, 2), Grid(0, 10, 4, "points")),
    "measured codes": Measured(PLAN, Grid(0, 10, 4, "points")),
}


class Mixed(View):
    """A number below 6 from all the words of a value; none is one of its own."""

    name = "mixed"

    def __init__(self, layout: Any) -> None:
        self.of, self.d = layout_of(layout), 6

    def parameters(self) -> dict[str, Any]:
        return {}

    def codes(self, values: Values, draw: Draw) -> NDArray[np.int64]:
        return np.asarray((self.of.rows(values).astype(np.int64) % 6 * self._weights).sum(axis=1) % 6)

    def code(self, value: Value) -> int:
        words = value if isinstance(value, tuple) else (value,)
        return int(sum(word % 6 * weight for word, weight in zip(words, self._weights.tolist(), strict=True)) % 6)

    @property
    def _weights(self) -> NDArray[np.int64]:
        return np.arange(1, self.of.words + 1) % 5 + 1

    @property
    def extremes(self) -> tuple[Value, Value]:
        values = list(layout(("items", 4, 2, 0)).enumerate())  # not asked for
        return values[0], values[1]


layout_of = layout
VIEWS.setdefault(Mixed.name, Mixed)


def view(domain: Domain, none: bool) -> View:
    """What a round looks at."""
    of = domain.layout(none)
    match domain:
        case Items() if domain.d < 100:
            return Padded(of, 2)
        case Row():
            return Marginal(of, [0, 1])
        case Bits():
            return Prefix(of, 3)
    return Mixed(of)


@dataclass(frozen=True)
class Told(Measure):
    """Shares of what a view tells."""

    name = "told"

    @property
    def view(self) -> View:
        return view(self.domain, self.says_none)

    @property
    def d(self) -> int:
        return self.choose(1.0).statistics

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"c{code}" for code in range(self.d))

    @property
    def serving(self) -> tuple[str, ...]:
        return ()

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        return Viewed(self.view, GRR(d=self.view.d, epsilon=epsilon))

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        said = stands(decision)
        return self._named(decision, said.statistics, np.sqrt(said.variance))

    def truth(self, counts: NDArray[Any]) -> Floats:
        looks = self.view
        if not len(counts):
            return np.full(self.d, np.nan)
        if isinstance(looks, Padded):  # the share of those who hold each item
            return np.array([(counts == item).any(axis=1).mean() for item in range(self.d)])
        values = counts[:, 0] if counts.shape[1] == 1 else list(map(tuple, counts.tolist()))
        told = [looks.code(value if isinstance(value, tuple) else int(value)) for value in values]
        return np.bincount(told, minlength=self.d) / len(told)

    def example(self, mark: int, *, peak: bool) -> str:
        return ""


class ToldStream(StreamTable):
    """Its table."""

    measured = Told
    measure: Literal["told"]
    kind: Annotated[str, OneOf(*DOMAINS)]
    mechanism: Annotated[str, OneOf(AUTO)] = AUTO

    def statistic(self) -> Told:
        """Of a stream of this kind."""
        return Told(DOMAINS[self.kind], self.says_none)

    def meaning(self) -> dict[str, Any]:
        """Its kind."""
        return {"kind": self.kind}

    @property
    def initial_code(self) -> None:
        """The domain's own."""
        return


@contextmanager
def registered() -> Iterator[None]:
    """With the measure known."""
    name = register(ToldStream).measured.name
    try:
        yield
    finally:
        del TABLES[name], KINDS[name]


def stream(kind: str, **changes: Any) -> StreamPlan:
    """A stream of this kind."""
    carry = changes.pop("carry_ms", 0)
    plan = StreamPlan(
        name="it", measure=Told(DOMAINS[kind], carry is not None), every_ms=SECOND, w=2, share_micro=1_000_000,
        slots=64, method=MethodOptions("lpu", filter="off"), mechanism="auto", several="last", carry_ms=carry,
        topic=TOPIC, fields=Fields(), config="0123456789abcdef",
    )  # fmt: skip
    return replace(plan, **changes)


def plan(kind: str, **changes: Any) -> Plan:
    """A deployment with this stream alone."""
    return deployment(stream(kind, **changes), min_batch=2)


def said(kind: str, rng: random.Random) -> Any:
    """What somebody may say."""
    some = rng.sample(ITEMS, rng.randrange(4))
    says: dict[str, Callable[[], Any]] = {
        "sets": lambda: some,
        "vectors": lambda: {item: rng.choice([-1, -0.25, 0, 0.5, 1]) for item in some[:2]},
        "rows": lambda: {
            "plan": rng.choice(PLAN.values),
            "age": rng.randrange(120),
            "visits": rng.random(),
            "spent": rng.random(),
        },
        "strings": lambda: rng.choice(["", "a", "abc", "müde", "zzzzzz"]),
        "short strings": lambda: f"{rng.randrange(256):02x}",
        "measured": lambda: {"value": some[:2], "measure": rng.randrange(12)},
        "measured codes": lambda: {"value": rng.choice(PLAN.values), "measure": rng.random() * 10},
    }
    return says[kind]()


WRONG: dict[str, list[Any]] = {
    "sets": [["cellar"], ["home", "home"], ["home", 1], "home", {"home": 1}, None, [["home"]], [None]],
    "vectors": [{"home": 1.5}, {"cellar": 0.5}, {"home": "1"}, ["home"], 3, {"home": None}, {"home": True}],
    "rows": [
        {"plan": "pro", "age": 3, "visits": 0.5}, {"plan": "pro", "age": 3, "visits": 0.5, "spent": 1, "x": 1}, {},
        None, {"plan": "gold", "age": 3, "visits": 0.5, "spent": 1},
        {"plan": "pro", "age": "3", "visits": 0.5, "spent": 1},
        ["pro", 3, 0.5, 1],
    ],
    "strings": ["seven..", "a\0b", 7, ["a"], None, "üüüü"],
    "short strings": ["0", "000", "0g", 12, "", None],
    "measured": [
        {"value": ["home"]}, {"value": ["home"], "measure": "3"}, {"value": ["cellar"], "measure": 3}, ["home"],
        {"value": ["home"], "measure": 3, "unit": "EUR"}, {"measure": 3},
    ],
    "measured codes": [{"value": "gold", "measure": 1}, "pro", {"value": "pro"}, {"value": "pro", "measure": None}],
}  # fmt: skip


def crowd(kind: str, *, users: int, periods: int, seed: int, value: Callable[[int], Any] | None = None) -> list[Event]:
    """Events in order of arrival; some come twice, some at the same time with another value."""
    rng = random.Random(seed)
    events = []
    for user in range(users):
        for t in range(periods + 1):
            if t and rng.random() < 0.25:
                continue
            time = (FIRST - 1 + t) * SECOND + rng.randrange(SECOND)
            for _ in range(1 + (rng.random() < 0.3)):
                says = said(kind, rng) if value is None else value(user)
                events.append(Event("it", f"user-{user}", time, says, user % 2, time + rng.randrange(300)))
    return sorted(events, key=lambda event: (event.arrives, event.user))


def command() -> None:
    """The command line, with the measure of these streams."""
    register(ToldStream)
    main()
