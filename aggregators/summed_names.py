# SPDX-License-Identifier: Apache-2.0
"""Questions whose reports are added up in the mixing zone: the name of one, and the question it stands for.

Contract: the name says everything but the domain and the epsilon, so that a plan, a method's setting and a release of
it mean one question, as hash_cells.py does for local hashing; the epsilon that a method divides is the central one.  A
deployment file does not have such names: it says "aue".  Not here: how many ones are enough (accounting/added_ones.py).
"""

from __future__ import annotations

import re
from typing import Final

from murmurate.aggregators.measures.measure import Measure
from murmurate.randomizers.frequency.appended import AUE
from murmurate.randomizers.thresholds import Epsilon

_NAMED: Final = re.compile(r"aue, ([0-9]+) ones, batches of ([0-9]+), delta ([0-9.e+-]+)")


def name_of(question: AUE) -> str:
    """The name of such a question.

    >>> name_of(AUE(d=4, ones=2**31, batch=1000, central=1.0, delta=1e-6))
    'aue, 2147483648 ones, batches of 1000, delta 1e-06'
    """
    return f"{AUE.name}, {question.ones} ones, batches of {question.batch}, delta {question.delta}"


def added_up(measure: Measure, name: str, central: Epsilon) -> AUE | None:
    """The question of such a name; None of any other one."""
    found = _NAMED.fullmatch(name)
    if found is None:
        return None
    return AUE(d=measure.d, ones=int(found[1]), batch=int(found[2]), central=central, delta=found[3])
