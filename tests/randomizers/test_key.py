# SPDX-License-Identifier: Apache-2.0
"""Keyed randomness fails closed: without a good key and a working cipher there is an error and no report.

What a key shows, in text or to a copy, is its deployment and fingerprint.  What words are drawn: test_randomness.py.
"""

import copy
import pickle
import traceback
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from numpy.typing import NDArray

from murmurate.errors import MurmurateError
from murmurate.randomizers import GRR, OUE, Key, RandomnessError, ValueRefusedError, lanes
from murmurate.randomizers import cipher as aes_module
from murmurate.randomizers.randomness import canonical, contexts
from tests.cases import every

SECRET = bytes(range(100, 132))
ROUND, MECHANISM = b"\x01" * 32, b"\x03" * 32


def key() -> Key:
    return Key(SECRET, deployment="shop")


def some_users(n: int) -> NDArray[np.uint8]:
    return contexts(np.arange(n))


# ---- no key, no words ----


@pytest.fixture
def ciphers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every cipher that is made."""
    made: list[Any] = []
    real = Cipher

    def recording(*arguments: Any) -> Any:
        made.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(aes_module, "Cipher", recording)
    return made


@pytest.mark.parametrize(
    "secret",
    [
        None,
        b"",
        "",
        "x" * 64,
        0,
        32,
        1.5,
        list(range(32)),
        memoryview(bytes(range(32))),
        b"short",
        bytes(range(31)),
        bytes(32),
        b"\xff" * 64,
        b"abcdefg" * 10,
        bytearray(b"01" * 32),
    ],
    ids=lambda secret: f"{type(secret).__name__}-{len(secret) if hasattr(secret, '__len__') else secret}",
)
def test_no_key_a_short_one_a_repetitive_one_or_another_type_is_refused_and_nothing_drawn(
    secret: Any, ciphers: list[Any]
) -> None:
    with pytest.raises(RandomnessError, match=r"^key: found .*; allowed: at least 32 random bytes"):
        Key(secret, deployment="shop")
    assert ciphers == []


@pytest.mark.parametrize("deployment", ["", None, b"shop", 5])
def test_a_key_needs_the_name_of_its_deployment(deployment: Any, ciphers: list[Any]) -> None:
    with pytest.raises(RandomnessError, match=r"^key: found no deployment name; allowed:"):
        Key(SECRET, deployment=deployment)
    assert ciphers == []


@every("round", [b"", b"\x01" * 31, b"\x01" * 33, "x" * 32, None, bytearray(32), 32])
def test_a_round_that_is_no_digest_is_refused(round: Any) -> None:
    for ask in (
        lambda: key().draw(some_users(1), round=round),
        lambda: key().draw_one(bytes(16), round=round),
        lambda: key().words("slot", some_users(1), round=round),
        lambda: key().draw(some_users(1), round=ROUND).open(round, canonical(np.array([0]))),
        lambda: key().draw_one(bytes(16), round=ROUND).open(round, bytes(16)),
    ):
        with pytest.raises(MurmurateError, match=r"found .*; allowed: a digest of 32 bytes$"):
            ask()


@every(
    "users",
    [
        None,
        b"x" * 16,
        np.zeros(16, np.uint8),
        np.zeros((2, 15), np.uint8),
        np.zeros((2, 17), np.uint8),
        np.zeros((2, 16), np.int8),
        np.zeros((2, 2), np.uint64),
        np.zeros((1, 2, 16), np.uint8),
    ],
)
def test_users_that_are_no_rows_of_16_bytes_are_refused(users: Any) -> None:
    for ask in (
        lambda: key().draw(users, round=ROUND),
        lambda: key().words("slot", users, round=ROUND),
        lambda: key().draw(some_users(2), round=ROUND).open(MECHANISM, users),
    ):
        with pytest.raises(ValueRefusedError, match=r"found .*; allowed: uint8\[n, 16\](, or more whole blocks)?$"):
            ask()


def test_values_have_to_be_as_many_as_users() -> None:
    with pytest.raises(ValueRefusedError, match=r"^values: found 3 for 2 users; allowed: one for each$"):
        key().draw(some_users(2), round=ROUND).open(MECHANISM, canonical(np.arange(3)))


@every("user", [b"", b"x" * 15, b"x" * 17])
def test_a_single_user_or_value_of_another_length_is_refused(user: bytes) -> None:
    with pytest.raises(ValueRefusedError, match=r"^user: found a pseudonym of .*; allowed: 16$"):
        key().draw_one(user, round=ROUND)
    with pytest.raises(ValueRefusedError, match=r"^value: found .*; allowed: 16, or more whole blocks$"):
        key().draw_one(bytes(16), round=ROUND).open(MECHANISM, user)


@every("purpose", ["report", "", "scatter2", "Scatter", None, b"scatter"])
def test_a_stage_cannot_draw_for_another_purpose_least_of_all_for_reports(purpose: Any) -> None:
    allowed = "scatter, permutation, slot, split, noise, fakes"
    with pytest.raises(MurmurateError, match=rf"^purpose: found .*; allowed: {allowed}$"):
        key().words(purpose, some_users(1), round=ROUND)


def test_no_words_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(MurmurateError, match=r"^words: found 0 a context; allowed: at least 1$"):
        key().words("slot", some_users(1), round=ROUND, k=0)


def test_nobody_draws_nothing() -> None:
    assert key().words("slot", some_users(0), round=ROUND, k=3).shape == (0, 3)
    assert list(key().draw(some_users(0), round=ROUND).open(MECHANISM, some_users(0)).words(3, np.uint64)) == []


# ---- a cipher that fails ----


class Broken:
    """Stands for a cipher: works but for what a test breaks."""

    def __init__(self, *arguments: Any) -> None:
        self._real: Any = Cipher(*arguments).encryptor()

    def encryptor(self) -> "Broken":
        return self

    def update(self, data: bytes) -> bytes:
        return bytes(self._real.update(data))

    def update_into(self, data: Any, out: Any) -> int:
        return int(self._real.update_into(data, out))


class CannotBeMade(Broken):
    def __init__(self, *arguments: Any) -> None:
        raise NotImplementedError("no AES here")


class HasNoEncryptor(Broken):
    def encryptor(self) -> Broken:
        raise ValueError("no encryptor here")


class Raises(Broken):
    def update(self, data: bytes) -> bytes:
        raise MemoryError

    def update_into(self, data: Any, out: Any) -> int:
        raise MemoryError


class WritesTooLittle(Broken):
    def update(self, data: bytes) -> bytes:
        return super().update(data)[:-16]

    def update_into(self, data: Any, out: Any) -> int:
        return super().update_into(data, out) - 16


class WritesNothing(Broken):
    def update(self, data: bytes) -> bytes:
        return b""

    def update_into(self, data: Any, out: Any) -> int:
        return 0


class FailsLater(Broken):
    """The third call of each cipher fails: the inputs are mixed, the first words are not yet drawn."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._left = 2

    def _count(self) -> None:
        if not self._left:
            raise OSError("the device is gone")
        self._left -= 1

    def update(self, data: bytes) -> bytes:
        self._count()
        return super().update(data)

    def update_into(self, data: Any, out: Any) -> int:
        self._count()
        return super().update_into(data, out)


