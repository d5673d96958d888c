# SPDX-License-Identifier: Apache-2.0
"""What a stream measures, as one object: other code calls its methods and never branches on a measure's name.

Contract: immutable; a function of what was declared.  A kind of measure is a subclass with a name, which stands for it
in a deployment file and in a release.  The defaults here fit shares of the codes of a domain; a kind overrides what is
different.  The parts: what is declared; which questions devices get and how a filter follows the answers; the figures
of a release; its description in words; and what planning needs (planned.py).  Not here: the kinds (frequency.py,
mean.py, distribution.py, items.py, marginals.py, strings.py), their tables in a deployment file (config/measures), the
list of them (registry.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.few_of_many import FewOfMany
from murmurate.aggregators.measures.result import Floats, NamedFigures, Result
from murmurate.aggregators.methods.dissimilarity import publication_error
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import ParameterError, Question, mechanism
from murmurate.randomizers.registry import STREAMED
from murmurate.randomizers.sessions import Ones
from murmurate.randomizers.terms import Division
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Domain

Range = tuple[float, float]
AUTO: Final = "auto"
"""The word in the place of a mechanism's name that lets the measure choose."""


@dataclass(frozen=True)
class Measure(FewOfMany):
    """What one stream measures: its domain, the mechanisms that serve it, and how its estimates become a release."""

    domain: Domain
    """The values that an event of the stream may have."""
    says_none: bool = True
    """Whether a user may have no value; a user without one reports the last code."""
    unit: str | None = None
    """The unit of the numbers, in words: "EUR"."""

    # ---- the kind: facts that no declaration changes ----

    name: ClassVar[str]
    """The name of the kind in a deployment file and a release."""
    shaped: ClassVar[bool] = False
    """Whether post-processing shapes its estimates. They are shares of unordered values, and a reader may ask for the
    post-processing that suits a query.
    """
    ranked: ClassVar[bool] = False
    """Whether a listing shows its largest figures first; otherwise it keeps the order of the names."""
    ordered: ClassVar[bool] = False
    """Whether neighbouring names are neighbouring values, so that the figures together can be drawn as one curve."""
    all_shares: ClassVar[bool] = True
    """Whether every figure is the share of users with one of the codes."""
    sums_to_one: ClassVar[bool] = False
    """Whether the statistics that a filter follows are shares of all users that sum to 1."""
    even_noise: ClassVar[bool] = False
    """Whether the noise of the statistics hardly depends on the values, as the papers' variance rule assumes."""
    keeps_answers: ClassVar[bool] = True
    """Whether a release needs the answer itself (its counts) besides the statistics, so that a method keeps it."""
    zero_stands: ClassVar[bool] = True
    """Whether zeros are a meaningful release before anything is measured; otherwise the first answer is always
    published.
    """
    clips: ClassVar[bool] = False
    """Whether its numbers can be clipped at a threshold that is estimated from reports."""

    # ---- what is declared ----

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of a release's statistics, in their order; empty where names are found and part of the result."""

    @property
    def most_names(self) -> int:
        """The largest number of statistics of a release."""
        return len(self.names)

    def fits(self, names: Iterable[str]) -> bool:
        """Whether a release of this measure may have these names."""
        return not self.names or set(names) == set(self.names)

    @property
    def true_names(self) -> tuple[str, ...]:
        """The names of the values that `truth` returns; where names are found, every name that can be found."""
        return self.names

    @property
    def d(self) -> int:
        """The number of codes, *none* included where users may report it."""
        return self.domain.none + self.says_none

    @property
    def layout(self) -> tuple[Any, ...]:
        """The layout of a user's value in words, as randomizers read it."""
        return self.domain.layout(self.says_none)

    @property
    def range(self) -> Range | None:
        """The declared range of numbers, None where there is none; a number outside counts as the nearer end."""
        return None

    @property
    def axis(self) -> Range | None:
        """The smallest and the largest number that the page's axis may need; None where there are no numbers."""
        return self.range

    def limits(self, name: str) -> Range:
        """The smallest and the largest value that a statistic can have."""
        return 0.0, 1.0

    @property
    def default_code(self) -> int:
        """The code of users who have had no valid value yet, in a stream whose values stand for ever and whose file
        declares none.
        """
        return 0

    # ---- which questions devices get, and how a filter follows the answers ----

    @property
    @abstractmethod
    def serving(self) -> tuple[str, ...]:
        """The names of the mechanisms that can serve it."""

    @abstractmethod
    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question that the mechanism "auto" stands for at this epsilon; it depends on the declaration alone."""

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question that devices answer: by the mechanism of this name, or the one that "auto" stands for."""
        if name == AUTO:
            return self.choose(epsilon, prefer)
        return mechanism({"name": name, "d": self.d, "epsilon": epsilon})

    @property
    def possible(self) -> tuple[str, ...]:
        """The serving mechanisms whose largest domain is large enough for this one."""
        return tuple(name for name in self.serving if self.d <= STREAMED[name].max_domain)

    @property
    def mixes(self) -> bool:
        """Whether "auto" may take several mechanisms in one question."""
        return False

    def usual_variance(self, question: Question, n: int) -> float:
        """The exact variance by which mechanisms are compared: of a share from n reports if all shares are alike."""
        return float(question.variance(n, 1 / self.d).mean())

    @property
    def shown(self) -> slice | NDArray[np.int64]:
        """The indices of those statistics, among all that a method follows, that a release shows."""
        return slice(None)

    def ranges(self, question: Question) -> Sequence[Range] | None:
        """The range of each statistic that a mechanism estimates; None for shares."""
        return None

    def wholes(self, question: Question) -> Sequence[int] | None:
        """For shares, the lengths of consecutive groups that each sum to 1 (1 for a share that belongs to no group);
        None if all sum to 1 together, or none do.
        """
        return None

    def follows_reports(self, division: Division) -> bool:
        """Whether a filter follows shares of reports instead of statistics, which is possible where all rounds use one
        mechanism.
        """
        return False

    def round_error(self, question: Question, n: float, users: float | None, profile: Floats) -> float:
        """The mean squared error of a release from n reports, on the scale of the mechanism. users: the number of users
        of whom they are a sample; None if they are no sample. profile: what `Question.profile` would give without
        noise.
        """
        error = publication_error(question, n, users or n, profile, "sampling")
        return error + float(question.added_variance(max(1, round(n)), profile)[: question.statistics].mean())

    # ---- what methods of horizons ask ----

    def ones(self) -> Ones:
        """How a value is a vector of zeros and ones, whose changes a method of horizons asks for."""
        raise ParameterError(f"method: found one of horizons for {self.name}; allowed: for frequency, items, mean")

    @property
    def d_of_ones(self) -> int:
        """The number of statistics that `of_ones` gives."""
        return self.ones().d

    def of_ones(self, shares: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """The statistics that a method follows, and their variances, from the share of users with a one at each
        coordinate.
        """
        return shares, variance

    # ---- the figures of a release ----

    @abstractmethod
    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> Result:
        """The figures that a release shows of a decision. shaping: the post-processing of estimates, where they are
        shaped.
        """

    def truth(self, counts: NDArray[Any]) -> Floats:
        """The figures of a release without any noise, in the order of the names, where so many users hold each code,
        int64[d]; NaN for the mean of nobody. For values of several words `counts` holds the row of every user:
        uint32[n, words].
        """
        users = int(counts.sum())
        return np.asarray(counts / users) if users else np.full(len(self.true_names), np.nan)

    def every_code(self) -> Measure:
        """A measure over the same domain whose truth is the share of every code."""
        return self

    @property
    def scored(self) -> tuple[str, ...]:
        """The names of the statistics whose errors count as the errors of a release; they come first."""
        return self.names

    @property
    def moving(self) -> str:
        """What moves in a synthetic truth, in words."""
        return "each share" if all(map(self.is_share, self.scored)) else f"the {self.scored[0]}"

    @property
    def two_sided(self) -> bool:
        """Whether there are only two shares, which the papers count as one since they sum to 1."""
        return False

    # ---- descriptions in words ----

    def is_share(self, name: str) -> bool:
        """Whether a statistic is a share of users; otherwise it is a number in the measure's unit."""
        return True

    def unit_of(self, name: str) -> str | None:
        """The unit of a statistic that is a number."""
        return self.unit

    def scale(self, stream: str) -> str:
        """The scale of squared errors: the unit of numbers, or "share". Errors on different scales are not averaged."""
        return "share"

    @property
    def what(self) -> str:
        """What is measured, in words: "4 values"."""
        return f"{len(self.names)} values"

    @property
    def resolution(self) -> str:
        """The resolution of numbers, in words, where it is worth mentioning."""
        return ""

    def bias_of(self, question: Question) -> str:
        """The systematic error that no number of users removes, in words; empty where estimates are unbiased."""
        return ""

    @property
    def brief(self) -> str:
        """A short description of the measure."""
        return f"{self.name} of {self.what}"

    @property
    def shown_as(self) -> str:
        """What one line per release shows of it, in words."""
        return "the estimate and its standard error"

    def said(self, code: int) -> str:
        """The value of users who report this code, in words."""
        return f'"{self.names[code]}"'

    @property
    def called(self) -> tuple[str, str]:
        """The words for one statistic and for several on the page."""
        return "Statistic", "Statistics"

    def page(self) -> dict[str, Any]:
        """The description of the measure that the page needs to draw it."""
        one, many = self.called
        return {
            "of": self.what, "one": one, "many": many, "ordered": self.ordered, "ranked": self.ranked,
            "shaped": self.shaped, "numbers": [name for name in self.names if not self.is_share(name)],
        }  # fmt: skip

    # ---- for the kinds ----

    def _named(
        self, decision: Decision, estimate: Floats, stderr: Floats, course: Floats | None = None
    ) -> NamedFigures:
        """The figures of a release, NaN while nothing was measured: a method then holds zeros to compare its first
        answer with.
        """
        own = decision.vector
        figures = NamedFigures(self.names, estimate, stderr, own.unbiased, np.sqrt(own.measured_variance), course)
        if decision.measured_t is not None:
            return figures
        return figures.unmeasured(estimated=own.best is not None)


def stands(decision: Decision) -> Estimate:
    """The estimate that a release of the period shows: the filter's where one follows the stream, else the method's."""
    vector = decision.vector
    return vector.best or Estimate(decision.t, vector.unbiased, vector.variance)
