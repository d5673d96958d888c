# SPDX-License-Identifier: Apache-2.0
"""DDRM, EFMRTT and FutureRand online: their transcripts have the law of the mechanisms of a whole vector."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, product
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.errors import ParameterError, ReportError
from murmurate.randomizers.sessions.protocols import LITERATURE, PROTOCOLS, protocol
from murmurate.randomizers.sessions.sign_streams import DDRMOnline, EFMRTTOnline, FutureRandOnline, SignStream
from murmurate.randomizers.vectors import DDRM, EFMRTT, FutureRand, SparseOracle
from tests.cases import every
from tests.randomizers.sessions.transcripts import Laws, audit, check_marginals, courses

PAIRS: list[tuple[SignStream, SparseOracle]] = [
    (DDRMOnline(2, 2, 2, 1.0), DDRM(["signed", 4, 2, 0], 1.0)),
    (DDRMOnline(1, 4, 3, 0.5, 2), DDRM(["signed", 4, 3, 0], 0.5, 2)),
    (EFMRTTOnline(2, 2, 3, 2.0), EFMRTT(["signed", 4, 3, 0], 2.0)),
    (FutureRandOnline(2, 2, 3, 1.0), FutureRand(["signed", 4, 3, 0], 1.0)),
    (FutureRandOnline.printed(1, 4, 2, 1.0), FutureRand.printed(["signed", 4, 2, 0], 1.0)),
]


@every(("made", "whole"), PAIRS)
def test_transcripts_have_the_law_of_the_whole_vector(made: SignStream, whole: SparseOracle) -> None:
    laws = Laws(made)
    assert made.realised == whole.realised
    assert made.blanket() == whole.blanket()
    assert tuple(made.supports) == tuple(whole.supports[:3])
    for course in list(courses(made.d, made.nodes, made.s))[::3]:
        held = tuple((place, sign) for place, sign in enumerate(chain(*course)) if sign)
        wanted = whole.law(whole.value(held))
        found = laws.transcripts(course)
        rows = {sum(told[0] << made.d * q for q, told in enumerate(reports)): reports for reports in found}
        assert {bytes([row]): found[reports] for row, reports in rows.items()} == wanted


@every("made", [made for made, _ in PAIRS])
def test_every_course_keeps_epsilon_at_every_node(made: SignStream) -> None:
    laws = Laws(made)
    for nodes in range(1, made.nodes + 1):
        found = audit(laws, courses(made.d, nodes, 4))  # more changes than are told are coins
        assert found.holds(made)
        assert nodes < made.nodes or found.ratio == made.realised or isinstance(made, FutureRandOnline)
    for course in list(courses(made.d, made.nodes, made.s))[::5]:
        check_marginals(laws, course, Fraction(1, 1 << 55))  # places of 2^64 words, patterns to the nearest word


@every(
    "made",
    [
        DDRMOnline(5, 3, 4, 1.0, 2),
        DDRMOnline(70, 2, 4, 1.0),
        EFMRTTOnline(3, 3, 2, 1.0),
        FutureRandOnline(20, 3, 20, 1.0),
        FutureRandOnline(3, 3, 2, 3.0),
    ],
)
def test_one_user_and_many_give_the_same_bytes_and_counters(made: SignStream) -> None:
    rng, n = np.random.default_rng(4), 50
    first = rng.integers(0, 1 << 64, (n, made.begin_words), dtype=np.uint64)
    counters = made.begin(first)
    assert counters.dtype == np.uint16
    assert counters.shape == (n, made.counters)
    ones = [made.begin_one(row.tolist()) for row in first]
    assert counters.tolist() == ones
    for share in (0.2, 1.0)[: made.nodes]:
        changes = np.where(rng.random((n, made.d)) < share, rng.choice([-1, 1], (n, made.d)), 0).astype(np.int8)
        words = rng.integers(0, 1 << 64, (n, made.tell_words), dtype=np.uint64)
        reports = made.tell(counters, changes, words)
        assert reports.dtype == np.uint8
        assert reports.shape == (n, made.wire_size)
        for one, row, word, report in zip(ones, changes, words, reports, strict=True):
            assert made.tell_one(one, row.tolist(), word.tolist()) == report.tobytes()
        assert counters.tolist() == ones
        support = made.support(reports)
        assert (support[: made.d] + support[made.d :] == n).all()


@every("made", [made for made, _ in PAIRS])
def test_words_at_the_edges_of_levels_decide_as_the_law_says(made: SignStream) -> None:
    for state, change in product(made.law_begin(), (1, -1)):
        parts = {sign: part for sign, _, part in made.entry_law(state, change)}
        coin = made.turned_one(state, 0) is None
        level = int(parts.get(-change, Fraction(0)) * (1 << 64))
        for word, plus in product({0, max(level - 1, 0), level % (1 << 64), (1 << 64) - 1}, (0, 1)):
            words = [word] * made.words_a_change * min(made.d, made.s) + [plus]
            counters = np.array([state], np.uint16)
            row = np.array([[change] + [0] * (made.d - 1)], np.int8)
            report = made.tell(counters, row, np.array([words], np.uint64))
            assert made.tell_one(list(state), row[0].tolist(), words) == report.tobytes()
            told = 1 if report[0, 0] & 1 else -1
            if coin:
                assert told == (1 if plus else -1)
            else:
                assert told == (-change if word < level or level == 1 << 64 else change)


def test_first_places_are_drawn_as_the_law_says() -> None:
    made = DDRMOnline(1, 5, 5, 1.0, 2)
    first = 0
    for state, part in made.law_begin().items():
        end = first + int(part * (1 << 64))
        assert [made.begin_one([word]) for word in (first, end - 1)] == [list(state)] * 2
        assert made.begin(np.array([[first], [end - 1]], np.uint64)).tolist() == [list(state)] * 2
        first = end
    assert first == 1 << 64


def test_golden_figures_of_future_rand() -> None:
    made = FutureRandOnline.printed(16, 16, 8, 1.0)
    assert float(made.supports.own - made.supports.opposite) == pytest.approx(0.0267888296, rel=1e-6)
    assert float(np.log(float(made.realised))) == pytest.approx(0.34153224, rel=1e-6)
    assert made.pattern.annulus == (0, 3)
    tuned = FutureRandOnline(16, 16, 8, 1.0)
    assert 0.9999 < float(np.log(float(tuned.realised))) <= 1


def test_rows_with_bits_past_the_last_coordinate_are_malformed() -> None:
    made = EFMRTTOnline(3, 2, 1, 1.0)
    rows = np.arange(256, dtype=np.uint8)[:, np.newaxis]
    assert made.malformed(rows).tolist() == [row >= 8 for row in range(256)]
    with pytest.raises(ReportError):
        made.support(rows)


@every("name", [*PROTOCOLS, *LITERATURE])
def test_a_protocol_is_built_again_from_what_it_says(name: str) -> None:
    made = protocol(name, 12, 4, 1.0, {"s": 5})
    again = protocol(made.name, made.d, made.nodes, 1.0, made.parameters())
    assert made.name in PROTOCOLS
    assert (repr(again), again.supports, again.realised) == (repr(made), made.supports, made.realised)
    assert all(isinstance(value, int) for value in made.parameters().values())


@every(
    ("name", "parameters"),
    [
        ("exsub", {"s": 2}), (None, {"s": 2}), ("exsub_online", {}), ("exsub_online", {"s": 2, "k": 1}),
        ("exsub_online", None), ("exsub_online", {"s": "2"}), ("exsub_online", {"s": 2, "m": 1.5}),
        ("exsub_online", {"s": True}), ("ddrm_online", {"s": 2, "k": 3}), ("topl_online", {"s": 2, "k": 1}),
        ("efmrtt_online", {"s": 2, "d": 3}), ("future_rand_online", {"s": 2, "inner_nano": 0}),
        ("future_rand_online", {"s": 2, "inner_nano": 10**9}), ("future_rand_online", {"s": 65}),
        ("future_rand_printed", {"s": 0}), ("future_rand_printed", {"s": 2, "inner_nano": 5}),
        ("ddrm_online", {3: 2}), ("ddrm_online", [("s", 2)]),
    ],
)  # fmt: skip
def test_wrong_names_and_parameters_are_refused_in_one_line(name: Any, parameters: Any) -> None:
    with pytest.raises(ParameterError, match=r"^[^\n]+allowed: [^\n]+$"):
        protocol(name, 100, 4, 1.0, parameters)
