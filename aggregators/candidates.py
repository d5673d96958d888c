"""The ways in which a measure can be asked at a central target: each serving mechanism, and what "auto" would take.

Contract: the candidates and their order are a function of the measure and of the mechanism that is named; they are
compared by the measure's own variance (`Measure.usual_variance`).  Not here: which one is taken, and at which local
epsilon (accounting/target.py); mechanisms that only the shuffle model has.
"""

from __future__ import annotations

from fractions import Fraction

from murmurate.aggregators.accounting.target import Candidate
from murmurate.aggregators.chooser import QUICK, Prefer
from murmurate.aggregators.measures.measure import AUTO, Measure
from murmurate.randomizers import Question
from murmurate.randomizers.thresholds import MICRO


def candidates(measure: Measure, mechanism: str = AUTO, prefer: Prefer = "accuracy") -> tuple[Candidate, ...]:
    """The candidates for "auto", those that ask least of a device first; or the mechanism of this name alone.

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> [one.name for one in candidates(Frequency.of_size(4))]
    ['grr', 'oue', 'sue', 'hr', 'olh', 'subset', 'the', 'blh']
    """
    if mechanism != AUTO:
        return (_candidate(measure, mechanism, prefer),)
    able = set(measure.possible)
    quick = [name for name in QUICK if name in able] or sorted(able)
    mixed = [AUTO] if measure.mixes else []
    return tuple(_candidate(measure, name, prefer) for name in (*quick, *mixed))


def _candidate(measure: Measure, name: str, prefer: Prefer) -> Candidate:
    def question(micro: int) -> Question:
        return measure.question(name, Fraction(micro, MICRO), prefer)

    return Candidate(name, question, measure.usual_variance)
