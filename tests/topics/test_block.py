# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.topics.block import (
    COUNTS_PER_BLOCK,
    HEADER_BYTES,
    MAX_BLOCK,
    MAX_PAYLOAD,
    BatchBlock,
    RawBlock,
    ReportBlock,
    TallyBlock,
    decode,
    encode_batch,
    encode_raw,
    encode_reports,
    encode_tally,
    raw_width,
)
from murmurate.topics.errors import (
    ColumnError,
    CorruptError,
    NewerError,
    TooLargeError,
    TornError,
    UnknownError,
    WireError,
)
from tests.cases import drawn
from tests.topics import second_wire

DIGEST = bytes(range(32))


def some_reports(n: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, width), np.uint8)


def one_block(n: int = 5, width: int = 3) -> bytes:
    (record,) = encode_reports(DIGEST, 7, some_reports(n, width))
    return record


# ---- laws ----


@drawn(
    40,
    long=2000,
    n=st.integers(0, 3000),
    width=st.integers(1, 600),
    seed=st.integers(0, 99),
    part=st.integers(0, 2**32 - 1),
)
def test_what_is_decoded_is_what_was_encoded(n: int, width: int, seed: int, part: int) -> None:
    reports = some_reports(n, width, seed)
    for encode, kind in ((encode_reports, ReportBlock), (encode_batch, BatchBlock)):
        blocks = [decode(record) for record in encode(DIGEST, part, reports)]
        assert all(isinstance(block, kind) and block.round == DIGEST for block in blocks)
        assert [block.sequence for block in blocks if isinstance(block, kind)] == list(range(len(blocks)))
        assert np.array_equal(
            np.concatenate([block.reports for block in blocks if isinstance(block, ReportBlock | BatchBlock)]), reports
        )
        first = blocks[0]
        assert part == (
            first.contributor if isinstance(first, ReportBlock) else first.q if isinstance(first, BatchBlock) else -1
        )


