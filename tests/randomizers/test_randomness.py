# SPDX-License-Identifier: Apache-2.0
"""Keyed randomness: the same context gives the same words on every machine, any other context unrelated ones."""

import hmac
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from murmurate.randomizers import GRR, OUE, Key, randomness
from murmurate.randomizers import lanes as opened
from murmurate.randomizers.randomness import PURPOSES, canonical, canonical_one, contexts
from tests.cases import every

SECRET = bytes(range(100, 132))
ROUND, OTHER_ROUND = b"\x01" * 32, b"\x01" * 31 + b"\x02"
MECHANISM, OTHER_MECHANISM = b"\x03" * 32, b"\x03" * 31 + b"\x04"
WIDTHS: list[Any] = [np.uint8, np.uint16, np.uint32, np.uint64]
Bytes = NDArray[np.uint8]


def key(secret: bytes = SECRET, deployment: str = "shop") -> Key:
    return Key(secret, deployment=deployment)


def some_users(n: int, first: int = 0) -> Bytes:
    """Pseudonyms that differ in as few bits as pseudonyms can."""
    return contexts(np.arange(first, first + n))


def report_words(
    users: Bytes,
    values: NDArray[np.int64] | None = None,
    *,
    under: Key | None = None,
    round: bytes = ROUND,
    mechanism: bytes = MECHANISM,
    k: int = 1,
    dtype: Any = np.uint64,
) -> NDArray[Any]:
    """The words of reports, all lanes put together: dtype[n, k]."""
    values = np.zeros(len(users), np.int64) if values is None else values
    lanes = (under or key()).draw(users, round=round).open(mechanism, canonical(values))
    parts = [words.copy() for _, words in lanes.words(k, dtype)]
    return np.concatenate(parts) if parts else np.empty((0, k), dtype)


# ---- the same context, the same words ----


def test_the_same_context_gives_the_same_words_from_a_key_made_anew() -> None:
    users = some_users(1000)
    np.testing.assert_array_equal(report_words(users, k=5), report_words(users, k=5, under=key()))


def test_words_are_these_on_every_machine() -> None:
    # worked out with the AES of known_answers.py
    words = report_words(some_users(2), np.array([0, -1]), k=3)
    assert [f"{word:016x}" for word in words.ravel()] == [
        "859c79ed25d30ce1", "a3e570d17402247e", "4feb2437a63ea3ae",
        "b8068dd0dce6a01b", "baad8066a0c29315", "26c7413217773baf",
    ]  # fmt: skip
    scatter = key().words("scatter", some_users(2), round=ROUND, k=2, dtype=np.uint32)
    assert [f"{word:08x}" for word in scatter.ravel()] == ["7887a164", "00171dc5", "ce89420b", "1836d76d"]


@every("dtype", WIDTHS)
def test_fewer_words_are_a_prefix_of_more(dtype: Any) -> None:
    users = some_users(50)
    many = report_words(users, k=100, dtype=dtype)
    for k in (1, 2, 3, 7, 8, 9, 16, 17, 33, 99):
        np.testing.assert_array_equal(report_words(users, k=k, dtype=dtype), many[:, :k])


