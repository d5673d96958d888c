# SPDX-License-Identifier: Apache-2.0
"""The table of a stream of sets: what it means, and a line for each mistake."""

from __future__ import annotations

from typing import Any

from murmurate.aggregators.measures.items import ItemShares
from murmurate.config.explain import explain
from murmurate.topics.domains import Items
from tests.cases import every
from tests.config.deployments import lines, planned

TABLE = {"measure": "items", "values": ["home", "basket", "help", "search", "about"], "every": "1m"}
MANY = {"values": None, "items": 1024}


def table(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (TABLE | changes).items() if value is not None}


def measured(**changes: Any) -> Any:
    return planned(streams={"it": table(**changes)}).stream("it").measure


def test_a_table_says_a_measure() -> None:
    names = tuple(TABLE["values"])
    assert measured() == ItemShares(Items(names, 8), pad=4)
    assert measured(**MANY) == ItemShares(Items(1024, 8), pad=4)
    assert measured(most=3) == ItemShares(Items(names, 3), pad=3)
    assert measured(values=["home", "help"]) == ItemShares(Items(("home", "help"), 8), pad=2)
    assert measured(**MANY, most=6, pad=5, missing={"carry": "always"}) == ItemShares(Items(1024, 6), False, pad=5)


@every(
    ("changes", "found"),
    [
        ({"values": None}, 'values: found nothing; allowed: either values = ["home", "basket"] or items = 1024'),
        ({"items": 5}, 'values: found both values and items; allowed: either values = ["home", "basket"] or items'),
        ({"values": ["a", "b", "a"]}, "values: found 'a' more than once; allowed: each value once"),
        ({"values": []}, "values: found a list of 0; allowed: a list of 1 to 65536, each a text of 1 to 256"),
        ({"values": ["a", 3]}, "values.1: found 3; allowed: a text of 1 to 256 printable characters"),
        ({**MANY, "items": 65537}, "items: found 65537; allowed: a whole number from 1 to 65536"),
        ({**MANY, "items": 0}, "items: found 0; allowed: a whole number from 1 to 65536"),
        ({"most": 65}, "most: found 65; allowed: a whole number from 1 to 64"),
        ({"pad": 0}, "pad: found 0; allowed: a whole number from 1 to 64"),
        ({"most": 3, "pad": 4}, "pad: found 4; allowed: a whole number from 1 to 3, which is `most`"),
        ({"most": 64, "pad": 6}, "pad: found 6; allowed: a whole number from 1 to 5, which is the number of items"),
        ({"mechanism": "subset"}, "mechanism: found 'subset'; allowed: auto, grr, olh, oue"),
        ({"thresholds": {"none": 0.1}}, "thresholds: found 'none'; allowed: statistics of the stream: home, basket"),
        ({"thresholds": {"home": 1.5}}, "thresholds.home: found 1.5; allowed: between 0 and 1"),
        ({**MANY, "thresholds": {"1024": 0.1}}, "thresholds: found '1024'; allowed: statistics of the stream: 0, 1"),
        ({**MANY, "method": {"name": "lpu", "revise": 5}}, "method.revise: found 5; allowed: at most 4, for 1024"),
        ({"initial": "home"}, "initial: found an unknown key"),
        ({"post": "norm-sub"}, "post: found an unknown key"),
        ({"prefer": "bytes"}, "prefer: found an unknown key"),
        ({"other": True}, "other: found an unknown key"),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_what_was_found_and_what_is_allowed(changes: dict[str, Any], found: str) -> None:
    (line,) = lines(streams={"it": table(**changes)})
    assert line.startswith(f"t: streams.it.{found}")


@every("changes", [{"values": ["home", "basket"]}, {"most": 7}, {"pad": 3}, {"values": None, "items": 5}])
def test_whatever_a_table_declares_is_in_the_digest_of_what_releases_mean(changes: dict[str, Any]) -> None:
    said = {planned(streams={"it": table(**one)}).stream("it").config for one in ({}, {"most": 8, "pad": 4}, changes)}
    assert len(said) == 2


def test_what_is_promised_is_said_in_words() -> None:
    made = explain(planned(streams={"it": table(missing={"carry": "always"})}))
    text = " ".join(" ".join(made.lines()).split())
    assert "items of each user's set (up to 5 of 5 items)" in text
    assert "count as holders of nothing" in text
    padded = explain(planned(streams={"it": table(mechanism="grr")}))
    text = " ".join(" ".join(padded.lines()).split())
    assert "a user who holds more than pad = 4 items counts for 4 of them, each item in part" in text
    assert "where sets of 0 to 5 items are equally frequent" in text
    assert padded.document()["streams"][0]["bias"].startswith("a user who holds more")
    exact = " ".join(explain(planned(streams={"it": table(pad=5, mechanism="grr")})).lines())
    assert "in part" not in exact
