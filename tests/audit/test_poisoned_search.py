# SPDX-License-Identifier: Apache-2.0
"""Users who lie in a search for strings: how often a string appears that nobody holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.pem import ToldPrefixes
from murmurate.randomizers import Branches, Key, OLHCounts, Viewed
from murmurate.randomizers.question import Reports
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.string_views import LongPrefix
from murmurate.topics.domains import Bits

USERS, LIARS = 120_000, 0.02
ROUND = bytes(range(32))
WORDS = [f"w{k}" for k in range(200)]


def lies(one: Viewed, target: np.ndarray, liars: int, width: int, group: int) -> Reports:
    """Reports of one group that all support the target, as a device of a holder would write them without noise."""
    assert isinstance(one.view, LongPrefix)
    code = one.view.codes_of(target[np.newaxis])
    draws = Key(bytes(range(2, 34)), deployment="liars").draw(contexts(np.arange(20 * liars)), round=ROUND)
    told = one.perturb(np.repeat(target[np.newaxis], 20 * liars, axis=0), draws)
    agreeing = told[one.inner.evidence(told, int(code[0]), int(code[0]) ^ 1)][:liars]
    reports = np.zeros((liars, width), np.uint8)
    reports[:, 0], reports[:, 1 : 1 + told.shape[1]] = group, agreeing
    return reports


@pytest.mark.parametrize("epsilon", [1, 2])
def test_liars_show_a_string_as_often_as_the_bound_says_and_no_more(epsilon: int) -> None:
    measure, codes = FoundStrings(Bits(48), top=32, least=0.001), Bits(48).codes()
    question = measure.grouped(Fraction(epsilon), 4096).of_round(ROUND)
    assert isinstance(question, Branches)
    groups, last = len(question.questions), question.questions[-1]
    assert isinstance(last, Viewed)
    assert isinstance(last.inner, OLHCounts)
    popular = 1 / np.arange(1.0, len(WORDS) + 1)
    held = np.random.default_rng(epsilon).choice(len(WORDS), size=USERS, p=popular / popular.sum())
    rows = np.array([codes[word] for word in WORDS], np.uint32)[held]
    honest = question.perturb(
        rows, Key(bytes(range(1, 33)), deployment="honest").draw(contexts(np.arange(USERS)), round=ROUND)
    )
    target, liars = np.array(codes["advert"], np.uint32), round(LIARS * USERS)
    times = float((1 - last.inner.q) / (last.inner.p - last.inner.q))
    every = np.concatenate(
        [
            lies(one, target, liars // groups, question.wire_size, group)
            for group, one in enumerate(question.questions)
            if isinstance(one, Viewed)
        ]
    )
    concentrated = lies(last, target, liars, question.wire_size, groups - 1)
    honest_of_last = (1 - LIARS) / groups
    for told, part in ((every, LIARS), (concentrated, LIARS / (LIARS + honest_of_last))):
        reports = np.concatenate((told, honest[len(told) :]))
        n, counts = [*question.parts(question.support(reports))][-1]
        shares, variances = ToldPrefixes(last, counts, n).estimate(target[np.newaxis])
        assert abs(float(shares[0]) - part * times) < 5 * float(variances[0]) ** 0.5
        assert float(shares[0]) < groups * LIARS * times + 5 * float(variances[0]) ** 0.5
