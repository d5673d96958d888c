"""The question of a stream whose rounds have fake reports: its mechanism, or the chooser's among those that take fakes.

Contract: without fakes the measure's own question; a function of what is declared.  Of mechanisms the chooser compares
the users' variances, since how much fakes add depends on how many answer and hardly on which of them it is.  Not here:
measures other than frequencies, for which no fakes are offered.
"""

from __future__ import annotations

from murmurate.aggregators.chooser import FAKED, Prefer, choose
from murmurate.aggregators.measures.measure import AUTO, Measure
from murmurate.randomizers import Faked, Question
from murmurate.randomizers.fakes import takes_fakes
from murmurate.randomizers.thresholds import Epsilon


def taking_fakes(measure: Measure) -> tuple[str, ...]:
    """The mechanisms of a frequency that take fakes over its domain, those that ask least of a device first."""
    able = [name for name in FAKED if name in measure.possible]
    return tuple(name for name in able if takes_fakes(measure.question(name, 1)))


def question_with_fakes(measure: Measure, name: str, epsilon: Epsilon, prefer: Prefer, fakes: int) -> Question:
    """What devices are asked, by the mechanism of this name or the one that "auto" stands for.

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> question_with_fakes(Frequency.of_size(100), "auto", 1.0, "accuracy", 500)
    Faked(OLH(d=100, epsilon=1.0), fakes=500)
    """
    if not fakes:
        return measure.question(name, epsilon, prefer)
    inner = measure.question(name, epsilon, prefer) if name != AUTO else None
    return Faked(inner or choose(d=measure.d, epsilon=epsilon, prefer=prefer, faked=True), fakes)
