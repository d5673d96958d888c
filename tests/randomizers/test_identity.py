# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms, partitions, slots and streams: keyed, even, and independent of each other."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from murmurate.randomizers import Key, ParameterError, RandomnessError
from murmurate.randomizers.identity import ITEMS, NO_STREAM, Pepper, PseudonymCache, partitions, slots, streams

SECRET = hashlib.sha256(b"identity").digest()
PEPPER = Pepper(SECRET, deployment="shop")
KEY, OTHER = (Key(hashlib.sha256(name).digest(), deployment="shop") for name in (b"one", b"two"))
USERS = PEPPER.pseudonyms(b"user-%d" % i for i in range(20_000))


def test_a_pseudonym_is_the_hmac_that_the_contract_names() -> None:
    direct = hmac.new(SECRET, b"\x04\x00\x00\x00shop" + b"ada", hashlib.sha256).digest()[:16]
    assert PEPPER.pseudonym(b"ada") == direct
    assert PEPPER.pseudonyms([b"ada", b"grace"])[0].tobytes() == direct


def test_users_who_come_again_have_the_same_pseudonym_however_many_came_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("murmurate.randomizers.identity.MOST_KNOWN", 50)
    known = PseudonymCache(PEPPER)
    names = [b"user-%d" % i for i in np.random.default_rng(0).integers(0, 200, 3000).tolist()]
    assert (known.pseudonyms(names) == PEPPER.pseudonyms(names)).all()
    assert len(known) <= 50
    assert "user" not in repr(known)


def test_another_pepper_or_deployment_gives_unrelated_pseudonyms() -> None:
    others = [
        Pepper(SECRET[::-1], deployment="shop").pseudonym(b"ada"),
        Pepper(SECRET, deployment="shop2").pseudonym(b"ada"),
        Pepper(SECRET, deployment="sho").pseudonym(b"pada"),
    ]
    assert len({PEPPER.pseudonym(b"ada"), *others}) == 4


def test_a_pepper_shows_its_fingerprint_only() -> None:
    assert SECRET.hex() not in repr(PEPPER)
    assert PEPPER.fingerprint in repr(PEPPER)
    with pytest.raises(RandomnessError, match="at least 32 random bytes"):
        Pepper(b"short", deployment="shop")


def even(counts: np.ndarray, n: int) -> bool:
    """Whether counts of equally likely cells lie within 6 standard deviations (false alarm: 1e-6 for 100 cells)."""
    share = n / len(counts)
    return bool((np.abs(counts - share) < 6 * np.sqrt(share)).all())


@pytest.mark.parametrize("of", [1, 8, 40, 64])
def test_partitions_and_slots_are_even_and_blind_to_each_other(of: int) -> None:
    by_partition, by_slot = partitions(USERS, of), slots(KEY, USERS, of, "screen").astype(np.int64)
    n = len(USERS)
    assert even(np.bincount(by_partition, minlength=of), n)
    assert even(np.bincount(by_slot, minlength=of), n)
    assert even(np.bincount((by_partition + by_slot) % of, minlength=of), n)  # as sums of independent draws are
    assert (slots(KEY, USERS, of, "screen") == by_slot).all()
    if of > 1:
        assert (slots(OTHER, USERS, of, "screen") != by_slot).any()


def test_the_slots_of_one_user_in_two_streams_of_equal_size_are_independent() -> None:
    """Else rounds of two streams that ask the same slots ask the same people."""
    of = 8
    screen, fare = (slots(KEY, USERS, of, name).astype(np.int64) for name in ("screen", "fare"))
    assert even(np.bincount(screen * of + fare, minlength=of * of), len(USERS))
    words = KEY.words("slot", USERS, round=hashlib.sha256(b"murmurate slots 2\nscreen").digest())[:, 0]
    assert (screen == (words % np.uint64(of)).astype(np.int64)).all()


def _served(word: int, shares: list[int]) -> int:
    """The stream that this part of a million belongs to: each has as many of the words as its share says, in order."""
    for index, share in enumerate(shares):
        if word < share:
            return index
        word -= share
    return NO_STREAM


