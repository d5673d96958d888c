# SPDX-License-Identifier: Apache-2.0
"""PrivTrie period by period: the open prefixes cover every string once, and a new search keeps what is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from murmurate.aggregators.hitters.priv_trie import OpenPrefixes
from murmurate.aggregators.methods.method import Answer, Decision, FoundValues, Request
from murmurate.aggregators.methods.priv_trie import PrivTrie, grown_names, open_for
from murmurate.randomizers.trie_view import TrieLeaf
from tests.aggregators.string_crowds import IDS, KEY, MEASURE, SETTING
from tests.cases import every

LAYOUT = MEASURE.strings
STRINGS = MEASURE.values_of(("abc", "abd", "xyz", "a"))


def covered(opened: Mapping[int, OpenPrefixes]) -> float:
    """The part of all strings that begin with an open prefix."""
    return sum(len(of.rows) / 2.0**bits for bits, of in opened.items())


@every(
    ("strings", "room", "grown"),
    [
        (0, 1 << 16, 1),
        (1, 1 << 16, 3),
        (4, 1 << 16, 6),  # nothing, a, x, ab, xy, and a with a zero
        (4, 1300, 5),  # the first three
        (4, 1, 1),
    ],
)
def test_the_first_strings_have_grown_as_far_as_there_is_room(strings: int, room: int, grown: int) -> None:
    opened = open_for(LAYOUT, STRINGS[:strings], room)
    trie = replace(PrivTrie(SETTING).trie, open=opened)
    assert covered(opened) == 1
    assert len(grown_names(trie)) == grown
    view = TrieLeaf(MEASURE.layout, grown_names(trie), 8)
    assert view.leaves == sum(len(of.rows) for of in opened.values())
    codes = np.concatenate([view.codes_of(of.rows) for of in opened.values()])
    assert sorted(codes.tolist()) == list(range(view.leaves))


def period(made: PrivTrie, t: int, held: np.ndarray) -> FoundValues:
    step = made.open(t)
    while isinstance(step, Request):
        digest = bytes([t]) * 32
        reports = step.question.perturb(held, KEY.draw(IDS[: len(held)], round=digest))
        step = made.tally(Answer(step.question.of_round(digest).support(reports), len(held), digest))
    assert isinstance(step, Decision)
    assert isinstance(step.outcome, FoundValues)
    return step.outcome


def test_a_new_search_goes_on_measuring_what_is_followed_and_finds_what_is_new() -> None:
    made, n = PrivTrie(SETTING), 6_000
    one, both = np.resize(STRINGS[:1, 0], n), np.resize(STRINGS[[0, 2], 0], n)
    found = period(made, 1, one)
    for t in range(2, made.batches + 1):
        found = period(made, t, one)
    assert MEASURE.names_of(found.values) == ("abc",)
    assert found.finding is not None
    assert found.finding.since[0] < made.batches
    for t in range(made.batches + 1, made.batches + 6):
        found = period(made, t, both)
        if t == made.batches + 1:
            assert made.batch == 1
            assert grown_names(made.trie)[:2] == ("", "61")
            assert MEASURE.names_of(found.values) == ("abc",)
            assert found.unbiased is not None
            assert found.unbiased[0] == pytest.approx(0.5, abs=0.1)
    assert set(MEASURE.names_of(found.values)) == {"abc", "xyz"}
    for t in range(made.batches + 6, made.batches + 12):
        found = period(made, t, np.resize(STRINGS[2:3, 0], n))
    assert MEASURE.names_of(found.values) == ("xyz",)
    assert found.estimates[0] > 0.8
