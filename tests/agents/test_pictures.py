# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG: what is drawn is inside, named once, and the same every time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture, ticks

RISING = Curve("up & away", Look(0), [(0, 0.1), (1, 1.0), (2, 10.0)])
FLAT = Curve("flat", Look(1, dots=True), [(0, 1.0), (2, 1.0)])


def chart(**changes: object) -> Chart:
    plain = {"title": "a < b", "across": [(0, "none"), (2, "two")], "curves": [RISING, FLAT], "logarithmic": True}
    return Chart(**(plain | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("charts", [1, 2, 3])
def test_a_picture_is_an_svg_that_names_every_curve_once(charts: int) -> None:
    text = picture("all", [chart()] * charts)
    found = [node.text for node in ET.fromstring(text).iter() if node.tag.endswith("text")]  # noqa: S314 - our own
    assert found.count("up & away") == found.count("flat") == 1
    assert found.count("a < b") == charts
    assert text == picture("all", [chart()] * charts)


def test_points_lie_in_their_frame_at_even_steps_of_a_logarithm() -> None:
    text = picture("all", [chart()], columns=1)
    line = re.search(r'<polyline points="([^"]*)"', text)
    assert line
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line[1].split())
    assert 40 <= x0 < x1 < x2 <= 392
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    assert y0 > y2


def test_a_band_is_an_area_around_its_line() -> None:
    wide = Curve("line", Look(0), [(0, 1.0), (1, 2.0)], [(0.5, 1.5), (1.5, 2.5)])
    text = picture("all", [chart(curves=[wide], logarithmic=False, ends=(0.0, 3.0))], columns=1)
    area = re.search(r'<polygon points="([^"]*)"', text)
    assert area
    assert len(area[1].split()) == 4


@pytest.mark.parametrize(("low", "high"), [(0.03, 1.2), (0.0095, 0.4), (1.0, 3.0), (0.04, 0.05), (1e-5, 10.0)])
def test_there_are_round_numbers_at_every_scale(low: float, high: float) -> None:
    for logarithmic in (True, False):
        found = ticks(low, high, logarithmic=logarithmic)
        assert all(low <= tick <= high for tick in found)
        assert logarithmic or 4 <= len(found) <= 11
        assert len(found) <= 11
        if not logarithmic or high / low >= 2:
            assert len(found) >= 3
