# SPDX-License-Identifier: Apache-2.0
"""How far the last release is from the present, and how far a new one would be: dis and err of the adaptive methods.

Contract: `dissimilarity` estimates the mean over the statistics of (c_t - r)^2; `publication_error` is the same mean
for a release made from n fresh reports.  Both take raw estimates: clipping or projecting first biases dis
(ARCHITECTURE section 5.1).  For frequencies V is the mechanism's exact variance at 1/d, which is its mean over all
cells, since frequencies sum to 1: err depends on (epsilon, n, d) and never on an estimate (ARCHITECTURE erratum E2: the
paper's second term lacks 1/d).

"paper" takes V for the whole error.  But n reports of n_hat users are a sample of their values: sampling adds c(1-c)/n
to each cell, 17 % of V at epsilon 1 and 161 % at 2.5.  "sampling" subtracts the total variance estimated from counts
and adds the sampling of the fresh reports to err.  Under budget division everybody answers and "paper" is exact. The
noise of a mean depends on the values, so that for numbers there is "sampling" alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from murmurate.aggregators.methods.method import Answer, Floats
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.errors import shown

if TYPE_CHECKING:  # measures know how large errors are
    from murmurate.aggregators.measures.measure import Measure

Rule = Literal["sampling", "paper"]
RULES: tuple[Rule, ...] = ("sampling", "paper")


def checked_rule(rule: str, measure: Measure, mechanism: Question) -> Rule:
    """The rule of this name, if it can be used for this measure."""
    for known in RULES:
        if rule == known == "paper" and not measure.even_noise:
            raise ParameterError(
                f"variance: found 'paper' with {mechanism.name}; allowed: with frequencies; or 'sampling'"
            )
        if rule == known:
            return known
    raise ParameterError(f"variance: found {shown(rule)}; allowed: {', '.join(RULES)}")


def total_variance(mechanism: Question, profile: Floats, n: int) -> float:
    """The variance from mechanism and sampling together, averaged over the statistics: unbiased from n >= 2 reports.
    For frequencies, with pi = support / n, it is the mean of pi (1 - pi) / ((n - 1) (p - q)^2).
    """
    return float((mechanism.noise(profile) + mechanism.sampling(profile)).mean()) / (n - 1)


def finite_population_factor(n: float, users: float) -> float:
    """(users - n) / (users - 1): the exact factor of a sample without replacement."""
    return (users - n) / (users - 1) if users > max(n, 1.0) else 0.0


def dissimilarity(mechanism: Question, answer: Answer, release: Floats, rule: Rule) -> float | None:
    """dis: the mean squared distance of the present from a release, unbiased, so that it may be negative. None if the
    reports are too few to estimate their own variance.
    """
    n = answer.counted
    if n < (2 if rule == "sampling" else 1):
        return None
    profile = mechanism.profile(answer.support, n)
    noise = total_variance(mechanism, profile, n) if rule == "sampling" else mechanism.mean_noise(profile) / n
    return float(((profile[: mechanism.statistics] - release) ** 2).mean()) - noise


def publication_error(mechanism: Question, n: float, users: float, profile: Floats, rule: Rule) -> float:
    """err: the mean squared error that a release from n of these users would have, in a population with this (raw)
    profile. n may be an expectation.
    """
    error = mechanism.mean_noise(profile) / n
    if rule == "sampling":
        error += mechanism.mean_sampling(profile) / n * finite_population_factor(n, users)
    return error
