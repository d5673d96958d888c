# SPDX-License-Identifier: Apache-2.0
"""Questions about whole sets and sparse vectors by name: a mechanism at its best parameter, or at a fixed one.

Contract: a name is one of the registry's, or one of WAYS.  Under a central target the best parameter is not the one of
a report by itself: ExSub of a single sign is hidden best among other reports, so that it may have a larger local
epsilon, and is then the most accurate.  Not here: which way is taken (accounting/target.py).
"""

from __future__ import annotations

from typing import Any, Final

from murmurate.randomizers import Question
from murmurate.randomizers.registry import VECTORS, question
from murmurate.randomizers.thresholds import Epsilon

WAYS: Final[dict[str, dict[str, Any]]] = {
    "exsub, m = 1": {"name": "exsub", "m": 1},
    "exsub, m = 2": {"name": "exsub", "m": 2},
}
"""The ways besides a mechanism at its best parameter, those that ask least of a device first."""


def is_of_vectors(name: str) -> bool:
    """Whether a question by this name is about a whole set or vector."""
    return name in VECTORS or name in WAYS


def vector_question(name: str, layout: Any, epsilon: Epsilon, **parameters: int) -> Question:
    """The question by this name over values of a layout. parameters: others than the best or fixed ones.

    >>> vector_question("exsub, m = 1", ("signed", 128, 8, 0), 1)
    ExSub(['signed', 128, 8, 0], epsilon=1.0, m=1)
    """
    return question({**WAYS.get(name, {"name": name}), "layout": layout, "epsilon": epsilon, **parameters})
