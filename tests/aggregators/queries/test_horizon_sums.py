# SPDX-License-Identifier: Apache-2.0
"""Sums over releases of horizons: exact over any stretch, and a bound where releases are missing or say too little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.queries import AnswerRow, QueryAnswer, ReleaseIndex, answer
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.topics.times import instant
from tests.aggregators.queries.made import EVERY_MS, START_T, local
from tests.aggregators.trees.test_residue_sums import DenseHorizon
from tests.cases import drawn

TREE = ResidueTree(8, 2, every=True)
SIZE = 100.0
"""Errors are large beside the millionths to which they are rounded."""


class DenseRun:
    """Horizons in a row, as releases have them, and what the errors of these releases are."""

    def __init__(self, tree: ResidueTree, horizons: int, seed: int, missing: float = 0.0) -> None:
        self.records, self.measured = list[dict[str, Any]](), list[int]()
        number = horizons * tree.periods
        self.covariance, last = np.zeros((number, number)), None
        for turn in range(horizons):
            horizon, begin = DenseHorizon(tree, seed + turn, missing), turn * tree.periods
            steps = horizon.steps - 1 + begin
            self.covariance[np.ix_(steps, steps)] = horizon.covariance[np.ix_(horizon.steps, horizon.steps)]
            for step in range(1, tree.periods + 1):
                t = begin + step - 1
                last = t if step in horizon.steps else last
                self.records.append(self._record(tree, horizon, step, begin, last))
                self.measured.append(-1 if last is None else last)

    def _record(
        self, tree: ResidueTree, horizon: DenseHorizon, step: int, begin: int, last: int | None
    ) -> dict[str, Any]:
        ended = [level for level in range(1, tree.levels) if step % tree.span(level) == 0]
        said = {"first_t": START_T + begin, "periods": tree.periods, "fanout": tree.fanout, "levels": tree.levels}
        shares = {"shares": [horizon.shares[level - 1][step // tree.span(level) - 1] for level in ended]}
        error = None if last is None else SIZE * float(np.sqrt(self.covariance[last, last]))
        record = local(
            START_T + begin + step - 1, {"home": None if last is None else 0.0}, {"home": error},
            measured=None if last is None else START_T + last, method="sao2",
        )  # fmt: skip
        method = {"name": "sao2", "horizon": str(tree.periods)}
        return record | {"method": method, "horizon": said | (shares if ended else {})}

    def dense(self, places: list[int]) -> float:
        """The standard error of the sum over these periods."""
        times = np.bincount([self.measured[t] for t in places if self.measured[t] >= 0], minlength=len(self.covariance))
        return SIZE * float(np.sqrt(times @ self.covariance @ times))


def index(records: list[dict[str, Any]]) -> ReleaseIndex:
    found = ReleaseIndex()
    for record in records:
        found.add(record)
    return found


def answered(of: ReleaseIndex, low: int, high: int) -> QueryAnswer:
    return answer(
        of, f"count of screen.home over {instant((START_T + low) * EVERY_MS)} .. {instant((START_T + high) * EVERY_MS)}"
    )


def row(of: ReleaseIndex, low: int, high: int) -> AnswerRow:
    return answered(of, low, high).rows[0]


@st.composite
def runs(draw: st.DrawFn) -> DenseRun:
    periods, fanout = draw(st.integers(1, 9)), draw(st.integers(2, 3))
    cut = draw(st.integers(0, ResidueTree(periods, fanout).levels - 1))
    missing = draw(st.sampled_from([0, 0.25]))
    return DenseRun(ResidueTree(periods, fanout, draw(st.booleans()), cut), 4, draw(st.integers(0, 2**32)), missing)


@drawn(25, long=400, run=runs(), low=st.integers(0, 35), length=st.integers(1, 36))
def test_the_error_over_any_stretch_is_that_of_dense_algebra(run: DenseRun, low: int, length: int) -> None:
    of, number = index(run.records), len(run.records)
    for first, end in ((low, low + length), (0, number), (0, low + 1)):
        found, places = row(of, first, end), list(range(min(first, number), min(end, number)))
        if found.stderr is not None:
            assert found.stderr == pytest.approx(run.dense(places), rel=1e-5)
            assert not found.bounded_horizons


@drawn(25, long=400, run=runs(), lost=st.sets(st.integers(0, 35)), low=st.integers(0, 35), length=st.integers(1, 36))
def test_releases_that_are_missing_make_errors_no_smaller(run: DenseRun, lost: set[int], low: int, length: int) -> None:
    of = index([record for t, record in enumerate(run.records) if t not in lost])
    if not of.streams:
        return
    found = row(of, low, low + length)
    there = [t for t in range(low, min(low + length, len(run.records))) if t not in lost]
    if found.stderr is not None:
        assert found.stderr >= run.dense(there) * (1 - 1e-5)
        assert found.bounded_horizons or found.stderr == pytest.approx(run.dense(there), rel=1e-5)


def test_an_answer_says_for_how_many_horizons_its_error_is_a_bound() -> None:
    run = DenseRun(TREE, 3, 1)
    whole, late = index(run.records), index(run.records[5:])
    for of, bounded in ((whole, 0), (late, 1)):
        found = answered(of, 5, 24)
        assert found.rows[0].bounded_horizons == bounded
        assert any("is a bound" in note for note in found.notes) == bool(bounded)
        assert found.rows[0].document().get("bounded_horizons") == (bounded or None)
    errors = [[row(of, *ends).stderr or 0.0 for ends in ((5, 24), (8, 24), (6, 7))] for of in (whole, late)]
    assert errors[0][0] < errors[1][0]
    assert errors[0][1:] == errors[1][1:]  # of later horizons, and of one release alone
    assert (
        row(index(run.records[3:]), 3, 24).stderr == row(whole, 3, 24).stderr
    )  # 5 to 8 stand on 4 and on nothing else


def test_releases_of_a_horizon_that_do_not_say_it_err_all_alike() -> None:
    records = [{**record} for record in DenseRun(TREE, 2, 2).records]
    for record in records:
        del record["horizon"]
    found = row(index(records), 0, 16)
    assert found.stderr == pytest.approx(sum(record["stderr_unbiased"]["home"] for record in records), abs=1e-6)
    assert found.bounded_horizons


def test_a_release_that_comes_twice_or_is_revised_changes_nothing() -> None:
    records = DenseRun(TREE, 3, 3).records
    twice = [*records[:5], records[2], *records[5:], *({**record, "revision": 2} for record in records[:8])]
    assert answered(index(twice), 1, 20).canonical() == answered(index(records), 1, 20).canonical()


def test_releases_of_another_method_before_have_errors_of_their_own() -> None:
    """Twelve periods of `lpu`, and then the file says `sao2`."""
    run = DenseRun(TREE, 1, 4)
    before = [local(START_T - 12 + t, {"home": 0.0}, {"home": 30.0}) for t in range(12)]
    found = row(index(before + run.records), -12, 8)
    assert found.stderr == pytest.approx(np.hypot(30 * np.sqrt(12), run.dense(list(range(8)))), rel=1e-5)
    mixed = index([*run.records[:4], *before[:6], *run.records[4:], *before[6:]])
    assert row(mixed, -12, 8).stderr == found.stderr


def test_other_horizons_in_between_are_kept_apart() -> None:
    """A replay of a file of its own into the same records: every other release is of a horizon that began elsewhere."""
    run = DenseRun(TREE, 2, 5)
    mixed = [{**record} for record in run.records]
    for record in mixed[1::2]:
        record["horizon"] = {"first_t": START_T - 1, "periods": 64, "fanout": 2, "levels": 7}
    found = row(index(mixed), 0, 16)
    assert found.stderr >= np.hypot(run.dense([*range(0, 16, 2)]), run.dense([*range(1, 16, 2)])) * (1 - 1e-5)


def test_what_users_draw_again_only_after_all_cohorts_is_in_the_bound() -> None:
    """Windows of 6 periods and horizons of 8 take two cohorts: in five horizons one of them answers three times."""
    of = index(DenseRun(TREE, 5, 6).records)
    once, thrice = row(of, 0, 16), row(of, 0, 40)
    assert once.stderr_at_most is None
    assert thrice.stderr_at_most == pytest.approx(thrice.stderr * np.sqrt(3), rel=1e-9)


@pytest.mark.parametrize(
    "said",
    [
        {"levels": 5}, {"levels": 0}, {"periods": 0}, {"fanout": 1}, {"first_t": "1"}, {"shares": ["a half"]},
    ],
)  # fmt: skip
def test_a_horizon_that_is_none_is_no_release(said: dict[str, Any]) -> None:
    record = DenseRun(TREE, 1, 7).records[1]
    with pytest.raises(ReleaseFormatError):
        index([record | {"horizon": record["horizon"] | said}])