FAILING = [CannotBeMade, HasNoEncryptor, Raises, WritesTooLittle, WritesNothing, FailsLater]


def every_way_to_draw(under: Key) -> Iterator[Callable[[], object]]:
    users, values = some_users(3), np.array([0, 1, 2])
    for kind in (GRR(d=4, epsilon=1), OUE(d=4, epsilon=1), OUE(d=100, epsilon=12)):
        yield partial(kind.perturb, values, under.draw(users, round=ROUND))
        yield partial(kind.perturb_one, 1, under.draw_one(users[0].tobytes(), round=ROUND))
    yield partial(under.words, "permutation", users, round=ROUND)


@pytest.mark.parametrize("cipher", FAILING)
def test_a_failing_cipher_gives_an_error_and_no_report(cipher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    under = key()
    monkeypatch.setattr(aes_module, "Cipher", cipher)
    for ask in every_way_to_draw(under):
        returned: object = None
        with pytest.raises(RandomnessError, match=r"^AES-128 .*: nothing was drawn$"):
            returned = ask()
        assert returned is None


@pytest.mark.parametrize("cipher", [kind for kind in FAILING if kind is not FailsLater])
def test_no_key_is_made_where_the_cipher_fails(cipher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aes_module, "Cipher", cipher)
    with pytest.raises(RandomnessError, match=r"^AES-128 .*: nothing was drawn$"):
        key()


def test_no_key_is_made_where_the_cipher_gives_a_wrong_known_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneBitWrong(Broken):
        def update(self, data: bytes) -> bytes:
            right = super().update(data)
            return right[:-1] + bytes([right[-1] ^ 1])

    monkeypatch.setattr(aes_module, "Cipher", OneBitWrong)
    with pytest.raises(RandomnessError, match=r"^AES-128 gives a wrong known answer: nothing was drawn$"):
        key()


def test_a_cipher_that_fails_in_a_later_lane_gives_no_report_of_the_earlier_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class FourLanes(Broken):
        left = 12

        def update_into(self, data: Any, out: Any) -> int:
            FourLanes.left -= 1
            return super().update_into(data, out) if FourLanes.left >= 0 else 0

    under = key()
    monkeypatch.setattr(aes_module, "Cipher", FourLanes)
    monkeypatch.setattr(lanes, "LANE_ROWS", 10)
    reports = None
    with pytest.raises(RandomnessError):
        reports = GRR(d=4, epsilon=1).perturb(np.zeros(100, np.int64), under.draw(some_users(100), round=ROUND))
    assert reports is None
    assert FourLanes.left == -1


# ---- what a key shows ----


def reveals(shown: bytes | str) -> bool:
    text = shown.encode() if isinstance(shown, str) else shown
    spellings = [
        SECRET,
        SECRET.hex().encode(),
        repr(SECRET).encode(),
        repr(SECRET)[2:-1].encode(),
        str(list(SECRET)).encode(),
    ]
    spellings += [SECRET[i : i + 8] for i in range(0, 32, 8)]
    return any(spelling in text for spelling in spellings)


def test_a_key_shows_its_deployment_and_fingerprint_only() -> None:
    for shown in (repr(key()), str(key()), f"{key()}", f"{[key()]}"):
        assert "shop" in shown
        assert key().fingerprint in shown
        assert not reveals(shown)
    assert not hasattr(key(), "__dict__")


def test_fingerprints_tell_secrets_apart_and_are_no_part_of_them() -> None:
    prints = {Key(SECRET[:i] + b"\x00" + SECRET[i + 1 :], deployment="shop").fingerprint for i in range(32)} | {
        key().fingerprint
    }
    assert len(prints) == 33
    assert all(len(fingerprint) == 16 and fingerprint not in SECRET.hex() for fingerprint in prints)


@every("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_key_cannot_be_pickled_alone_or_inside_a_draw(protocol: int) -> None:
    for thing in (
        key(),
        [key()],
        key().draw(some_users(1), round=ROUND),
        key().draw_one(bytes(16), round=ROUND),
    ):
        with pytest.raises((RandomnessError, TypeError)) as caught:
            pickle.dumps(thing, protocol)
        assert not reveals(str(caught.value))


@every("copied", [copy.copy, copy.deepcopy])
def test_a_key_cannot_be_copied(copied: Callable[[object], object]) -> None:
    with pytest.raises(RandomnessError, match="cannot be copied or pickled"):
        copied(key())


@every("secret", [SECRET[:31], SECRET[:7] * 5, SECRET.hex(), list(SECRET), memoryview(SECRET)])
def test_no_error_text_repeats_a_refused_secret(secret: Any) -> None:
    with pytest.raises(RandomnessError) as caught:
        Key(secret, deployment="shop")
    assert not reveals(str(caught.value))


@pytest.mark.parametrize("cipher", FAILING)
def test_no_error_text_of_a_failing_cipher_holds_the_secret_a_user_or_a_value(
    cipher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    under, user = key(), b"pseudonym-of-ann"
    monkeypatch.setattr(aes_module, "Cipher", cipher)
    with pytest.raises(RandomnessError) as caught:
        OUE(d=54_321, epsilon=1).perturb_one(54_320, under.draw_one(user, round=ROUND))
    text = "".join(traceback.format_exception_only(caught.value))
    assert not reveals(text)
    assert user.decode() not in text
    assert "54320" not in text


def test_a_cipher_that_says_it_wrote_and_did_not_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Idle:
        def __init__(self, cipher: Any) -> None:
            self.cipher = cipher

        def update(self, data: bytes) -> bytes:
            return bytes(self.cipher.update(data))

        def update_into(self, data: bytes, buffer: Any) -> int:
            return len(data)

    key = Key(SECRET, deployment="shop")
    real = aes_module._cipher
    monkeypatch.setattr(aes_module, "_cipher", lambda key: Idle(real(key)))
    with pytest.raises(RandomnessError, match="nothing was drawn"):
        OUE(d=16, epsilon=1).perturb(np.zeros(2, np.int64), key.draw(np.zeros((2, 16), np.uint8), round=bytes(32)))


def test_nothing_that_holds_a_key_can_be_copied_or_changed() -> None:
    key = Key(SECRET, deployment="shop")
    users = np.zeros((2, 16), np.uint8)
    draw, one = key.draw(users, round=bytes(32)), key.draw_one(bytes(16), round=bytes(32))
    for kept in (key, draw, one, draw.open(bytes(32), users)):
        with pytest.raises(RandomnessError, match="cannot be copied or pickled"):
            pickle.dumps(kept)
    with pytest.raises(AttributeError):
        key.deployment = "other"  # type: ignore[misc]


@every(
    "wrong",
    [
        lambda key: Key(np.arange(32, dtype=np.uint8), deployment="a"),  # type: ignore[arg-type]
        lambda key: Key(SECRET, deployment="\ud800"),
        lambda key: key.draw_one("a" * 16, round=bytes(32)),
        lambda key: key.draw_one([1] * 16, round=bytes(32)),
        lambda key: key.words("slot", np.zeros((2, 16), np.uint8), round=bytes(32), k=-1),
        lambda key: key.words("slot", np.zeros((2, 16), np.uint8), round=bytes(32), k=1.5),
        lambda key: key.words("slot", np.zeros((2, 16), np.uint8), round=bytes(32), dtype=np.float64),
        lambda key: OUE(d=4, epsilon=1).perturb(np.zeros(2, np.int64), None),  # type: ignore[arg-type]
        lambda key: OUE(d=4, epsilon=1).perturb_one(1, None),  # type: ignore[arg-type]
        lambda key: OUE(d=4, epsilon=1).estimate(np.zeros(4, np.int64), "3"),  # type: ignore[arg-type]
        lambda key: OUE(d=4, epsilon=1).estimate(np.zeros(4, np.int64), float("nan")),  # type: ignore[arg-type]
        lambda key: OUE(d=4, epsilon=1).variance(3, "x"),  # type: ignore[arg-type]
        lambda key: OUE(d=10**5000, epsilon=1),
        lambda key: OUE(d=4, epsilon=10**5000),
        lambda key: OUE(d=4, epsilon=Fraction(1, 10**5000)),
        lambda key: OUE(d=4, epsilon=20.0000005),
    ],
)
def test_whatever_is_handed_over_the_error_is_one_of_ours(wrong: Any) -> None:
    with pytest.raises(MurmurateError):
        wrong(Key(SECRET, deployment="shop"))
