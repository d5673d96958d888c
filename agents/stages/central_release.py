# SPDX-License-Identifier: Apache-2.0
"""From what the curator says of a period to the release of a central stream, block by block.

Contract: as release.py: no clock, host or version, the same input gives the same bytes.  A figure is a noisy sum as it
came, with the standard error of a consistent leaf; sums that cannot be below 0 show 0 instead in `estimate`.  Where a
leaf is a block of several periods, a period within it is predicted from the complete blocks: its error is that of the
prediction's noise, and of what blocks were seen to be off by, as far as noise does not explain it; before two blocks
are complete nothing is known of that, and the release is unmeasured.  The last period of a block brings its sum.
Source: Wang et al. 2021, appendix D; ARCHITECTURE rules 10, 27 and 30.  Not here: noise (curation.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.release import read_off
from murmurate.aggregators.trees.smoothers import SMOOTHERS, MedianSmoother, Smoother
from murmurate.aggregators.trees.variance import leaf_variance
from murmurate.config.central_noise import node_deviation
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.curated import Curated, Planted
from murmurate.topics.promises import CentralPromise
from murmurate.topics.release import Release
from murmurate.topics.release_parts import PLACES, Block, Noise, Reading, ThresholdSearch
from murmurate.topics.times import duration, instant

Decided = Literal["published", "approximated", "unmeasured"]
Figures = tuple[float, ...]


@dataclass(eq=False)
class CentralCourse:
    """One central stream at publish: which period is next, and what complete blocks were."""

    plan: Plan
    stream: CentralPlan
    first_t: int
    t: int
    """The period that is released next."""
    smoothers: list[Smoother] = field(default_factory=list)
    """What predicts each figure, where blocks have several periods; none before a block is complete."""
    misses: list[list[float]] = field(default_factory=list)
    """For each figure, by how much complete blocks were off their prediction: number, sum of squares."""
    measured_t: int | None = None
    """The last period of the newest complete block."""
    held: int = 0
    """How many periods of the hold-out that is going on were released."""
    last: Figures | None = None
    """The mean of a period in the newest complete block."""

    def __post_init__(self) -> None:
        self.misses = self.misses or [[0, 0.0] for _ in self.stream.names]

    def release(self, curated: Curated) -> Release:
        """The release of the next period."""
        if (curated.t, curated.config) != (self.t, self.stream.config):
            found = f"period {curated.t}, config {curated.config}"
            raise StageError(
                f"publish: stream {self.stream.name!r}: found sums of {found}; allowed: period {self.t}, config "
                f"{self.stream.config}"
            )
        self.t += 1
        self.held = self.held + 1 if curated.tree is None else 0
        if curated.tree is None:
            return self._made(curated, "unmeasured", None, None, None)
        deviations = tuple(node_deviation(self.stream, name, curated.tree.threshold) for name in self.stream.names)
        if curated.sums is None:
            return self._predicted(curated, deviations)
        totals = tuple(
            (whole + rest / self.stream.tree.denominator) * self.stream.measure.step(name)
            for (whole, rest), name in zip(curated.sums, self.stream.names, strict=True)
        )
        self.measured_t = curated.t
        leaf = math.sqrt(leaf_variance(self.stream.tree))
        if self.stream.block == 1:
            self.last = totals
            return self._made(curated, "published", totals, [leaf * node for node in deviations], totals)
        return self._complete(curated, totals, [leaf * node for node in deviations])

    def _complete(self, curated: Curated, totals: Figures, errors: Sequence[float]) -> Release:
        """The last period of a block: of single periods its mean is known, and their sum is the block's."""
        block = self.stream.block
        if not self.smoothers:  # the first block is what the paper guesses, half of the largest possible one
            self.smoothers = [begun(self.stream.smoother, block, total) for total in totals]
        else:
            for smoother, missed, total in zip(self.smoothers, self.misses, totals, strict=True):
                missed[0] += 1
                missed[1] += (total / block - smoother.prediction) ** 2
                smoother.add(total)
        self.last = tuple(total / block for total in totals)
        beside = [self._beyond_noise(missed, error / block) for missed, error in zip(self.misses, errors, strict=True)]
        known = (
            None if None in beside else [math.hypot(e / block, b or 0.0) for e, b in zip(errors, beside, strict=True)]
        )
        part = Block(first_t=curated.t - block + 1, total=_named(self.stream, totals))
        if known is None:
            return self._made(curated, "unmeasured", None, None, None, part)
        return self._made(curated, "published", self.last, known, self.last, part)

    def _predicted(self, curated: Curated, deviations: Sequence[float]) -> Release:
        """A period within a block."""
        block, leaf = self.stream.block, math.sqrt(leaf_variance(self.stream.tree))
        errors = [leaf * node / block for node in deviations]
        beside = [self._beyond_noise(missed, error) for missed, error in zip(self.misses, errors, strict=True)]
        if None in beside or self.last is None:
            return self._made(curated, "unmeasured", None, None, None)
        figures = tuple(smoother.prediction for smoother in self.smoothers)
        known = [math.hypot(error, b or 0.0) for error, b in zip(errors, beside, strict=True)]
        return self._made(curated, "approximated", figures, known, self.last)

    def _beyond_noise(self, missed: Sequence[float], error: float) -> float | None:
        """How far a block's mean was off its prediction, beyond what noise explains; None before there was one."""
        if not missed[0]:
            return None
        return math.sqrt(max(0.0, missed[1] / missed[0] - 2 * error**2))

    def _made(
        self, curated: Curated, decision: Decided, figures: Figures | None, errors: Sequence[float] | None,
        unbiased: Figures | None, block: Block | None = None,
    ) -> Release:  # fmt: skip
        stream, unknown = self.stream, dict.fromkeys(self.stream.names)
        shown = (
            None
            if figures is None
            else tuple(max(figure, self._least(name)) for figure, name in zip(figures, stream.names, strict=True))
        )
        estimate = unknown if shown is None else _named(stream, shown)
        stderr = unknown if errors is None else _named(stream, tuple(errors))
        return Release(
            deployment=self.plan.name,
            stream=stream.name,
            revision=stream.revision,
            t=curated.t,
            start=instant(curated.t * stream.every_ms),
            end=instant((curated.t + 1) * stream.every_ms),
            measure=stream.measure.name,
            decision=decision,
            measured_t=None if unbiased is None else self.measured_t,
            unit=stream.unit,
            range=stream.range,
            estimate=estimate,
            stderr=stderr,
            unbiased=unknown if unbiased is None else _named(stream, unbiased),
            thresholds=self._readings(estimate, stderr),
            central=self._promise(),
            holdout=self._holdout(curated.tree),
            noise=None if curated.tree is None else self._noise(curated.tree),
            block=block,
            mechanism=self._mechanism(curated.tree),
            method=self._method(curated.tree),
        )

    def _least(self, name: str) -> float:
        """The least that a sum can be: 0 where no number is below it."""
        low = (self.stream.range or (0.0, 0.0))[0]
        return 0.0 if low >= 0 else -math.inf

    def _promise(self) -> CentralPromise:
        stream = self.stream
        epsilon = stream.epsilon_micro / MICRO
        if stream.events is None or stream.window_ms is None:
            return CentralPromise(unit="event", epsilon=epsilon)
        return CentralPromise(unit="user", epsilon=epsilon, events=stream.events, window=duration(stream.window_ms))

    def _noise(self, tree: Planted) -> Noise:
        deviations = tuple(node_deviation(self.stream, name, tree.threshold) for name in self.stream.names)
        shape = self.stream.tree
        return Noise(
            fanout=shape.fanout, levels=shape.levels, block=self.stream.block, first_t=tree.first_t,
            node=_named(self.stream, deviations),
        )  # fmt: skip

    def _holdout(self, tree: Planted | None) -> ThresholdSearch | None:
        held = self.stream.holdout
        return None if tree is not None or held is None else ThresholdSearch(period=self.held, periods=held.periods)

    def _mechanism(self, tree: Planted | None) -> dict[str, str | int | float]:
        epsilon = self.stream.epsilon_micro / MICRO
        if tree is None:
            return {"name": "noisy_max", "epsilon": epsilon, "digest": self.stream.config}
        return {"name": "discrete_laplace", "epsilon": epsilon, "digest": tree.digest}

    def _method(self, tree: Planted | None) -> dict[str, str | int | float]:
        """How the sums came about; what the hold-out cost is that its events are in no sum, for the same epsilon."""
        said: dict[str, str | int | float] = {"name": "tops"}
        if self.stream.block > 1:
            said["smoother"] = self.stream.smoother
        if self.stream.holdout is not None:
            said |= {"holdout_periods": self.stream.holdout.periods, "holdout_events": self.stream.holdout.events}
        if tree is not None and self.stream.range is not None:
            said["threshold"] = round(tree.threshold * self.stream.measure.step(self.stream.names[0]), PLACES)
        return said

    def _readings(
        self, estimate: Mapping[str, float | None], stderr: Mapping[str, float | None]
    ) -> dict[str, Reading] | None:
        pairs = ((name, estimate[name], stderr[name]) for name in self.stream.thresholds)
        known = [(name, value, error) for name, value, error in pairs if value is not None and error is not None]
        found = {name: read_off(value, error, self.stream.thresholds[name]) for name, value, error in known}
        return found or None

    # ---- state ----

    def facts(self) -> dict[str, Any]:
        """All that must survive a crash."""
        return {
            "first_t": self.first_t, "t": self.t, "config": self.stream.config, "revision": self.stream.revision,
            "smoothers": [smoother.state() for smoother in self.smoothers], "misses": self.misses,
            "measured_t": self.measured_t, "last": self.last, "held": self.held,
        }  # fmt: skip

    def load(self, facts: Mapping[str, Any]) -> None:
        """Go on from `facts`."""
        self.smoothers = [begun(self.stream.smoother, self.stream.block, 0.0) for _ in facts["smoothers"]]
        for smoother, state in zip(self.smoothers, facts["smoothers"], strict=True):
            smoother.restore(state)
        self.misses, self.measured_t = [list(missed) for missed in facts["misses"]], facts["measured_t"]
        self.held = facts["held"]
        self.last = None if facts["last"] is None else tuple(facts["last"])


def begun(name: str, block: int, total: float) -> Smoother:
    """A smoother after its first complete block, which stands for the paper's guess before it."""
    smoother = SMOOTHERS[name](block, total)
    if isinstance(smoother, MedianSmoother):  # it leaves the guess out
        smoother.add(total)
    return smoother


def _named(stream: CentralPlan, figures: Figures) -> dict[str, float]:
    return {name: round(figure, PLACES) + 0.0 for name, figure in zip(stream.names, figures, strict=True)}
