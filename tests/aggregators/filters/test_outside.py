# SPDX-License-Identifier: Apache-2.0
"""What is known from elsewhere, told to a filter whole and in parts."""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.methods.method import Answer

WHOLE = OutsideEstimate(np.array([0.7, -0.2, 0.5]), np.array([1e-4, 4e-4]), 10_000)
NOTHING = np.zeros(0, np.int64)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13, 20])
def test_parts_say_together_what_the_whole_says_and_scatter_as_answers_do(count: int) -> None:
    parts = list(WHOLE.parts(count))
    assert len(parts) == count
    np.testing.assert_allclose(np.mean([part.known for part in parts], axis=0), WHOLE.known)
    np.testing.assert_allclose(sum(1 / part.variance for part in parts), 1 / WHOLE.variance)
    off = np.array([part.known[:2] - WHOLE.known[:2] for part in parts]) ** 2
    assert off.mean(axis=0) == pytest.approx(WHOLE.variance * count * (1 - count % 2 / count))


def test_a_filter_takes_it_as_an_answer_of_that_variance() -> None:
    heard = AdaptiveFilter(2, ranges=((0.0, 1.0), (-1.0, 1.0)))
    heard.learn(WHOLE, Answer(NOTHING, WHOLE.users), None)
    estimate, variance = heard.release()
    np.testing.assert_allclose(estimate, WHOLE.known[:2], rtol=0.01)
    np.testing.assert_allclose(variance, WHOLE.variance, rtol=0.01)
