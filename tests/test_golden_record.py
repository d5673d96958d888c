# SPDX-License-Identifier: Apache-2.0
"""What mechanisms report and what every digest is stays as it was, byte for byte: the golden record."""

from __future__ import annotations

from murmurate.randomizers import MECHANISMS
from tests.golden_record import MECHANISMS as RECORDED
from tests.golden_record import differences, record, recorded


def test_reports_and_digests_are_those_of_the_golden_record() -> None:
    assert differences(record(), recorded()) == []


def test_a_difference_is_named() -> None:
    before = recorded()
    changed = {name: dict(told) for name, told in before.items() if name != "people"}
    changed["deployment shop"]["config"] = {"screen": "0" * 16}
    changed["one more"] = {}
    assert differences(changed, before) == [
        "deployment shop: config differ",
        "one more: is not in the record",
        "people: is no longer found",
    ]


def test_every_mechanism_is_in_the_golden_record() -> None:
    assert set(MECHANISMS) <= set(RECORDED)
