# SPDX-License-Identifier: Apache-2.0
"""What searches for strings name is held by somebody, and the errors that they state cover the truth: measured over
several kinds of data, none of which any number was tuned on.
"""

from __future__ import annotations

import pytest

from tests.aggregators.string_crowds import KINDS, SEARCHES, Tally, searched, within


@pytest.mark.parametrize(
    ("method", "kind", "periods"), [("pem_rounds", "even", 24), ("pem", "zipf", 8), ("priv_trie", "zipf", 12)]
)
def test_errors_of_found_strings_cover_the_truth(method: str, kind: str, periods: int) -> None:
    """The short form; one run of each, whose bounds are wide."""
    tally = Tally()
    searched(method, kind, 1, tally, periods)
    assert tally.joined >= 3
    assert tally.wrong <= 2
    assert within(tally.errors) > 0.8


@pytest.mark.audit
@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_cover_nine_truths_in_ten_over_many_streams(method: str, kind: str) -> None:
    """Of what nobody holds one string is expected in twenty searches. Errors of a stream go together, so the bound on
    coverage is that of the issue, not one of chance.
    """
    tally, seeds = Tally(), 8 if method == "pem" else 24
    for seed in range(seeds):
        searched(method, kind, seed, tally)
    searches = tally.releases
    assert within(tally.errors) >= 0.9
    assert within(tally.first) >= 0.85
    assert tally.wrong <= 0.05 * searches + 5 * (0.05 * searches) ** 0.5
