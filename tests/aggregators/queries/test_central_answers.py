# SPDX-License-Identifier: Apache-2.0
"""Answers over central streams: the sum of what was released, with exactly the error that its noise has."""

from collections.abc import Iterable
from functools import cache
from math import sqrt

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.aggregators.queries import AnswerRow, ReleaseIndex, answer
from murmurate.aggregators.queries.central import pieces_variance
from murmurate.aggregators.trees import dyadic_leaves, range_variance
from murmurate.randomizers.trees import Tree
from murmurate.topics.release import Release
from murmurate.topics.times import instant
from tests.aggregators.queries.made import EVERY_MS, LAW, START_T, MadeStream, local
from tests.cases import every


def index(records: Iterable[object]) -> ReleaseIndex:
    found = ReleaseIndex()
    for record in records:
        found.add(record)
    return found


def asked(of: ReleaseIndex, low: int, high: int, what: str = "sum of revenue") -> AnswerRow:
    """The one row of an answer over periods, counted from the first one."""
    start, end = (instant((START_T + t) * EVERY_MS) for t in (low, high))
    (row,) = answer(of, f"{what} over {start} .. {end}").rows
    return row


@cache
def covariance(tree: Tree) -> np.ndarray:
    """Of a tree's consistent leaves, dense, for node noise of variance 1."""
    sizes = [tree.nodes(level) for level in range(1, tree.levels + 1)]
    rows = []
    for node in np.eye(sum(sizes), dtype=np.int64):
        levels = np.split(node, np.cumsum(sizes)[:-1])
        rows.append(dyadic_leaves(levels, tree.fanout) / tree.denominator)
    weights = np.array(rows)
    return np.asarray(weights.T @ weights)


