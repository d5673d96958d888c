"""A method that finds out first where to clip the numbers of a mean: one round of everybody, then the method itself.

Contract, from the stream's first period on:
  1. everybody answers once, with the whole epsilon, by Square Wave on a coarse grid over the declared range;
  2. nothing is asked for the other periods of that window, and the mean that was found stands for them;
  3. the method begins, by mechanisms that clip at the threshold: the edge of a cell with the least squared error of
     what is clipped (squared) and a release's noise, both of the distribution that EM finds (clipping.py).
An answer that does not count, or in which holders of a value are not told from noise, begins the phase anew after its
window.  So whatever the method is, it finds a promise of which nothing is spent; the ledger of the devices is the
judge, as ever.  The threshold is a public number that only reports decided, and the range stays the declared one.
Clipping is of the top alone, and what it may take is part of a release's error (`Decision.clipped`).  Source: ToPL,
streams.md sections 2.1 and 5.  Not here: what a release makes of it (figures.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.aggregators import clipping
from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.methods.asking import oracle
from murmurate.aggregators.methods.method import Answer, Decision, Estimate, Floats, Method, Question, Setting
from murmurate.aggregators.methods.uniform import LSP
from murmurate.randomizers import SW, Mechanism, ParameterError, Recoded, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.numeric import WaveMean, WaveMeanAndPresence
from murmurate.randomizers.state import dump, load
from murmurate.randomizers.thresholds import MICRO

CELLS: Final = 512
"""Of the coarse grid: the source's 1024 find no better threshold (clipping.QUIET), and take EM twice as long."""
SEEN: Final = 2
"""Standard errors that the share of holders is to be above none."""
KIND: Final = "holdout"


@dataclass(frozen=True, eq=False)
class Found:
    """What the phase found."""

    t: int
    """The period whose answer it was."""
    clip: int
    """The highest code that counts as itself."""
    clipped: float
    """How much that may take from the mean, as a part of the declared range: as much as is seen, and as much as a
    release's noise, against which it was weighed. A tail that SW-W cut off is not seen.
    """
    cut: float
    """How far its mean is from the unbiased one of the same reports, as a part of the range: what else may be wrong."""
    statistics: Floats
    """Those of the distribution, as the phase's mechanism has them."""


