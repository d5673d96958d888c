"""The ways in which a measure can be asked at a central target: each serving mechanism, and what "auto" would take.

Contract: the candidates and their order are a function of the measure and of the mechanism that is named; they are
compared by the measure's own variance (`Measure.usual_variance`).  Not here: which one is taken, and at which local
epsilon (accounting/target.py); mechanisms that only the shuffle model has.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from murmurate.aggregators.accounting.target import Candidate
from murmurate.aggregators.chooser import QUICK, Prefer
from murmurate.aggregators.faked_questions import question_with_fakes, taking_fakes
from murmurate.aggregators.measures.measure import AUTO, Measure
from murmurate.aggregators.measures.rows import quickest
from murmurate.aggregators.measures.vector_ways import WAYS
from murmurate.randomizers import Question
from murmurate.randomizers.registry import VECTORS
from murmurate.randomizers.thresholds import MICRO

EXSUB: Final = "exsub"
"""The mechanism that is asked in several WAYS."""
AMPLIFIED: Final = "pckv_agrr"
UNAMPLIFIED: Final = "pckv_grr"
"""Two mechanisms that give the same reports, the first for a smaller local epsilon."""


def candidates(
    measure: Measure, mechanism: str = AUTO, prefer: Prefer = "accuracy", fakes: int = 0
) -> tuple[Candidate, ...]:
    """The candidates for "auto", those that ask least of a device first; or the mechanism of this name alone. fakes:
    how many a round has; where it has any, only what takes them.

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> [one.name for one in candidates(Frequency.of_size(4))]
    ['grr', 'oue', 'sue', 'hr', 'olh', 'subset', 'the', 'blh']
    """
    if mechanism not in (AUTO, EXSUB):
        return (_candidate(measure, mechanism, prefer, fakes),)
    if mechanism == EXSUB:
        return tuple(_candidate(measure, name, prefer, fakes) for name in (*WAYS, EXSUB))
    able = set(taking_fakes(measure) if fakes else measure.possible)
    if AMPLIFIED in able:
        able.discard(UNAMPLIFIED)
    quick = [name for name in (*QUICK, *quickest(VECTORS)) if name in able] or sorted(able)
    shortest = WAYS if EXSUB in able else ()
    mixed = [AUTO] if measure.mixes else []
    return tuple(_candidate(measure, name, prefer, fakes) for name in (*quick, *shortest, *mixed))


def _candidate(measure: Measure, name: str, prefer: Prefer, fakes: int) -> Candidate:
    def question(micro: int) -> Question:
        return question_with_fakes(measure, name, Fraction(micro, MICRO), prefer, fakes)

    return Candidate(name, question, measure.usual_variance)
