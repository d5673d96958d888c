# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.topics import Round, Slots, decode, encode
from murmurate.topics.errors import ColumnError, MessageError
from tests.cases import drawn
from tests.topics.samples import ROUND, put, tables
from tests.topics.second_wire import bitmap


@drawn(60, long=3000, asked=st.lists(st.booleans(), min_size=1, max_size=200))
def test_the_slots_a_round_asks_come_back(asked: list[bool]) -> None:
    mask = np.array(asked)
    slots = Slots.chosen(mask)
    assert np.array_equal(slots.mask(), mask)
    assert slots.count() == mask.sum()
    assert slots.asked == bitmap(
        [int(s) for s in np.flatnonzero(mask)], len(mask)
    )  # as another implementation writes it
    sent = decode(encode(ROUND.model_copy(update={"slots": slots})))
    assert isinstance(sent, Round)
    assert sent.slots == slots


@drawn(
    60,
    long=3000,
    of=st.integers(1, 40),
    asked=st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=", max_size=8),
)
def test_a_set_of_slots_has_one_form(of: int, asked: str) -> None:
    record = json.dumps(put(tables(ROUND), ("slots",), {"of": of, "asked": asked})).encode()
    try:
        sent = decode(record)
    except MessageError:
        return
    assert isinstance(sent, Round)
    assert Slots.chosen(sent.slots.mask()) == sent.slots


def test_all_slots_are_written_all() -> None:
    for of in (1, 7, 8, 12, 65536):
        assert Slots.chosen(np.ones(of, bool)) == Slots.every(of)
        assert Slots.every(of).mask().all()
        assert Slots.every(of).count() == of


@pytest.mark.parametrize(
    ("of", "asked", "said"),
    [
        (20, "CQI", "found 2 bytes; allowed: 3 for 20 slots"),
        (20, "CQIIAA", "found 4 bytes; allowed: 3 for 20 slots"),
        (20, "CQIY", "found bits set past slot 19"),
        (8, "AR", "not canonical"),
        (8, "AQ=", "pattern"),
        (8, "A", "no base64url"),
        (8, "_w", 'found a bitmap of ones; allowed: "all"'),
        (12, "_w8", 'found a bitmap of ones; allowed: "all"'),
        (8, "+w", "pattern"),
        (8, "", "pattern"),
        (0, "all", "greater than or equal to 1"),
        (65537, "all", "less than or equal to 65536"),
        (8, "A" * 11000, "at most 10923 characters"),
    ],
)
def test_another_form_is_refused(of: int, asked: str, said: str) -> None:
    with pytest.raises(MessageError, match="slots") as caught:
        decode(json.dumps(put(tables(ROUND), ("slots",), {"of": of, "asked": asked})).encode())
    assert said in str(caught.value)


def test_a_mask_cannot_be_changed() -> None:
    for slots in (Slots.every(9), Slots.chosen(np.arange(9) < 4)):
        with pytest.raises(ValueError, match="read-only"):
            slots.mask()[0] = False


def test_what_is_no_mask_is_refused() -> None:
    for bad in (np.ones(3), np.ones((2, 2), bool), np.ones(0, bool), np.ones(65537, bool), [True]):
        with pytest.raises(ColumnError, match="allowed: bool"):
            Slots.chosen(bad)  # type: ignore[arg-type]
