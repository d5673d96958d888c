# SPDX-License-Identifier: Apache-2.0
"""What Collision and CoCo have in common: pools of hash functions, reports, specs, and evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, ReportError, question
from murmurate.randomizers.errors import ValueRefusedError
from murmurate.randomizers.layouts import FILLER
from murmurate.randomizers.vectors import CoCo, Collision
from murmurate.randomizers.vectors.cells import EMPTY, firsts, in_order, ranks, scaled, skipping, skipping_one
from murmurate.randomizers.vectors.hashed import ALIKE, LEAST_POOL, MOST_POOL, HashedOracle
from tests.cases import every
from tests.randomizers.vectors.hashed_laws import users
from tests.randomizers.vectors.laws import KEY

KINDS: list[Any] = [Collision, CoCo]


def some_values(kind: str, n: int, d: int, s: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Vectors with 1 to s entries, the first items more often."""
    rng = np.random.default_rng(5)
    items = np.sort(np.minimum(rng.geometric(0.1, (n, s)) - 1, d - s), axis=1).astype(np.uint32) + np.arange(s)
    empty = np.arange(s) >= rng.integers(1, s + 1, (n, 1))
    items[empty] = FILLER
    if kind == "items":
        return items.astype(np.uint32)
    rows = np.zeros((n, 2 * s), np.uint32)
    rows[:, ::2] = items
    rows[:, 1::2] = np.where(empty, 0, np.where(rng.random((n, s)) < 0.7, 1 << 17, 0))
    return rows


