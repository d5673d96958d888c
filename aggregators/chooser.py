# SPDX-License-Identifier: Apache-2.0
"""Which mechanism a round should name: of all oracles the one with the smallest exact variance, or a short report.

Contract: the choice is a function of domain, epsilon, rule and preference alone, so that it can be made again.  "Ada"
of the LDP-IDS paper is the rule "paper" and never a mechanism in a round.  Not here: what a mechanism does.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Literal

from murmurate.randomizers import GRR, OUE, Mechanism, ParameterError
from murmurate.randomizers.fakes import fakes_variance, takes_fakes
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.registry import ORACLES
from murmurate.randomizers.thresholds import MICRO, Epsilon, micro_nats

Rule = Literal["exact", "paper"]
Prefer = Literal["accuracy", "bytes"]

NEAR = {"accuracy": 1.01, "bytes": 1.5}
"""How many times the smallest variance is still good enough to let something else decide."""
QUICK = ("grr", "oue", "sue", "hr", "olh", "subset", "the", "blh")
"""The oracles by how little they ask of a device: of those that are as accurate, the first is taken."""
FAKED = tuple(name for name in QUICK if name in ("grr", "hr", "olh", "subset", "blh"))
"""The oracles among whose reports fakes can hide: subset selection only where there are few subsets."""


def choose(
    *, d: int, epsilon: Epsilon, rule: Rule = "exact", prefer: Prefer = "accuracy", fakes: Fraction | None = None
) -> Mechanism:
    """The best oracle for this domain, at the epsilon that is really used.

    exact: by the mean variance over all d values, which is the variance at frequency 1/d because the frequencies sum
    to 1. accuracy: of those within 1 % of the smallest one the quickest; bytes: of those within half as much again the
    one with the shortest reports. paper: by the variance of a value that nobody holds, between GRR and OUE, which gives
    GRR while d < 3 e^epsilon + 2 (Wang 2021, section 3.4.1). It ignores that GRR's variance grows faster with the
    frequency: at epsilon 1 and d = 8 to 10 it takes the worse one. A pool's added variance depends on how many answer
    and is left out: the accurate choice takes OLH only where nothing else is near. fakes: how many of them come to a
    user's report; then only oracles that take fakes are compared, each with the variance that they add.

    >>> choose(d=4, epsilon=1.0), choose(d=10, epsilon=1.0), choose(d=1000, epsilon=1.0)
    (GRR(d=4, epsilon=1.0), SubsetSelection(d=10, epsilon=1.0), OUE(d=1000, epsilon=1.0))
    >>> choose(d=1000, epsilon=1.0, prefer="bytes"), choose(d=10, epsilon=1.0, rule="paper")
    (HadamardResponse(d=1000, epsilon=1.0), GRR(d=10, epsilon=1.0))
    """
    if rule not in ("exact", "paper"):
        raise ParameterError(f"rule: found {rule!r}; allowed: exact, paper")
    if prefer not in NEAR:
        raise ParameterError(f"prefer: found {prefer!r}; allowed: {', '.join(NEAR)}")
    if rule == "paper":
        return min(GRR(d=d, epsilon=epsilon), OUE(d=d, epsilon=epsilon), key=lambda made: float(made.variance(1, 0.0)))
    return _chosen(d, micro_nats(epsilon), prefer, fakes)


@lru_cache(maxsize=256)
def _chosen(d: int, micro: int, prefer: Prefer, fakes: Fraction | None) -> Mechanism:
    GRR(d=d, epsilon=Fraction(micro, MICRO))  # a domain or an epsilon that is none is refused here, by name
    names = [name for name in (QUICK if fakes is None else FAKED) if d <= ORACLES[name].max_domain]
    made = [ORACLES[name](d=d, epsilon=Fraction(micro, MICRO)) for name in names]
    made = [oracle for oracle in made if fakes is None or takes_fakes(oracle)]
    variance = {oracle: float(oracle.variance(1, 1 / d)) + _added(oracle, fakes) for oracle in made}
    near = [oracle for oracle in made if variance[oracle] <= NEAR[prefer] * min(variance.values())]
    return near[0] if prefer == "accuracy" else min(near, key=lambda oracle: (oracle.wire_size, variance[oracle]))


def _added(oracle: Mechanism, fakes: Fraction | None) -> float:
    """What so many fakes to a report add to a report's variance."""
    if not fakes:
        return 0.0
    assert isinstance(oracle, PureOracle)  # noqa: S101 - what takes fakes is one
    return float(fakes) * fakes_variance(oracle, 1, 1)
