# SPDX-License-Identifier: Apache-2.0
"""Clipped numbers: every code has one cell, and a report is the inner mechanism's of it, to the byte and to the law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, Question, ValueRefusedError, Viewed, question
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.numeric import SW, WaveAndPresence, WaveMean, WaveMeanAndPresence
from murmurate.randomizers.numeric.clipped import INNER, Clipped, clipped
from murmurate.randomizers.registry import STREAMED, serving
from tests.randomizers.numeric.instances import KEY, ROUND, draw, moments

POINTS = 9
WAYS = [(8, 1), (5, 1), (1, 1), (8, 3), (6, 2), (4, 4)]
"""Clip and group."""


def built(inner: str, clip: int | None = None, group: int = 1, epsilon: float = 1.0, points: int = POINTS) -> Viewed:
    return clipped(d=points + bool(INNER[inner].says_none), epsilon=epsilon, inner=inner, clip=clip, group=group)


def cut(made: Viewed) -> Clipped:
    assert isinstance(made.view, Clipped)
    return made.view


CASES = [built(inner, clip, group) for inner in sorted(INNER) for clip, group in WAYS]


def named(made: Viewed) -> str:
    return f"{made.inner.name}-{cut(made).clip}-{cut(made).group}"


@pytest.mark.parametrize("made", CASES, ids=named)
def test_every_code_has_the_cell_of_its_value_alone_and_every_cell_a_code(made: Viewed) -> None:
    cells = [cut(made).code(code) for code in range(cut(made).size)]
    assert cells[:POINTS] == [min(code, cut(made).clip) // cut(made).group for code in range(POINTS)]
    assert set(cells) == set(range(made.inner.d))
    assert cells[POINTS:] == [made.inner.d - 1] * bool(made.says_none)  # none stays none


@pytest.mark.parametrize("made", CASES, ids=named)
def test_reports_are_the_inner_ones_of_the_cells_to_the_byte(made: Viewed) -> None:
    codes = np.arange(300) % cut(made).size
    cells = np.array([cut(made).code(int(code)) for code in codes])
    reports = made.perturb(codes, draw(300))
    assert (reports == made.inner.perturb(cells, draw(300))).all()
    users = np.frombuffer(b"".join(bytes([i]) * 16 for i in range(40)), np.uint8).reshape(-1, 16)
    many = made.perturb(codes[:40], KEY.draw(users, round=ROUND))
    for code, user, report in zip(codes, users, many, strict=False):
        assert made.perturb_one(int(code), KEY.draw_one(user.tobytes(), round=ROUND)) == report.tobytes()
    assert not made.malformed(reports).any()
    assert (made.support(reports) == made.inner.support(reports)).all()
    assert made.support(reports).shape == (made.outcomes,)


@pytest.mark.parametrize("made", CASES, ids=named)
def test_the_promise_holds_exactly_whatever_is_clipped(made: Viewed) -> None:
    for epsilon in (Fraction(1, 1000), Fraction(1), Fraction(20)):
        one = built(made.inner.name, cut(made).clip, cut(made).group, epsilon=float(epsilon))
        found = audit_exact(one)
        assert found.violations == ()
        laws = [one.law(code) for code in range(cut(one).size)]
        assert max(max(c) / min(c) for c in zip(*(law.values() for law in laws), strict=True)) == one.realised


@pytest.mark.parametrize("made", [one for one in CASES if cut(one).group == 1], ids=named)
def test_the_mean_of_a_clipped_number_is_exactly_its_place_up_to_the_threshold(made: Viewed) -> None:
    assert list(cut(made).ends) == [0, cut(made).clip]
    total = bool(made.says_none)
    for code in range(POINTS):
        value = 2 * Fraction(min(code, cut(made).clip)) / cut(made).clip - 1
        assert moments(made.inner, cut(made).code(code), total)[0] == value
    assert list(cut(made).within(-10.0, 30.0)) == pytest.approx([-10, -10 + 40 * cut(made).clip / (POINTS - 1)])


def test_a_cell_of_several_codes_stands_for_their_middle() -> None:
    made = clipped(d=65_537, epsilon=1, inner="sw_mean", group=256)
    assert [cut(made).middle(cell) for cell in (0, 1, 255, 256)] == [127.5, 383.5, 65_407.5, 65_536]
    assert cut(made).cells == 257
    again = clipped(d=65_537, epsilon=1, clip=1000, group=256)
    assert (cut(again).cells, cut(again).middle(3)) == (4, Fraction(768 + 1000, 2))
    assert cut(again).ends == (Fraction(255, 2), 768 + Fraction(255, 2))


@pytest.mark.parametrize(
    ("kind", "of"),
    [(WaveMean, SW), (WaveMeanAndPresence, WaveAndPresence)],
)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_a_wave_read_as_a_mean_is_square_wave_and_its_moments_are_exact(
    kind: type[WaveMean | WaveMeanAndPresence], of: type[SW | WaveAndPresence], epsilon: float
) -> None:
    d = 8 + bool(kind.says_none)
    made, wave = kind(d=d, epsilon=epsilon), of(d=d, epsilon=epsilon)
    assert made.window == wave.window
    assert made.outcomes == wave.outcomes
    listed = [np.frombuffer(report, np.uint8)[None] for report in made.law(0)]
    alone = np.array([made.profile(made.support(report), 1) for report in listed])  # float64[reports, profile]
    places = [int(np.flatnonzero(made.support(report))[0]) for report in listed]
    assert sorted(places) == list(range(wave.outcomes))  # each report has a count of its own
    for code in range(d):
        assert made.law(code) == wave_law(made, wave, code)
        chances = np.array([float(chance) for chance in made.law(code).values()])
        mean = chances @ alone
        value = made.value(code)
        expected = [0.0, 0.0, 0.0] if value is None else [1.0, float(value), float(value**2)]
        np.testing.assert_allclose(mean, expected if made.says_none else expected[1:], atol=1e-9)
        varies = chances @ (alone - mean) ** 2
        np.testing.assert_allclose(made.noise(mean), varies[: made.statistics], rtol=1e-9)
    support = np.arange(wave.outcomes)
    many = support[places] @ alone / support.sum()
    np.testing.assert_allclose(made.profile(support, int(support.sum())), many, rtol=1e-9)


def wave_law(made: WaveMean | WaveMeanAndPresence, wave: SW | WaveAndPresence, code: int) -> dict[bytes, Fraction]:
    """Square Wave's law; its report of none may be another number."""
    return dict(zip(made.law(code), wave.law(code).values(), strict=True))


