# SPDX-License-Identifier: Apache-2.0
"""What a central target makes of devices' reports: by the rule of Wang 2021, and as our chooser has it.

Contract: the rule is SOLH's number of cells and its closed form for the local epsilon; the chooser takes the mechanism
and the local epsilon of least exact variance that the numeric blanket certifies for the target.  Both for all users of
a histogram as the smallest batch.  Judged: the chooser's error is never above the rule's.  Not here: the chooser
(aggregators/accounting/target.py), errors of drawn collections (shuffle.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from murmurate.agents.cli.reproductions.shuffle_ways import DELTA, solh
from murmurate.agents.simulate.mixed_histograms import Histogram, expected_error
from murmurate.aggregators.accounting import MixedTarget, literature, under_target
from murmurate.aggregators.candidates import candidates, cells_at
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.randomizers.thresholds import MAX_MICRO, MICRO

PART: Final = "choices"


class ExactChoice(NamedTuple):
    """What the chooser takes at a target."""

    name: str
    local: float
    """The local epsilon."""
    variance: float
    """The exact variance of a frequency of 1 / d."""


@dataclass(frozen=True, eq=False)
class ChoiceToMake:
    """A target for all users of a histogram."""

    histogram: Histogram
    target: float


Choices = Mapping[tuple[str, float], ExactChoice]
"""By histogram and target."""


def made(job: ChoiceToMake) -> ExactChoice:
    """The chooser's choice, among all mechanisms for frequencies."""
    measure, target, n = Frequency.of_size(job.histogram.d), MixedTarget(job.target, DELTA), job.histogram.n
    cells = cells_at(measure, target, smallest=n, limit=MAX_MICRO)
    chosen = under_target(candidates(measure, cells=cells), target, smallest=n, limit=MAX_MICRO)
    return ExactChoice(chosen.name, chosen.epsilon_micro / MICRO, chosen.variance)


def lines(choices: Choices, histogram: Histogram, targets: Sequence[float]) -> Iterator[str]:
    """The rule's choices and the chooser's, side by side."""
    yield f"choices: {histogram.name}; SOLH's rule, and the least variance by the exact bound"
    yield f"{'eps':<5}{'cells':>8}{'local':>8}{'MSE':>10}{'exact bound':>16}{'local':>8}{'MSE':>10}{'gain':>7}"
    for target in targets:
        rule = literature.target_solh(target, histogram.n, DELTA)
        error, exact = expected_error(histogram, solh(target, histogram.n)), choices[histogram.name, target]
        yield (
            f"{target:<5g}{rule.cells:>8}{rule.local:>8.3f}{error:>10.1e}"
            f"{exact.name:>16}{exact.local:>8.3f}{exact.variance:>10.1e}{error / exact.variance:>7.1f}"
        )
    yield ""


def missed(choices: Choices, histograms: Sequence[Histogram]) -> Iterator[str]:
    """A line for each choice whose error is above the rule's."""
    for histogram in histograms:
        for (name, target), exact in choices.items():
            rule = expected_error(histogram, solh(target, histogram.n))
            if name == histogram.name and exact.variance > rule:
                yield f"choice at {target:g}, {name}: {exact.variance:.2e}; at most the rule's {rule:.2e}"
