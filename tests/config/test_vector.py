# SPDX-License-Identifier: Apache-2.0
"""The table of a stream of numbers of items: what it means, and a line for each mistake."""

from __future__ import annotations

from typing import Any

from murmurate.aggregators.measures.largest import LargestNumbers, Listing
from murmurate.aggregators.measures.vector import ItemNumbers
from murmurate.config.explain import explain
from murmurate.topics.domains import Signed
from tests.cases import every
from tests.config.deployments import lines, planned

NAMES = ("jam", "tea", "rice", "milk")
TABLE: dict[str, Any] = {"measure": "vector", "values": list(NAMES), "every": "1m", "most": 3}
MANY = {"values": None, "items": 1024}
WIDE = {"values": None, "items": 65536}


def table(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (TABLE | changes).items() if value is not None}


def measured(**changes: Any) -> Any:
    return planned(streams={"it": table(**changes)}).stream("it").measure


def test_a_table_says_a_measure() -> None:
    assert measured() == ItemNumbers(Signed(NAMES, 3))
    assert measured(most=None) == ItemNumbers(Signed(NAMES, 4))
    assert measured(**MANY, most=None) == ItemNumbers(Signed(1024, 8))
    assert measured(**MANY, missing={"carry": "always"}) == ItemNumbers(Signed(1024, 3), False)
    assert measured(values=["jam"], most=1).names == ("jam", "jam present", "jam mean of holders")


def test_of_very_many_items_a_release_lists_the_largest_and_those_that_are_named() -> None:
    wide = Signed(65536, 3)
    assert measured(**WIDE) == LargestNumbers(wide, listed=Listing())
    assert measured(**WIDE, named=[7, "65535"], top=5, by="share") == LargestNumbers(
        wide, listed=Listing((7, 65535), 5, "share")
    )
    assert measured(named=["tea"], top=1).monitored == ("tea", "tea present", "tea mean of holders")
    assert measured(values=None, items=1366) == LargestNumbers(Signed(1366, 3), listed=Listing())
    assert isinstance(measured(values=None, items=4096, shares=False), ItemNumbers)
    assert measured(values=None, items=65536).most_names == 60


def test_most_items_with_three_figures_each_fit_a_release() -> None:
    assert len(measured(values=None, items=1365).names) == 4095


@every(
    ("changes", "found"),
    [
        ({"values": None}, 'values: found nothing; allowed: either values = ["home", "basket"] or items = 1024'),
        ({"items": 5}, 'values: found both values and items; allowed: either values = ["home", "basket"] or items'),
        ({"values": ["a", "b", "a"]}, "values: found 'a' more than once; allowed: each value once"),
        ({"values": ["a", "a present"], "most": 1},
         "values.1: found 'a present'; allowed: texts that do not end in \" present\""),
        ({"values": ["a mean of holders", "b"], "most": 1}, "values.0: found 'a mean of holders'; allowed: texts that"),
        ({"values": ["a" * 241, "b"], "most": 1}, "values.0: found a text of 241 characters; allowed: at most 240"),
        ({**MANY, "items": 0}, "items: found 0; allowed: a whole number from 1 to 65536"),
        ({**MANY, "items": 65537}, "items: found 65537; allowed: a whole number from 1 to 65536"),
        ({**WIDE, "top": 0}, "top: found 0; allowed: a whole number from 1 to 512"),
        ({**WIDE, "top": 513}, "top: found 513; allowed: a whole number from 1 to 512"),
        ({**WIDE, "top": 510, "named": [1, 2, 3]},
         "top: found 510 largest and 3 named items; allowed: at most 512 together"),
        ({**WIDE, "named": [65536]}, "named.0: found '65536'; allowed: items of the stream: 0 ... 65535"),
        ({**WIDE, "named": ["7", "jam"]}, "named.1: found 'jam'; allowed: items of the stream: 0 ... 65535"),
        ({**WIDE, "named": ["07"]}, "named.0: found '07'; allowed: items of the stream: 0 ... 65535"),
        ({"named": ["bread"]}, "named.0: found 'bread'; allowed: items of the stream: jam ... milk"),
        ({"named": ["jam", "tea", "jam"]}, "named: found 'jam' more than once; allowed: each item once"),
        ({"named": []}, "named: found a list of 0; allowed: a list of 1 to 512 items, by name or by number"),
        ({"named": [0.5]}, "named.0: found 0.5; allowed: a text or a whole number"),
        ({**WIDE, "shares": False, "by": "share"}, "by: found 'share'; allowed: mean, with shares = false"),
        ({**WIDE, "by": "size"}, "by: found 'size'; allowed: mean, share"),
        ({**WIDE, "method": {"name": "lpu", "revise": 1}},
         "method.revise: found 1; allowed: only where a release has every item, up to 1365 of them"),
        ({"named": ["tea"], "season": "1h"},
         "season: found '1h'; allowed: only where a release has every item: without top and named"),
        ({**WIDE, "thresholds": {"7": 0.1}},
         "thresholds: found '7'; allowed: statistics of the stream: none, since names are found"),
        ({**WIDE, "named": [8], "thresholds": {"7": 0.1}},
         "thresholds: found '7'; allowed: statistics of the stream: 8, 8 present, 8 mean of holders"),
        ({"most": 0}, "most: found 0; allowed: a whole number from 1 to 64"),
        ({"most": 65}, "most: found 65; allowed: a whole number from 1 to 64"),
        ({"mechanism": "olh"}, "mechanism: found 'olh'; allowed: auto, "),
        ({"thresholds": {"none": 0.1}}, "thresholds: found 'none'; allowed: statistics of the stream: jam, tea"),
        ({"thresholds": {"jam present": -0.5}}, "thresholds.jam present: found -0.5; allowed: between 0 and 1"),
        ({"thresholds": {"jam": -1.5}}, "thresholds.jam: found -1.5; allowed: between -1 and 1"),
        ({**MANY, "method": {"name": "lpu", "revise": 5}}, "method.revise: found 5; allowed: at most 1, for 3072"),
        ({"method": {"name": "lpd", "variance": "paper"}}, "method.variance: found 'paper'; allowed: sampling, for"),
        ({"initial": "jam"}, "initial: found an unknown key"),
        ({"pad": 3}, "pad: found an unknown key"),
        ({"range": [-1, 1]}, "range: found an unknown key"),
        ({"post": "norm-sub"}, "post: found an unknown key"),
        ({"shares": 1}, "shares: found 1; allowed: true or false"),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_what_was_found_and_what_is_allowed(changes: dict[str, Any], found: str) -> None:
    (line,) = lines(streams={"it": table(**changes)})
    assert line.startswith(f"t: streams.it.{found}")


@every("changes", [{"values": ["jam", "tea", "rice"]}, {"most": 2}, {"values": None, "items": 4}])
def test_whatever_a_table_declares_is_in_the_digest_of_what_releases_mean(changes: dict[str, Any]) -> None:
    said = {planned(streams={"it": table(**one)}).stream("it").config for one in ({}, {"shares": True}, changes)}
    assert len(said) == 2


def test_what_is_promised_is_said_in_words() -> None:
    made = explain(planned(streams={"it": table(missing={"carry": "always"})}))
    text = " ".join(" ".join(made.lines()).split())
    assert "vector of each user's numbers (of up to 3 of 4 items): mean, share and mean of holders of each" in text
    assert "count as holders of nothing" in text
