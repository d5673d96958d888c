"""Which mechanism a round should name: the one with the smallest exact variance.

Contract: the choice is a function of domain, epsilon and rule alone, so that it can be made again.  "Ada" of the
LDP-IDS paper is this rule and never a mechanism in a round.  Not here: what a mechanism does (randomizers/).
"""

from typing import Literal

from murmurate.randomizers import GRR, OUE, Mechanism, ParameterError
from murmurate.randomizers.thresholds import Epsilon

Rule = Literal["exact", "paper"]


def choose(*, d: int, epsilon: Epsilon, rule: Rule = "exact") -> Mechanism:
    """The better of GRR and OUE for this domain, at the epsilon that is really used.

    exact: by the mean variance over all d values, which is the variance at frequency 1/d because the frequencies sum
    to 1. paper: by the variance of a value that nobody holds, which gives GRR while d < 3 e^epsilon + 2 (Wang 2021,
    section 3.4.1). It ignores that GRR's variance grows faster with the frequency: at epsilon 1 and d = 8 to 10 it
    takes the worse one.

    >>> choose(d=5, epsilon=1.0), choose(d=10, epsilon=1.0), choose(d=10, epsilon=1.0, rule="paper")
    (GRR(d=5, epsilon=1.0), OUE(d=10, epsilon=1.0), GRR(d=10, epsilon=1.0))
    """
    if rule not in ("exact", "paper"):
        raise ParameterError(f"rule: found {rule!r}; allowed: exact, paper")
    frequency = 1 / d if rule == "exact" else 0.0
    candidates: tuple[Mechanism, ...] = (GRR(d=d, epsilon=epsilon), OUE(d=d, epsilon=epsilon))
    return min(candidates, key=lambda mechanism: float(mechanism.variance(1, frequency)))