def test_a_users_word_decides_to_the_last_millionth_which_stream_they_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [0, 499_999, 500_000, 749_999, 750_000, 999_999]
    asked: list[str] = []

    def chosen(self: Key, purpose: str, contexts: np.ndarray, **options: Any) -> np.ndarray:
        asked.append(purpose)
        return np.array([[word + 7_000_000] for word in words], np.uint64)  # words are taken mod a million

    monkeypatch.setattr(Key, "words", chosen)
    assert streams(KEY, USERS[:6], [500_000, 250_000]).tolist() == [0, 0, 1, 1, NO_STREAM, NO_STREAM]
    assert streams(KEY, USERS[:6], [500_000, 250_000, 250_000]).tolist() == [0, 0, 1, 1, 2, 2]
    assert streams(KEY, USERS[:6], [1, 999_999]).tolist() == [0, 1, 1, 1, 1, 1]
    assert asked == ["split"] * 3


def test_a_user_serves_one_stream_in_the_proportion_of_the_shares() -> None:
    shares = [500_000, 250_000, 100_000]
    served = streams(KEY, USERS, shares)
    n = len(USERS)
    for index, share in enumerate(shares):
        expected = n * share / 1e6
        assert abs((served == index).sum() - expected) < 6 * expected**0.5
    idle = n - n * sum(shares) / 1e6
    assert abs((served == NO_STREAM).sum() - idle) < 6 * idle**0.5
    words = KEY.words("split", USERS, round=bytes(32))[:, 0] % np.uint64(1_000_000)
    assert served.tolist() == [_served(int(word), shares) for word in words]
    assert (streams(KEY, USERS, [1_000_000]) == 0).all()
    assert (streams(OTHER, USERS, shares) != served).any()


@pytest.mark.parametrize("shares", [[600_000, 500_000], [0, 5], [-1]])
def test_shares_over_one_are_refused(shares: list[int]) -> None:
    with pytest.raises(ParameterError, match="shares"):
        streams(KEY, USERS, shares)


def test_a_rank_is_what_the_contract_names_and_a_function_of_user_and_item_alone() -> None:
    def part(data: bytes) -> bytes:
        return len(data).to_bytes(4, "little") + data

    message = b"".join(map(part, (b"shop", ITEMS, b"", b"items", b"1")))
    encrypt = Cipher(algorithms.AES(hmac.new(SECRET, message, hashlib.sha256).digest()[:16]), modes.ECB()).encryptor()  # noqa: S305 - a block by itself, as the contract has it
    users, items = np.repeat(USERS[:50], 3, axis=0), np.tile([0, 7, 2**31 - 2], 50)
    found = PEPPER.ranks(users, items)
    for user, item, rank in zip(users, items.tolist(), found.tolist(), strict=True):
        first = encrypt.update(user.tobytes())
        mac = encrypt.update(bytes(a ^ b for a, b in zip(first, item.to_bytes(16, "little"), strict=True)))
        assert rank == int.from_bytes(encrypt.update(mac)[:8], "little")
    shuffled = np.random.default_rng(0).permutation(150)
    assert PEPPER.ranks(users[shuffled], items[shuffled]).tolist() == found[shuffled].tolist()
    assert not (Pepper(SECRET[::-1], deployment="shop").ranks(users, items) == found).any()


def test_of_many_users_with_the_same_items_each_item_goes_as_often() -> None:
    n, of = len(USERS), 5
    ranks = PEPPER.ranks(np.repeat(USERS, of, axis=0), np.tile(np.arange(of), n)).reshape(n, of)
    gone = np.bincount(ranks.argmax(axis=1), minlength=of)
    assert (np.abs(gone - n / of) < 5 * np.sqrt(n / of * (1 - 1 / of))).all()


def test_no_name_of_a_user_stands_where_items_are_ranked() -> None:
    with pytest.raises(UnicodeDecodeError):  # names are UTF-8
        ITEMS.decode()