def dense(tree: Tree, leaves: np.ndarray) -> float:
    """The variance of the sum of these leaves (bool[n]) of trees in a row."""
    padded = np.zeros(-(-len(leaves) // tree.leaves) * tree.leaves)
    padded[: len(leaves)] = leaves
    return float(sum(part @ covariance(tree) @ part for part in padded.reshape(-1, tree.leaves)))


@every(("fanout", "levels", "most"), [(2, 3, 1.125), (2, 5, 1.125), (3, 3, 1.036), (4, 3, 1.016), (16, 2, 1.00025)])
def test_no_unbiased_answer_from_all_nodes_has_less_variance(fanout: int, levels: int, most: float) -> None:
    """Dense generalized least squares over all nodes is the least that there is; dyadic weights cost what is said."""
    tree = Tree(fanout, levels)
    nodes = [np.repeat(np.eye(tree.nodes(level)), tree.span(level), axis=1) for level in range(1, levels + 1)]
    design = np.concatenate(nodes)
    least = np.linalg.inv(design.T @ design)
    for low in range(tree.leaves):
        for high in range(low + 1, tree.leaves + 1):
            best = float(least[low:high, low:high].sum())
            assert range_variance(tree, low, high, weights="least_squares") == pytest.approx(best, rel=1e-9)
            assert best * (1 - 1e-9) <= range_variance(tree, low, high) <= best * most


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.sampled_from([Tree(2, 3), Tree(3, 2), Tree(4, 2)]))
def test_the_variance_of_what_is_left_of_a_tree_is_that_of_the_dense_covariance(there: list[bool], tree: Tree) -> None:
    edges = np.flatnonzero(np.diff([0, *map(int, there), 0]))
    pieces = [(int(low), int(high)) for low, high in edges.reshape(-1, 2)]
    assert pieces_variance(tree, pieces) == pytest.approx(dense(tree, np.array(there)), abs=1e-9)


@cache
def in_runs() -> MadeStream:
    return MadeStream(levels=2).run(np.arange(11)).hold_out(3).run(np.arange(22)).hold_out(2).run(np.arange(5))


@cache
def in_blocks() -> tuple[MadeStream, ReleaseIndex]:
    made = MadeStream(levels=2, block=4).run(np.arange(70) * 3)
    return made, index(made.records)


@given(st.data())
def test_an_answer_is_the_brute_force_one_over_holes_hold_outs_and_runs(data: st.DataObject) -> None:
    tree, node, made = Tree(4, 2), round(sqrt(LAW.variance), 6), in_runs()
    runs = [(0, 11), (14, 36), (38, 43)]  # the periods of each run of trees
    there = [t for t in range(43) if data.draw(st.booleans(), str(t))]
    low = data.draw(st.integers(0, 45))
    high = data.draw(st.integers(low + 1, 50))
    known = [t for t in there if low <= t < high and any(a <= t < b for a, b in runs)]
    if not there:
        return
    row = asked(index(made.records[t] for t in there), low, high)
    variance = 0.0
    for begin, end in runs:
        variance += dense(tree, np.array([t in known for t in range(begin, end)]))
    values = [made.records[t]["unbiased"]["total"] for t in known]
    assert row.periods == len(known)
    assert sum(row.missing.values()) == high - low - len(known)
    assert row.missing.get("hold-out", 0) == sum(
        low <= t < high and made.records[t].get("noise") is None for t in there
    )
    if known:
        assert row.value == pytest.approx(sum(values), abs=1e-5)
        assert row.stderr == pytest.approx(node * sqrt(variance), rel=1e-6)
        assert row.covered == (instant((START_T + known[0]) * EVERY_MS), instant((START_T + known[-1] + 1) * EVERY_MS))
    else:
        assert (row.value, row.stderr, row.covered) == (None, None, None)


def test_of_a_stream_in_its_first_hold_out_nothing_is_known_yet() -> None:
    row = asked(index(MadeStream(levels=2).hold_out(3).records), 0, 3)
    assert (row.value, row.stderr, row.periods, row.missing) == (None, None, 0, {"hold-out": 3})


def test_records_are_those_of_a_deployment() -> None:
    central = MadeStream().hold_out(2).run(np.arange(9)).records + MadeStream(block=4).run(np.arange(20)).records
    nothing = local(START_T, {"home": None}, {"home": None}, measured=None)
    for record in (
        *central,
        nothing,
        local(START_T, {"home": 0.5}, {"home": 0.25}),
        local(START_T, {"home": 0.5}, None),
    ):
        figures = {key: value for key, value in record.items() if key != "schema"}
        Release.model_validate_json(orjson.dumps(figures))


@given(st.integers(0, 70), st.integers(1, 70))
def test_parts_of_blocks_are_interpolated_and_their_errors_added(low: int, length: int) -> None:
    """Blocks of 4 periods: what is whole in the stretch is summed, the rest taken from estimates."""
    (made, known), high = in_blocks(), low + length
    row, node = asked(known, low, high), round(sqrt(LAW.variance), 6)
    leaves = [leaf for leaf in range(17) if low <= 4 * leaf and 4 * leaf + 4 <= high]
    whole = {t for leaf in leaves for t in range(4 * leaf, 4 * leaf + 4)}
    parts = [t for t in range(low, min(high, 70)) if t not in whole and made.records[t]["stderr"]["total"] is not None]
    total = sum(made.records[4 * leaf + 3]["block"]["total"]["total"] for leaf in leaves)
    assert (row.periods, row.interpolated) == (len(whole) + len(parts), len(parts))
    assert row.missing.get("not measured", 0) == sum(t not in whole for t in range(low, min(high, 3)))
    assert row.missing.get("not yet released", 0) == max(0, high - max(low, 70))
    if row.value is not None and row.stderr is not None:
        added = sum(made.records[t]["stderr"]["total"] for t in parts)
        assert row.value == pytest.approx(total + sum(made.records[t]["estimate"]["total"] for t in parts), abs=1e-4)
        apart = np.array([leaf in leaves for leaf in range(17)])
        assert row.stderr == pytest.approx(node * sqrt(dense(Tree(4, 2), apart)) + added, rel=1e-6)


def test_counts_means_and_shares_of_events() -> None:
    """A mean is the sum by the number; shares are of all events; cells have noise of their own."""
    fares = index(MadeStream(names=("count", "total")).run(np.tile([50, 900], (64, 1))).records)
    total, number = asked(fares, 0, 40), asked(fares, 0, 40, "count of revenue")
    mean = asked(fares, 0, 40, "mean of revenue")
    assert total.value
    assert number.value
    assert total.stderr
    assert mean.value
    assert mean.value == pytest.approx(total.value / number.value, rel=1e-8)
    assert mean.stderr == pytest.approx(total.stderr * sqrt(1 + mean.value**2) / number.value, rel=1e-6)
    made = MadeStream(names=("buy", "view"), measure="count", stream="events").run(np.tile([900, 2100], (64, 1)))
    events = index(made.records)
    both, buy = asked(events, 3, 60, "count of events"), asked(events, 3, 60, "count of events.buy")
    share = asked(events, 3, 60, "share of events.buy")
    assert both.value
    assert buy.value
    assert buy.stderr
    assert share.value
    assert both.stderr == pytest.approx(buy.stderr * sqrt(2), rel=1e-6)
    assert share.value == pytest.approx(buy.value / both.value, rel=1e-8)
    assert share.stderr == pytest.approx(
        buy.stderr * sqrt((1 - share.value) ** 2 + share.value**2) / both.value, rel=1e-4
    )


def covered(keys: range, stretches: int, *, levels: int, periods: int) -> float:
    """How often two standard errors hold the exact sum: over keys, and over random stretches of trees in a row."""
    rng, held = np.random.default_rng(77), 0
    for key in keys:
        sums = rng.integers(0, 500, periods)
        known = index(MadeStream(key, levels=levels).run(sums).records)
        for _ in range(stretches):
            low, high = sorted(rng.choice(periods + 1, 2, replace=False).tolist())
            row = asked(known, low, high)
            assert row.value is not None
            assert row.stderr is not None
            held += abs(row.value - int(sums[low:high].sum())) <= 2 * row.stderr
    return held / (len(keys) * stretches)


def test_two_standard_errors_hold_what_was_summed() -> None:
    """Fewer than 86 of 100 would be once in a million, for 240 that are 95 % each and nearly independent."""
    assert covered(range(4), 60, levels=3, periods=120) >= 0.86


@pytest.mark.audit
def test_two_standard_errors_hold_93_to_97_percent() -> None:
    """20 keys, 200 stretches each: 95.2 % give or take .35 %, were they independent."""
    assert 0.93 <= covered(range(20), 200, levels=5, periods=640) <= 0.97
