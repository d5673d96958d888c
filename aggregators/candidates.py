# SPDX-License-Identifier: Apache-2.0
"""The ways in which a measure can be asked at a central target: each serving mechanism, and what "auto" would take.

Contract: the candidates and their order are a function of the measure, of the mechanism that is named and of the number
of cells that suits the target; they are compared by the measure's own variance (`Measure.usual_variance`), with the
fakes of a smallest batch in it.  Local hashing with that many cells (SOLH) comes right after that with the usual number
and counts with its pool's part, for shares like those of words: it is taken where many reports leave that small.  Not
here: which candidate is taken, and at which local epsilon (accounting/target.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from murmurate.aggregators.accounting.claim import honest
from murmurate.aggregators.accounting.solh import cells_below
from murmurate.aggregators.accounting.target import Candidate, MixedTarget, checked_target
from murmurate.aggregators.chooser import QUICK, Prefer
from murmurate.aggregators.faked_questions import question_with_fakes, taking_fakes
from murmurate.aggregators.hash_cells import cells_of, name_of
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.measure import AUTO, Measure
from murmurate.aggregators.measures.rows import quickest
from murmurate.aggregators.measures.vector_ways import WAYS
from murmurate.randomizers import OLH, Faked, Question
from murmurate.randomizers.registry import VECTORS
from murmurate.randomizers.thresholds import MICRO

EXSUB: Final = "exsub"
"""The mechanism that is asked in several WAYS."""
AMPLIFIED: Final = "pckv_agrr"
UNAMPLIFIED: Final = "pckv_grr"
"""Two mechanisms that give the same reports, the first for a smaller local epsilon."""


def candidates(
    measure: Measure, mechanism: str = AUTO, prefer: Prefer = "accuracy", fakes: int = 0, cells: int | None = None
) -> tuple[Candidate, ...]:
    """The candidates for "auto", those that ask least of a device first; or the mechanism of this name alone. fakes:
    how many a round has; where it has any, only what takes them. cells: the number of cells with which local hashing is
    a candidate beside that with its usual one.

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> [one.name for one in candidates(Frequency.of_size(4))]
    ['grr', 'oue', 'sue', 'hr', 'olh', 'subset', 'the', 'blh']
    """
    if mechanism == EXSUB:
        return tuple(_candidate(measure, name, prefer, fakes) for name in (*WAYS, EXSUB))
    able = set(taking_fakes(measure) if fakes else measure.possible)
    if AMPLIFIED in able:
        able.discard(UNAMPLIFIED)
    quick = [name for name in (*QUICK, *quickest(VECTORS)) if name in able] or sorted(able)
    shortest, mixed = WAYS if EXSUB in able else (), [AUTO] if measure.mixes else []
    names = [*quick, *shortest, *mixed] if mechanism == AUTO else [mechanism]
    if cells is not None and OLH.name in names:
        names.insert(names.index(OLH.name) + 1, name_of(cells))
    return tuple(_candidate(measure, name, prefer, fakes) for name in names)


def cells_at(measure: Measure, target: MixedTarget, *, smallest: int, limit: int, rounds: int = 1) -> int | None:
    """The number of cells for `candidates` at a target, for its smallest batch and so many micro-nats of a device in
    one round; None where another mechanism is better, and for measures that are no plain frequency.

    >>> cells_at(Frequency.of_size(915), MixedTarget(0.5, 1e-8, 0.1), smallest=1000, limit=4_000_000)
    333
    """
    reports = honest(smallest, checked_target(target).corrupt)  # rounds together are about one of so many fewer
    if not isinstance(measure, Frequency) or reports < 2 * rounds:
        return None
    return cells_below(reports // rounds, target.epsilon, target.delta, d=measure.d, limit=limit / MICRO)


def _candidate(measure: Measure, name: str, prefer: Prefer, fakes: int) -> Candidate:
    def question(micro: int) -> Question:
        return question_with_fakes(measure, name, Fraction(micro, MICRO), prefer, fakes)

    def with_pool(asked: Question, n: int) -> float:
        inner = asked.inner if isinstance(asked, Faked) else asked
        shares = 1 / np.arange(1.0, measure.d + 1)
        return measure.usual_variance(asked, n) + float(inner.added_variance(n, shares / shares.sum()).mean())

    return Candidate(name, question, measure.usual_variance if cells_of(name) is None else with_pool)
