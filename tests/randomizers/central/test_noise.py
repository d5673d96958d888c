# SPDX-License-Identifier: Apache-2.0
"""Keyed noise of nodes: a function of its place and of all that names it, whatever is asked for at a time."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.central import DiscreteLaplace, NodeNoise, keyed_noise
from murmurate.randomizers.randomness import contexts
from tests.cases import every

KEY = Key(hashlib.sha256(b"central").digest(), deployment="shop")
DIGEST = hashlib.sha256(b"tree").digest()
GAMMA = Fraction(1, 2000)


def test_noise_never_changes_between_versions() -> None:
    # What was released stays what it is: these values hold for good.
    small, large = (NodeNoise(KEY, DIGEST, gamma, cell=3) for gamma in (GAMMA, Fraction(1, 10**6)))
    assert small.of(1, 0, 6).tolist() == SMALL
    assert large.of(4, 1000, 4).tolist() == LARGE


SMALL = [4872, -1654, 4746, 1412, -329, -2455]
LARGE = [-1151015, -759416, -1733243, -851408]


@every("gamma", [Fraction(2), GAMMA, Fraction(1, 10**6)])
def test_a_node_has_the_same_noise_in_whichever_stretch_it_is_asked_for(gamma: Fraction) -> None:
    noise = NodeNoise(KEY, DIGEST, gamma)
    whole = noise.of(2, 0, 40_000)  # more than a lane
    for first, count in ((0, 1), (39_999, 1), (16_380, 10), (7, 20_000), (5, 0)):
        assert (NodeNoise(KEY, DIGEST, gamma).of(2, first, count) == whole[first : first + count]).all()


def test_rows_that_go_on_draw_their_own_further_words_wherever_they_stand() -> None:
    # gamma 1: one row in 22 000 takes a further word, so some of these do.
    law = DiscreteLaplace(1)
    index = np.arange(400_000)
    found = keyed_noise(law, KEY, index, digest=DIGEST)
    far = np.flatnonzero((found >= law._block) | (found < -law._block))
    assert 1 <= len(far) < 60
    assert (keyed_noise(law, KEY, index[far], digest=DIGEST) == found[far]).all()


def test_another_key_digest_cell_level_or_place_has_unrelated_noise() -> None:
    other_key = Key(hashlib.sha256(b"other").digest(), deployment="shop")
    other = hashlib.sha256(b"theta = 41").digest()
    found = [
        NodeNoise(KEY, DIGEST, GAMMA).of(1, 0, 1000),
        NodeNoise(other_key, DIGEST, GAMMA).of(1, 0, 1000),
        NodeNoise(KEY, other, GAMMA).of(1, 0, 1000),
        NodeNoise(KEY, DIGEST, GAMMA, cell=1).of(1, 0, 1000),
        NodeNoise(KEY, DIGEST, GAMMA).of(2, 0, 1000),
        NodeNoise(KEY, DIGEST, GAMMA).of(1, 1000, 1000),
        NodeNoise(KEY, DIGEST, GAMMA, cell=1 << 16).of(1, 0, 1000),
    ]
    most = np.abs(np.corrcoef(np.array(found)) - np.eye(len(found))).max()
    assert most < 5.5 / 1000**0.5  # 21 pairs: 1e-6


def test_the_words_are_those_of_the_context_that_the_file_states() -> None:
    law = DiscreteLaplace(GAMMA)
    place = 5 << 16 | 3  # cell 5, level 3
    words = KEY.words("noise", contexts(np.arange(40, 50), part=place << 16), round=DIGEST, k=law.words)
    one = [law.noise_one(row.tolist(), iter([])) for row in words]
    assert NodeNoise(KEY, DIGEST, GAMMA, cell=5).of(3, 40, 10).tolist() == one


def test_node_noise_says_its_gamma_and_variance_and_no_key() -> None:
    noise = NodeNoise(KEY, DIGEST, GAMMA, cell=2)
    assert noise.gamma == GAMMA
    assert noise.variance == pytest.approx(2 * 2000**2, rel=1e-6)
    assert repr(noise) == "NodeNoise(gamma=1/2000, cell=2)"


@every("cell", [-1, 1 << 32, True, 0.0])
def test_what_is_no_cell_is_refused(cell: Any) -> None:
    with pytest.raises(ParameterError, match="cell: found"):
        NodeNoise(KEY, DIGEST, GAMMA, cell=cell)


@every(("level", "first", "count"), [(0, 0, 1), (1 << 16, 0, 1), (1, -1, 1), (1, 0, -1)])
def test_what_is_no_node_is_refused(level: int, first: int, count: int) -> None:
    with pytest.raises(ParameterError, match="nodes: found"):
        NodeNoise(KEY, DIGEST, GAMMA).of(level, first, count)


def test_a_digest_of_another_length_and_a_place_beyond_its_bits_are_refused() -> None:
    with pytest.raises(ParameterError, match="digest: found"):
        NodeNoise(KEY, b"short", GAMMA)
    with pytest.raises(ParameterError, match="place: found"):
        keyed_noise(DiscreteLaplace(1), KEY, np.arange(3), digest=DIGEST, place=1 << 48)
