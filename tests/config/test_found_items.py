# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that finds items: what it means, and a line for each mistake."""

from __future__ import annotations

from typing import Any

from murmurate.aggregators.measures.found_items import FoundItems
from murmurate.config.explain import explain
from murmurate.topics.domains import Items
from tests.cases import every
from tests.config.deployments import lines, planned

TABLE = {"measure": "items", "find": "items", "items": 1_000_000, "every": "1m"}
NAMED = {"items": None, "values": ["home", "basket", "help", "search", "about"]}


def table(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (TABLE | changes).items() if value is not None}


def stream(**changes: Any) -> Any:
    return planned(streams={"it": table(**changes)}).stream("it")


def test_a_table_says_a_measure_and_a_method() -> None:
    assert stream().measure == FoundItems(Items(1_000_000, 8))
    assert stream(**NAMED).measure == FoundItems(Items(tuple(NAMED["values"] or ()), 8))
    several = stream(find="itemsets", top=64, least=0.01, most=20, missing={"carry": "always"})
    assert several.measure == FoundItems(Items(1_000_000, 20), False, find="itemsets", top=64, least=0.01)
    assert (stream().method.name, several.method.name) == ("svim", "svsm")
    assert stream(method="ldp_miner").method.name == "ldp_miner"
    assert stream(items=(1 << 31) - 1).measure.d == (1 << 31) - 1


@every(
    ("changes", "found"),
    [
        ({"find": "baskets"}, "find: found 'baskets'; allowed: items, itemsets"),
        ({"items": None}, 'values: found nothing; allowed: either values = ["home", "basket"] or items = 1024'),
        ({"values": ["a"]}, "values: found both values and items; allowed: either values"),
        ({"items": 1 << 31}, "items: found 2147483648; allowed: a whole number from 1 to 2147483647"),
        ({"top": 65_537}, "top: found 65537; allowed: a whole number from 1 to 512"),
        ({"top": 0}, "top: found 0; allowed: a whole number from 1 to 512"),
        ({"least": 1}, "least: found 1; allowed: a number from 0, below 1"),
        ({"least": -0.1}, "least: found -0.1; allowed: a number from 0, below 1"),
        ({"mechanism": "olh"}, "mechanism: found 'olh'; allowed: auto"),
        ({"pad": 3}, "pad: found an unknown key"),
        ({"named": ["7"]}, "named: found an unknown key"),
        ({"method": "lpu"}, "method: found 'lpu'; allowed: svim, ldp_miner"),
        ({"method": "svsm"}, "method: found 'svsm'; allowed: svim, ldp_miner"),
        ({"find": "itemsets", "method": "svim"}, "method: found 'svim'; allowed: svsm"),
        ({"method": {"name": "svim", "revise": 3}}, "method.revise: found 3; allowed: 0, with "),
        ({"season": "24h"}, "season: found '1d'; allowed: none, with find"),
        ({"find": "itemsets", "most": 1}, "most: found 1; allowed: 2 or more, with find = itemsets"),
        ({"find": "itemsets", "items": 1}, "items: found 1; allowed: 2 or more, with find = itemsets"),
        (
            {**NAMED, "find": "itemsets", "values": ["a", "b + c"]},
            """values.1: found 'b + c'; allowed: a name without " + \"""",
        ),
        (
            {**NAMED, "find": "itemsets", "values": ["a" * 200, "b" * 200]},
            "values: found names of 403 characters together; allowed: at most 256, as a set of 2 items is called by",
        ),
        ({"thresholds": {"home": 0.1}}, "thresholds: found 'home'; allowed: statistics of the stream: "),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_what_was_found_and_what_is_allowed(changes: dict[str, Any], found: str) -> None:
    (line,) = lines(streams={"it": table(**changes)})
    assert line.startswith(f"t: streams.it.{found}")


def test_without_find_a_table_is_that_of_declared_items() -> None:
    (line,) = lines(streams={"it": table(find=None)})
    assert line == "t: streams.it.items: found 1000000; allowed: a whole number from 1 to 65536"
    (line,) = lines(streams={"it": table(find=None, items=9, method="svim")})
    assert line.startswith("t: streams.it.method: found 'svim'; allowed: ")


@every(
    "changes", [{"find": "itemsets"}, {"top": 31}, {"least": 0.002}, {"most": 7}, {"items": 5}, {"method": "ldp_miner"}]
)
def test_whatever_a_table_declares_is_in_the_digest_of_what_releases_mean(changes: dict[str, Any]) -> None:
    assert len({stream(**one).config for one in ({}, {"top": 32, "least": 0.001, "method": "svim"}, changes)}) == 2


def test_a_name_that_could_be_found_may_have_a_threshold() -> None:
    assert stream(thresholds={"77": 0.1}).thresholds == {"77": 0.1}
    both = {"home + help": 0.1}
    assert stream(**NAMED, find="itemsets", thresholds=both).thresholds == both


def test_what_is_promised_is_said_in_words() -> None:
    made = explain(planned(streams={"it": table(**NAMED, top=8)}))
    text = " ".join(" ".join(made.lines()).split())
    assert "items of the 8 most frequent items of each user's set (up to 5 of 5 items)" in text