class Holdout:
    """One stream's phase and method."""

    def __init__(
        self, setting: Setting, make: Callable[[Setting], Method], *, share: Fraction, divided: bool, filtered: bool
    ) -> None:
        """make: the method, from the setting it begins with. share: what a usual release of it is made of, as a part
        of the users, or where epsilon is divided of that. filtered: whether the phase has a filter behind it.
        """
        if setting.measure != "mean":
            raise ParameterError(f"clip: found a stream of {setting.measure}; allowed: a mean")
        self._setting, self._make = setting, make
        self._share, self._divided = share, divided
        phase = LSP(coarse(setting))
        self._phase: Method = Following(phase) if filtered else phase
        self._after: Method | None = None
        self._found: Found | None = None
        self._t = setting.first_t - 1  # the newest period that was opened
        make(replace(setting, clip=_top(setting)))  # whatever it refuses is refused before anybody is asked

    def open(self, t: int) -> Question | Decision:
        """Begin period t."""
        step = self._turn(t).open(t)
        self._t = t
        return self._seen(step)

    def tally(self, answer: Answer) -> Question | Decision:
        """Take the whole answer to the question that is open."""
        step = self._turn(self._t).tally(answer)
        if self._found is None and answer.counted and (found := self._find(answer)) is not None:
            self._found, self._after = found, self._made(found)
        return self._seen(step)

    def later(self, t: int) -> Question | None:
        """What the method knows beforehand, once it is known when it begins."""
        return self._after.later(t) if self._after is not None and self._turn(t) is self._after else None

    def state(self) -> bytes:
        """All that must survive a crash."""
        facts: dict[str, Any] = {"t": self._t, "found": None}
        parts = {"phase": self._phase} if self._turn(self._t) is self._phase else {}
        if self._found is not None and self._after is not None:
            found = self._found
            facts["found"] = [found.t, found.clip, found.clipped, found.cut, found.statistics.tolist()]
            parts["after"] = self._after
        return dump(KIND, facts, {name: np.frombuffer(part.state(), np.uint8) for name, part in parts.items()})

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        facts, arrays = load(KIND, state)
        self._t = facts["t"]
        if facts["found"] is not None:
            t, clip, clipped, cut, statistics = facts["found"]
            self._found = Found(t, clip, clipped, cut, np.array(statistics))
            self._after = self._made(self._found)
            self._after.load(arrays["after"].tobytes())
        if "phase" in arrays:
            self._phase.load(arrays["phase"].tobytes())

    def _turn(self, t: int) -> Method:
        """Whose period t is."""
        over = self._found is not None and t >= self._found.t + self._setting.w
        return self._after if over and self._after is not None else self._phase

    def _made(self, found: Found) -> Method:
        return self._make(replace(self._setting, first_t=found.t + self._setting.w, clip=found.clip))

    def _seen(self, step: Question | Decision) -> Question | Decision:
        found = self._found
        if isinstance(step, Question) or found is None:
            return step
        if self._turn(self._t) is self._after:
            return replace(step, clipped=found.clipped)
        variance = step.best.variance if step.best is not None else step.variance
        return replace(step, best=Estimate(step.t, found.statistics, variance), clipped=found.cut)

    def _find(self, answer: Answer) -> Found | None:
        """1. The mean without EM. 2. The distribution. 3. Of it, as SW-W has it, the edge."""
        asked = oracle(coarse(self._setting), self._setting.epsilon_micro)
        assert isinstance(asked, Recoded)  # noqa: S101 - what `coarse` asks for
        unbiased = _unbiased(asked, answer)
        if unbiased is None:
            return None
        mean, error = unbiased
        wave = WaveAndPresence if asked.says_none else SW
        channel = channel_of(wave(d=asked.inner.d, epsilon=Fraction(asked.epsilon_micro, MICRO)))
        shares = em(channel, answer.support).frequencies[: asked.cells]
        present = min(1.0, float(shares.sum()))
        frequencies = shares / present
        low, high = map(float, asked.ends)
        middles = np.array([float(asked.middle(cell)) for cell in range(asked.cells)])
        scale = (high - low) / 2
        kept = clipping.whole_or_pruned(frequencies, middles, low + scale * (mean + 1), scale * error)
        edges = np.minimum(np.arange(1, asked.cells + 1) * asked.group, _top(self._setting)).astype(np.float64)
        taken = clipping.excess(kept, middles, edges)
        noise = self._noise(kept, middles, edges, present, answer.counted)
        edge = clipping.best(taken, noise)
        told = float(kept @ middles - low) / scale - 1
        statistics = np.array([present, present * told] if asked.says_none else [told])
        clipped = float(np.hypot(taken[edge], np.sqrt(noise[edge]))) / _top(self._setting)
        cut = min(1.0, abs(told - mean) / 2)
        return Found(self._t, int(edges[edge]), clipped, cut, statistics)

    def _noise(self, shares: Floats, middles: Floats, edges: Floats, present: float, users: int) -> Floats:
        """The variance of the mean that a usual release has, in squared codes, for each threshold."""
        epsilon = self._setting.epsilon_micro
        mechanism = oracle(self._setting, max(1, int(epsilon * self._share)) if self._divided else epsilon)
        n = users if self._divided else max(1, int(users * self._share))
        values = 2 * np.minimum(middles, edges[:, None]) / edges[:, None] - 1
        return (edges / 2) ** 2 * mean_noise(mechanism, n, present, values @ shares, values**2 @ shares)


def coarse(setting: Setting) -> Setting:
    """The same stream, asked for the cells of the coarse grid."""
    inner = WaveMeanAndPresence if setting.says_none else WaveMean
    top = _top(setting)
    return replace(setting, mechanism=inner.name, clip=top, group=max(1, top // CELLS))


def _top(setting: Setting) -> int:
    """The highest code of a number."""
    return setting.d - 1 - setting.says_none


def _unbiased(asked: Recoded, answer: Answer) -> tuple[float, float] | None:
    """The mean of holders from -1 to 1 without EM, and its standard error; None where nobody is known to hold one."""
    n = answer.counted
    profile = asked.profile(answer.support, n)
    noise = asked.noise(asked.plausible(profile)) / n
    if not isinstance(asked.inner, ValueAndPresence):
        return float(profile[0]), float(np.sqrt(noise[0]))
    share = float(profile[0])
    if share <= SEEN * float(np.sqrt(noise[0])):
        return None
    return float(profile[1]) / share, asked.inner.mean_error(profile, n)


def mean_noise(mechanism: Mechanism, n: int, present: float, means: Floats, squares: Floats) -> Floats:
    """The variance of the mean of n users, this share of whom hold values of such a mean and mean square: linear in the
    mean square, as everything of which it is made.
    """
    if not isinstance(mechanism, ValueAndPresence):
        none, one = (float(mechanism.noise(np.array([0.0, square]))[0]) for square in (0.0, 1.0))
        return np.asarray((none + (one - none) * squares) / n)
    none, one = (mechanism.total_variance(n, present, square) for square in (0.0, 1.0))
    together, of_share = mechanism.covariance(n, present, 1.0), float(mechanism.variance(n, present))
    return np.asarray((none + (one - none) * squares + means**2 * (of_share - 2 * together)) / present**2)
