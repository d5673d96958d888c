"""A state in pieces is the state, however the pieces are cut; and nothing less is taken for it."""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.errors import SnapshotError
from murmurate.randomizers.state import collect, dump, load, pieces

FACTS: dict[str, Any] = {"b": [1, None], "a": {"text": "ä"}}
ARRAYS: dict[str, np.ndarray] = {
    "users": np.arange(64, dtype=np.uint8).reshape(4, 16),
    "big": np.arange(5, dtype=">i8"),
    "gaps": np.arange(10, dtype=np.int16)[::3],
    "who": np.array([True, False, True]),
    "none": np.zeros((0, 7), np.int32),
}
WHOLE = b"".join(pieces("test", FACTS, ARRAYS.items()))


def same(arrays: dict[str, np.ndarray]) -> bool:
    return list(arrays) == list(ARRAYS) and all(
        (arrays[name] == array).all() and arrays[name].shape == array.shape for name, array in ARRAYS.items()
    )


@pytest.mark.parametrize("seed", range(20))
def test_pieces_come_back_however_they_are_cut(seed: int) -> None:
    rng = random.Random(seed)
    cuts = sorted(rng.choices(range(len(WHOLE) + 1), k=rng.randrange(60)))
    parts = [WHOLE[a:b] for a, b in zip([0, *cuts], [*cuts, len(WHOLE)], strict=True)]
    facts, arrays = collect("test", parts)
    assert facts == FACTS
    assert same(arrays)
    assert all(array.flags.writeable for array in arrays.values())


def test_the_same_state_gives_the_same_bytes_and_large_arrays_are_not_copied() -> None:
    assert b"".join(pieces("test", dict(reversed(FACTS.items())), ARRAYS.items())) == WHOLE
    array = np.arange(1000)
    assert any(np.shares_memory(np.frombuffer(piece, np.uint8), array) for piece in pieces("test", {}, [("a", array)]))


def test_every_truncation_every_flipped_bit_and_anything_behind_the_end_is_refused() -> None:
    for size in range(len(WHOLE)):
        with pytest.raises(SnapshotError):
            collect("test", [WHOLE[:size]])
    with pytest.raises(SnapshotError):
        collect("test", [WHOLE, b"x"])
    for at in range(len(WHOLE)):
        for bit in (1, 8, 128):
            with pytest.raises(SnapshotError):
                collect("test", [WHOLE[:at], bytes([WHOLE[at] ^ bit]), WHOLE[at + 1 :]])


def test_another_kind_or_version_is_refused_by_name() -> None:
    with pytest.raises(SnapshotError, match="found a snapshot of test, version 2; allowed: other"):
        collect("other", [WHOLE])
    header = b'{"version":1,"kind":"test","facts":{},"arrays":[]}'
    run = b"MURMSTAT" + len(header).to_bytes(4, "little") + header
    flow = b"MURMFLOW" + len(header).to_bytes(4, "little") + header + bytes(4)
    older = "test: found a snapshot of test, version 1; allowed: test, version 2. State never migrates: run the version"
    with pytest.raises(SnapshotError, match=older):
        load("test", run + zlib.crc32(run).to_bytes(4, "little"))
    with pytest.raises(SnapshotError, match=older):
        collect("test", [flow + zlib.crc32(flow).to_bytes(4, "little")])
    with pytest.raises(SnapshotError, match="no snapshot"):
        collect("test", [dump("test", FACTS, ARRAYS)])


def test_one_run_of_bytes_holds_the_same() -> None:
    facts, arrays = load("test", dump("test", FACTS, ARRAYS))
    assert facts == FACTS
    assert same({name: arrays[name] for name in ARRAYS})
