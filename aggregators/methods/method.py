# SPDX-License-Identifier: Apache-2.0
"""The contract of every method: a server-side state machine, one per stream, that decides what to ask and to release.

Contract: `open(t)` begins period t, `tally(answer)` takes the whole answer to the one request that is open; each
gives the next request about t or the decision that ends it.  A method is a pure function of its setting and the
answers: no clock, no chance but a public seed, its whole state in `state()`.  It may be wrong about users and budget:
the Device never relies on it.  Not here: rounds on the wire, waiting, releases (agents/stages/publish.py).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.chooser import Prefer
from murmurate.randomizers import Question
from murmurate.topics.release_parts import HorizonStep

if TYPE_CHECKING:  # measures interpret the decisions of methods
    from murmurate.aggregators.measures.measure import Measure

Purpose = Literal["dissimilarity", "publication"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The facts about its stream that a method gets."""

    measure: Measure
    """What the stream measures: it knows which mechanisms the stream can use, and what their statistics are."""
    epsilon_micro: int
    """The stream's epsilon in any w periods."""
    w: int
    slots: int
    """S, the number of slots."""
    first_t: int
    """The period that counts as t = 1."""
    seed: bytes
    """32 public bytes from which slots are drawn: who is asked is no secret, and must be the same after a crash."""
    mechanism: str = "auto"
    """A mechanism's name, or "auto" for the chooser's."""
    prefer: Prefer = "accuracy"
    """What the chooser minimises."""
    min_batch: int = 2
    """Fewer reports than this are not released: a round expected to stay below is not worth asking."""
    clip: int | None = None
    """The highest code of a number that counts as itself, where a threshold was found; None: every code does."""
    group: int = 1
    """How many neighbouring codes of a number are reported as one, where a threshold was found."""
    season: int | None = None
    """The number of periods of the declared season, for the filter; None if none is declared."""
    fakes: int = 0
    """The number of fake reports that the mixing zone adds to a round."""

    def facts(self) -> dict[str, str | int | bool | None]:
        """The facts by which a state recognises its setting."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "measure"}
        if self.season is None:
            del plain["season"]
        if not self.fakes:
            del plain["fakes"]
        of = {"measure": self.measure.name, "d": self.d, "says_none": self.says_none}
        return {**plain, **of, "seed": self.seed.hex()}

    @property
    def d(self) -> int:
        """Size of the domain, none and other included."""
        return self.measure.d

    @property
    def says_none(self) -> bool:
        """Whether the last value of the domain is *none*."""
        return self.measure.says_none


@dataclass(frozen=True, eq=False)
class Request:
    """What a method wants to have asked: a question, who is asked, and for what purpose. On the wire it is a round."""

    question: Question
    asked: NDArray[np.bool_] | None
    """bool[S], the slots that are asked; None: every slot."""
    purpose: Purpose


@dataclass(frozen=True, eq=False)
class Answer:
    """The whole answer to a request."""

    support: NDArray[np.int64]
    """int64[outcomes of the question], the sum over all sub-batches."""
    counted: int
    """Reports behind `support`: 0 where the round stayed below min_batch."""
    round: bytes = b""
    """The digest of the round, from which its public choices follow (`Question.of_round`); empty where nobody reads the
    counts by these.
    """


@dataclass(frozen=True, eq=False)
class Estimate:
    """A filter's estimate of a period from all reports so far: raw, with the variance of each statistic's error."""

    t: int
    statistics: Floats
    variance: Floats
    of_reports: bool = False
    """Whether the statistics are shares of each possible report: so for a distribution, if one mechanism gives all."""
    course: Floats | None = None
    """Mean and variance of the estimates so far, this one among them: float64[2, statistics]."""
    of_noise: Floats | None = None
    """The part of a filter's variance that the noise of answers makes up; the rest is its lag behind the truth."""


