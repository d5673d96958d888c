"""A stream of each measure that tells values by views, as a file declares it, and what people say to it."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from murmurate.config.measures.registry import TABLES
from murmurate.config.measures.stream import Stream


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

    def stream(self, **changes: Any) -> Stream:
        """The table, read."""
        found = {"every": "1s", **tomllib.loads(self.table), **changes}
        return TABLES[found["measure"]].model_validate(found)


def _word(rng: random.Random) -> str:
    return rng.choice(["", "a", "abc", "abd", "müde", "über", "zzzzzz", "tea"])


def _set(rng: random.Random) -> list[str]:
    return rng.sample(["home", "basket", "help", "search"], rng.choice([0, 1, 1, 2, 2, 2, 3]))


def _row(rng: random.Random) -> dict[str, Any]:
    return {"plan": rng.choice(["free", "pro", "gold"]), "age": rng.randrange(110), "spent": rng.random() * 22}


SHARES: dict[str, Share] = {
    "items": Share(
        'measure = "items"\nvalues = ["home", "basket", "help", "search"]\nmost = 3\npad = 3\n',
        _set,
        (["cellar"], ["home", "home"], ["home", 1], "home", {"home": 1}, None, [["home"]], [None]),
        "sets",
    ),
    "marginals": Share(
        'measure = "marginals"\ntables = [["plan", "age"], ["spent"]]\n'
        "attributes.age = { whole = [0, 99], cells = 4 }\n"
        "attributes.spent = { range = [0, 20], cells = 3 }\n"
        'attributes.plan = { values = ["free", "pro"], other = true }\n',
        _row,
        (
            {"plan": "pro", "age": 3},
            {"plan": "pro", "age": 3, "spent": 1, "x": 1},
            {},
            None,
            ["pro", 3, 1],
            "pro",
            {"plan": 1, "age": 3, "spent": 1},
            {"plan": "pro", "age": "3", "spent": 1},
            {"plan": "pro", "age": None, "spent": 1},
        ),
        "rows",
    ),
    "strings": Share(
        'measure = "strings"\nbits = 48\nprefix = 8\n', _word, ("seven..", "a\0b", 7, ["a"], None), "strings"
    ),
}
"""By the name of the measure."""
