# SPDX-License-Identifier: Apache-2.0
"""The question of a stream whose rounds have fake reports: its mechanism, or the chooser's among those that take fakes.

Contract: without fakes the measure's own question; a function of what is declared.  The chooser compares mechanisms
with the fakes of a round in which as few report as are worth asking: larger ones have a smaller part of fakes, and
what is chosen then has at most a few percent more variance than the best.  The name of a mechanism may have its number
of cells (hash_cells.py), or its added ones (summed_names.py), which take no fakes.  Not here: measures other than
frequencies, for which no fakes are offered.
"""

from __future__ import annotations

from fractions import Fraction

from murmurate.aggregators.chooser import FAKED, Prefer, choose
from murmurate.aggregators.hash_cells import cells_of, hashed
from murmurate.aggregators.measures.measure import AUTO, Measure
from murmurate.aggregators.summed_names import added_up
from murmurate.randomizers import Faked, Question
from murmurate.randomizers.fakes import takes_fakes
from murmurate.randomizers.thresholds import Epsilon


def taking_fakes(measure: Measure) -> tuple[str, ...]:
    """The mechanisms of a frequency that take fakes over its domain, those that ask least of a device first."""
    able = [name for name in FAKED if name in measure.possible]
    return tuple(name for name in able if takes_fakes(measure.question(name, 1)))


def question_with_fakes(
    measure: Measure, name: str, epsilon: Epsilon, prefer: Prefer, fakes: int, reports: int | None = None
) -> Question:
    """What devices are asked, by the mechanism of this name or the one that "auto" stands for. reports: how many come
    to a round's fakes, which "auto" goes by; as many as fakes, if that is not known.

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> question_with_fakes(Frequency.of_size(100), "auto", 1.0, "accuracy", 500)
    Faked(OLH(d=100, epsilon=1.0), fakes=500)
    """
    if (added := added_up(measure, name, epsilon)) is not None:  # streams with fakes have no such names
        return added
    if fakes and name == AUTO:
        part = Fraction(fakes, reports or fakes)
        return Faked(choose(d=measure.d, epsilon=epsilon, prefer=prefer, fakes=part), fakes)
    cells = cells_of(name)
    asked = measure.question(name, epsilon, prefer) if cells is None else hashed(measure, epsilon, cells)
    return Faked(asked, fakes) if fakes else asked
