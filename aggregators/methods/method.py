"""The contract of every method: a server-side state machine, one per stream, that says what to ask and what to release.

Contract: `open(t)` begins period t, `tally(answer)` takes the whole answer to the one request that is open; each
gives the next request about t or the decision that ends it.  A method is a pure function of what it was told: no
clock, no chance but a public seed, its whole state in `state()`.  It may be wrong about users and budget: the Device
never believes it. Not here: rounds on the wire, waiting, releases (agents/stages/publish.py).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.randomizers import Question

if TYPE_CHECKING:  # measures say what a decision of a method means
    from murmurate.aggregators.measures.measure import Measure

Purpose = Literal["dissimilarity", "publication"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What a method knows of its stream."""

    measure: Measure
    """What the stream measures: it says which mechanisms the stream can use, and what their statistics are."""
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
    """What the chooser looks at."""
    min_batch: int = 2
    """Fewer reports than this are not released: a round expected to stay below is not worth asking."""
    clip: int | None = None
    """The highest code of a number that counts as itself, where a threshold was found; None: every code does."""
    group: int = 1
    """How many neighbouring codes of a number are told as one, where a threshold was found."""
    season: int | None = None
    """Periods after which values return, as far as the filter may know; None: they do not."""

    def facts(self) -> dict[str, str | int | bool | None]:
        """By which one setting is told from another in a state."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "measure"}
        if self.season is None:
            del plain["season"]
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
    """What a method opens: a question, who is asked, and to what end. On the wire it is a round."""

    question: Question
    asked: NDArray[np.bool_] | None
    """bool[S], the slots that are asked; None: every slot."""
    purpose: Purpose


@dataclass(frozen=True, eq=False)
class Answer:
    """All that came back to the open question."""

    support: NDArray[np.int64]
    """int64[outcomes of the question], the sum over all sub-batches."""
    counted: int
    """Reports behind `support`: 0 where the round stayed below min_batch."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What all reports so far say of a period, by a filter: raw, with the variance of each statistic as its error."""

    t: int
    statistics: Floats
    variance: Floats
    of_reports: bool = False
    """Whether the statistics are shares of the reports that there can be: of a distribution, where all come by one
    mechanism.
    """
    course: Floats | None = None
    """Mean and variance of the estimates so far, this one among them: float64[2, statistics]."""


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
    """The reports that speak, where numbers are measured."""
    users: float | None = None
    """The number of users of whom those who answered are a sample; None if they are no sample."""
    best: Estimate | None = None
    """The filter's estimate, where there is a filter and it has had an answer."""
    revised: Estimate | None = None
    """The filter's estimate of an older period by now, where revisions are asked for."""
    clipped: float = 0.0
    """How much the threshold that was found, or what found it, may take from the mean: a part of the range."""


@dataclass(frozen=True, eq=False)
class FoundValues:
    """What was found among more values than anybody lists: the values, how many users hold each, and the errors."""

    values: NDArray[np.uint32]
    """The values that were found: codes, or rows of words, uint32[k] or uint32[k, words]."""
    estimates: Floats
    errors: Floats
    """The standard errors of the estimates."""


@dataclass(frozen=True, eq=False)
class TableEstimates:
    """Numbers for every combination of some attributes' values, of several such choices of attributes."""

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
    """Whether this period's own reports speak; else an older estimate stands for it."""
    measured_t: int | None
    """The period whose reports speak; None while there have been none."""
    question: Question
    """The question whose reports speak, or would have spoken."""
    outcome: Outcome
    """What the reports that speak say."""

    @property
    def vector(self) -> Vector:
        """The outcome of a method that follows statistics."""
        if not isinstance(self.outcome, Vector):
            raise TypeError(f"decision: found {type(self.outcome).__name__}; allowed: a Vector")
        return self.outcome

    @property
    def revised(self) -> Estimate | None:
        """What is known by now of an older period, where revisions are asked for."""
        return self.outcome.revised if isinstance(self.outcome, Vector) else None

    def with_vector(self, **changes: Any) -> Decision:
        """The same with something else in its vector."""
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
        """What `open` will ask of a period that has not been opened, where that is known by now."""
        ...

    def state(self) -> bytes:
        """All that must survive a crash."""
        ...

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        ...
