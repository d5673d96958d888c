"""What a stream measures, as one object that everything else asks: nothing decides anything by a measure's name.

Contract: immutable; a function of what was declared.  A kind of measure is a subclass with a name, which is the word
for it in a deployment file and in a release.  What is said here of the others fits shares of the codes of a domain, so
that a kind says only what is different about it.  Its parts: what is declared; how it is asked and followed; what is
said of it, in figures and in words; and how it is planned for (planned.py).  Not here: the kinds (frequency.py,
mean.py, distribution.py), their tables in a deployment file (config/measures), the list of them (registry.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.planned import PlannedMeasure
from murmurate.aggregators.measures.result import Floats, NamedFigures, Result
from murmurate.aggregators.methods.dissimilarity import publication_error
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Question, mechanism
from murmurate.randomizers.registry import STREAMED
from murmurate.randomizers.terms import Division
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Domain

Range = tuple[float, float]
AUTO: Final = "auto"
"""The word in the place of a mechanism's name that lets the measure choose."""


@dataclass(frozen=True)
class Measure(PlannedMeasure):
    """What one stream measures."""

    domain: Domain
    """What an event of the stream may say."""
    says_none: bool = True
    """Whether a user may have no value; a user without one says so by the last code."""
    unit: str | None = None
    """The unit of the numbers, in words: "EUR"."""

    # ---- the kind: facts that no declaration changes ----

    name: ClassVar[str]
    """The word for it in a deployment file and a release."""
    shaped: ClassVar[bool] = False
    """Whether post-processing shapes its estimates: they are shares of values in no order, which readers ask for by the
    kind of their question.
    """
    ranked: ClassVar[bool] = False
    """Whether its largest figures are told first; else in the order of their names."""
    ordered: ClassVar[bool] = False
    """Whether neighbouring names are neighbours in truth, so that together they are a picture."""
    all_shares: ClassVar[bool] = True
    """Whether every figure is the share of users with one of the codes."""
    sums_to_one: ClassVar[bool] = False
    """Whether the statistics that a filter follows are such shares, whose sum it knows."""
    even_noise: ClassVar[bool] = False
    """Whether the noise of the statistics hardly depends on the values, as the papers' rule for variances supposes."""
    keeps_answers: ClassVar[bool] = True
    """Whether a release says more of an answer than its statistics do, so that it is kept with them."""
    zero_stands: ClassVar[bool] = True
    """Whether zeros may stand until something is measured; else the first answer is published at any price."""
    clips: ClassVar[bool] = False
    """Whether a threshold can be found at which its numbers are clipped."""

    # ---- what is declared ----

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The statistics of a release, in their order; none where they are found, and part of the result."""

    @property
    def most_names(self) -> int:
        """How many statistics a release has at most."""
        return len(self.names)

    def fits(self, names: Iterable[str]) -> bool:
        """Whether a release of this measure may have these names."""
        return not self.names or set(names) == set(self.names)

    @property
    def true_names(self) -> tuple[str, ...]:
        """What `truth` is about: every name that can be found, where names are found."""
        return self.names

    @property
    def d(self) -> int:
        """How many codes there are, *none* included where users say it."""
        return self.domain.none + self.says_none

    @property
    def layout(self) -> tuple[Any, ...]:
        """What the words of a user's value mean, as randomizers read it."""
        return self.domain.layout(self.says_none)

    @property
    def range(self) -> Range | None:
        """The range of numbers: those outside count as the nearer end."""
        return None

    @property
    def axis(self) -> Range | None:
        """Between which a page draws numbers."""
        return self.range

    def limits(self, name: str) -> Range:
        """Between which a statistic lies."""
        return 0.0, 1.0

    @property
    def default_code(self) -> int:
        """Where values stand for ever, what users say of whom no value was valid yet, unless the file says it."""
        return 0

    # ---- how it is asked, and how a filter follows it ----

    @property
    @abstractmethod
    def serving(self) -> tuple[str, ...]:
        """The mechanisms that serve it."""

    @abstractmethod
    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """What "auto" takes at this epsilon: a function of what is declared."""

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """What a device is asked by: the mechanism of this name, or what "auto" takes."""
        if name == AUTO:
            return self.choose(epsilon, prefer)
        return mechanism({"name": name, "d": self.d, "epsilon": epsilon})

    @property
    def possible(self) -> tuple[str, ...]:
        """Those of the serving mechanisms that take so large a domain."""
        return tuple(name for name in self.serving if self.d <= STREAMED[name].max_domain)

    @property
    def shown(self) -> slice | NDArray[np.int64]:
        """Which of the statistics that a method follows are figures of a release."""
        return slice(None)

    def ranges(self, question: Question) -> Sequence[Range] | None:
        """Between what the statistics of a mechanism lie; None for shares."""
        return None

    def wholes(self, question: Question) -> Sequence[int] | None:
        """For shares, how many follow each other that sum to 1, whole after whole, one where a share stands by itself;
        None: all of them together, or there are none.
        """
        return None

    def follows_reports(self, division: Division) -> bool:
        """Whether a filter follows shares of reports instead of statistics: where all come by one mechanism."""
        return False

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The mean squared error of what a release says of n reports, on the scale of the mechanism. users: of how many
        they are a sample; None: of none. A profile is what `Question.profile` would find without noise.
        """
        error = publication_error(question, n, users or n, profile, "sampling")
        return error + float(question.added_variance(max(1, round(n)), profile)[: question.statistics].mean())

    # ---- what is said of it, in figures ----

    @abstractmethod
    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> Result:
        """What a release shows of a decision. shaping: of estimates that are shares, if they are shaped."""

    def truth(self, counts: NDArray[Any]) -> Floats:
        """What a release without any noise would say where so many users hold each code, int64[d], in the order of the
        names: NaN of what is true of nobody. Of rows of words `counts` are everybody's: uint32[n, words].
        """
        users = int(counts.sum())
        return np.asarray(counts / users) if users else np.full(len(self.true_names), np.nan)

    def every_code(self) -> Measure:
        """A measure over the same domain whose truth is the share of every code."""
        return self

    @property
    def scored(self) -> tuple[str, ...]:
        """The statistics whose errors are the errors of a release, the first ones."""
        return self.names

    @property
    def two_sided(self) -> bool:
        """Whether there are but two shares, which the papers count as one."""
        return False

    # ---- what is said of it, in words ----

    def is_share(self, name: str) -> bool:
        """Whether a statistic is a share of users, or else a number in the measure's unit."""
        return True

    def scale(self, stream: str) -> str:
        """What squared errors are in: the unit of numbers, or "share"."""
        return "share"

    @property
    def what(self) -> str:
        """What it is of, in words: "4 values"."""
        return f"{len(self.names)} values"

    @property
    def resolution(self) -> str:
        """How finely numbers are read, where that is worth a word."""
        return ""

    @property
    def bias(self) -> str:
        """By what its figures are off in the mean, however many users there are, in words; empty where by nothing."""
        return ""

    @property
    def brief(self) -> str:
        """What it is, in as few words as tell it."""
        return f"{self.name} of {self.what}"

    @property
    def shown_as(self) -> str:
        """What a line of a release shows."""
        return "the estimate and its standard error"

    def said(self, code: int) -> str:
        """What users of this code say, in words."""
        return f'"{self.names[code]}"'

    @property
    def called(self) -> tuple[str, str]:
        """What a page calls a statistic, and several."""
        return "Statistic", "Statistics"

    def page(self) -> dict[str, Any]:
        """All that a page has to know about how it is shown."""
        one, many = self.called
        return {
            "of": self.what, "one": one, "many": many, "ordered": self.ordered, "ranked": self.ranked,
            "shaped": self.shaped, "numbers": [name for name in self.names if not self.is_share(name)],
        }  # fmt: skip

    @abstractmethod
    def example(self, mark: int, *, peak: bool) -> Any:
        """The value of a made-up event, by a mark from 0 to 99; `peak`: in the minutes in which something happens."""

    # ---- for the kinds ----

    def _named(
        self, decision: Decision, estimate: Floats, stderr: Floats, course: Floats | None = None
    ) -> NamedFigures:
        """Figures that are known as far as anything was measured: before that a method has zeros, to compare its first
        answer with.
        """
        own = decision.vector
        told = NamedFigures(self.names, estimate, stderr, own.unbiased, np.sqrt(own.measured_variance), course)
        return told if decision.measured_t is not None else told.unmeasured(estimated=decision.vector.best is not None)


def stands(decision: Decision) -> Estimate:
    """What stands for the period: the filter's estimate where one follows the stream, else the method's."""
    told = decision.vector
    return told.best or Estimate(decision.t, told.unbiased, told.variance)
