# SPDX-License-Identifier: Apache-2.0
"""What a method of horizons asks of users, in words.

Contract: a function of the options.  Not here: everything else that `check` says of a stream (explain.py).
"""

from __future__ import annotations

from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.quantities import shortest


def in_horizons(method: MethodOptions, every_ms: int) -> str:
    """What users tell in a horizon, in words."""
    goals = {
        "mean": "the value of each period",
        "prefix": "sums from a horizon's beginning on",
        "ranges": "sums over any stretch",
    }
    ways = {
        "best": ", divided between levels for the least error",
        "uniform": ", with as many users for each level",
        "simple": ", divided between levels by the paper's simple rule",
        "calibrated": ", divided between levels by the paper's calibrated rule",
    }
    forms = {"majority": ", in the majority form", "best": ", in the form with less error at each level"}
    length = shortest(int(method.horizon or 1) * every_ms)
    revised = f", each release revised {length} later by all that its horizon told" if method.revise else ""
    filtered = ", with the filter" if method.filtered else ""
    return (
        f" in horizons of {length}, each for one epsilon in all, in which a user tells up to {method.changes} changes,"
        f" for {goals[str(method.goal)]}{ways.get(str(method.portions), '')}{forms.get(str(method.form), '')}"
        f"{revised}{filtered}"
    )
