# SPDX-License-Identifier: Apache-2.0
"""Search a domain too large to list, period by period, and follow what was found: what all methods of searches share.

Contract: each period asks S // w fresh slots with the whole epsilon, cut into disjoint parts for the phases of its
search: `Pool.draw` marks them used, so that a slot answers one phase in w periods.  A phase may name candidates; they
come from the answers to earlier phases and periods alone, and who is asked depends on no answer at all.  A phase whose
round did not count teaches nothing.  Whatever was found before goes on being followed (followed.py), also in a period
that found nothing.  Nothing is named whose own measured share did not exceed its bar when it was first found: the
share that chance may reach, and the declared `least`.
Source: Wang 2021, section 3.4.2 (divide the users among questions, never epsilon).  Not here: which phases there are
and how their answers are searched (a file each), what is searched for (measures/found.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.found import FoundMeasure
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.followed import Followed, Search, Words
from murmurate.aggregators.methods.last_estimate import LastEstimate
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Purpose, Request, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.slots import Pool
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.terms import Division

WHOLE = (Fraction(1),)
"""One phase, which all slots of the period answer."""


class FindingMethod(MethodBase):
    """One stream's search. A subclass says what each phase asks, takes its answers, and searches them."""

    division: ClassVar[Division] = "population"
    averages = True
    searches: ClassVar[type[FoundMeasure]]
    """The kind of measure whose values it finds."""

    def __init__(
        self, setting: Setting, *, would_use: Question, parts: Sequence[Fraction] = WHOLE, **options: str
    ) -> None:
        """would_use: the question that stands for the method before anything was asked. parts: of a period's slots that
        each phase asks, which sum to 1.
        """
        super().__init__(setting, would_use=would_use, **options)
        self.standing = LastEstimate(None, np.zeros(0), np.zeros(0), would_use)
        self.measure = self.checked(setting)
        self.pool = Pool(slots=setting.slots, w=setting.w, seed=setting.seed)
        ends = [int(end * (setting.slots // setting.w)) for end in accumulate(parts, initial=Fraction(0))]
        self.sizes = tuple(end - start for start, end in pairwise(ends))
        """How many slots each phase asks."""
        if min(self.sizes) < 1:
            least = setting.w * max(-(-1 // part) for part in parts)
            raise ParameterError(
                f"{self.name}: found {setting.slots} slots to divide, w = {setting.w}; allowed: at least {least}"
            )
        self.phase = -1
        """The newest phase of the open period that was looked at; -1 before its first."""
        self.followed = Followed(most=self.measure.top, least=self.measure.least, nothing=self.measure.nothing)

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """A w-th, of which each phase has its part."""
        return Fraction(1, w) * cls.smallest_part(options)

    @classmethod
    def smallest_part(cls, options: MethodOptions) -> Fraction:
        """The part of a period's slots that its smallest phase asks."""
        return Fraction(1)

    @classmethod
    def serves(cls, measure: Measure) -> bool:
        """Whether it finds the values of this measure."""
        return isinstance(measure, cls.searches)

    @classmethod
    def checked(cls, setting: Setting) -> FoundMeasure:
        """What the stream measures, if it is something that this method finds."""
        if not isinstance(setting.measure, FoundMeasure) or not cls.serves(setting.measure):
            found = setting.measure.name
            raise ParameterError(f"{cls.name}: found a stream of {found}; allowed: one whose values it finds")
        return setting.measure

    # ---- what a search fills in ----

    @abstractmethod
    def _question(self, phase: int) -> Question | None:
        """What this phase of the open period asks, as a function of the state; None where it cannot be asked, since
        an earlier phase has no answer, or need not.
        """

    @abstractmethod
    def _heard(self, phase: int, question: Question, answer: Answer) -> None:
        """Take the answer to a phase, which counts. question: with the public choices of its round."""

    @abstractmethod
    def _searched(self) -> Search | None:
        """What the answers of the period found, at its end; None where too few phases were answered to tell. What was
        kept for the period alone is dropped.
        """

    def _left(self, values: Words) -> None:
        """Take note of values that are no longer followed."""

    # ---- the course of a period ----

    def open(self, t: int) -> Request | Decision:
        """Begin period t, in which what is followed may have changed."""
        before = self.t
        if not self.waiting and t > before:
            self.phase = -1
            self.followed.begin(t - before)
        return super().open(t)

    def _begin(self) -> Request | Decision:
        return self._next()

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        question = self._question(self.phase)
        assert question is not None  # noqa: S101 - it was asked
        if answer.counted:
            self._heard(self.phase, question.of_round(answer.round), answer)
            self.standing = replace(self.standing, measured_t=self.t, mechanism=question)
        return self._next()

    def _next(self) -> Request | Decision:
        """Ask the next phase that can be asked; after the last one, search."""
        while self.phase + 1 < len(self.sizes):
            self.phase += 1
            question, count = self._question(self.phase), self.sizes[self.phase]
            if question is not None:
                self.waiting = "publication", count
                return Request(question, self._drawn(count), "publication")
        if (found := self._searched()) is not None:
            self.followed.take(self.t, found)
            self._left(self.followed.gone)
        standing = self.standing
        return Decision(self.t, found is not None, standing.measured_t, standing.mechanism, self.followed.release())

    def _drawn(self, count: int) -> NDArray[np.bool_] | None:
        """The slots that the present phase asks; None: all of them."""
        return self.pool.draw(self.t, count, f"phase {self.phase}")

    def _slots(self, amount: int) -> int:
        return amount

    def _sampled(self, shares: Floats, n: int) -> Floats:
        """The variance of shares among n users who were drawn from all: part of every error."""
        near, users = np.clip(shares, 0, 1), self.crowd.users or n
        return np.asarray(near * (1 - near) / n * finite_population_factor(n, users))

    # ---- state ----

    def _facts(self) -> dict[str, Any]:
        return {"phase": self.phase, "followed": self.followed.facts()}

    def _arrays(self) -> Arrays:
        return {"ages": self.pool.ages(self.t), **self.followed.arrays()}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self.phase = facts["phase"]
        self.pool.load(self.t, arrays["ages"])
        self.followed.load(facts["followed"], arrays)