@dataclass(frozen=True, eq=False)
class Vector:
    """A number for each statistic of a question."""

    unbiased: Floats
    """The statistics, raw: float64[statistics]."""
    variance: Floats
    """The variance of each statistic as an estimate of period t: mechanism, sampling, and drift where measured_t is
    older.
    """
    answer: Answer | None = None
    """The reports behind the estimate, where numbers are measured."""
    users: float | None = None
    """The number of users of whom those who answered are a sample; None if they are no sample."""
    best: Estimate | None = None
    """The filter's estimate, where there is a filter and it has had an answer."""
    revised: Estimate | None = None
    """The filter's present estimate of an older period, with revisions."""
    clipped: float = 0.0
    """The error of the mean, at most, from clipping or from finding where to clip: a part of the range."""
    own_variance: Floats | None = None
    """The variance of `unbiased` as an estimate of the period that it was measured in, without the drift since; None:
    nothing has drifted.
    """

    @property
    def measured_variance(self) -> Floats:
        """The variance of `unbiased` as an estimate of the period that it was measured in: mechanism and sampling. Of a
        method that averages several answers it is that of the average, whatever the truth did among them.
        """
        return self.variance if self.own_variance is None else self.own_variance


@dataclass(frozen=True, eq=False)
class Finding:
    """How values were found, and how they fare: an entry for each of `FoundValues.values`."""

    threshold: float | None
    """The share up to which what is found may be chance; None where this period asked nothing."""
    since: NDArray[np.int64]
    """The period in which each value was first found, of its present stay."""
    seen: NDArray[np.int64]
    """The newest period in which each was found."""
    moved: NDArray[np.int8]
    """1 where a value rose by more than chance since it was last said to move, -1 where it fell, else 0."""
    gone: NDArray[np.uint32]
    """The values of the release before that are no longer listed."""


@dataclass(frozen=True, eq=False)
class FoundValues:
    """Values found in a domain too large to list: the values, how many users hold each, and the errors."""

    values: NDArray[np.uint32]
    """The values that were found or are still followed, the largest first: codes, or rows of words, uint32[k] or
    uint32[k, words].
    """
    estimates: Floats
    """The best estimates of their shares."""
    errors: Floats
    """The standard errors of the estimates."""
    unbiased: Floats | None = None
    """What the newest answer alone says of them, raw, NaN where it says nothing; None: the estimates."""
    unbiased_errors: Floats | None = None
    """The standard errors of `unbiased`; None: those of the estimates."""
    finding: Finding | None = None
    """How they were found, where a method searches for them period by period."""


@dataclass(frozen=True, eq=False)
class TableEstimates:
    """Tables over attributes: an estimate for every combination of the values of each table's attributes."""

    estimates: tuple[Floats, ...]
    """The estimates of each table, an axis for each attribute."""
    errors: tuple[Floats, ...]
    """The standard errors of the estimates, in arrays of the same shapes."""


Outcome = Vector | FoundValues | TableEstimates


@dataclass(frozen=True, eq=False)
class Decision:
    """The end of a period: what is released."""

    t: int
    published: bool
    """Whether the outcome comes from this period's own reports; else it is that of an older period."""
    measured_t: int | None
    """The period whose reports are behind the outcome; None while there have been none."""
    question: Question
    """The question of these reports or, without any, the one that would have been asked."""
    outcome: Outcome
    """The estimates and their errors."""
    horizon: HorizonStep | None = None
    """The horizon of the period and how the nodes that end with it were weighed, where the method has horizons."""

    @property
    def vector(self) -> Vector:
        """The outcome of a method that follows statistics."""
        if not isinstance(self.outcome, Vector):
            raise TypeError(f"decision: found {type(self.outcome).__name__}; allowed: a Vector")
        return self.outcome

    @property
    def revised(self) -> Estimate | None:
        """The filter's present estimate of an older period, with revisions."""
        return self.outcome.revised if isinstance(self.outcome, Vector) else None

    def with_vector(self, **changes: Any) -> Decision:
        """The decision with these changes in its vector."""
        return replace(self, outcome=replace(self.vector, **changes))


class Method(Protocol):
    """One stream's schedule."""

    def open(self, t: int) -> Request | Decision:
        """Begin period t; periods come in order, each once."""
        ...

    def tally(self, answer: Answer) -> Request | Decision:
        """Take the answer to the request that is open."""
        ...

    def later(self, t: int) -> Request | None:
        """The request that `open` will give for a later period, if it is known by now."""
        ...

    def most_rounds(self) -> WindowRounds:
        """All that a user may be asked in any w periods that end with the present one."""
        ...

    def state(self) -> bytes:
        """All that must survive a crash."""
        ...

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        ...
