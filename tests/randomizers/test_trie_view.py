# SPDX-License-Identifier: Apache-2.0
"""The view of a trie's leaf: its codes, and what a round may not name."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.randomizers import Key, OLHCounts, ParameterError, TrieLeaf, Viewed, question, view
from murmurate.randomizers.layouts import NONE
from tests.cases import every

KEY = Key(bytes(range(32)), deployment="trie views")


@every(
    ("m", "grown", "step", "leaves"),
    [
        (8, [], 8, 256),
        (4, [], 8, 16),
        (16, ["68"], 8, 255 + 256),
        (20, ["68", "6869"], 8, 255 + 255 + 16),
        (64, ["00", "ff", "ff00", "ff0000", "ff000000"], 8, 254 + 256 + 3 * 255 + 256),
        (100, ["abc", "abcdef", "000"], 12, 4094 + 4095 + 2 * 4096),
    ],
)
def test_every_string_has_the_code_of_the_one_open_prefix_that_begins_it(
    m: int, grown: list[str], step: int, leaves: int
) -> None:
    of = TrieLeaf(("bits", m, 1), [*grown[::-1], ""], step)
    assert (of.leaves, of.d) == (leaves, leaves + 1)
    assert view(orjson.loads(orjson.dumps(of.spec()))).spec() == of.spec()
    rng, count = np.random.default_rng(1), m // 32 + 1
    numbers = [int.from_bytes(rng.bytes(16), "big") >> (128 - m) for _ in range(100)]
    for node in grown:
        numbers += [int(node, 16) << (m - 4 * len(node)) | n & ((1 << m - 4 * len(node)) - 1) for n in numbers[:30]]
    lines = [number << (32 * count - 1 - m) for number in numbers]
    rows = np.array([[x >> 32 * (count - 1 - j) & 0xFFFFFFFF for j in range(count)] for x in lines], np.uint32)
    rows = np.vstack((rows, [[NONE, *[0] * (count - 1)]])).astype(np.uint32)
    nodes = {"", *grown}
    begins = []
    for number in numbers:
        end = step
        while end < m and f"{number >> (m - end):0{end // 4}x}" in nodes:
            end += step
        end = min(end, m)
        begins.append((end, number >> (m - end)))
    codes = of.codes_of(rows)
    assert codes[-1] == of.d - 1
    assert len(set(begins)) == len(set(codes[:-1].tolist())) == len(set(zip(begins, codes.tolist(), strict=False)))
    assert [of.code(tuple(row) if count > 1 else row[0]) for row in rows.tolist()] == codes.tolist()
    ends = [of.code(end) for end in of.extremes]
    assert ends[0] != ends[1]


def test_counts_of_leaves_tell_who_begins_with_them() -> None:
    n, of = 20_000, TrieLeaf(("bits", 16, 1), ["", "68"], 8)
    rows = np.full((n, 1), 0x6869 << 15, np.uint32)
    rows[n // 2 :] = 0x7900 << 15
    rows[n * 3 // 4 :] = NONE
    users = np.random.default_rng(3).integers(0, 256, (n, 16), np.uint8)
    asked = question(Viewed(of, OLHCounts(d=of.d, epsilon=4, pool=4096)).spec())
    counts = asked.support(asked.perturb(rows[:, 0], KEY.draw(users, round=bytes(32))))
    oracle = asked.of_round(bytes(32)).inner  # type: ignore[attr-defined]
    found = oracle.shares_of(counts, n, of.codes_of(np.array([[0x6869 << 15], [0x7900 << 15], [0], [NONE]], np.uint32)))
    assert found == pytest.approx([0.5, 0.25, 0, 0.25], abs=0.03)


@every(
    ("grown", "says"),
    [
        ("68", "the empty prefix and others, in hexadecimal digits"),
        ([8], "the empty prefix and others, in hexadecimal digits"),
        (["6"], "lower-case"),
        (["6A"], "lower-case"),
        (["6\n"], "lower-case"),
        ([""], "each once"),
        (["6869"], "lower-case"),
        (["686970"], "behind others that have grown"),
        (["68697071"], "less than a string"),
        (["68", "68"], "each once"),
    ],
)
def test_what_cannot_have_grown_is_refused(grown: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=f"trie_leaf: grown: found .*{says}"):
        TrieLeaf(("bits", 24, 1), grown if isinstance(grown, str) else ["", *grown], 8)


@every("step", [0, 3, 6, 20, True, 8.0])
def test_a_step_is_some_hexadecimal_digits(step: Any) -> None:
    with pytest.raises(ParameterError, match="trie_leaf: step: found"):
        TrieLeaf(("bits", 24, 1), [""], step)


def test_what_has_grown_must_fit_a_round() -> None:
    grown = [f"{first:02x}" for first in range(256)]
    grown += [first + second for first in grown for second in grown[:60]]
    with pytest.raises(ParameterError, match=r"trie_leaf: grown: found .*; allowed: the empty prefix"):
        TrieLeaf(("bits", 64, 1), grown, 8)
    with pytest.raises(ParameterError, match="allowed: 65536 bytes, and 4194304 extensions"):
        TrieLeaf(("bits", 64, 1), ["", *grown], 8)
