# SPDX-License-Identifier: Apache-2.0
"""What rounds are claimed to have whose reports were added up: of one round, of a window, and where nothing is left."""

from __future__ import annotations

import pytest

from murmurate.aggregators.accounting import AccountingError, appended, mixed_claim, window_claim
from murmurate.aggregators.accounting.claim import MixedClaim
from murmurate.aggregators.accounting.schedules import Often, WindowRounds
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.randomizers import GRR
from murmurate.randomizers.frequency.appended import counted_delta

DELTA = 1e-6
ASKED = appended(d=5, n=1000, central=0.5, delta=DELTA, corrupt=0.1)
ONCE = WindowRounds(lambda _: ASKED, (Often(ASKED.central_micro, 1),))


def test_one_round_has_the_exact_delta_of_its_counts_rounded_up() -> None:
    for counted in (1000, 4063, 100_000):
        claim = mixed_claim(ASKED, counted, DELTA, 0.1)
        assert (claim.bound, claim.delta) == ("counts", DELTA)
        assert counted_delta(ASKED.ones, claim.n, claim.epsilon) <= DELTA
        assert counted_delta(ASKED.ones, claim.n, claim.epsilon * 0.99) > DELTA
    assert mixed_claim(ASKED, 1000, DELTA, 0.1).epsilon <= 0.5


def test_rounds_of_the_same_users_add_up_each_at_its_part_of_delta() -> None:
    single, four = (window_claim([(ASKED, 5000, times)], DELTA) for times in (1, 4))
    each = mixed_claim(ASKED, 5000, DELTA / 4)
    assert four.epsilon == pytest.approx(4 * each.epsilon, rel=1e-12)
    assert single.epsilon < each.epsilon
    with pytest.raises(AccountingError, match="beside others"):
        window_claim([(ASKED, 5000, 1), (GRR(d=5, epsilon=1), 5000, 1)], DELTA)


def test_the_worst_round_of_a_window_is_claimed_where_users_are_divided() -> None:
    window = MixedWindow(4, "population", DELTA, 0.1)
    for t, counted in enumerate((2000, 1000, 5000)):
        window.take(t, ASKED, counted)
    assert window.claim(2, ONCE) == mixed_claim(ASKED, 1000, DELTA, 0.1)
    again = MixedWindow(4, "population", DELTA, 0.1)
    again.load(window.kept())
    assert again.claim(2, ONCE) == window.claim(2, ONCE)
    assert again.claim(5, ONCE) == mixed_claim(ASKED, 5000, DELTA, 0.1)
    assert again.against_users(2, ONCE) is None


def test_where_the_budget_is_divided_all_rounds_of_a_window_are_claimed() -> None:
    window = MixedWindow(4, "budget", DELTA, 0.1)
    window.take(0, ASKED, 3000)
    most = WindowRounds(lambda _: ASKED, (Often(ASKED.central_micro, 4),))
    assert window.claim(0, most) == window_claim([(ASKED, 3000, 4)], DELTA, 0.1)


def test_too_few_reports_claim_nothing_and_say_so() -> None:
    for division in ("population", "budget"):
        window = MixedWindow(4, division, DELTA, 0.1)
        window.take(0, ASKED, 3)
        assert window.claim(0, ONCE) == "too few reports"
        window.take(1, ASKED, 1)
        assert window.claim(1, ONCE) == "too few reports"
    with pytest.raises(AccountingError, match="too few for any epsilon"):
        mixed_claim(ASKED, 10, DELTA)


def test_no_claim_is_below_what_more_reports_or_a_larger_delta_have() -> None:
    claims = [mixed_claim(ASKED, n, DELTA) for n in (1000, 1500, 10_000, 10**6)]
    assert all(isinstance(claim, MixedClaim) for claim in claims)
    assert [claim.epsilon for claim in claims] == sorted((claim.epsilon for claim in claims), reverse=True)
    assert mixed_claim(ASKED, 1000, 10 * DELTA).epsilon < claims[0].epsilon
