# SPDX-License-Identifier: Apache-2.0
"""The promise of the numeric mechanisms, and their moments, in Fractions over whole grids; and over every word."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from murmurate.randomizers import Mechanism, ParameterError
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.numeric import HM, PM, SR, SW, MeanMechanism, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.numeric.window import TOP, Window
from tests.audit.registry import EPSILONS
from tests.cases import every
from tests.randomizers.numeric.instances import KINDS, moments

GRIDS = [(3, EPSILONS), (5, EPSILONS), (8, EPSILONS), (32, EPSILONS[::6])]
GROUPS = [[kind(d=d, epsilon=epsilon) for epsilon in claims] for kind in KINDS for d, claims in GRIDS]
GROUPS += [[kind(d=2, epsilon=epsilon) for epsilon in EPSILONS] for kind in KINDS if not kind.says_none]
SMALL = [group for group in GROUPS if group[0].d <= 8]


def same(group: list[Mechanism]) -> str:
    """What the mechanisms of a group, at different claims, have in common."""
    return f"{group[0].name}-{group[0].d}"


@every("group", GROUPS)
def test_no_report_tells_more_than_epsilon_and_hardly_less(group: list[Mechanism]) -> None:
    for made in group:
        found = audit_exact(made)
        assert found.violations == (), made
        assert found.realised <= found.claimed, made
        laws = [made.law(value) for value in range(made.d)]
        assert max(max(c) / min(c) for c in zip(*(law.values() for law in laws), strict=True)) == made.realised, made
        assert float(made.realised) >= math.exp(made.epsilon) * (1 - 2**-14), made
        assert set(map(len, (law.keys() for law in laws))) == {made.reports_possible}, made


@every("group", [one for one in SMALL if not isinstance(one[0], WaveAndPresence)])
def test_what_a_report_is_worth_has_exactly_the_value_as_its_mean_and_the_stated_variance(
    group: list[Mechanism],
) -> None:
    for made, cell in ((one, cell) for one in group for cell in range(one.d)):
        if isinstance(made, MeanMechanism | SW):
            v = made.value(cell)
            assert moments(made, cell) == (v, made.floor + made.slope * v * v)
            continue
        assert isinstance(made, ValueAndPresence)
        holder = made.value(cell)
        level = made.q if holder is not None else made.p
        assert moments(made, cell, 0) == (Fraction(holder is not None), level * (1 - level) / made.window.gain**2)
        spread = made.silent if holder is None else made.floor + made.slope * holder**2
        assert moments(made, cell, 1) == (holder or 0, spread)
        both = sum(chance * math.prod(made.worth(report)) for report, chance in made.law(cell).items())
        assert both - (holder or 0) == (holder or 0) * made.q / made.window.gain


@every("group", SMALL)
def test_the_evidence_has_the_chances_it_says(group: list[Mechanism]) -> None:
    for made, at in ((one, at) for one in group for at in (0, 1)):
        value, said = (0, made.d - 1)[at], made.telling[at]
        law = made.law(value)
        told = made.evidence(np.frombuffer(b"".join(law), np.uint8).reshape(-1, made.wire_size), 0, made.d - 1)
        assert sum(chance for chance, speaks in zip(law.values(), told, strict=True) if speaks) == said


@every("epsilon", EPSILONS[::3])
@every(("cells", "width"), [(2, 1), (7, 3), (40, 9), (131071, 65535), (85000, 19465)])
def test_each_cell_gets_exactly_as_many_words_as_its_level_says(cells: int, width: int, epsilon: Fraction) -> None:
    # A cell is a run of words: look at both ends of some runs, at the words left over and at the very last one.
    window = Window.fit("window", cells, width, int(epsilon * 10**6))
    beyond = (cells - width) * window.low
    for start in {0, (cells - width) // 2, cells - width}:
        words, expected = [], []
        for number in {0, start // 2, max(start - 1, 0), min(start, cells - width - 1), cells - width - 1}:
            words += [number * window.low, (number + 1) * window.low - 1]
            expected += [number + width * (number >= start)] * 2
        for step in {0, width // 2, width - 1}:
            words += [beyond + step * window.high, beyond + (step + 1) * window.high - 1]
            expected += [start + step] * 2
        if window.rest:
            words += [TOP - window.rest, TOP - 1]
            expected += [start + width // 2] * 2
        found = window.place(np.array(words, np.uint64), np.full(len(words), start, np.uint64))
        assert found.tolist() == expected
        assert [window.place_one(word, start) for word in words] == expected
    assert 0 <= window.rest < width
    assert sum((window.low * (cells - width), window.high * width, window.rest)) == TOP


@every("kind", [SR, PM, HM])
@every("epsilon", EPSILONS)
def test_the_default_grid_has_at_least_2_to_the_16_cells_and_spends_all_but_a_thousandth(
    kind: type[SR | PM | HM], epsilon: Fraction
) -> None:
    made = kind(epsilon=epsilon)
    assert made.d >= 1 << 16
    assert made.realised <= audit_bound(epsilon)
    assert math.log(made.realised) > float(epsilon) * (1 - 1e-3)


def audit_bound(epsilon: Fraction) -> Fraction:
    """e^epsilon from below, by the series: independent of the library's."""
    term, total = Fraction(1), Fraction(1)
    for k in range(1, 200):
        term *= epsilon / k
        total += term
    return total


def test_an_epsilon_that_the_grid_cannot_tell_from_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"found 1 micro-nats.*allowed: a larger epsilon or a coarser grid"):
        PM(d=(1 << 22) + 1, epsilon=1e-6)


@every("kind", KINDS)
@every("d", [1, 0, True, 2.0, 1 << 30])
def test_a_grid_that_is_none_cannot_be_built(kind: type[Mechanism], d: int) -> None:
    with pytest.raises(ParameterError, match="d: found"):
        kind(d=d, epsilon=1)


@every("kind", [ValueAndPresence, WaveAndPresence])
def test_presence_needs_two_cells_and_none(kind: type[ValueAndPresence | WaveAndPresence]) -> None:
    with pytest.raises(ParameterError, match="d: found 2; allowed: two cells and none"):
        kind(d=2, epsilon=1)


def test_square_wave_is_randomized_response_where_nothing_is_near() -> None:
    sw = SW(d=3, epsilon=3)
    assert (sw.reach, sw.outcomes) == (0, 3)
    assert sw.p / sw.q == sw.realised


@every(("kind", "d"), [(SW, 1 << 15), (WaveAndPresence, (1 << 15) + 1)])
def test_the_finest_square_wave_fits_a_tally_at_any_epsilon(kind: type[SW | WaveAndPresence], d: int) -> None:
    assert kind.max_domain == d
    assert (1 << 16) - 8 <= kind(d=d, epsilon=1e-4).outcomes <= 1 << 16
