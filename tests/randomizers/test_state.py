# SPDX-License-Identifier: Apache-2.0
"""A state in pieces is the state, however the pieces are cut; and nothing less is taken for it."""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.errors import SnapshotError
from murmurate.randomizers.state import StateForm, collect, dump, load, pieces

TEST = StateForm("test", 2)
FACTS: dict[str, Any] = {"b": [1, None], "a": {"text": "ä"}}
ARRAYS: dict[str, np.ndarray] = {
    "users": np.arange(64, dtype=np.uint8).reshape(4, 16),
    "big": np.arange(5, dtype=">i8"),
    "gaps": np.arange(10, dtype=np.int16)[::3],
    "who": np.array([True, False, True]),
    "none": np.zeros((0, 7), np.int32),
}
WHOLE = b"".join(pieces(TEST, FACTS, ARRAYS.items()))


def same(arrays: dict[str, np.ndarray]) -> bool:
    return list(arrays) == list(ARRAYS) and all(
        (arrays[name] == array).all() and arrays[name].shape == array.shape for name, array in ARRAYS.items()
    )


@pytest.mark.parametrize("seed", range(20))
def test_pieces_come_back_however_they_are_cut(seed: int) -> None:
    rng = random.Random(seed)
    cuts = sorted(rng.choices(range(len(WHOLE) + 1), k=rng.randrange(60)))
    parts = [WHOLE[a:b] for a, b in zip([0, *cuts], [*cuts, len(WHOLE)], strict=True)]
    facts, arrays = collect(TEST, parts)
    assert facts == FACTS
    assert same(arrays)
    assert all(array.flags.writeable for array in arrays.values())


def test_the_same_state_gives_the_same_bytes_and_large_arrays_are_not_copied() -> None:
    assert b"".join(pieces(TEST, dict(reversed(FACTS.items())), ARRAYS.items())) == WHOLE
    array = np.arange(1000)
    assert any(np.shares_memory(np.frombuffer(piece, np.uint8), array) for piece in pieces(TEST, {}, [("a", array)]))


def test_every_truncation_every_flipped_bit_and_anything_behind_the_end_is_refused() -> None:
    for size in range(len(WHOLE)):
        with pytest.raises(SnapshotError):
            collect(TEST, [WHOLE[:size]])
    with pytest.raises(SnapshotError):
        collect(TEST, [WHOLE, b"x"])
    for at in range(len(WHOLE)):
        for bit in (1, 8, 128):
            with pytest.raises(SnapshotError):
                collect(TEST, [WHOLE[:at], bytes([WHOLE[at] ^ bit]), WHOLE[at + 1 :]])


def test_another_kind_form_or_layout_is_refused_with_one_line_and_the_remedy() -> None:
    remedy = ". State never migrates: run the version that wrote it, or a deployment of a new name"
    for form, allowed in ((StateForm("test", 3), "test, form 3"), (StateForm("test", 1), "test, form 1")):
        for cut in (0, 9):
            with pytest.raises(SnapshotError) as caught:
                collect(form, [WHOLE[:cut], WHOLE[cut:]])
            assert str(caught.value) == f"test: found a snapshot of test, form 2; allowed: {allowed}{remedy}"
    with pytest.raises(SnapshotError, match=r"^other: found a snapshot of test, form 2; allowed: other, form 2$"):
        load(StateForm("other", 2), WHOLE)
    header = b'{"version":2,"kind":"test","facts":{}}'
    flow = b"MURMFLOW" + len(header).to_bytes(4, "little") + header + bytes(4)
    with pytest.raises(SnapshotError) as caught:
        load(TEST, flow + zlib.crc32(flow).to_bytes(4, "little"))
    assert str(caught.value) == f"test: found a snapshot of test, of layout 2; allowed: test, form 2{remedy}"
    run = b"MURMSTAT" + len(header).to_bytes(4, "little") + header
    with pytest.raises(SnapshotError) as caught:
        load(TEST, run + zlib.crc32(run).to_bytes(4, "little"))
    assert str(caught.value) == f"test: found a snapshot of an older layout; allowed: test, form 2{remedy}"


def test_a_state_in_one_piece_is_the_same_bytes_whatever_the_order_of_its_arrays() -> None:
    whole = dump(TEST, FACTS, ARRAYS)
    assert whole == dump(TEST, dict(reversed(FACTS.items())), dict(reversed(ARRAYS.items())))
    assert whole == b"".join(pieces(TEST, FACTS, sorted(ARRAYS.items())))
    facts, arrays = load(TEST, whole)
    assert facts == FACTS
    assert same({name: arrays[name] for name in ARRAYS})
