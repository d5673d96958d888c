# SPDX-License-Identifier: Apache-2.0
"""Views for searches among strings: long prefixes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import OLH, Key, LongPrefix, OLHCounts, ParameterError, Prefix, Viewed, question, view
from murmurate.randomizers.layouts import NONE, layout
from tests.cases import every

KEY = Key(bytes(range(32)), deployment="string views")


def strings(m: int, number: int, seed: int = 1) -> tuple[np.ndarray, list[int]]:
    """Random strings of m bits, as rows and as numbers."""
    numbers = [int.from_bytes(np.random.default_rng(seed + i).bytes(32), "big") >> (256 - m) for i in range(number)]
    count = m // 32 + 1
    lines = [number << (32 * count - 1 - m) for number in numbers]
    return np.array([[x >> 32 * (count - 1 - j) & 0xFFFFFFFF for j in range(count)] for x in lines], np.uint32), numbers


@every(
    ("m", "bits"), [(8, 1), (8, 8), (31, 31), (32, 32), (40, 33), (62, 62), (63, 62), (64, 61), (256, 62), (256, 32)]
)
def test_a_prefix_of_up_to_62_bits_is_told_as_it_is(m: int, bits: int) -> None:
    of = LongPrefix(("bits", m, 1), bits)
    rows, numbers = strings(m, 200)
    rows[0], rows[1] = 0, of.of.array([Prefix(("bits", m, 1), m).extremes[1]]).reshape(-1)
    numbers[:2] = 0, (1 << m) - 1
    rows[2] = (NONE, *[0] * (of.of.words - 1))
    expected = [number >> (m - bits) for number in numbers]
    expected[2] = of.d - 1
    assert of.d == 2**bits + 1
    assert of.codes_of(rows).tolist() == expected
    assert of.codes_of(rows).dtype == np.int64
    assert [of.code(tuple(row) if len(row) > 1 else row[0]) for row in rows.tolist()] == expected


@every("bits", [63, 64, 130, 256])
def test_of_a_longer_prefix_a_hash_of_62_bits_is_told(bits: int) -> None:
    of = LongPrefix(("bits", 256, 1), bits)
    rows, numbers = strings(256, 500)
    codes = of.codes_of(rows)
    assert codes.min() >= 0
    assert codes.max() < of.d - 1 == 2**62
    assert [of.code(tuple(row)) for row in rows.tolist()] == codes.tolist()
    assert len(set(codes.tolist())) == len(set(numbers))
    cut = rows.copy()
    if bits < 256:
        cut[:, -1] = 0  # what is behind the prefix
        cut[:, bits // 32 + 1 : -1] = 0
    assert (of.codes_of(cut) == codes).all()
    assert of.parameters() == {"bits": bits, "fold": 1}
    assert view(of.spec()).spec() == of.spec()
    ends = of.of.array(list(of.extremes))
    assert len(set(of.codes_of(ends).tolist())) == 2


def test_its_folded_bits_are_those_that_a_short_prefix_folds_to_and_more() -> None:
    rows, _ = strings(256, 100)
    long, short = (kind(("bits", 256, 0), 100).codes_of(rows) for kind in (LongPrefix, Prefix))
    assert (long >> 39 == short).all()


@every("values", [[(NONE, 0)], [(0, 0), ((1 << 31) - 1, 0xFFFF_8000)], []])
def test_a_round_may_name_it_and_both_halves_of_a_device_agree(values: list[Any]) -> None:
    of = LongPrefix(("bits", 48, 1), 40)
    asked = question(Viewed(of, OLHCounts(d=of.d, epsilon=3, pool=300)).spec())
    users = np.arange(len(values) * 16, dtype=np.uint8).reshape(-1, 16)
    rows = layout(asked.layout).array(values)
    reports = asked.perturb(rows, KEY.draw(users, round=bytes(32)))
    for row, user, value in zip(reports, users, values, strict=True):
        assert row.tobytes() == asked.perturb_one(value, KEY.draw_one(user.tobytes(), round=bytes(32)))


def test_it_fits_another_oracle_as_far_as_that_ones_domain_goes() -> None:
    short = LongPrefix(("bits", 48, 1), 20)
    assert Viewed(short, OLH(d=short.d, epsilon=1)).statistics == 2**20 + 1
    with pytest.raises(ParameterError, match="olh: d: found"):
        OLH(d=LongPrefix(("bits", 48, 1), 40).d, epsilon=1)


@every("bits", [0, -1, 49, 8.0, True, "8"])
def test_a_number_of_bits_that_no_string_has_is_refused(bits: Any) -> None:
    with pytest.raises(ParameterError, match="long_prefix: bits: found"):
        LongPrefix(("bits", 48, 1), bits)
