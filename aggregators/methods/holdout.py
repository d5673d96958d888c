# SPDX-License-Identifier: Apache-2.0
"""A method that finds out first where to clip the numbers of a mean: one round of everybody, then the method itself.

Contract, from the stream's first period on:
  1. everybody answers once, with the whole epsilon, by Square Wave on a coarse grid over the declared range;
  2. nothing is asked for the other periods of that window, which release the mean that was found;
  3. the method begins, by mechanisms that clip at the threshold that was found (threshold.py), which is the end of
     the range where clipping would not pay.  The filter behind it begins with everybody's answer, and so does a method
   that averages by itself.
After an answer that does not count, or with too few holders of a value to exceed the noise, the phase begins anew after
its window.  So the method always begins with nothing spent in its window, as the ledger of the devices checks.  The
threshold is a public number that depends on reports alone, and the range stays the declared one.
Clipping is of the top alone, and what it may take is part of a release's error (`Decision.clipped`); more of it once
the mean has grown.  Source: ToPL, ARCHITECTURE sections 5.1 and 5.4.  Not here: whether there is a phase at all
(worthwhile.py), what a release makes of it (figures.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.clipping import Growth
from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.methods.filtered import Filtered
from murmurate.aggregators.methods.method import Answer, Decision, Estimate, Method, Request, Setting
from murmurate.aggregators.methods.pegasus import Pegasus
from murmurate.aggregators.methods.threshold import ExpectedAnswers, FoundThreshold, coarse, find, top_of
from murmurate.aggregators.methods.uniform import LSP
from murmurate.aggregators.transitions import State
from murmurate.randomizers import ParameterError
from murmurate.randomizers.state import StateForm, dump, load

FORM: Final = StateForm("holdout", 3)


class Phase(Enum):
    """The phase of a stream that begins by finding a threshold."""

    SEEKING = "seeking"
    """Everybody is asked once a window, until a threshold is found."""
    FOUND = "found"
    """A threshold is found, and the mean that was found with it is released until that window is over."""
    BEGUN = "begun"
    """The method asks its own rounds."""


PHASES: Final[Mapping[Phase, tuple[Phase, ...]]] = MappingProxyType({
    Phase.SEEKING: (Phase.FOUND,),
    Phase.FOUND: (Phase.BEGUN,),
    Phase.BEGUN: (),
})  # fmt: skip


class Holdout:
    """One stream's phase and method."""

    def __init__(self, setting: Setting, make: Callable[[Setting], Method], answers: ExpectedAnswers) -> None:
        """make: a function from a setting to the method. answers: those that it will usually have."""
        if not setting.measure.clips:
            raise ParameterError(f"clip: found a stream of {setting.measure.name}; allowed: a mean or a total")
        self._setting, self._make, self._answers = setting, make, answers
        after = make(replace(setting, clip=top_of(setting)))  # whatever it refuses is refused before anybody is asked
        phase = LSP(coarse(setting))
        self._phase: Method = Following(phase) if isinstance(after, Following) else phase
        self._after: Method | None = None
        self._found: FoundThreshold | None = None
        self._t = setting.first_t - 1  # the newest period that was opened
        self._stands = State("hold-out", Phase.SEEKING, PHASES)

    def open(self, t: int) -> Request | Decision:
        """Begin period t."""
        begins = self._stands.now is Phase.FOUND and self._turn(t) is self._after
        step = self._turn(t).open(t)
        self._t = t
        if begins:
            self._stands.to(Phase.BEGUN)
        return self._seen(step)

    def tally(self, answer: Answer) -> Request | Decision:
        """Take the whole answer to the question that is open."""
        step = self._turn(self._t).tally(answer)
        if self._stands.now is Phase.SEEKING and answer.counted:
            found = find(self._setting, self._answers, self._t, answer)
            if found is not None:
                self._stands.to(Phase.FOUND)
                self._found, known = found
                self._after = self._made(self._found)
                if isinstance(self._after, Following):
                    self._after.remember(self._spread(known))
                elif isinstance(self._after, Pegasus | Filtered):
                    self._after.remember(known)
        return self._seen(step)

    def later(self, t: int) -> Request | None:
        """The method's request for a later period, if that is known by now."""
        return self._after.later(t) if self._after is not None and self._turn(t) is self._after else None

    def most_rounds(self) -> WindowRounds:
        """What the phase may ask, or the method: no window holds rounds of both."""
        return self._turn(self._t).most_rounds()

    def state(self) -> bytes:
        """All that must survive a crash."""
        facts: dict[str, Any] = {"t": self._t, "stands": self._stands.now.value, "found": None}
        parts = {"phase": self._phase} if self._stands.now is not Phase.BEGUN else {}
        if self._found is not None and self._after is not None:
            found = self._found
            numbers = found.statistics, found.growth.levels, found.growth.taken
            facts["found"] = [
                found.t,
                found.clip,
                found.clipped,
                found.cut,
                found.level,
                *(n.tolist() for n in numbers),
            ]
            parts["after"] = self._after
        return dump(FORM, facts, {name: np.frombuffer(part.state(), np.uint8) for name, part in parts.items()})

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        facts, arrays = load(FORM, state)
        self._t = facts["t"]
        self._stands.load(facts["stands"])
        if facts["found"] is not None:
            t, clip, clipped, cut, level, *numbers = facts["found"]
            statistics, levels, taken = map(np.array, numbers)
            self._found = FoundThreshold(t, clip, clipped, cut, statistics, level, Growth(levels, taken))
            self._after = self._made(self._found)
            self._after.load(arrays["after"].tobytes())
        if "phase" in arrays:
            self._phase.load(arrays["phase"].tobytes())

    def _turn(self, t: int) -> Method:
        """The phase or the method, whichever period t belongs to."""
        over = self._found is not None and t >= self._found.t + self._setting.w
        return self._after if over and self._after is not None else self._phase

    def _made(self, found: FoundThreshold) -> Method:
        return self._make(replace(self._setting, first_t=found.t + self._setting.w, clip=found.clip))

    def _seen(self, step: Request | Decision) -> Request | Decision:
        found = self._found
        if isinstance(step, Request) or found is None:
            return step
        own = step.vector
        if self._stands.now is Phase.BEGUN:
            if own.best is None and step.measured_t is None:
                return step.with_vector(clipped=found.clipped)
            best = own.best or Estimate(step.t, own.unbiased, own.variance)
            return step.with_vector(clipped=found.clipped_at(best, top_of(self._setting)))
        variance = own.best.variance if own.best is not None else own.variance
        return step.with_vector(best=Estimate(step.t, found.statistics, variance), clipped=found.cut)

    def _spread(self, known: OutsideEstimate) -> Iterator[OutsideEstimate | None]:
        """The phase's estimate as the method's filter takes it, one entry for each period of the window: split into
        answers of the usual size. As one answer it would set the unit in which the filter measures everything, and be
        forgotten in the periods without answers that follow.
        """
        parts = max(1, round(1 / self._answers.share))
        yield from known.parts(parts)
        yield from [None] * (self._setting.w - parts)
