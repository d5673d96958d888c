# SPDX-License-Identifier: Apache-2.0
"""Appended unary encoding: no local promise anywhere, an exact central one, and reports as described.

Keys are fixed, so a test passes always or never; over the choice of a key each would alarm by chance with probability
at most 1e-6.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.accounting import AccountingError
from murmurate.aggregators.accounting.added_ones import appended, fewest_ones
from murmurate.aggregators.accounting.claim import blankets
from murmurate.randomizers import (
    MECHANISMS,
    Ask,
    Key,
    ParameterError,
    ReportError,
    Terms,
    ValueRefusedError,
    mechanism,
    question,
)  # fmt: skip
from murmurate.randomizers.errors import UnprotectedError
from murmurate.randomizers.frequency.appended import AUE, LEVELS, counted_delta
from murmurate.randomizers.guard import Guard
from murmurate.randomizers.ledger import Verdict
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.terms import StreamTerms
from tests.cases import every
from tests.randomizers.known_answers import blocks, choose, words

KEY = Key(hashlib.sha256(b"appended").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "mixing.json").read_text(encoding="utf-8")
)


def made(d: int = 5, n: int = 1000) -> AUE:
    return appended(d=d, n=n, central=1.0, delta=1e-6)


# ---- no local promise ----


def test_nothing_that_needs_a_local_epsilon_takes_it() -> None:
    aue: Any = made()
    for what in ("epsilon", "epsilon_micro", "realised"):
        with pytest.raises(UnprotectedError, match="which shows its value"):
            getattr(aue, what)
    with pytest.raises(UnprotectedError, match="which shows its value"):
        blankets(aue)
    assert aue.unprotected
    assert aue.summed_when_mixed
    assert aue.blanket() is None
    assert "aue" not in MECHANISMS
    for refused in (
        mechanism,
        lambda spec: question({"name": "faked", "fakes": 3, "mechanism": spec}),
        lambda spec: question({"name": "branches", "of": [[1, spec], [1, spec]]}),
    ):
        with pytest.raises(ParameterError, match=r"found '?aue"):
            refused(aue.spec())
    assert "not LDP" in repr(aue)


def test_no_device_answers_it_unless_its_own_terms_name_it_and_say_that_it_shows_values() -> None:
    aue = made()
    plain = StreamTerms("page", 10**6, 4, 128, "population", ("code", 5))
    named = replace(plain, questions=(aue.digest.hex(),))
    asked = Ask("page", 7, 128, None, aue, ROUND)
    for stream, why in ((plain, "show their values"), (named, "show their values")):
        refusal = Guard(Terms("shop", 2_000_000, (stream,)), stream, 1).refusal(asked)
        assert refusal is not None
        assert refusal.reason == "mechanism"
        assert why in refusal.why
    with pytest.raises(ParameterError, match="unprotected_locally: found it without questions"):
        replace(plain, unprotected_locally=True)
    free = replace(named, unprotected_locally=True)
    guard = Guard(terms := Terms("shop", 2_000_000, (free,)), free, 1)
    assert guard.refusal(asked) is None
    other = guard.refusal(replace(asked, question=made(n=900)))
    assert other is not None
    assert guard.charge(asked, np.ones(1, np.bool_)).tolist() == [Verdict.CHARGED]
    assert guard.ledger.most_spent_micro == 1_000_000
    assert terms.facts().items() > Terms("shop", 2_000_000, (named,)).facts().items()


def test_the_law_of_a_report_gives_its_value_away() -> None:
    aue = AUE(d=3, ones=LEVELS // 4, batch=2, central=2.0, delta=0.9)
    laws = [aue.law(value) for value in range(3)]
    assert all(sum(law.values()) == 1 for law in laws)
    assert len(set().union(*laws)) == aue.reports_possible
    rows = np.array([list(report) for report in laws[0]], np.uint8)
    telling = [
        sum((law.get(row.tobytes(), Fraction(0)) for row in rows[aue.evidence(rows, 0, 2)]), Fraction(0))
        for law in (laws[0], laws[2])
    ]
    assert (telling[0], telling[1]) == aue.telling
    assert not aue.malformed(rows).any()


def test_a_ledger_is_billed_the_central_epsilon_of_the_batch() -> None:
    assert tuple(made().bill(7)) == (7, 7, None, 1_000_000)


# ---- the central promise ----


def histograms(aue: AUE, values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """The law of the counts of these users, report by report and cell by cell."""
    sums: dict[tuple[int, ...], Fraction] = {(0,) * aue.d: Fraction(1)}
    for value in values:
        more: dict[tuple[int, ...], Fraction] = {}
        for counts, chance in sums.items():
            for added in product((0, 1), repeat=aue.d):
                drawn = math.prod((aue.p if one else 1 - aue.p for one in added), start=Fraction(1))
                after = tuple(c + a + (v == value) for v, (c, a) in enumerate(zip(counts, added, strict=True)))
                more[after] = more.get(after, Fraction(0)) + chance * drawn
        sums = more
    return sums


def neighbours(aue: AUE, n: int) -> Iterator[tuple[dict[tuple[int, ...], Fraction], dict[tuple[int, ...], Fraction]]]:
    for others in combinations_with_replacement(range(aue.d), n - 1):
        laws = [histograms(aue, (*others, value)) for value in range(aue.d)]
        yield from permutations(laws, 2)


@every(("d", "n"), [(2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3)])
def test_no_counts_of_few_reports_show_more_than_delta_and_all_show_just_that(d: int, n: int) -> None:
    """All neighbours, and everything that the others may hold."""
    for ones in (LEVELS // 5, LEVELS // 2, LEVELS - LEVELS // 3):
        aue = AUE(d=d, ones=ones, batch=n, central=0.5, delta=1 - 1e-9)
        for epsilon in (0.05, 0.5, 1.5):
            ratio, said = Fraction(math.exp(epsilon)), counted_delta(ones, n, epsilon)
            for one, other in neighbours(aue, n):
                shown = sum(
                    (max(p - ratio * other.get(y, Fraction(0)), Fraction(0)) for y, p in one.items()), Fraction(0)
                )
                assert float(shown) <= said <= float(shown) * (1 + 1e-6) + 1e-12, (ones, epsilon)


def test_reports_that_are_permuted_and_not_added_up_show_far_more() -> None:
    """Two users, two cells: the rows that they send, in no order."""
    aue = AUE(d=2, ones=LEVELS // 2, batch=2, central=2.0, delta=0.9)

    def rows(value: int) -> dict[tuple[int, ...], Fraction]:
        return {
            tuple(a + (v == value) for v, a in enumerate(added)): Fraction(1, 4) for added in product((0, 1), repeat=2)
        }

    laws: list[dict[tuple[tuple[int, ...], ...], Fraction]] = [{}, {}]
    for value, law in enumerate(laws):
        for (one, p), (other, q) in product(rows(value).items(), rows(0).items()):
            together = tuple(sorted((one, other)))
            law[together] = law.get(together, Fraction(0)) + p * q
    ratio = Fraction(math.exp(2))
    shown = max(
        sum(max(p - ratio * b.get(y, Fraction(0)), Fraction(0)) for y, p in a.items()) for a, b in permutations(laws)
    )
    assert float(shown) > 1.1 * counted_delta(aue.ones, 2, 2.0)


def test_delta_falls_with_epsilon_with_ones_up_to_a_half_and_with_reports() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        n, epsilon = int(np.exp(rng.uniform(1, 12))), float(np.exp(rng.uniform(-3, 1)))
        ones = int(np.exp(rng.uniform(math.log(LEVELS) - 12, math.log(LEVELS // 2))))
        delta = counted_delta(ones, n, epsilon)
        assert 0 <= delta <= 1
        assert counted_delta(ones, n, epsilon * 1.1) <= delta * (1 + 1e-7)
        assert counted_delta(ones, n + 1 + n // 10, epsilon) <= delta * (1 + 1e-7)
        assert counted_delta(min(LEVELS // 2, ones + ones // 10), n, epsilon) <= delta * (1 + 1e-7)
        assert counted_delta(LEVELS - ones, n, epsilon) == pytest.approx(delta, rel=1e-6, abs=1e-30)


def test_the_golden_ones_keep_their_target_and_the_exact_ones_err_fifty_times_less() -> None:
    n, delta = 990_002, 1e-9
    for row in GOLDEN["kosarak"]:
        ones = round(row["AUE_p"] * LEVELS)
        theirs = AUE(d=10, ones=ones, batch=n, central=row["eps_c"], delta=delta)
        assert float(theirs.variance(n, 0)) == pytest.approx(row["AUE_var"], rel=1e-6)
        ours = appended(d=10, n=n, central=row["eps_c"], delta=delta)
        assert 50 * float(ours.variance(n, 0)) < row["AUE_var"]
        assert delta / 3 < counted_delta(ours.ones, n, row["eps_c"]) <= delta  # the level has ten binary digits


def test_fewer_ones_than_the_promise_needs_are_refused_and_targets_out_of_reach_are_too() -> None:
    ones = fewest_ones(1000, 1.0, 1e-6)
    with pytest.raises(ParameterError, match=r"aue: ones: found \d+ of 2\^32, which 1000 reports at a central epsilon"):
        AUE(d=4, ones=ones - ones // 100, batch=1000, central=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="which 900 reports"):
        AUE(d=4, ones=ones, batch=900, central=1.0, delta=1e-6)
    with pytest.raises(AccountingError, match="with 10 reports, which no added ones reach"):
        appended(d=4, n=10, central=0.1, delta=1e-6)
    assert appended(d=4, n=2000, central=1.0, delta=1e-6, corrupt=0.5) == appended(d=4, n=1000, central=1.0, delta=1e-6)


# ---- reports ----


def slow_report(d: int, ones: int, value: int, stream: Iterator[bytes]) -> bytes:
    """From the description, two bits a cell."""
    row = bytearray((2 * d + 7) // 8)
    for cell, u in zip(range(d), words(stream, 32), strict=False):
        row[2 * cell // 8] |= ((u < ones) + (cell == value)) << 2 * cell % 8
    return bytes(row)


def test_devices_give_the_reports_of_a_second_implementation() -> None:
    for i in range(60):
        label, d = f"aue {i}", (2, 3, 4, 5, 9, 64, 257)[i % 7]
        n = (400, 5000, 1_000_000)[i % 3]
        aue = appended(d=d, n=n, central=(0.7, 2)[i % 2], delta=1e-5)
        spec = {"batch": n, "central_micro": (700_000, 2_000_000)[i % 2], "d": d, "delta": "1e-05", "name": "aue"}
        text = json.dumps(spec | {"ones": aue.ones}, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(b"murmurate/mechanism/1\n" + text.encode()).digest()
        assert aue.digest == digest
        secret, user, round = (choose(f"{label} {what}", k) for what, k in (("key", 32), ("user", 16), ("round", 32)))
        value = int.from_bytes(choose(label, 8), "little") % d
        expected = slow_report(d, aue.ones, value, blocks(secret, "shop", round, digest, user, value))
        key = Key(secret, deployment="shop")
        assert aue.perturb_one(value, key.draw_one(user, round=round)) == expected
        batch = aue.perturb(np.array([value]), key.draw(np.frombuffer(user, np.uint8)[None], round=round))
        assert batch.tobytes() == expected
        assert not aue.malformed(batch).any()


def test_support_is_additive_and_estimates_are_unbiased_and_as_variable_as_they_say() -> None:
    aue, runs, n, held = made(n=400), 500, 400, np.arange(400) % 4
    users = contexts(np.arange(runs * n))
    reports = aue.perturb(np.tile(held, runs), KEY.draw(users, round=ROUND))
    assert reports.shape == (runs * n, aue.wire_size)
    supports = [aue.support(part) for part in np.split(reports, runs)]
    assert (np.sum(supports, axis=0) == aue.support(reports)).all()
    estimates = np.array([aue.estimate(support, n) for support in supports])
    truth, exact = np.bincount(held, minlength=5) / n, float(aue.variance(n, 0.25))
    assert (np.abs(estimates.mean(axis=0) - truth) < 5 * math.sqrt(exact / runs)).all()
    assert (np.abs(estimates.var(axis=0) / exact - 1) < 5 * math.sqrt(2 / runs)).all()
    assert aue.noise(truth).tolist() == pytest.approx([exact * n] * 5)


def test_a_mechanism_is_its_spec_and_stays_as_it_was_built() -> None:
    aue = made()
    spec = {key: value for key, value in aue.spec().items() if key not in ("name", "central_micro")}
    again: Any = AUE(central=Fraction(aue.central_micro, 10**6), **spec)  # type: ignore[arg-type]
    assert (again, hash(again)) == (aue, hash(aue))
    assert again != made(d=6)
    for name in ("ones", "p", "name"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(again, name, 1)


def test_reports_and_counts_that_no_values_give_are_refused() -> None:
    aue = made()  # five cells: ten bits in two bytes
    rows = np.array([[0b01, 0], [0b11, 0], [0, 0], [0, 0b100], [0b10, 0b10], [0, 0b11]], np.uint8)
    rows = np.concatenate((rows, np.array([[0b10, 0b01]], np.uint8)))
    assert aue.malformed(rows).tolist() == [False, True, True, True, True, True, False]  # two twos are nobody's
    with pytest.raises(ReportError, match="found 5 that no value gives"):
        aue.support(rows)
    assert aue.support(rows[[0, 6]]).tolist() == [3, 0, 0, 0, 1]
    wrong = ([1, 0, 0, 0, 0], 2), ([5, 0, 0, 0, 0], 2), ([-1, 3, 0, 0, 0], 2), ([1, 1], 1), ([4, 3, 0, 0, 0], 2)
    for counts, n in wrong:
        with pytest.raises(ReportError):
            aue.estimate(np.array(counts), n)
    for n, frequency in ((0, 0.5), (5, 1.5)):
        with pytest.raises(ParameterError):
            aue.variance(n, frequency)


@every("values", [np.array([0, 5]), np.array([-1, 0]), np.array([0.0, 1.0]), np.array([0]), [0, 1]])
def test_values_outside_the_domain_are_refused(values: Any) -> None:
    with pytest.raises(ValueRefusedError, match="allowed:"):
        made().perturb(values, KEY.draw(contexts(np.arange(2)), round=ROUND))


@every(
    "wrong",
    [{"d": 1}, {"ones": 0}, {"ones": LEVELS}, {"batch": 0}, {"central": 0}, {"delta": 0}, {"delta": "x"}, {"delta": 1}],
)
def test_parameters_that_promise_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="found"):
        AUE(**{"d": 4, "ones": LEVELS // 2, "batch": 1000, "central": 1.0, "delta": 1e-6} | wrong)