def test_a_spec_says_what_is_clipped_in_whole_numbers_and_words() -> None:
    made = built("value_presence", 5)
    spec = {"name": "recoded", "d": 10, "epsilon_micro": 1_000_000, "inner": "value_presence", "clip": 5, "group": 1}
    assert made.spec() == spec
    assert question(spec) == made
    others: list[Question] = [built("value_presence", 6), built("value_presence", 5, 2), built("hm", 5), made.inner]
    assert len({one.digest for one in (made, *others)}) == 5
    assert built("hm") == built("hm", POINTS - 1)


@pytest.mark.parametrize("measure", ["frequency", "mean", "distribution"])
def test_no_stream_can_name_it_but_a_round_can(measure: str) -> None:
    assert "recoded" not in STREAMED
    for says_none in (True, False):
        assert "recoded" not in serving(measure, says_none=says_none)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"inner": "grr"}, "inner: found 'grr'; allowed: hm, pm, sr, sw_mean, sw_mean_presence, value_presence"),
        ({"inner": "recoded"}, "inner: found 'recoded'"),
        ({"inner": ["hm"]}, "inner: found"),
        ({"clip": 0}, "clip: found 0; allowed: a whole number from 1"),
        ({"clip": 2.0}, "clip: found 2.0"),
        ({"clip": 9}, "found clip 9 and group 1; allowed: a clip of at most 8"),
        ({"group": 0}, "group: found 0"),
        ({"group": True}, "group: found True"),
        ({"clip": 2, "group": 3}, "found clip 2 and group 3; allowed: .* two cells"),
    ],
)
def test_what_recodes_nothing_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        clipped(d=9, epsilon=1, **wrong)


def test_codes_outside_the_domain_are_refused_and_not_clipped() -> None:
    made = built("hm", 5)
    for code in (-1, 9):
        with pytest.raises(ValueRefusedError, match="outside the domain"):
            made.checked(code)
        with pytest.raises(ValueRefusedError, match="outside the domain"):
            made.perturb(np.array([code]), draw(1))
