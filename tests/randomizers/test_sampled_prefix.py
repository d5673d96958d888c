# SPDX-License-Identifier: Apache-2.0
"""Prefixes of sampled items: what padded sampling draws, cut; unbiased through counts; domains that nobody can list.

Statistical tests have fixed seeds and allow 5 standard errors.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.randomizers import GRR, Key, OLHCounts, Padded, ParameterError, SampledPrefix, Viewed, question
from murmurate.randomizers.layouts import FILLER, NONE, layout
from murmurate.randomizers.question import Value
from tests.cases import every

KEY = Key(bytes(range(5, 37)), deployment="prefixes")
ROUND = bytes(range(32))


def pseudonyms(n: int) -> np.ndarray:
    return np.random.default_rng(8).integers(0, 256, (n, 16), np.uint8)


@every(("d", "bits", "prefixes"), [(1, 1, 1), (2, 1, 2), (5, 1, 2), (5, 2, 3), (5, 3, 5), (8, 2, 4), (8, 3, 8)])
def test_the_law_is_that_of_padded_sampling_with_prefixes_for_items_and_one_code_for_dummies(
    d: int, bits: int, prefixes: int
) -> None:
    of = ("items", d, min(3, d), 1)
    view, whole = SampledPrefix(of, 2, bits), Padded(of, 2)
    assert (view.d, view.statistics) == (prefixes + 1, prefixes)
    assert view.chance == whole.chance == Fraction(1, 2)
    for value in layout(of).enumerate():
        told: dict[int, Fraction] = {}
        for code, chance in whole.law(value).items():
            cut = int(view.codes_of(np.array([code]))[0]) if code < d else prefixes
            told[cut] = told.get(cut, Fraction(0)) + chance
        assert view.law(value) == told
        assert sum(view.law(value).values()) == 1


def test_a_user_alone_tells_what_a_batch_tells_and_a_spec_reads_back() -> None:
    of = ("items", 2**31 - 1, 4, 1)
    values: list[Value] = [
        (3, 9, 2**30, 2**31 - 2), (7, FILLER, FILLER, FILLER), (FILLER,) * 4, (NONE, 0, 0, 0), (0, 1, 2, FILLER),
    ] * 20  # fmt: skip
    users = pseudonyms(len(values))
    for bits in (1, 9, 31):
        view = SampledPrefix(of, 2, bits)
        asked = Viewed(view, OLHCounts(d=view.d, epsilon=2.0, pool=64))
        assert question(asked.spec()) == asked
        assert (asked.statistics, asked.outcomes) == (0, 64 * 8)
        reports = asked.perturb(layout(of).array(values), KEY.draw(users, round=ROUND))
        alone = [asked.perturb_one(value, KEY.draw_one(bytes(user), round=ROUND))
                 for value, user in zip(values, users, strict=True)]  # fmt: skip
        assert [row.tobytes() for row in reports] == alone
        assert view.d == ((2**31 - 2) >> (31 - bits)) + 2


def test_who_holds_nothing_and_who_has_no_value_tell_alike_and_what_they_tell_is_no_prefix() -> None:
    view = SampledPrefix(("items", 6, 2, 1), 4, 2)
    assert view.law((FILLER, FILLER)) == view.law((NONE, 0)) == {view.prefixes: Fraction(1)}
    assert view.law((0, FILLER))[0] == view.chance
    assert view.law((0, 1))[0] == 2 * (view.chance or 0)  # both have prefix 00


def test_sampling_enlarges_no_epsilon_here() -> None:
    of = ("items", 6, 2, 1)
    view = SampledPrefix(of, 3, 3)
    told = Viewed(view, GRR(d=view.d, epsilon=1.0))
    assert told.inner == told.mechanism
    larger = Viewed(Padded(of, 3), GRR(d=9, epsilon=1.0)).inner
    assert isinstance(larger, GRR)
    assert told.realised == told.mechanism.realised < larger.p / larger.q
    assert told.blanket() == told.mechanism.blanket()


def test_any_prefix_and_any_item_can_be_asked_of_the_counts_and_the_answers_are_unbiased() -> None:
    """Of 40 000 users, with sets of 0 to 2 of 2^24 items, of which a few are frequent."""
    n, d = 40_000, 1 << 24
    of, rng = ("items", d, 2, 1), np.random.default_rng(4)
    often = np.sort(rng.choice(d, 4, replace=False))
    rows = np.full((n, 2), FILLER, np.uint32)
    rows[: n // 2] = often[:2]
    rows[n // 2 : 3 * n // 4, 0] = often[2]
    rows[-n // 8 :] = (NONE, 0)
    for bits in (3, 24):
        view = SampledPrefix(of, 2, bits)
        asked = Viewed(view, OLHCounts(d=view.d, epsilon=3.0)).of_round(ROUND)
        reports = asked.perturb(rows, KEY.draw(pseudonyms(n), round=ROUND))
        counts, codes = asked.support(reports), np.unique(view.codes_of(often))
        inner = asked.inner
        assert isinstance(inner, OLHCounts)
        raw = inner.shares_of(counts, n, codes)
        held = (view.codes_of(rows[..., None]) == codes) & (rows[:, :1, None] != NONE) & (rows[..., None] != FILLER)
        truth = held.sum(axis=1).mean(axis=0)
        error = np.sqrt(inner.variances_of(counts, n, raw)) / float(view.chance or 0)
        assert (np.abs(raw / float(view.chance or 0) - truth) < 5 * error).all()
        assert error.max() < 0.05


@every(("bits", "length"), [(0, 1), (4, 1), (True, 1), (2, 0), (2, 1.0)])
def test_a_prefix_that_no_item_has_is_refused(bits: int, length: int) -> None:
    with pytest.raises(ParameterError, match="sampled_prefix: "):
        SampledPrefix(("items", 8, 2, 0), length, bits)
