# SPDX-License-Identifier: Apache-2.0
"""Views for searches among strings: long prefixes, and extensions of prefixes that a round names."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.randomizers import (
    GRR,
    OLH,
    OUE,
    Extensions,
    Key,
    LongPrefix,
    OLHCounts,
    ParameterError,
    Prefix,
    Viewed,
    question,
    view,
)  # fmt: skip
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
    ("m", "bits"), [(8, 1), (8, 8), (31, 31), (32, 32), (40, 33), (52, 52), (53, 52), (64, 51), (256, 52), (256, 32)]
)
def test_a_prefix_of_up_to_52_bits_is_told_as_it_is(m: int, bits: int) -> None:
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


@every("bits", [53, 63, 64, 130, 256])
def test_of_a_longer_prefix_a_hash_of_52_bits_is_told(bits: int) -> None:
    of = LongPrefix(("bits", 256, 1), bits)
    rows, numbers = strings(256, 500)
    codes = of.codes_of(rows)
    assert codes.min() >= 0
    assert codes.max() < of.d - 1 == 2**52
    assert [of.code(tuple(row)) for row in rows.tolist()] == codes.tolist()
    assert len(set(codes.tolist())) == len(set(numbers))
    cut = rows.copy()
    if bits < 256:
        cut[:, -1] = 0  # what is behind the prefix
        cut[:, bits // 32 + 1 : -1] = 0
    assert (of.codes_of(cut) == codes).all()
    assert of.parameters() == {"bits": bits, "fold": 1}
    assert view(of.spec()).spec() == of.spec()
    ends = of.of.rows(of.of.array(list(of.extremes)))
    assert len(set(of.codes_of(ends).tolist())) == 2


def test_its_folded_bits_are_those_that_a_short_prefix_folds_to_and_more() -> None:
    rows, _ = strings(256, 100)
    long, short = (kind(("bits", 256, 0), 100).codes_of(rows) for kind in (LongPrefix, Prefix))
    assert (long >> 29 == short).all()


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


# ---- extensions ----


@every(
    ("m", "bits_from", "bits_to", "parents"),
    [
        (8, 0, 3, [0]),
        (8, 2, 8, [3, 0]),
        (31, 30, 31, [0, 5, 2**30 - 1]),
        (48, 13, 20, [1, 2**13 - 1, 77]),
        (48, 31, 32, [9, 2**31 - 1]),
        (64, 32, 48, [2**32 - 1, 0, 6]),
        (100, 62, 70, [2**62 - 1, 2**61, 2**31]),
        (256, 129, 130, [2**129 - 1, 2**128, 2**128 + 2**64, 1, 2**98]),
        (256, 248, 256, [2**248 - 1, 3 << 200, 3 << 200 | 1]),
    ],
)
def test_a_string_is_told_as_its_parents_place_and_the_bits_behind_it(
    m: int, bits_from: int, bits_to: int, parents: list[int]
) -> None:
    of = Extensions(("bits", m, 1), Extensions.named(parents, bits_from), bits_from, bits_to)
    assert view(orjson.loads(orjson.dumps(of.spec()))).spec() == of.spec()
    rows, numbers = strings(m, 300)
    rest = m - bits_from
    numbers[1:200] = [
        parents[i % len(parents)] << rest | number % (1 << rest) for i, number in enumerate(numbers[1:200])
    ]
    count = m // 32 + 1
    for row, number in zip(rows, numbers, strict=True):
        row[:] = [number << (32 * count - 1 - m) >> 32 * (count - 1 - j) & 0xFFFFFFFF for j in range(count)]
    rows[0] = (NONE, *[0] * (count - 1))
    candidates = {
        parent << bits_to - bits_from | more for parent in parents for more in range(1 << bits_to - bits_from)
    }
    place = {candidate: code for code, candidate in enumerate(sorted(candidates))}
    expected = [of.d - 1, *(place.get(number >> (m - bits_to), len(candidates)) for number in numbers[1:])]
    assert of.codes_of(rows).tolist() == expected
    assert of.codes_of(rows).dtype == np.int64
    assert [of.code(tuple(row) if count > 1 else row[0]) for row in rows.tolist()] == expected
    assert (of.extensions, of.d) == (len(candidates), len(candidates) + 2)
    assert [of.code(end) for end in of.extremes] == [0, of.extensions - 1]
    assert not of.of.wrong(of.of.array(list(of.extremes))).any()


def test_the_order_in_which_parents_are_named_changes_nothing() -> None:
    one, other = (Extensions(("bits", 16, 0), of, 8, 10) for of in (["0a", "ff", "00"], ("ff", "00", "0a")))
    assert one.spec() == other.spec()
    assert one.digest == other.digest
    assert one.d == 13


def test_any_oracle_takes_extensions_and_finds_who_holds_them() -> None:
    n, of = 20_000, Extensions(("bits", 48, 1), ["0005", "ffff"], 16, 20)
    rows = np.zeros((n, 2), np.uint32)
    rows[: n // 2, 0] = (0x00051 << 11) + np.arange(n // 2) % 2048  # extension 1 of the first parent
    rows[n // 2 : n * 3 // 4, 0] = 0x0006 << 15  # other strings
    rows[n * 3 // 4 :, 0] = NONE
    users = np.random.default_rng(3).integers(0, 256, (n, 16), np.uint8)
    for oracle in (GRR(d=of.d, epsilon=4), OUE(d=of.d, epsilon=4), OLH(d=of.d, epsilon=4, pool=0)):
        asked = question(Viewed(of, oracle).spec())
        found = asked.estimate(asked.support(asked.perturb(rows, KEY.draw(users, round=bytes(32)))), n)
        assert found[[1, 32, 33]] == pytest.approx([0.5, 0.25, 0.25], abs=0.03)


@every(
    ("parents", "says"),
    [
        ([], "one or more"),
        ("0a", "one or more"),
        ([10], "one or more"),
        (["a"], "8 bits in 2 lower-case"),
        (["0A"], "8 bits in 2 lower-case"),
        (["0a\n"], "8 bits in 2 lower-case"),
        (["+a"], "8 bits in 2 lower-case"),
        (["100"], "8 bits in 2 lower-case"),
        (["0a", "0a"], "each once"),
    ],
)
def test_parents_that_no_string_begins_with_or_that_are_named_twice_are_refused(parents: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=f"extensions: parents: found .*allowed: .*{says}"):
        Extensions(("bits", 16, 1), parents, 8, 10)


def test_parents_must_fit_a_round_and_their_extensions_an_oracle() -> None:
    named = Extensions.named(range(1 << 14), 14)
    with pytest.raises(ParameterError, match="more than 65536 bytes"):
        Extensions(("bits", 40, 1), named, 14, 20)
    assert Extensions(("bits", 40, 1), named[: 65535 // 7], 14, 15).extensions == 65535 // 7 * 2
    with pytest.raises(ParameterError, match="found 2 of them and 23 more bits; allowed: 16777216 codes"):
        Extensions(("bits", 40, 1), named[:2], 14, 37)
    with pytest.raises(ParameterError, match="found 1 of them and 256 more bits"):
        Extensions(("bits", 256, 1), [""], 0, 256)
    with pytest.raises(ParameterError, match="bits in 1 lower-case"):
        Extensions(("bits", 40, 1), ["8"], 3, 5)


@every(("bits_from", "bits_to"), [(8, 8), (-1, 8), (8, 17), (True, 9), (8.0, 9)])
def test_bits_that_do_not_rise_within_the_string_are_refused(bits_from: Any, bits_to: Any) -> None:
    with pytest.raises(ParameterError, match="extensions: bits_"):
        Extensions(("bits", 16, 1), ["00"], bits_from, bits_to)
