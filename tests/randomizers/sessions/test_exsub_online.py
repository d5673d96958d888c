# SPDX-License-Identifier: Apache-2.0
"""ExSub online: every transcript of every course of changes keeps epsilon, and supports what it says at every node."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.errors import ParameterError, ReportError, ValueRefusedError
from murmurate.randomizers.randomness import Key, contexts
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.thresholds import exp_floor
from murmurate.randomizers.vectors import ExSub
from tests.cases import every
from tests.randomizers.sessions.drawn_outright import BoundOfThree, Exactly, ExactlyOutright
from tests.randomizers.sessions.transcripts import Course, Laws, audit, check_marginals, courses

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "exsub_golden.json").read_text(encoding="ascii")
)
STREAM = {
    "-000": "2/49", "-00+": "1/98", "-0+0": "1/98", "0000": "2/49", "0+00": "2/49", "0+0+": "1/98", "+0-0": "3/98",
    "+000": "6/49", "+00+": "3/98",
}  # fmt: skip
"""Some of the reports of 4 coordinates, of which the first is +1 and the third -1, at e^epsilon = 3 and m = 2."""


def small(most: int, nodes: int) -> list[ExSubOnline]:
    """Protocols of up to 2 coordinates, so many nodes, and so many changes."""
    found = []
    for d, s, epsilon, tau in product((1, 2), range(1, most + 1), (0.25, 1.0, 3.0), range(2)):
        if s <= d * nodes:
            lengths = {1, 2, d * nodes // 2 + 1, d * nodes, d * nodes + s}
            found += [ExSubOnline(d, nodes, s, epsilon, m, tau) for m in sorted(lengths) if m >= max(1, tau)]
    return found


def check_all(made: ExSubOnline, nodes: int, most: int) -> None:
    """The facts of all courses of so many nodes, which are fewer than there are where some are never asked."""
    laws = Laws(made)
    assert audit(laws, courses(made.d, nodes, most)).holds(made)
    within = 2 * (1 - made.kept)
    for course in courses(made.d, nodes, min(most, made.s)):
        check_marginals(laws, course, within)


@every("made", small(2, 2)[::9], long=small(2, 2) + small(2, 3)[::2])
def test_every_course_of_changes_keeps_epsilon_at_every_node(made: ExSubOnline) -> None:
    for nodes in range(1, made.nodes + 1):
        check_all(made, nodes, made.s)


@every("made", [ExSubOnline(1, 3, 2, 1.0, 3), ExSubOnline(1, 3, 1, 2.0, 2, 1)], long=[ExSubOnline(2, 2, 1, 1.0, 3)])
def test_more_changes_than_the_protocol_tells_keep_epsilon_too(made: ExSubOnline) -> None:
    assert audit(Laws(made), courses(made.d, made.nodes, 4)).holds(made)


@pytest.mark.audit
@every("made", [ExSubOnline(2, 4, 2, 1.0, 3), ExSubOnline(2, 4, 2, 1.0, 5, 1), ExSubOnline(2, 4, 1, 0.5)])
def test_four_nodes_of_two_coordinates_keep_epsilon(made: ExSubOnline) -> None:
    check_all(made, 4, made.s)


def random_course(rng: np.random.Generator, d: int, nodes: int, s: int) -> Course:
    row = np.zeros(d * nodes, np.int64)
    row[rng.permutation(d * nodes)[: rng.integers(0, s + 1)]] = 1
    row *= rng.choice([-1, 1], d * nodes)
    return tuple(tuple(map(int, part)) for part in row.reshape(nodes, d))


@every("measures", [(2, 5, 4, 12)], long=[(8, 16, 6, 40), (3, 20, 6, 40), (4, 5, 12, 40)])
def test_transcripts_of_many_nodes_keep_epsilon(measures: tuple[int, int, int, int]) -> None:
    d, nodes, s, pairs = measures
    rng = np.random.default_rng(7)
    for m, tau in ((None, 0), (None, 1), (2 * s, 0)):
        made = ExSubOnline(d, nodes, s, 1.0, m, tau)
        laws, largest = Laws(made), Fraction(0)
        one = random_course(rng, d, nodes, s)
        for _ in range(pairs):
            one, other = (random_course(rng, d, nodes, s) for _ in range(2))
            transcript = drawn_transcript(made, rng, one)
            chances = [laws.chance(course, transcript) for course in (one, other)]
            assert min(chances) > 0
            largest = max(largest, chances[0] / chances[1], chances[1] / chances[0])
        assert largest <= made.realised <= exp_floor(made.epsilon_micro)
        check_marginals(laws, one, 2 * (1 - made.kept))


def drawn_transcript(made: ExSubOnline, rng: np.random.Generator, course: Course) -> tuple[bytes, ...]:
    counters = made.begin_one([int(rng.integers(0, 1 << 64, dtype=np.uint64))])
    words = rng.integers(0, 1 << 64, (len(course), made.tell_words), dtype=np.uint64)
    return tuple(made.tell_one(counters, list(node), row.tolist()) for node, row in zip(course, words, strict=True))


@every(("d", "nodes", "s", "m", "tau"), [(2, 2, 1, 3, 0), (1, 3, 2, 4, 1)], long=[(2, 2, 2, 3, 0), (2, 2, 2, 6, 1)])
def test_exact_decisions_support_exactly_what_is_said_however_counters_are_drawn(
    d: int, nodes: int, s: int, m: int, tau: int
) -> None:
    plain, outright = (Laws(kind(d, nodes, s, 1.0, m, tau)) for kind in (Exactly, ExactlyOutright))
    for course in courses(d, nodes, s):
        check_marginals(plain, course, Fraction(0))
        assert plain.transcripts(course) == outright.transcripts(course)


@every("made", [ExSubOnline(2, 2, 2, 1.0, 3), ExSubOnline(3, 1, 2, 1.0, 4, 1)])
def test_the_law_of_a_node_is_that_of_its_coordinates(made: ExSubOnline) -> None:
    laws = Laws(made)
    for course in courses(made.d, 1, made.s):
        reports = laws.transcripts(course)
        found = [laws.chance(course, report) for report in reports]
        assert found == list(reports.values())


@every(("d", "nodes"), [(4, 1), (2, 2), (1, 4)])
def test_transcripts_have_the_golden_fractions(d: int, nodes: int) -> None:
    made = BoundOfThree(d, nodes, 2, 1.0, 2)
    row = (1, 0, -1, 0)
    law = Laws(made).transcripts(tuple(row[q * d : (q + 1) * d] for q in range(nodes)))
    for signs, chance in STREAM.items():
        symbols = [2 * j + (sign == "-") for j, sign in enumerate(signs) if sign != "0"]
        told = (made.packed([v - 2 * d * q for v in symbols if v // 2 // d == q]) for q in range(nodes))
        found = law[tuple(told)]
        assert found.limit_denominator(1000) == Fraction(chance)
        assert abs(found - Fraction(chance)) < Fraction(1, 1 << 50)


def test_cells_have_the_golden_probabilities() -> None:
    cells = ExSubOnline(3, 1, 2, 1.0, 3).cells
    for name, chance in GOLDEN["cells_dp5_s2_eps1_m3"].items():
        a, b = map(int, name.split(","))
        found = cells.weight(a, b) * cells.law[a + b] * Fraction(comb(a + b, a), 1 << a + b)
        assert float(found) == pytest.approx(chance, rel=1e-9)


def test_supports_and_lengths_are_the_golden_ones() -> None:
    for dp, s, epsilon, m, pt, pf, pr, *_ in GOLDEN["exsub"]:
        if dp - s <= 4096 and epsilon < 5:
            found = ExSubOnline(dp - s, 1, s, epsilon, m).supports
            assert [float(p) for p in found] == pytest.approx([pt, pr, pf], rel=1e-6)  # epsilon in whole micro-nats
    for dp, s, epsilon, m, tau, pt, pf, pr, *_ in GOLDEN["majority"]:
        made = ExSubOnline(dp - s, 1, s, epsilon, m, tau)
        assert [float(p) for p in made.supports] == pytest.approx([pt, pr, pf], rel=1e-8)
    for d, s, epsilon, m, _ in GOLDEN["rank_m"]["rows"]:
        assert ExSubOnline(d, 1, s, epsilon).m == m


@every(("d", "nodes", "s", "epsilon", "tau"), [(12, 16, 8, 1.0, 0), (12, 16, 8, 0.2, 1), (1, 64, 8, 4.0, 0)])
def test_a_level_supports_what_the_whole_vector_at_once_does(
    d: int, nodes: int, s: int, epsilon: float, tau: int
) -> None:
    made = ExSubOnline(d, nodes, s, epsilon, None, tau)
    whole = ExSub(["signed", d * nodes, s, 0], epsilon, made.m) if not tau else None
    if whole is not None:
        for found, wanted in zip(made.supports, whole.supports[:3], strict=True):
            assert abs(found / wanted - 1) < Fraction(1, 1 << 40)
        for ours, theirs in zip(made.blanket() or (), whole.blanket(), strict=True):
            assert [float(part) for part in ours] == pytest.approx([float(part) for part in theirs], rel=1e-9)
    assert made.supports.own > made.supports.absent >= made.supports.opposite


@every("made", [ExSubOnline(1, 6, 2, 1.0, 3), ExSubOnline(1, 5, 3, 2.0, 4, 1), ExSubOnline(1, 300, 2, 1.0)])
def test_words_at_the_edges_of_levels_decide_as_the_law_says(made: ExSubOnline) -> None:
    states, law = {*made.states}, made.law_begin()
    edges = [0, *made.cells.edges, 1 << 64]
    for state, first, end in zip(made.states, edges[:-1], edges[1:], strict=True):
        for word in (first, end - 1) if first < end else ():
            assert made.begin_one([word]) == list(state)
            assert made.begin(np.array([[word]], np.uint64))[0].tolist() == list(state)
    assert {state for state, part in law.items() if part} <= states
    for _ in range(3):
        states |= {then for state in states for b in (-1, 0, 1) for _, then, _ in made.entry_law(state, b)}
    for state in sorted(states)[:: 1 + len(states) // 16]:
        for change in (-1, 0, 1) if state[4] else ():
            check_edges(made, state, change)


def check_edges(made: ExSubOnline, state: tuple[int, ...], change: int) -> None:
    """The first and the last word of each part of a decision, with both coins, one by one and in an array."""
    law = {sign: (then, part) for sign, then, part in made.entry_law(state, change)}
    by_coin = not (change and state[3])
    order = (1, 0) if by_coin else (change, -change, 0)  # of the parts, from word 0
    parts = [(sign, *law[sign]) for sign in order if sign in law]
    first = 0
    for sign, then, part in parts:
        end = first + int((2 if by_coin and sign else 1) * part * (1 << 64))
        for word, coin in product((first, end - 1), (1, 0)):
            words, one = [word, coin], list(state)
            counters = np.array([state], made.counter)
            told = made.tell(counters, np.array([[change]], np.int8), np.array([words], np.uint64))
            assert made.tell_one(one, [change], words) == told.tobytes()
            assert tuple(one) == tuple(counters[0].tolist()) == then
            wanted = 2 * coin - 1 if by_coin and sign else sign
            assert told[0].tolist() == [wanted == 1, wanted == -1]
        first = end
    assert first == 1 << 64


@every(
    "made",
    [
        ExSubOnline(2, 4, 2, 1.0, 3),
        ExSubOnline(16, 4, 8, 1.0),
        ExSubOnline(70, 3, 5, 0.5),
        ExSubOnline(13, 2, 3, 1.0, None, 1),
        ExSubOnline(300, 2, 2, 4.0, 9),
        ExSubOnline(16, 4096, 8, 1.0),
    ],
)
def test_one_user_and_many_give_the_same_bytes_and_counters(made: ExSubOnline) -> None:
    rng, n = np.random.default_rng(3), 60
    first = rng.integers(0, 1 << 64, (n, made.begin_words), dtype=np.uint64)
    counters = made.begin(first)
    assert counters.dtype == made.counter
    assert counters.shape == (n, made.counters)
    ones = [made.begin_one(row.tolist()) for row in first]
    assert counters.tolist() == ones
    for share in (0.3, 1 / made.d, 1.0)[: made.nodes]:
        changes = np.where(rng.random((n, made.d)) < share, rng.choice([-1, 1], (n, made.d)), 0).astype(np.int8)
        words = rng.integers(0, 1 << 64, (n, made.tell_words), dtype=np.uint64)
        reports = made.tell(counters, changes, words)
        assert reports.dtype == np.uint8
        assert reports.shape == (n, made.wire_size)
        assert not made.malformed(reports).any()
        for one, row, word, report in zip(ones, changes, words, reports, strict=True):
            assert made.tell_one(one, row.tolist(), word.tolist()) == report.tobytes()
        assert counters.tolist() == ones
        symbols = [made.support(report[np.newaxis]) for report in reports]
        assert (made.support(reports) == np.sum(symbols, axis=0)).all()


@every("made", [ExSubOnline(2, 2, 1, 1.0, 2), ExSubOnline(3, 1, 2, 1.0, 4), ExSubOnline(1, 2, 1, 1.0, 3)])
def test_reports_are_malformed_if_and_only_if_nobody_could_give_them(made: ExSubOnline) -> None:
    laws = Laws(made)
    possible = {report for course in courses(made.d, made.nodes, made.s) for report in reports_of(laws, course)}
    rows = np.array(list(product(range(256), repeat=2)), np.uint8)
    wrong = made.malformed(rows)
    assert {bytes(row) for row in rows[~wrong]} == possible
    with pytest.raises(ReportError, match="nobody could give"):
        made.support(rows[wrong][:1])


def reports_of(laws: Laws, course: Course) -> set[bytes]:
    return {report for transcript in laws.transcripts(course) for report in transcript}


def test_lists_that_are_not_rising_or_too_long_are_malformed() -> None:
    made = ExSubOnline(300, 2, 1, 4.0, 3)
    right = [[4, 9, 600 - 1], [0, 3, 0xFFFF], [0xFFFF] * 3]
    wrong = [[4, 5, 9], [9, 4, 20], [0xFFFF, 4, 9], [4, 0xFFFF, 9], [4, 9, 600], [7, 7, 0xFFFF]]
    assert made.form.listed
    rows = np.array(right + wrong, "<u2").view(np.uint8)
    assert made.malformed(rows).tolist() == [False] * 3 + [True] * 6


def test_keyed_reports_estimate_the_changes() -> None:
    made, n = ExSubOnline(4, 4, 3, 2.0), 20_000
    key, users = Key(bytes(range(32)), deployment="sessions"), contexts(np.arange(n))
    digest = bytes(32)
    counters = made.begin(key.words("slot", users, round=digest, k=made.begin_words))
    own, opposite, absent = map(float, made.supports)
    for node in range(made.nodes):
        words = key.words("slot", users, round=bytes([node + 1]) * 32, k=made.tell_words)
        changes = np.zeros((n, made.d), np.int8)
        if node != 2:
            changes[: n // 2, node] = 1 if node else -1
        support = made.support(made.tell(counters, changes, words))
        found = (support[: made.d] - support[made.d :]) / (n * (own - opposite))
        deviation = np.sqrt(max(2 * absent, own + opposite) / n) / (own - opposite)
        assert np.abs(found - changes.mean(axis=0)).max() < 5.5 * deviation  # false alarms: 16 x 4e-8


@every(
    "wrong",
    [
        {"d": 0}, {"d": 5000}, {"nodes": 0}, {"nodes": 70_000}, {"s": 0}, {"s": 33}, {"m": 0}, {"m": 41},
        {"tau": -1}, {"tau": 9}, {"m": 2, "tau": 3}, {"epsilon": 0}, {"epsilon": 21}, {"d": 4096, "nodes": 256},
    ],
)  # fmt: skip
def test_measures_that_do_not_fit_are_refused_in_one_line(wrong: dict[str, Any]) -> None:
    measures = {"d": 4, "nodes": 8, "s": 8, "epsilon": 1.0, "m": None, "tau": 0}
    with pytest.raises(ParameterError, match=r"^[^\n]+allowed: [^\n]+$"):
        ExSubOnline(**(measures | wrong))


def test_rows_that_do_not_fit_and_nodes_after_the_last_are_refused() -> None:
    made = ExSubOnline(2, 1, 1, 1.0, 2)
    words, changes = np.zeros((3, made.tell_words), np.uint64), np.zeros((3, 2), np.int8)
    counters = made.begin(np.zeros((3, 1), np.uint64))
    for rows in ((counters[:2], changes, words), (counters, changes + 2, words), (counters, changes, words[:, 1:])):
        with pytest.raises(ValueRefusedError):
            made.tell(rows[0], rows[1].astype(np.int8), rows[2])
    made.tell(counters, changes, words)
    with pytest.raises(ValueRefusedError, match="more nodes"):
        made.tell(counters, changes, words)
