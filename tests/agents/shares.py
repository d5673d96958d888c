# SPDX-License-Identifier: Apache-2.0
"""A stream of each measure that tells values by views, as a file declares it, and what people say to it."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from murmurate.config.measures.registry import TABLES
from murmurate.config.measures.stream import StreamTable


@dataclass(frozen=True)
class Share:
    """One measure."""

    table: str
    """What its table declares, besides `every` and how it is asked."""
    said: Callable[[random.Random], Any]
    """What somebody says."""
    wrong: tuple[Any, ...]
    """What is no value of the stream."""
    made_up: str
    """Of which kind made-up values are, as `synthetic:` calls it."""

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return str(tomllib.loads(self.table)["measure"])

    def stream(self, **changes: Any) -> StreamTable:
        """The table, read."""
        found = {"every": "1s", **tomllib.loads(self.table), **changes}
        read = TABLES[found["measure"]].model_validate(found)
        assert isinstance(read, StreamTable)
        return read


SCREENS = ("home", "basket", "help", "search", "checkout")


def _word(rng: random.Random) -> str:
    return rng.choice(["", "a", "abc", "abd", "müde", "über", "zzzzzz", "tea"])


def _some(rng: random.Random) -> list[str]:
    return rng.sample(SCREENS, rng.choice([0, 1, 1, 2, 2, 2, 3]))


def _person(rng: random.Random) -> dict[str, Any]:
    sex = rng.choice(["f", "m"])
    return {"sex": sex, "age": rng.randrange(100), "plan": rng.choice(["free", "pro"] if sex == "f" else ["free"])}


def _rated(rng: random.Random) -> dict[str, float]:
    return {name: rng.choice([-1, -0.25, 0, 0.5, 1]) for name in _some(rng)}


SHARES: dict[str, Share] = {
    "items": Share(
        f'measure = "items"\nvalues = {list(SCREENS)}\nmost = 3\npad = 3\n', _some,
        (["cellar"], ["home", "home"], ["home", 1], "home", {"home": 1}, None, [["home"]], [None]), "sets",
    ),
    "whole-items": Share(
        f'measure = "items"\nvalues = {list(SCREENS)}\nmost = 3\nmechanism = "collision"\n', _some,
        (["cellar"], ["home", "home"], ["home", 1], "home", {"home": 1}, None, [["home"]], [None]), "sets",
    ),
    "marginals": Share(
        """measure = "marginals"
tables = [["plan", "sex"], ["age"]]
attributes = { sex = ["f", "m"], age = { whole = [0, 99], cells = 5 }, plan = { values = ["free", "pro"] } }
""", _person,
        ({"sex": "f", "age": 3}, {"sex": "f", "age": 3, "plan": "gold"}, {}, ["f", 3, "pro"], None), "rows",
    ),
    "strings": Share(
        'measure = "strings"\nbits = 48\nprefix = 8\n', _word, ("seven..", "a\0b", 7, ["a"], None), "strings"
    ),
    "vector": Share(
        f'measure = "vector"\nvalues = {list(SCREENS)}\nmost = 3\n', _rated,
        ({"home": 1.5}, {"cellar": 0.5}, {"home": "1"}, ["home"], 3, None, {"home": None}, {"home": True}), "vectors",
    ),
}  # fmt: skip
"""By the name of the measure, and what is special about it."""