def test_narrow_words_are_the_bytes_of_wide_ones() -> None:
    users = some_users(20)
    wide = np.ascontiguousarray(report_words(users, k=6, dtype=np.uint64)).astype("<u8")
    for dtype in WIDTHS:
        size = np.dtype(dtype).itemsize
        narrow = np.ascontiguousarray(report_words(users, k=48 // size, dtype=dtype)).astype(f"<u{size}")
        assert narrow.tobytes() == wide.tobytes()


@every("batch", [1, 2, 3, 10, 99, 100, 101, 1000])
def test_words_do_not_depend_on_the_size_of_the_batch(batch: int) -> None:
    users, values = some_users(300), np.arange(300) % 7
    whole = report_words(users, values, k=3)
    parts = [report_words(users[i : i + batch], values[i : i + batch], k=3) for i in range(0, 300, batch)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("k", [1, 2, 3, 8, 40])
@pytest.mark.parametrize(
    ("lane_bytes", "lane_rows"), [(1, 1), (16, 1 << 14), (33, 2), (1 << 20, 7), (1000, 64), (160, 99)]
)
def test_words_do_not_depend_on_where_lanes_end(
    k: int, lane_bytes: int, lane_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, values = some_users(99), np.arange(99)
    reports, stage = report_words(users, values, k=k), key().words("slot", users, round=ROUND, k=k)
    monkeypatch.setattr(opened, "LANE_BYTES", lane_bytes)
    monkeypatch.setattr(opened, "LANE_ROWS", lane_rows)
    np.testing.assert_array_equal(report_words(users, values, k=k), reports)
    np.testing.assert_array_equal(key().words("slot", users, round=ROUND, k=k), stage)


def test_lanes_cover_every_row_once_and_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "LANE_BYTES", 4096)
    monkeypatch.setattr(opened, "LANE_ROWS", 10)
    users = some_users(99)
    for k in (1, 2, 100, 1000):
        lanes = key().draw(users, round=ROUND).open(MECHANISM, canonical(np.zeros(99, np.int64)))
        rows: list[int] = []
        for where, words in lanes.words(k, np.uint64):
            assert words.shape == (where.stop - where.start, k)
            assert words.nbytes <= 8192
            rows += range(99)[where]
        assert rows == list(range(99))


def test_words_do_not_depend_on_the_order_or_the_neighbours_of_users() -> None:
    users, values = some_users(200), np.arange(200) % 5
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_array_equal(
        report_words(users[order], values[order], k=4), report_words(users, values, k=4)[order]
    )


def test_users_that_lie_apart_in_memory_draw_the_same_words() -> None:
    wide = np.repeat(some_users(100), 2, axis=1)
    apart = wide[::3, ::2]
    np.testing.assert_array_equal(report_words(apart, k=2), report_words(np.ascontiguousarray(apart), k=2))


def test_drawing_in_turns_with_another_round_changes_nothing() -> None:
    users, one_key = some_users(10), key()
    first, other = report_words(users), report_words(users, round=OTHER_ROUND)
    for _ in range(3):
        np.testing.assert_array_equal(report_words(users, under=one_key), first)
        np.testing.assert_array_equal(report_words(users, under=one_key, round=OTHER_ROUND), other)


def test_drawing_leaves_users_and_values_as_they_were() -> None:
    users, values = some_users(50), canonical(np.arange(50))
    kept = users.copy(), values.copy()
    for _ in key().draw(users, round=ROUND).open(MECHANISM, values).words(5, np.uint64):
        pass
    np.testing.assert_array_equal(users, kept[0])
    np.testing.assert_array_equal(values, kept[1])


@every("bits", [8, 16, 32, 64])
def test_a_single_device_draws_the_words_of_a_batch(bits: int) -> None:
    users, values = some_users(12), np.array([0, 1, -1, 2**63 - 1, -(2**63), 5, 255, 256, -256, 7, 8, 9])
    for k in (1, 2, 3, 4, 5, 15, 16, 17, 100):
        batch = report_words(users, values, k=k, dtype=np.dtype(f"u{bits // 8}").type)
        for row in range(12):
            words = key().draw_one(users[row].tobytes(), round=ROUND).open(MECHANISM, canonical_one(int(values[row])))
            assert words(k, bits) == batch[row].tolist()


@given(st.binary(min_size=16, max_size=16), st.integers(-(2**63), 2**63 - 1), st.integers(1, 70))
def test_a_single_device_draws_the_words_of_a_batch_whatever_the_user_and_value(
    user: bytes, value: int, k: int
) -> None:
    batch = report_words(np.frombuffer(user, np.uint8).reshape(1, 16), np.array([value]), k=k)
    assert key().draw_one(user, round=ROUND).open(MECHANISM, canonical_one(value))(k, 64) == batch[0].tolist()


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_canonical_bytes_of_a_value_are_the_same_in_a_batch_and_alone(value: int) -> None:
    assert canonical(np.array([value]))[0].tobytes() == canonical_one(value)
    assert int.from_bytes(canonical_one(value), "little", signed=True) == value


@every("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i4"])
def test_the_canonical_bytes_of_a_value_do_not_depend_on_its_type(kind: Any) -> None:
    np.testing.assert_array_equal(canonical(np.array([0, 1, 127], kind)), canonical(np.array([0, 1, 127])))


# ---- another context, unrelated words ----


N = 10_000


def one_change_each() -> dict[str, NDArray[Any]]:
    """The words of 10 000 contexts, and of the same with one thing changed."""
    users, values = some_users(N), np.arange(N) % 16
    last_bit = users.copy()
    last_bit[:, 15] ^= 0x80
    return {
        "nothing": report_words(users, values),
        "user": report_words(last_bit, values),
        "value": report_words(users, values + 16),
        "sign of the value": report_words(users, ~values),
        "round": report_words(users, values, round=OTHER_ROUND),
        "mechanism": report_words(users, values, mechanism=OTHER_MECHANISM),
        "deployment": report_words(users, values, under=key(deployment="shop2")),
        "secret": report_words(users, values, under=key(SECRET[:-1] + b"\x00")),
        "longer secret": report_words(users, values, under=key(SECRET + b"\x00" * 33)),
    }


def share_no_word(groups: dict[str, NDArray[Any]]) -> None:
    """False alarm: a collision of random 64-bit words, below 1e-8 for the sizes here (n^2 / 2^65)."""
    words = np.concatenate([group.ravel() for group in groups.values()])
    assert words.dtype == np.uint64
    assert len(words) <= 500_000
    assert len(np.unique(words)) == len(words)


def test_changing_any_one_part_of_the_context_changes_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = one_change_each()
    monkeypatch.setattr(randomness, "ALGORITHM", b"2")
    groups["algorithm version"] = report_words(some_users(N), np.arange(N) % 16)
    share_no_word(groups)


def test_the_words_of_one_context_never_repeat() -> None:
    share_no_word({"a report": report_words(some_users(1), k=100_000)})


def test_neighbouring_users_values_and_rounds_share_no_word() -> None:
    users = some_users(100)
    share_no_word(
        {
            f"{value} in round {turn}": report_words(
                users, np.full(100, value), round=turn.to_bytes(32, "little"), k=10
            )
            for value, turn in product(range(10), range(10))
        }
    )


def test_a_value_is_no_counter_of_words() -> None:
    """Were the value only added to the index, value 1's word i would be value 0's word i xor 1."""
    zero, one = (report_words(some_users(100), np.full(100, value), k=64) for value in (0, 1))
    share_no_word({"zero": zero, "one": one})


def test_separate_purposes_never_share_a_word() -> None:
    rows = contexts(np.arange(N))
    groups: dict[str, NDArray[Any]] = {p: key().words(p, rows, round=ROUND, k=2) for p in PURPOSES}
    for mechanism in (bytes(32), MECHANISM):
        groups[f"report of {mechanism[0]}"] = report_words(rows, mechanism=mechanism, k=2)
    assert len(groups) == len(PURPOSES) + 2
    share_no_word(groups)


def test_lasting_randomness_is_that_of_the_user_and_of_no_round() -> None:
    users, values = some_users(50), canonical(np.arange(50))
    drawn = []
    for turn in (ROUND, bytes(32)):
        opened = key().draw(users, round=turn).lasting().open(MECHANISM, values)
        drawn.append(np.concatenate([words.copy() for _, words in opened.words(2, np.uint64)]))
        for i in range(50):
            one = key().draw_one(users[i].tobytes(), round=turn).lasting().open(MECHANISM, canonical_one(i))
            assert one(2, 64) == drawn[-1][i].tolist()
    assert (drawn[0] == drawn[1]).all()
    share_no_word({"lasting": drawn[0], "of a round": report_words(users, np.arange(50), k=2)})


def test_two_mechanisms_draw_apart_from_each_other_in_one_round() -> None:
    users, values = some_users(N), np.zeros(N, np.int64)
    groups = {
        repr(kind): report_words(users, values, mechanism=kind.digest)
        for kind in (GRR(d=4, epsilon=1), GRR(d=5, epsilon=1), GRR(d=4, epsilon=1.000001), OUE(d=4, epsilon=1))
    }
    share_no_word(groups)


def test_contexts_of_different_parts_and_rows_share_no_word() -> None:
    groups = {str(part): key().words("scatter", contexts(np.arange(1000), part), round=ROUND) for part in range(20)}
    share_no_word(groups)


# ---- length prefixes ----


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every message that a key is derived from."""
    seen: list[bytes] = []
    real = hmac.digest

    def recording(secret: bytes, message: bytes, digest: str) -> bytes:
        seen.append(message)
        return real(secret, message, digest)

    monkeypatch.setattr(randomness, "hmac", SimpleNamespace(digest=recording))
    return seen


def read_back(message: bytes) -> list[bytes]:
    """The parts of a message: that they can be read back is what makes the encoding injective."""
    parts = []
    while message:
        size = int.from_bytes(message[:4], "little")
        parts.append(message[4 : 4 + size])
        assert len(parts[-1]) == size
        message = message[4 + size :]
    return parts


def derivations(deployment: str, round: bytes) -> None:
    """Derive for a report and for every stage purpose."""
    under = key(deployment=deployment)
    report_words(some_users(1), under=under, round=round)
    for purpose in PURPOSES:
        under.words(purpose, some_users(1), round=round)


HOSTILE_DEPLOYMENTS = [
    "a", "ab", "abc", "a\x00", "\x00", "\x00\x00\x00\x00", " \x00\x00\x00", "a" + " \x00\x00\x00" + "\x01" * 32,
    "report", "reportscatter", "scatter", "slot", "\x01", "a\x01", "\u00e9", "e\u0301",
]  # fmt: skip


def test_messages_can_be_read_back_so_no_two_contexts_have_the_same(messages: list[bytes]) -> None:
    rounds = [ROUND, OTHER_ROUND, bytes(32), b"a" * 32, b"b" + b"a" * 31, b" \x00\x00\x00" * 8]
    for deployment, round in product(HOSTILE_DEPLOYMENTS, rounds):
        derivations(deployment, round)
    expected = [
        [deployment.encode(), round, *tail, b"1"]
        for deployment, round in product(HOSTILE_DEPLOYMENTS, rounds)
        for tail in [(MECHANISM, b"report"), *((b"", purpose.encode()) for purpose in PURPOSES)]
    ]
    assert [read_back(message) for message in messages] == expected
    assert len(set(messages)) == len(messages)


@given(st.lists(st.binary(max_size=40), min_size=3, max_size=3), st.integers(0, 80), st.integers(0, 80))
def test_moving_bytes_from_one_part_to_the_next_changes_the_key(parts: list[bytes], one: int, other: int) -> None:
    joined = b"".join(parts)
    cut = sorted((min(one, len(joined)), min(other, len(joined))))
    moved = [joined[: cut[0]], joined[cut[0] : cut[1]], joined[cut[1] :]]
    texts = [[part.hex() for part in split] for split in (parts, moved)]
    keys = [key()._derive(split[0], split[1], text[2]) for split, text in zip((parts, moved), texts, strict=True)]
    assert (keys[0] == keys[1]) == (parts == moved)


def test_no_two_of_many_field_splits_of_the_same_text_derive_the_same_key() -> None:
    text = "report\x00scatter\x06\x00\x00\x00report"
    derived = {}
    for a, b, c in combinations(range(1, len(text) + 1), 3):
        under = key(deployment=text[:a])
        split = text[:a], text[a:b], text[b:c], text[c:]
        derived[split] = under._derive(split[1].encode(), split[2].encode(), split[3])
    assert len(derived) > 1000
    assert len(set(derived.values())) == len(derived)


def test_purposes_that_begin_alike_derive_different_keys() -> None:
    names = ["", "r", "re", "report", "reports", "report1", "1", "scatter", "scatter\x01\x00\x00\x001", "slot", "slots"]
    assert len({key()._derive(ROUND, MECHANISM, name) for name in names}) == len(names)
