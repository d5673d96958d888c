# SPDX-License-Identifier: Apache-2.0
"""Shares of prefixes: their names, what is true, the exact promise of their question, and how good its answers are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.measures.strings import Prefixes
from murmurate.randomizers import OLH, Key, Viewed
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.mechanism import MAX_LAW
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.thresholds import exp_floor
from murmurate.topics.domains import Bits
from tests.aggregators.coverage import within
from tests.cases import every

ROUND = bytes(range(32))
SHORT = Bits(4, "hex")
TEXT = Bits(48)


def test_prefixes_are_called_by_what_they_say() -> None:
    letters = Prefixes(TEXT).names
    assert len(letters) == len(set(letters)) == 257
    assert [letters[code] for code in (0, 9, 32, 34, 97, 126, 127, 195, 256)] == [
        "0x00", "0x09", '" "', '"""', '"a"', '"~"', "0x7f", "0xc3", "none"
    ]  # fmt: skip
    assert Prefixes(Bits(48, "hex")).names[97] == "0x61"
    assert Prefixes(TEXT, prefix=12).names[0x616] == "0x616"
    assert Prefixes(TEXT, prefix=5).names[11] == "0b01011"
    assert Prefixes(TEXT, says_none=False, prefix=1).names == ("0b0", "0b1")


@every("prefix", range(1, 13))
def test_every_prefix_has_one_name_and_no_two_share_it(prefix: int) -> None:
    for form in ("text", "hex"):
        measure = Prefixes(Bits(96, form), prefix=prefix)
        assert len(set(measure.names)) == len(measure.names) == (1 << prefix) + 1 == measure.d
        assert measure.fits(measure.names)


def test_what_is_true_is_counted_from_what_was_said() -> None:
    said = ["", "a", "abc", "müde", "über", "zzzzzz", "abc"]
    rows = TEXT.rows(said)
    everybody = np.vstack((rows, np.array([TEXT.nothing] * 3, np.uint32)))
    measure = Prefixes(TEXT)
    true = dict(zip(measure.names, measure.truth(everybody) * 10, strict=True))
    assert {name: round(count) for name, count in true.items() if count} == {
        "0x00": 1, '"a"': 3, '"m"': 1, "0xc3": 1, '"z"': 1, "none": 3
    }  # fmt: skip
    always = Prefixes(TEXT, says_none=False)
    assert always.truth(rows) == pytest.approx(measure.truth(everybody)[:-1] * 10 / 7)
    assert np.isnan(measure.truth(everybody[:0])).all()


@every("prefix", [1, 3, 4])
@every("none", [True, False])
def test_truth_and_view_agree_about_every_value(prefix: int, none: bool) -> None:
    measure = Prefixes(SHORT, none, prefix=prefix)
    values = list(layout(measure.layout).enumerate())
    rows = np.array(values, np.uint32)[:, None]
    told = [measure.views[0].code(value) for value in values]
    assert (measure.true_of(rows) == np.eye(measure.d, dtype=bool)[told]).all()
    assert np.allclose(measure.truth(rows), measure.true_of(rows).mean(axis=0))


@every("epsilon", [Fraction(1)], long=[Fraction(1, 10), Fraction(3)])
@every("prefix", [1, 2, 4])
@every("none", [True, False])
def test_no_report_tells_more_than_epsilon_of_any_string_of_four_bits_or_of_none(
    epsilon: Fraction, prefix: int, none: bool
) -> None:
    measure = Prefixes(SHORT, none, prefix=prefix)
    (view,) = measure.views
    asked_by = [measure.question(name, epsilon) for name in measure.possible]
    pooled = Viewed(view, OLH(d=view.d, epsilon=epsilon, pool=4))
    listed = [asked for asked in (*asked_by, pooled) if asked.reports_possible <= MAX_LAW]
    assert {asked.answered_by for asked in listed} >= {"grr", "hr", "olh"}
    assert measure.question("auto", epsilon) in asked_by
    for asked in listed:
        found = audit_exact(asked, round=ROUND)
        assert found.violations == ()
        laws = [asked.of_round(ROUND).law(value) for value in layout(measure.layout).enumerate()]
        assert len(laws) == 16 + none
        assert all(law.keys() == laws[0].keys() and sum(law.values()) == 1 for law in laws)
        ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
        assert ratio <= exp_floor(asked.epsilon_micro)
        assert ratio > 1 or asked is pooled


@every("name", ["auto", "hr"])
def test_estimates_are_unbiased_and_their_variance_is_as_it_is_said(name: str) -> None:
    """500 users answer 3 000 rounds: of the mean four standard errors, of the variances together 5 %."""
    measure, n, rounds = Prefixes(SHORT, prefix=2), 500, 3_000
    asked = measure.question(name, 1.0).of_round(ROUND)
    values = list(layout(measure.layout).enumerate())
    held = np.array([values[user % 17 if user % 3 else user % 5] for user in range(n)], np.uint32)
    users = contexts(np.arange(n * rounds))
    draw = Key(bytes(range(9, 41)), deployment="strings").draw(users, round=ROUND)
    reports = asked.perturb(np.tile(held, rounds), draw).reshape(rounds, n, -1)
    found = np.array([asked.estimate(asked.support(some), n) for some in reports])
    true = measure.truth(held[:, None])
    wanted = asked.variance(n, true)
    assert (np.abs(found.mean(axis=0) - true) <= 4 * np.sqrt(wanted / rounds)).all()
    assert (found.var(axis=0) / wanted).mean() == pytest.approx(1, abs=0.05)


@every("filtered", ["adaptive"], long=["off"])
def test_two_standard_errors_hold_the_truth_as_often_as_they_say(filtered: str) -> None:
    """Of 20 000 users' 16 prefixes and none."""
    table = {"measure": "strings", "bits": 48, "prefix": 4}
    assert 0.93 <= within(table, filtered=filtered).mean() <= 0.97
