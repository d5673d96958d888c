# SPDX-License-Identifier: Apache-2.0
"""Packed rows say what was put in, and their column sums are the plain sums."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from murmurate.randomizers import packing
from murmurate.randomizers.packing import (
    bit_bytes,
    count_bits,
    int_bytes,
    pack_bits,
    pack_ints,
    padding_set,
    unpack_ints,
)
from tests.cases import every


def some_bits(n: int, d: int, density: float = 0.5) -> NDArray[np.bool_]:
    return np.random.default_rng(n * 100_003 + d).random((n, d)) < density


def packed(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(bits, axis=1, bitorder="little")


@every("width", range(1, 9))
def test_integers_come_back_from_every_width(width: int) -> None:
    top = 256**width - 1
    inside = np.random.default_rng(width).integers(0, top, 1000, np.uint64, endpoint=True)
    values = np.concatenate([np.array([0, 1, top - 1, top], np.uint64), inside])
    rows = pack_ints(values, width)
    assert rows.shape == (1004, width)
    assert rows.dtype == np.uint8
    np.testing.assert_array_equal(unpack_ints(rows), values)


@every("width", range(1, 9))
def test_a_packed_integer_is_its_little_endian_bytes(width: int) -> None:
    values = [0, 1, 200, 256**width - 1]
    rows = pack_ints(np.array(values, np.uint64), width)
    assert [row.tobytes() for row in rows] == [value.to_bytes(width, "little") for value in values]


@every("kind", [np.uint8, np.uint16, np.uint32, np.uint64, np.int64])
def test_integers_of_any_type_pack_alike(kind: Any) -> None:
    np.testing.assert_array_equal(pack_ints(np.array([0, 5, 127], kind), 3), [[0, 0, 0], [5, 0, 0], [127, 0, 0]])


@every("width", range(1, 9))
def test_rows_that_lie_apart_in_memory_unpack_alike(width: int) -> None:
    wide = np.random.default_rng(width).integers(0, 256, (50, 20), np.uint8)
    apart = wide[::2, 3 : 3 + width]
    np.testing.assert_array_equal(unpack_ints(apart), unpack_ints(np.ascontiguousarray(apart)))


@every("width", range(1, 9))
def test_no_rows_unpack_to_no_integers(width: int) -> None:
    assert unpack_ints(np.empty((0, width), np.uint8)).shape == (0,)


@every(
    ("d", "size"), [(2, 1), (255, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (1 << 24, 3), ((1 << 24) + 1, 4)]
)
def test_a_value_takes_the_fewest_bytes_that_hold_the_largest(d: int, size: int) -> None:
    assert int_bytes(d) == size


@every(("d", "size"), [(1, 1), (2, 1), (7, 1), (8, 1), (9, 2), (1023, 128), (1024, 128), (1025, 129)])
def test_a_bit_row_takes_the_fewest_bytes_that_hold_its_bits(d: int, size: int) -> None:
    assert bit_bytes(d) == size


@every("n", range(201))
def test_column_sums_of_any_number_of_rows_are_the_plain_sums(n: int) -> None:
    for d in {1 + n % 64, 8 * (1 + n % 5), 2 + (n * 37) % 300}:
        bits = some_bits(n, d)
        np.testing.assert_array_equal(count_bits(packed(bits), d), bits.sum(axis=0))


@every("slabs", [1, 2, 3, 10, 254, 255, 256, 257])
@every("d", [1, 7, 8, 13, 65])
def test_column_sums_around_a_multiple_of_63_rows_are_the_plain_sums(slabs: int, d: int) -> None:
    for n in (63 * slabs - 1, 63 * slabs, 63 * slabs + 1):
        bits = some_bits(n, d)
        np.testing.assert_array_equal(count_bits(packed(bits), d), bits.sum(axis=0))


@every("density", [0.0, 1.0, 0.01, 0.99])
def test_column_sums_of_nearly_empty_and_nearly_full_rows_carry_right(density: float) -> None:
    for n in (62, 63, 64, 126, 63 * 255 + 17):
        bits = some_bits(n, 19, density)
        np.testing.assert_array_equal(count_bits(packed(bits), 19), bits.sum(axis=0))


@pytest.mark.parametrize("lane_bytes", [1, 63 * 3, 63 * 3 * 2 + 1, 10_000])
def test_column_sums_do_not_depend_on_where_lanes_end(lane_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_LANE_BYTES", lane_bytes)
    for n in (1, 62, 63, 64, 125, 126, 127, 189, 1000):
        bits = some_bits(n, 20)
        np.testing.assert_array_equal(count_bits(packed(bits), 20), bits.sum(axis=0))


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 100))
def test_column_sums_add_up_over_batches(n: int, m: int, d: int) -> None:
    rows = packed(some_bits(n + m, d))
    np.testing.assert_array_equal(count_bits(rows[:n], d) + count_bits(rows[n:], d), count_bits(rows, d))


def test_column_sums_leave_the_rows_as_they_were() -> None:
    rows = packed(some_bits(500, 33))
    before = rows.copy()
    count_bits(rows, 33)
    np.testing.assert_array_equal(rows, before)


def test_column_sums_of_rows_that_lie_apart_in_memory_are_the_plain_sums() -> None:
    bits = some_bits(400, 40)
    rows = np.repeat(packed(bits), 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(count_bits(rows[::3], 40), bits[::3].sum(axis=0))


@every("d", range(1, 40))
def test_a_bit_past_the_domain_is_seen_and_a_bit_inside_it_is_not(d: int) -> None:
    cells = 8 * bit_bytes(d)
    one_bit_each = packed(np.eye(cells, dtype=np.bool_))
    np.testing.assert_array_equal(padding_set(one_bit_each, d), np.arange(cells) >= d)
    everything_inside = packed(np.ones((1, d), np.bool_))
    assert not padding_set(everything_inside, d).any()


@every("d", [1, 7, 8, 9, 16, 100, 128])
def test_bits_are_packed_as_numpy_packs_rows(d: int) -> None:
    ones = some_bits(50, d)
    np.testing.assert_array_equal(pack_bits(ones), packed(ones))
    np.testing.assert_array_equal(pack_bits(ones[::2]), packed(ones[::2]))
    assert pack_bits(ones[:0]).shape == (0, bit_bytes(d))
