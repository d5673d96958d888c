# SPDX-License-Identifier: Apache-2.0
"""Instances over which the audit runs: every registered mechanism, so that none escapes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from murmurate.randomizers import MECHANISMS, Question, clipped
from murmurate.randomizers.mechanism import MAX_LAW

# 20 claims, from one micro-nat to the largest
EPSILONS = [
    Fraction(1, 1_000_000),
    Fraction(1, 1000),
    Fraction(1, 100),
    Fraction(1, 40),
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(693147, 1_000_000),
    Fraction(693148, 1_000_000),
    Fraction(1),
    Fraction(1098612, 1_000_000),
    Fraction(3, 2),
    Fraction(2),
    Fraction(3),
    Fraction(4),
    Fraction(6),
    Fraction(9),
    Fraction(12),
    Fraction(20),
]
SMALL = [2, 3, 4, 5, 6]
ROUND = bytes([1]) * 32
"""Whose pool of two hash functions tells 0 from 1 whatever g is, and 0 from 4: not every pool so small does."""
MORE = {
    "grr": [7, 16, 128],
    "pm": [32],
    "hm": [32],
    "sr": [32],
    "sw": [32],
    "value_presence": [32],
    "sw_presence": [33],
    "recoded": [17, 32, 33],
}
LISTED: dict[str, dict[str, int]] = {
    "blh": {"pool": 2}, "olh": {"pool": 2}, "olh_counts": {"pool": 2},
    "she": {"grid": 2, "reach": 0}, "rappor_cohorts": {"bits": 5, "cohorts": 2},
}  # fmt: skip
"""Parameters at which all reports can be listed; the law given a seed, a cell or a cohort is the same at any."""
RECODED: dict[int, dict[str, Any]] = {
    3: {"inner": "value_presence"},
    4: {"inner": "sw_mean", "group": 2},
    5: {"inner": "sr", "clip": 3},
    6: {"inner": "sw_mean_presence", "clip": 3, "group": 2},
    17: {"inner": "pm", "clip": 9},
    32: {"clip": 21, "group": 2},
    33: {"inner": "sw_mean_presence", "group": 4},
}
"""By domain: every inner mechanism, clipped and not, in groups and not."""
LEAST = {"value_presence": 3, "sw_presence": 3}
THRIFTY = {"the", "she", "sr", "hm", "value_presence", "recoded", "rappor_cohorts"}
"""Those that cannot use up the whole claim, by their nature or at these parameters."""


def built(name: str, d: int, epsilon: Fraction | float) -> Question:
    more: dict[str, Any] = RECODED.get(d, {}) if name == "recoded" else LISTED.get(name, {})
    if name == "recoded":
        return clipped(d=d, epsilon=epsilon, **more)
    return MECHANISMS[name](d=d, epsilon=epsilon, **more).of_round(ROUND)


def kinds() -> list[tuple[str, int]]:
    """Each mechanism's name with each domain; `instances` of it are many, and one test looks at all of them."""
    return [
        (name, d)
        for name in sorted({*MECHANISMS, "recoded"})
        for d in (*SMALL, *MORE.get(name, []))
        if d >= LEAST.get(name, 2)
    ]


def instances(name: str, d: int, size: str = "long") -> list[Question]:
    """At every claim, as far as their reports can be listed; at the short size at every other one, in turn by d."""
    claims = EPSILONS[d % 2 :: 2] if size == "short" else EPSILONS
    if name == "olh_counts":
        claims = [epsilon for epsilon in claims if epsilon <= 9]  # its counts grow with e^epsilon
    made = [built(name, d, epsilon) for epsilon in claims]
    return [one for one in made if one.reports_possible <= MAX_LAW]
