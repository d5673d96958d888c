# SPDX-License-Identifier: Apache-2.0
"""SR, PM, HM and Square Wave against values worked out by others (tests/data/numeric_golden.json).

Those belong to continuous mechanisms; on a grid of 2^20 steps a window is up to one cell wider or narrower than the
ideal one, which moves a figure by less than 2e-6 of itself.  Printed are seven digits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.numeric import HM, PM, SR, SW, Wave
from murmurate.randomizers.numeric.window import TOP, Window
from murmurate.randomizers.thresholds import micro_nats
from tests.randomizers.numeric.instances import GOLDEN

FINE = (1 << 20) + 1


def close(found: Any, golden: Any, digits: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found, float), golden, rtol=digits, atol=0)


def word(window: Window, a: float, u: float, chance_inside: float) -> int:
    """The word that means: inside the window if a is below its chance, at the share u of the way through."""
    outside = (window.cells - window.width) * window.low
    return int(Fraction(u) * outside) if a > chance_inside else outside + int(Fraction(u) * (TOP - outside))


@pytest.mark.parametrize("row", GOLDEN["mean_var"], ids=lambda row: str(row["eps"]))
def test_variances_are_the_golden_ones_at_zero_and_at_the_ends(row: dict[str, Any]) -> None:
    sr, pm, hm = (kind(d=FINE, epsilon=row["eps"]) for kind in (SR, PM, HM))
    close([sr.variance(1, 0), sr.variance(1, -1)], [row["SR_v0"], row["SR_v1"]])
    close([pm.variance(1, 0), pm.variance(1, 1)], [row["PM_v0"], row["PM_v1"]], 2e-6)
    if row["eps"] > 0.61:  # at and below, HM is SR; the golden row is its worst value
        close(hm.variance(1, np.array([0, 0.3, -1])), np.full(3, row["HM_any_v"]), 2e-6)
    else:
        close(hm.variance(1, 0), row["HM_any_v"])
    if row["eps"] > 0.61:
        assert abs(float(hm.variance(1, 0)) - row["Eq10_wrong"]) > 0.1


def test_sr_has_the_golden_scale_and_chance() -> None:
    row, sr = GOLDEN["SR"], SR(d=11, epsilon=GOLDEN["SR"]["eps"])
    assert sr.value(7) == Fraction(2, 5)
    close([sr.scale, sr.chance(7)], [row["scale"], row["P_plus"]])


def test_pm_maps_words_as_the_continuous_mechanism_maps_its_two_uniforms() -> None:
    row = GOLDEN["PM"]
    pm = PM(d=FINE, epsilon=row["eps"])
    cell = round((row["v"] + 1) / 2 * (FINE - 1))
    half = pm.worth((0).to_bytes(3, "little"))
    close([-half, pm.window.inside], [row["s"], row["P_inside"]], 2e-6)
    ends = [pm.worth(y.to_bytes(3, "little")) for y in (cell, cell + pm.window.width - 1)]
    close(ends, [row["l"], row["r"]], 1e-5)
    density = [pm.window.chance(y, cell) * (FINE - 1) * pm.window.gain / 2 for y in (cell, 0)]
    close(density, [row["p"], row["q"]], 2e-6)
    for a, u, y in row["maps_a_u_y"]:
        number = pm.window.place_one(word(pm.window, a, u, row["P_inside"]), cell)
        close(pm.worth(number.to_bytes(3, "little")), y, 1e-5)


def test_pm_has_a_lower_worst_variance_than_sr_from_the_golden_epsilon_on() -> None:
    at = GOLDEN["SR"]["switch_PM_vs_SR_worst_case"]
    for epsilon, better in ((at - 1e-4, SR), (at + 1e-4, PM)):
        worst = {kind: max(kind(d=FINE, epsilon=epsilon).variance(1, np.array([0, 1]))) for kind in (SR, PM)}
        assert min(worst, key=lambda kind: float(worst[kind])) is better


def test_hm_would_beat_sr_from_the_golden_epsilon_on_and_does_from_61_hundredths() -> None:
    assert GOLDEN["SR"]["switch_HM"] == pytest.approx(0.61, abs=1e-3)
    assert HM(d=FINE, epsilon=0.61).floor == SR(d=FINE, epsilon=0.61).floor
    assert HM(d=FINE, epsilon=0.610001).floor < SR(d=FINE, epsilon=0.610001).floor


def test_hm_on_a_range_has_the_golden_variance() -> None:
    row = GOLDEN["HM_on_0_theta"]
    hm = HM(d=FINE, epsilon=row["eps"])
    close((row["theta"] / 2) ** 2 * float(hm.variance(1, 0.5)), row["var_of_value"], 2e-6)


@pytest.mark.parametrize("row", GOLDEN["SW_params"], ids=lambda row: str(row["eps"]))
def test_the_continuous_wave_has_the_golden_parameters(row: dict[str, Any]) -> None:
    wave = Wave.of(row["eps"])
    close([wave.b, wave.p, wave.q], [row["b"], row["p"], row["q"]])


@pytest.mark.parametrize("row", GOLDEN["SW_discrete"], ids=lambda row: f"{row['eps']}-{row['d']}")
def test_the_bucketised_wave_has_the_golden_levels(row: dict[str, Any]) -> None:
    sw = SW(d=row["d"], epsilon=row["eps"])
    assert (sw.reach, sw.outcomes) == (row["b"], row["d"] + 2 * row["b"])
    close([sw.p, sw.q], [row["p"], row["q"]])


def test_square_wave_maps_words_as_the_continuous_mechanism_maps_its_two_uniforms() -> None:
    row = GOLDEN["SW_map_a_u_y"]
    d = 1 << 22  # more cells than the mechanism takes
    wave = Wave.of(row["eps"])
    reach, cell = int(wave.b * d), int(row["v"] * d)
    window = Window.fit("sw", d + 2 * reach, 2 * reach + 1, micro_nats(row["eps"]))
    for a, u, y in row["rows"]:
        number = window.place_one(word(window, a, u, 2 * float(wave.b * wave.p)), cell)
        close((number - reach + 0.5) / d, y, 1e-5)
