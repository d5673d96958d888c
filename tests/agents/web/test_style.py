# SPDX-License-Identifier: Apache-2.0
"""The page's colours: readable on their ground in light and dark, and told apart by colour-blind eyes.

Contrast after WCAG 2 (4.5 for text, 3 for a line); colour blindness after Machado, Oliveira and Fernandes 2009 at full
severity; distances in CIE Lab, where 10 is a difference that nobody misses. Points of different shape do the rest.
"""

import itertools
import re
from importlib import resources

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float64]
STYLE = (resources.files("murmurate.agents.web") / "static" / "style.css").read_text(encoding="utf-8")
TABLE = dict(re.findall(r"--(\w+): light-dark\((#\w{6}, #\w{6})\)", STYLE))
THEMES = ("light", "dark")
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(name: str, theme: str) -> Floats:
    text = TABLE[name].split(", ")[THEMES.index(theme)]
    share = np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one: Floats, other: Floats) -> float:
    low, high = sorted(float(colour @ (0.2126, 0.7152, 0.0722)) + 0.05 for colour in (one, other))
    return high / low


def lab(colour: Floats) -> Floats:
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ratio = np.array(matrix) @ np.clip(colour, 0, 1) / (0.9505, 1, 1.089)
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("text", "ground"), [*itertools.product(("ink", "soft", "accent"), ("page", "card", "hush"))])
def test_text_can_be_read_on_every_ground(theme: str, text: str, ground: str) -> None:
    assert contrast(linear(text, theme), linear(ground, theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_every_line_stands_out_from_its_card(theme: str) -> None:
    assert {k: c for k in range(8) if (c := contrast(linear(f"c{k}", theme), linear("card", theme))) < 3} == {}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", BLINDNESS)
def test_the_lines_shown_first_differ_to_colour_blind_eyes(theme: str, eyes: str) -> None:
    seen = [lab(np.array(BLINDNESS[eyes]) @ linear(f"c{k}", theme)) for k in range(6)]
    far = {(i, j): float(np.linalg.norm(seen[i] - seen[j])) for i, j in itertools.combinations(range(6), 2)}
    assert {pair: round(distance, 1) for pair, distance in far.items() if distance < 10} == {}
