"""What stands for a period: the estimate measured last, with an honest variance for now.

Contract: variances are per cell, as errors of the estimate *of period t*.  Freshly measured: the mechanism's exact
variance at the clipped estimate, and the sampling of n of n_hat users where slots were drawn.  Older: drift comes on
top, as far as it was seen.  Nothing measured: zeros, with variance 1, since the error is then the frequency itself,
at most 1 (1/4 would bound only deviations from one half).  Not here: whether to publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurate.aggregators.methods.dissimilarity import sampling_variance
from murmurate.aggregators.methods.method import Answer, Decision, Floats
from murmurate.randomizers import Mechanism, mechanism
from murmurate.randomizers.state import Arrays


@dataclass(frozen=True, eq=False)
class Standing:
    """An estimate and the period whose reports it comes from."""

    measured_t: int | None
    unbiased: Floats
    variance: Floats
    """Of each at `measured_t`: no drift in it."""
    mechanism: Mechanism

    def decision(self, t: int, *, mean_square: float | None = None) -> Decision:
        """The estimate as release of period t. `mean_square` estimates the mean over the cells of (c_t - r)^2, noise
        of r and drift together; a cell is given at least that, and its own variance if larger.

        That is honest for the mean cell. One cell alone may have drifted by more, up to d times as much, which no
        mean can tell; and where a period is approximated *because* this number was small, it is small by selection.
        """
        variance = self.variance
        if mean_square is not None:
            # Frequencies sum to 1, so their mean square is at least 1/d^2: what zeros are certainly wrong by.
            least = np.full_like(variance, 1 / len(variance) ** 2) if self.measured_t is None else variance
            variance = np.maximum(least, mean_square)
        return Decision(t, self.measured_t == t, self.measured_t, self.unbiased, variance, self.mechanism)

    def facts(self) -> dict[str, Any]:
        """What of the state is no array."""
        return {"measured_t": self.measured_t, "mechanism": self.mechanism.spec()}

    def arrays(self) -> Arrays:
        """The rest of the state."""
        return {"unbiased": self.unbiased, "variance": self.variance}


def nothing(mechanism: Mechanism) -> Standing:
    """What stands before anything is measured; the mechanism is the one that would have been used."""
    return Standing(None, np.zeros(mechanism.d), np.ones(mechanism.d), mechanism)


def measured(t: int, mechanism: Mechanism, answer: Answer, users: float | None) -> Standing:
    """The estimate from the answer of period t. `users`: of how many its reports are a sample; None if of none."""
    raw = mechanism.estimate(answer.support, answer.counted)
    near = np.clip(raw, 0, 1)
    variance = mechanism.variance(answer.counted, near) + mechanism.added_variance(answer.counted, near)
    if users is not None:
        variance = variance + sampling_variance(raw, answer.counted, users)
    return Standing(t, raw, variance, mechanism)


def restored(facts: dict[str, Any], arrays: Arrays) -> Standing:
    """What `facts` and `arrays` describe."""
    return Standing(
        facts["measured_t"], arrays["unbiased"].copy(), arrays["variance"].copy(), mechanism(facts["mechanism"])
    )