def truth(made: HashedOracle, rows: np.ndarray[Any, np.dtype[np.uint32]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The means and the shares of holders."""
    items = rows[:, ::2] if made.signed else rows
    signs = np.where(rows[:, 1::2] > 0, 1, -1) if made.signed else np.ones(items.shape)
    held = items != FILLER
    means, shares = (np.bincount(items[held], what[held], made.d) / len(rows) for what in (signs, np.ones(items.shape)))
    return np.concatenate((means, shares))[: made.statistics]


@every(("kind", "of"), [(kind, of) for kind in KINDS for of in ("signed", "items")])
def test_estimates_are_unbiased_with_the_variance_that_is_said(kind: Any, of: str) -> None:
    """Over rounds, d statistics: the mean within 5 standard errors, the variance within 5 % on average."""
    made, rounds, n = kind([of, 128, 8, 0], 1), 60, 500
    values = some_values(of, n, 128, 8)
    wanted = truth(made, values)
    runs = []
    for number in range(rounds):
        round = number.to_bytes(32, "big")
        asked = made.of_round(round)
        runs.append(asked.estimate(asked.support(asked.perturb(values, KEY.draw(users(n), round=round))), n))
    variance = made.noise(wanted) / n + made.added_variance(n, wanted)
    error = np.array(runs) - wanted
    assert (np.abs(error.mean(axis=0)) < 5 * np.sqrt(variance / rounds)).all()
    assert (error**2).mean() / variance.mean() == pytest.approx(1, abs=0.05)


@every(("kind", "of", "alike"), [(kind, of, alike) for kind in KINDS for of in ("signed", "items") for alike in (1, 0)])
def test_a_pool_adds_what_is_said_and_no_more(kind: Any, of: str, alike: int) -> None:
    """The mean square of 40 rounds' errors, over coordinates; alike: users who all hold the same, so that it counts."""
    made, n, rounds = kind([of, 60, 4, 0], 1, pool=8), 2000, 40
    values = some_values(of, n, 60, 4)
    if alike:
        values = np.repeat(made.of.array([made.value(tuple((item, 1) for item in range(4)))]), n, axis=0)
    wanted = truth(made, values)
    errors = []
    for number in range(rounds):
        round = number.to_bytes(32, "big")
        asked = made.of_round(round)
        support = asked.support(asked.perturb(values, KEY.draw(users(n), round=round)))
        errors.append(asked.estimate(support, n) - wanted)
    squares = (np.array(errors) ** 2).mean(axis=0)
    said, alone = made.added_variance(n, wanted), made.noise(wanted) / n
    assert said.mean() > (2 if alike else 0.1) * alone.mean()
    assert 0.6 < squares.mean() / (said + alone).mean() < 1.1
    assert not kind([of, 60, 4, 0], 1, pool=0).added_variance(n, wanted).any()


def test_the_default_pool_adds_at_most_five_percent_up_to_the_users_that_are_said() -> None:
    n = 100_000
    for kind in KINDS:
        for of, s, epsilon in (("signed", 8, 1), ("items", 8, 1), ("signed", 64, 3), ("signed", 8, 1.9)):
            made = kind([of, 1024, s, 0], epsilon)
            assert LEAST_POOL <= made.pool <= MOST_POOL
            shares = np.zeros(1024)
            shares[:10] = np.sqrt(ALIKE / n / 10)
            profile = np.concatenate((shares, shares))[: made.statistics]
            added = made.added_variance(n, profile)
            assert added[-1] < 0.05 * made.variance(n, 0), (made, added[-1] / made.variance(n, 0))


@every("kind", KINDS)
def test_a_spec_names_everything_and_gives_the_same_question(kind: Any) -> None:
    made = kind(["signed", 40, 5, 1], 1)
    spec = made.spec()
    assert spec == {
        "name": made.name, "layout": ("signed", 40, 5, 1), "epsilon_micro": 1_000_000, "t": made.t, "pool": made.pool,
    }  # fmt: skip
    assert question(spec) == made
    assert question({"name": made.name, "layout": ["signed", 40, 5, 1], "epsilon": 1}) == made
    others = [kind(["signed", 40, 5, 1], 1, 40), kind(["signed", 40, 5, 1], 1, pool=0), kind(["items", 40, 5, 1], 1)]
    assert len({made.digest, *(other.digest for other in others)}) == 4
    assert made.of_round(bytes(32)) != made.of_round(b"\1" * 32)
    for pool in (-1, 65_537, 1.0, True):
        with pytest.raises(ParameterError, match=r"pool: found .*; allowed: a whole number from 1 to 65536, or 0"):
            kind(["signed", 40, 5, 1], 1, pool=pool)


@every("kind", KINDS)
def test_a_malformed_report_is_refused_and_never_counted(kind: Any) -> None:
    made = kind(["signed", 40, 5, 0], 1, 30, 300).of_round(bytes(32))
    rows = np.array([[0, 0, 0], [43, 1, 29], [44, 1, 29], [43, 1, 30], [255, 255, 255]], np.uint8)
    assert made.malformed(rows).tolist() == [False, False, True, True, True]
    assert made.support(rows[:2]).sum() >= 0
    with pytest.raises(ReportError, match="found 3 that no value gives"):
        made.support(rows)
    with pytest.raises(ReportError, match="found 2 bytes each; allowed: 3"):
        made.support(rows[:, :2].copy())
    fresh = kind(["signed", 40, 5, 0], 1, 30, 0)
    assert fresh.malformed(np.array([[255] * 8 + [29], [0] * 8 + [30]], np.uint8)).tolist() == [False, True]
    with pytest.raises(ReportError):
        made.check(np.full(made.outcomes, 5), 4)


@every("kind", KINDS)
def test_tables_of_counts_and_pairs_one_by_one_give_the_same_support(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for of in ("signed", "items"):
        made = kind([of, 50, 3, 0], 1, pool=40).of_round(bytes(32))
        reports = made.perturb(some_values(of, 3000, 50, 3), KEY.draw(users(3000), round=bytes(32)))
        whole = made.support(reports)
        each = sum(made.support(reports[start : start + 30]) for start in range(0, 3000, 30))
        assert (whole == each).all()
        said = [made.supported(reports, item, sign).sum() for sign in (1, -1) for item in range(50)]
        assert (whole == said[: made.outcomes]).all()
        with monkeypatch.context() as patched:
            patched.setattr("murmurate.randomizers.vectors.hashed._TABLE", 100)
            assert (made.support(reports) == whole).all()


@every(("kind", "of"), [(kind, of) for kind in KINDS for of in ("signed", "items")])
def test_evidence_is_as_frequent_as_is_said(kind: Any, of: str) -> None:
    """Two groups of 30 000 with fresh hash functions, 5 standard deviations."""
    made, n = kind([of, 20, 3, 0], 1, pool=0), 30_000
    for value, chance in zip(made.extremes, made.telling, strict=True):
        values = np.repeat(made.of.array([value]), n, axis=0)
        reports = made.perturb(values, KEY.draw(users(n, 3), round=bytes(32)))
        found = made.evidence(reports, *made.extremes).mean()
        assert abs(found - chance) < 5 * float(chance * (1 - chance) / n) ** 0.5
    assert made.telling[0] / made.telling[1] > 1.5


@every("kind", KINDS)
def test_a_question_of_one_round_answers_no_other(kind: Any) -> None:
    made = kind(["signed", 40, 5, 0], 1)
    values = some_values("signed", 4, 40, 5)
    with pytest.raises(ParameterError, match="round: found none"):
        made.support(made.perturb(values, KEY.draw(users(4), round=bytes(32))))
    bound = made.of_round(b"\1" * 32)
    with pytest.raises(ValueRefusedError, match="of another round"):
        bound.perturb(values, KEY.draw(users(4), round=bytes(32)))
    with pytest.raises(ValueRefusedError, match="of another round"):
        bound.perturb_one(made.value(((0, 1),)), KEY.draw_one(bytes(16), round=bytes(32)))
    with pytest.raises(ParameterError, match="law: found a pool of"):
        bound.law(made.value(()))
    with pytest.raises(ValueRefusedError, match="found 4 for 3 users"):
        made.perturb(values, KEY.draw(users(3), round=bytes(32)))


def test_cells_are_ordered_and_skipped_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    for s in (1, 2, 3, 7, 8, 20, 64):
        cells = rng.integers(0, 2 * s + 5, (s, 50)).astype(np.uint16)
        cells[rng.random((s, 50)) < 0.2] = EMPTY
        ordered = in_order(cells)
        assert (ordered == np.sort(cells, axis=0)).all()
        first = firsts(ordered)
        index = rng.integers(0, 5, 50).astype(np.uint16)
        found = skipping(index, ordered, first)
        for user in range(50):
            own = sorted(set(cells[:, user].tolist()) - {EMPTY})
            assert [rank[user] for rank in map(np.copy, ranks(first))][-1] == len(own)
            others = [cell for cell in range(4 * s + 20) if cell not in own]
            assert found[user] == others[index[user]] == skipping_one(int(index[user]), own)
    words = rng.integers(0, 1 << 64, 100, dtype=np.uint64)
    for parts in (1, 39, 65_535, 1 << 32):
        assert [int(word) * parts >> 64 for word in words] == scaled(words, np.uint64(parts)).tolist()