@drawn(40, long=2000, n=st.integers(0, 40_000), seed=st.integers(0, 99))
def test_raw_rows_come_back_as_they_were(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    users = rng.integers(0, 256, (n, 16), np.uint8)
    times = rng.integers(-(2**63), 2**63 - 1, n, np.int64)
    values = rng.integers(0, 2**32, n, np.uint32)
    blocks = [decode(record) for record in encode_raw(DIGEST, users, times, values)]
    raw = [block for block in blocks if isinstance(block, RawBlock)]
    assert len(raw) == len(blocks) == max(1, -(-n // (MAX_PAYLOAD // raw_width(1))))
    assert np.array_equal(np.concatenate([block.users for block in raw]), users)
    assert np.array_equal(np.concatenate([block.times for block in raw]), times)
    assert np.array_equal(np.concatenate([block.values for block in raw]), values)
    assert all(block.stream == DIGEST for block in raw)


@pytest.mark.parametrize("n", [0, 1, COUNTS_PER_BLOCK, COUNTS_PER_BLOCK + 1, 1 << 17, 1 << 22])
def test_counts_come_back_as_they_were_and_each_block_but_the_last_is_full(n: int) -> None:
    counts = np.random.default_rng(n).integers(-(2**63), 2**63 - 1, n, np.int64)
    records = list(encode_tally(DIGEST, 3, counts))
    blocks = [decode(record) for record in records]
    tallies = [block for block in blocks if isinstance(block, TallyBlock)]
    assert [(block.round, block.q, block.sequence) for block in tallies] == [(DIGEST, 3, i) for i in range(len(blocks))]
    assert np.array_equal(np.concatenate([block.counts for block in tallies]), counts)
    assert all(len(record) <= MAX_BLOCK for record in records)
    assert all(len(block.counts) == COUNTS_PER_BLOCK for block in tallies[:-1])


def test_a_tally_block_has_8_bytes_a_count() -> None:
    for width in (1, 4, 16):
        with pytest.raises(UnknownError, match=f"found counts of {width} bytes; allowed: 8"):
            decode(second_wire.block(4, 2, width, 0, 0, DIGEST, bytes(2 * width)))
    with pytest.raises(ColumnError, match="counts: found int64"):
        encode_tally(DIGEST, 0, np.zeros((2, 2), np.int64))


@drawn(
    40, long=2000, n=st.integers(0, 3000), width=st.integers(1, 600), one=st.integers(0, 9), other=st.integers(10, 19)
)
def test_the_length_of_a_block_depends_on_rows_and_width_only(n: int, width: int, one: int, other: int) -> None:
    lengths = [[len(record) for record in encode_reports(DIGEST, 0, some_reports(n, width, s))] for s in (one, other)]
    assert lengths[0] == lengths[1]
    assert sum(lengths[0]) == n * width + HEADER_BYTES * len(lengths[0])


@pytest.mark.parametrize("width", [1, 16, 4096, MAX_PAYLOAD // 2, MAX_PAYLOAD // 2 + 1, MAX_PAYLOAD])
def test_no_block_is_larger_than_512_kib_and_none_could_take_a_row_more(width: int) -> None:
    records = list(encode_reports(DIGEST, 0, np.zeros((2 * MAX_PAYLOAD // width + 1, width), np.uint8)))
    assert all(len(record) <= MAX_BLOCK for record in records)
    assert all(len(record) + width > MAX_BLOCK for record in records[:-1])


def test_a_block_without_rows_is_a_block() -> None:
    (record,) = encode_reports(DIGEST, 3, np.zeros((0, 9), np.uint8))
    block = decode(record)
    assert len(record) == HEADER_BYTES
    assert isinstance(block, ReportBlock)
    assert block.reports.shape == (0, 9)


def test_columns_are_read_only_views_of_the_record() -> None:
    users, times, values = np.ones((4, 16), np.uint8), np.ones(4, np.int64), np.ones(4, np.uint32)
    record = bytearray(next(encode_raw(DIGEST, users, times, values)))
    block = decode(memoryview(record))
    assert isinstance(block, RawBlock)
    whole = np.frombuffer(record, np.uint8)
    for column in (block.users, block.times, block.values):
        assert np.shares_memory(column, whole)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_columns_that_lie_apart_in_memory_are_written_row_by_row() -> None:
    reports = some_reports(50, 12)[::2, ::3]
    block = decode(next(encode_reports(DIGEST, 0, reports)))
    assert isinstance(block, ReportBlock)
    assert np.array_equal(block.reports, reports)


def test_a_printed_block_shows_no_row() -> None:
    block = decode(next(encode_raw(DIGEST, np.full((1, 16), 77, np.uint8), np.full(1, 88), np.full(1, 99, np.uint32))))
    assert not any(number in repr(block).split("sequence")[1] for number in ("77", "88", "99"))


# ---- bad input ----


def test_a_block_with_one_flipped_bit_is_refused() -> None:
    for record in (
        one_block(),
        one_block(0),
        next(encode_raw(DIGEST, np.ones((2, 16), np.uint8), np.ones(2, int), np.ones(2, np.uint32))),
        next(encode_tally(DIGEST, 1, np.arange(3))),
    ):
        for bit in range(len(record) * 8):
            flipped = bytearray(record)
            flipped[bit // 8] ^= 1 << bit % 8
            with pytest.raises(WireError):
                decode(bytes(flipped))


def test_a_truncated_block_is_torn() -> None:
    record = one_block()
    for size in range(1, len(record)):
        with pytest.raises(TornError, match=r"found \d+ bytes"):
            decode(record[:size])


def test_a_block_with_more_behind_it_is_torn() -> None:
    with pytest.raises(TornError, match="found 16 bytes of payload; allowed: 15"):
        decode(one_block() + b"\0")


def test_a_changed_payload_is_corrupt() -> None:
    record = one_block()
    with pytest.raises(CorruptError, match="checksum at byte 28"):
        decode(record[:-1] + bytes([record[-1] ^ 255]))


def test_a_block_of_a_version_to_come_is_newer_whatever_follows() -> None:
    for version in (2, 255):
        with pytest.raises(NewerError, match=f"version {version} at byte 4; allowed: 1"):
            decode(b"MURM" + bytes([version]))


def test_bytes_that_begin_no_block_are_unknown() -> None:
    for record in (b"", b"X", b"MURK" + bytes(60), b"{}", b"MURM\0" + bytes(59)):
        with pytest.raises(UnknownError):
            decode(record)


def test_an_oversized_block_is_too_large() -> None:
    with pytest.raises(TooLargeError, match=f"found {MAX_BLOCK + 1} bytes; allowed: {MAX_BLOCK}"):
        decode(second_wire.block(2, 1, MAX_PAYLOAD + 1, 0, 0, DIGEST, bytes(MAX_PAYLOAD + 1)))


def test_a_kind_nobody_defined_is_unknown() -> None:
    for kind in (0, 6, 255):
        with pytest.raises(UnknownError, match=f"kind {kind} at byte 5; allowed: 1, 2, 3, 4, 5"):
            decode(second_wire.block(kind, 1, 4, 0, 0, DIGEST, bytes(4)))


def test_reserved_bytes_are_zero() -> None:
    record = bytearray(second_wire.block(2, 1, 4, 0, 0, DIGEST, bytes(4)))
    record[6] = 1
    with pytest.raises(UnknownError, match="reserved"):
        decode(second_wire.sealed(record))


@pytest.mark.parametrize(
    ("rows", "width", "payload"),
    [(2**32 - 1, 2**32 - 1, 1), (2**31, 2, 0), (65536, 65536, 0), (3, 5, 16), (0, 0, 0), (1, 0, 0), (0, 2**32 - 1, 0)],
)  # rows x width wraps to the payload in 32 bits in some of these
def test_lengths_that_lie_are_refused_by_exact_arithmetic(rows: int, width: int, payload: int) -> None:
    with pytest.raises(TornError, match="rows"):
        decode(second_wire.block(2, rows, width, 0, 0, DIGEST, bytes(payload)))


def test_a_raw_block_has_24_bytes_a_row_and_4_a_word_and_tells_no_part() -> None:
    for width, part in ((4, 0), (24, 0), (27, 0), (30, 0), (28, 1), (24 + 4 * 257, 0), (36, 1)):
        with pytest.raises(UnknownError, match="24 and 4 for each of 1 to 256 words, and 0"):
            decode(second_wire.block(1, 1, width, part, 0, DIGEST, bytes(width)))
    for words in (1, 2, 5, 256):
        block = decode(second_wire.block(1, 3, 24 + 4 * words, 0, 0, DIGEST, bytes(3 * (24 + 4 * words))))
        assert isinstance(block, RawBlock)
        assert block.words == words
        assert block.values.shape == ((3,) if words == 1 else (3, words))


@given(words=st.integers(2, 40), n=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_values_of_many_words_come_back_as_they_were(words: int, n: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    users, times = chance.integers(0, 256, (n, 16), np.uint8), chance.integers(0, 10**12, n)
    values = chance.integers(0, 2**32, (n, words), np.uint32)
    (record,) = encode_raw(DIGEST, users, times, values)
    assert len(record) == 64 + n * (24 + 4 * words)
    block = decode(record)
    assert isinstance(block, RawBlock)
    assert np.array_equal(block.users, users)
    assert np.array_equal(block.times, times)
    assert np.array_equal(block.values, values)
    assert block.values.shape == (n, words)


def test_columns_that_do_not_fit_together_are_not_encoded() -> None:
    users, times, values = np.ones((4, 16), np.uint8), np.ones(4, np.int64), np.ones(4, np.uint32)
    for bad in (
        (DIGEST, users[:, :15], times, values),
        (DIGEST, users, times[:3], values),
        (DIGEST, users, times, values.astype(np.int64)),
        (DIGEST, users, times.astype(">i8"), values),
        (DIGEST[:31], users, times, values),
        (DIGEST, users, times, values[:, None]),  # one word is a plain column
        (DIGEST, users, times, np.ones((3, 2), np.uint32)),
        (DIGEST, users, times, np.ones((4, 257), np.uint32)),
        (DIGEST, users, times, np.ones((4, 2, 2), np.uint32)),
    ):
        with pytest.raises(ColumnError, match="allowed"):
            encode_raw(*bad)  # pyright: ignore[reportArgumentType]
    for contributor in (-1, 2**32):
        with pytest.raises(ColumnError, match="allowed: 0 to 4294967295"):
            encode_reports(DIGEST, contributor, users)
    with pytest.raises(ColumnError, match="uint8"):
        encode_reports(DIGEST, 0, times)  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match="rows of 524225 bytes"):
        encode_reports(DIGEST, 0, np.zeros((1, MAX_PAYLOAD + 1), np.uint8))
