# SPDX-License-Identifier: Apache-2.0
"""Sealed state opens for its owner, whole and in place, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.sealing import CHUNK_BYTES, SnapshotSeal
from murmurate.agents.stages.stage import Log
from tests.agents.world import secret

DATA = (np.arange(2 * CHUNK_BYTES + 17) ** 2 % 251).astype(np.uint8).tobytes()
SEAL = SnapshotSeal(secret("state"), "shop/perturb/0")
CHUNKS = list(SEAL.chunks([DATA]))
OTHER = list(SEAL.chunks([b"x" + DATA[1:]]))


@pytest.mark.parametrize("size", [1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, len(DATA)])
def test_what_was_sealed_opens_again_and_no_chunk_is_too_large(size: int) -> None:
    chunks = list(SEAL.chunks([DATA[:size]]))
    assert b"".join(SEAL.open(chunks)) == DATA[:size]
    assert all(len(chunk) <= 512 * 1024 for chunk in chunks)
    assert len(chunks) == -(-size // CHUNK_BYTES)


def test_the_same_state_gives_the_same_bytes_and_shows_none_of_its_own() -> None:
    assert list(SnapshotSeal(secret("state"), "shop/perturb/0").chunks([DATA])) == CHUNKS
    pieces: list[bytes | memoryview] = [
        DATA[:1],
        b"",
        memoryview(DATA)[1:1000],
        DATA[1000:CHUNK_BYTES],
        DATA[CHUNK_BYTES:],
    ]
    assert list(SEAL.chunks(pieces)) == CHUNKS
    assert not any(DATA[at : at + 16] in chunk for chunk in CHUNKS for at in range(0, 4000, 16))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([CHUNKS[1], CHUNKS[0], CHUNKS[2]], id="swapped"),
        pytest.param(CHUNKS[:-1], id="the last missing"),
        pytest.param(CHUNKS[1:], id="the first missing"),
        pytest.param([*CHUNKS, CHUNKS[-1]], id="the last twice"),
        pytest.param([CHUNKS[0], CHUNKS[0], CHUNKS[2]], id="one in another's place"),
        pytest.param([CHUNKS[0], CHUNKS[1][:-1], CHUNKS[2]], id="truncated"),
        pytest.param([CHUNKS[0], CHUNKS[1][:15], CHUNKS[2]], id="shorter than its tag"),
        pytest.param([CHUNKS[0], b"", CHUNKS[2]], id="emptied"),
        pytest.param([OTHER[0], *CHUNKS[1:]], id="the first of another state"),
        pytest.param([*CHUNKS[:2], OTHER[2]], id="the last of another state"),
        pytest.param([CHUNKS[0], CHUNKS[1][:9] + bytes([CHUNKS[1][9] ^ 1]) + CHUNKS[1][10:], CHUNKS[2]], id="a bit"),
    ],
)
def test_torn_state_is_refused(broken: list[bytes]) -> None:
    with pytest.raises(StateError, match=r"shop/perturb/0: the state is torn"):
        list(SEAL.open(broken))


def test_a_state_without_any_chunk_is_no_empty_state() -> None:
    with pytest.raises(StateError, match=r"shop/perturb/0: found no chunk"):
        list(SEAL.open([]))


@pytest.mark.parametrize(
    "other",
    [SnapshotSeal(secret("another"), "shop/perturb/0"), SnapshotSeal(secret("state"), "shop/perturb/1")],
    ids=["key", "place"],
)
def test_state_sealed_with_another_key_or_for_another_instance_is_refused(other: SnapshotSeal) -> None:
    with pytest.raises(StateError, match="torn, or sealed with another key"):
        list(other.open(CHUNKS))


def test_a_snapshot_opens_at_the_marks_at_which_it_was_taken_and_at_no_others() -> None:
    raw, rounds = Log("raw", 0), Log("rounds", 0)
    marks = {raw: 7, rounds: 11}
    chunks = list(SEAL.chunks([DATA], marks))
    assert b"".join(SEAL.open(chunks, {rounds: 11, raw: 7})) == DATA
    for other in ({}, {raw: 7}, {raw: 7, rounds: 12}, {raw: 11, rounds: 7}, {Log("raw", 1): 7, rounds: 11}):
        with pytest.raises(StateError, match="torn, or sealed with another key or at other marks"):
            list(SEAL.open(chunks, other))


def test_a_proof_is_of_one_key_one_instance_and_one_content() -> None:
    proof = SEAL.proof(b"content")
    assert (len(proof), proof) == (16, SnapshotSeal(secret("state"), "shop/perturb/0").proof(b"content"))
    others = [SEAL.proof(b"other"), SEAL.proof(b"")]
    others += [SnapshotSeal(key, place).proof(b"content") for key, place in ((secret("another"), "shop/perturb/0"),
                                                                     (secret("state"), "shop/perturb/1"))]  # fmt: skip
    assert len({proof, *others}) == 5
