# SPDX-License-Identifier: Apache-2.0
"""The table of a stream of strings: what it means, and a line for each mistake."""

from __future__ import annotations

from typing import Any

from murmurate.aggregators.measures.strings import Prefixes
from murmurate.config.explain import explain
from murmurate.config.planning import resolve
from murmurate.randomizers import Viewed
from murmurate.topics.domains import Bits
from tests.cases import every
from tests.config.deployments import lines, planned

TABLE = {"measure": "strings", "bits": 48, "every": "1m"}


def stream(**changes: Any) -> dict[str, Any]:
    return {"streams": {"it": TABLE | changes}}


def test_a_table_says_a_measure() -> None:
    measure = planned(**stream(bits=16, prefix=4, form="hex")).stream("it").measure
    assert measure == Prefixes(Bits(16, "hex"), prefix=4)
    assert planned(**stream()).stream("it").measure == Prefixes(Bits(48), prefix=8)
    always = planned(**stream(missing={"carry": "always"})).stream("it").measure
    assert always == Prefixes(Bits(48), says_none=False, prefix=8)


@every(
    ("changes", "found"),
    [
        ({"prefix": 13}, "prefix: found 13; allowed: a whole number from 1 to 12"),
        ({"prefix": 0}, "prefix: found 0; allowed: a whole number from 1 to 12"),
        ({"prefix": 9, "bits": 8}, "prefix: found 9; allowed: 1 to 8, the bits of a string"),
        ({"bits": 264}, "bits: found 264; allowed: a whole number from 4 to 256"),
        ({"bits": None}, "bits: found nothing; allowed: a whole number from 4 to 256"),
        ({"bits": 12}, "bits: found 12; allowed: a multiple of 8, for text"),
        ({"bits": 14, "form": "hex"}, "bits: found 14; allowed: a multiple of 4, for hex"),
        ({"form": "base64"}, "form: found 'base64'; allowed: text, hex"),
        ({"mechanism": "hm"}, "mechanism: found 'hm'; allowed: auto, blh, grr, hr, olh, oue, she, subset, sue, the"),
        (
            {"mechanism": "she", "prefix": 12},
            "mechanism: found 'she'; allowed: auto, blh, grr, hr, olh, oue, subset, sue, the, for 4097 figures",
        ),
        ({"initial": "a"}, "initial: found an unknown key"),
        ({"post": "norm"}, "post: found an unknown key"),
        ({"thresholds": {"a": 0.1}}, "thresholds: found 'a'; allowed: statistics of the stream: 0x00, 0x01"),
        ({"thresholds": {'"a"': 1.5}}, "thresholds.\"a\": found 1.5; allowed: between 0 and 1"),
        ({"prefix": 12, "method": {"name": "lpu", "revise": 2}}, "method.revise: found 2; allowed: at most 0"),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_what_was_found_and_what_is_allowed(changes: dict[str, Any], found: str) -> None:
    table = {key: value for key, value in (TABLE | changes).items() if value is not None}
    (line,) = lines(streams={"it": table})
    assert line.startswith(f"t: streams.it.{found}")


@every("changes", [{"bits": 56}, {"prefix": 7}, {"form": "hex"}])
def test_whatever_a_table_declares_is_in_the_digest_of_what_releases_mean(changes: dict[str, Any]) -> None:
    said = {planned(**stream(**some)).stream("it").config for some in ({}, {"form": "text", "prefix": 8}, changes)}
    assert len(said) == 2


def test_thresholds_are_named_as_releases_name_prefixes() -> None:
    made = planned(**stream(thresholds={'"w"': 0.2, "0x00": 0.1, "none": 0.5}))
    assert dict(made.stream("it").thresholds) == {'"w"': 0.2, "0x00": 0.1, "none": 0.5}


def test_what_is_promised_is_said_in_words() -> None:
    text = "\n".join(explain(planned(**stream(missing={"carry": "always"}, prefix=5, form="hex"))).lines())
    assert "strings of 12 hexadecimal digits (grouped by their first 5 bits)" in " ".join(text.split())
    assert 'count as "000000000000"' in " ".join(text.split())


@every("prefix", [1, 8, 12])
@every("carry", ["none", {"carry": "always"}])
def test_every_length_of_a_prefix_can_be_asked(prefix: int, carry: Any) -> None:
    made = planned(**stream(prefix=prefix, missing=carry))
    question_ = resolve(made, "it")
    assert isinstance(question_, Viewed)
    assert question_.statistics == len(made.stream("it").names) == (1 << prefix) + (carry == "none")
