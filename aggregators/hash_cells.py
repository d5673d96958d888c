# SPDX-License-Identifier: Apache-2.0
"""Local hashing whose number of cells was chosen for a central target (SOLH): its name, and the question it stands for.

Contract: the name says the number of cells, so that a plan, a method's setting and a release of it mean one question.
A deployment file does not have such names: it says "olh", or "auto".  Not here: which number is the best
(accounting/solh.py), which streams are asked by it (candidates.py).
"""

from __future__ import annotations

import re
from typing import Final

from murmurate.aggregators.measures.measure import Measure
from murmurate.randomizers import OLH
from murmurate.randomizers.thresholds import Epsilon

_NAMED: Final = re.compile(r"olh, g = (\d+)")


def name_of(cells: int) -> str:
    """The name of local hashing with so many cells.

    >>> name_of(23), cells_of(name_of(23)), cells_of("olh")
    ('olh, g = 23', 23, None)
    """
    return f"{OLH.name}, g = {cells}"


def cells_of(name: str) -> int | None:
    """The number of cells in such a name; None in any other one."""
    found = _NAMED.fullmatch(name)
    return None if found is None else int(found[1])


def hashed(measure: Measure, epsilon: Epsilon, cells: int) -> OLH:
    """The question about a frequency."""
    return OLH(d=measure.d, epsilon=epsilon, g=cells)
