# SPDX-License-Identifier: Apache-2.0
"""Check the claimed epsilon of a question or mechanism: exactly, from its law, and by measuring the reports it sends.

`audit_exact`  over all inputs and outputs, in Fractions: ratio <= e^epsilon, the same reachable reports for every
value, sums of 1. `measure`      a lower bound on epsilon from two groups of users with different values
(Clopper-Pearson at level alpha, on the
               reports that tell the two values apart best). It may exceed the claim only if the question breaks it,
               or by chance alpha.
Source: ARCHITECTURE section 5.12.  Not here: the pipeline around a question.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.binomial import lower, upper
from murmurate.randomizers.errors import ParameterError, ReportError
from murmurate.randomizers.lanes import Bytes
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.mechanism import Mechanism, nats
from murmurate.randomizers.question import Question, Reports, Value
from murmurate.randomizers.randomness import Key, contexts
from murmurate.randomizers.thresholds import exp_floor

_LEARN = 16  # the largest domain over which all pairs of values are compared
_LESSON = 1 << 18  # users a value from whose reports the best set to bet on is found


@dataclass(frozen=True)
class ExactAudit:
    """The result of checking a question's law against its claimed epsilon."""

    claimed: float
    realised: float
    """The logarithm of the largest ratio, in nats."""
    violations: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether there is no violation."""
        return not self.violations


@dataclass(frozen=True)
class MeasuredBound:
    """A lower bound on epsilon from the reports of two groups of users."""

    claimed: float
    at_least: float
    """The lower bound, which exceeds the true epsilon in one case of 1 / alpha at most."""
    trials: int
    """The number of users in each group."""
    alpha: float

    @property
    def holds(self) -> bool:
        """Whether the bound does not exceed the claim."""
        return self.at_least <= self.claimed


def audit_exact(question: Question, *, round: bytes = bytes(32), values: Sequence[Value] | None = None) -> ExactAudit:
    """Compare the laws of all values of the domain, for questions whose values and reports can be listed. round: for
    laws that differ from round to round, the round to take. values: those to compare, where there are too many to list
    (numbers, whose laws are mixtures of those of their signs).
    """
    question = question.of_round(round)
    values = list(layout(question.layout).enumerate()) if values is None else list(values)
    laws = [question.law(value) for value in values]
    groups: dict[int, list[Mapping[bytes, Fraction]]] = {}  # what is public may differ
    for value, law in zip(values, laws, strict=True):
        groups.setdefault(question.public(value), []).append(law)
    bound = exp_floor(question.epsilon_micro)
    violations = []
    for value, law in zip(values, laws, strict=True):
        if sum(law.values()) != 1:
            violations.append(f"value {value}: the probabilities sum to {float(sum(law.values()))}, not 1")
        if any(chance <= 0 for chance in law.values()):
            violations.append(f"value {value}: a listed report has no probability")
        if any(len(report) != question.wire_size for report in law):
            violations.append(f"value {value}: a report is not {question.wire_size} bytes long")
        if law.keys() != groups[question.public(value)][0].keys():
            violations.append(f"value {value}: other reports are possible than for the first of its kind")
    largest = Fraction(1)
    for group in groups.values():
        for report in group[0]:
            chances = [law.get(report, Fraction(0)) for law in group]
            if min(chances) > 0:
                largest = max(largest, max(chances) / min(chances))
    if largest > bound:
        violations.append(f"a report is e^{nats(largest):.9f} times as likely for one value as for another")
    if largest > question.realised:
        violations.append(f"the question says its largest ratio is {float(question.realised)}; it is {float(largest)}")
    return ExactAudit(question.epsilon, nats(largest), tuple(violations))


def measure(
    question: Question, key: Key, *, trials: int, alpha: float = 1e-6, round: bytes = bytes(32)
) -> MeasuredBound:
    """The largest epsilon that can be shown with `trials` users a value, each with a report from `perturb`.

    Bets on the question's own `evidence` for its two extreme values and, where reports are one byte, on the pair of
    values and the set of reports that distinguish them best, as found with other users.
    """
    if trials < 2 or not 0 < alpha < 1:
        raise ParameterError(f"audit: found {trials} trials at alpha {alpha}; allowed: 2 or more, between 0 and 1")
    question = question.of_round(round)
    bets: list[Bet] = [Bet(*question.extremes, None)]
    if isinstance(question, Mechanism) and question.d <= _LEARN and question.wire_size == 1:
        bets.append(_most_telling(question, key, min(trials, _LESSON), round))
    shown = 0.0
    for number, bet in enumerate(bets):
        hits = []
        for value in (bet.one, bet.other):
            count = 0
            for users in _users(2 * number + (value == bet.other), trials):
                reports = _reports(question, key, users, value, round)
                found = (
                    question.evidence(reports, bet.one, bet.other)
                    if bet.telling is None
                    else bet.telling[reports[:, 0]]
                )
                count += int(np.count_nonzero(found))
            hits.append(count)
        shown = max(shown, epsilon_at_least(hits[0], hits[1], trials, alpha / len(bets)))
    return MeasuredBound(question.epsilon, shown, trials, alpha)


def epsilon_at_least(hits_one: int, hits_other: int, trials: int, alpha: float) -> float:
    """A lower bound on ln(p_one / p_other) at level alpha, from the number of reports in one set among `trials` users
    of either value.
    """
    low, high = lower(hits_one, trials, alpha / 2), upper(hits_other, trials, alpha / 2)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def trials_for(question: Question, excess: float, *, alpha: float = 1e-6) -> int:
    """The users a value needed to show an epsilon which is `excess` above the claim (.05: five percent), 999 times in
    1000.

    Normal approximation: both bounds of a measurement give way at once, its noise is that of two independent counts.
    """
    p, q = (math.sqrt(float(1 / chance - 1)) for chance in question.telling)
    normal = NormalDist()
    reach = -normal.inv_cdf(alpha / 2) * (p + q) - normal.inv_cdf(0.001) * math.hypot(p, q)
    return math.ceil((reach / (question.epsilon * excess)) ** 2)


class Bet(NamedTuple):
    """A pair of values, and the one-byte reports that tell the first from the second (None: the question's
    evidence).
    """

    one: Value
    other: Value
    telling: NDArray[np.bool_] | None


def _most_telling(question: Mechanism, key: Key, sample: int, round: bytes) -> Bet:
    """Find, with users of their own, the pair and the reports that show the largest epsilon."""
    seen = np.zeros((question.d, 256), np.int64)
    for value in range(question.d):
        for users in _users(16 + value, sample):
            seen[value] += np.bincount(_reports(question, key, users, value, round)[:, 0], minlength=256)
    best, bet = -math.inf, Bet(0, 1, np.zeros(256, np.bool_))
    for one, other in permutations(range(question.d), 2):
        order = np.argsort(-(seen[one] + 1) / (seen[other] + 1), kind="stable")
        hits, misses = np.cumsum(seen[one][order]) + 1, np.cumsum(seen[other][order]) + 1
        shown = np.log(hits / misses) - 4 * np.sqrt(1 / hits + 1 / misses)
        cut = int(np.argmax(shown))
        if shown[cut] > best:
            telling = np.zeros(256, np.bool_)
            telling[order[: cut + 1]] = True
            best, bet = float(shown[cut]), Bet(one, other, telling)
    return bet


def _users(group: int, n: int) -> Iterator[Bytes]:
    """Pseudonyms of n users who are in no other group."""
    for start in range(0, n, 1 << 18):
        yield contexts(np.arange(start, min(n, start + (1 << 18))), group)


def _reports(question: Question, key: Key, users: Bytes, value: Value, round: bytes) -> Reports:
    """Reports of users who all hold this value. Their length must not depend on it."""
    values = np.repeat(layout(question.layout).array([value]), len(users), axis=0)
    reports = question.perturb(values, key.draw(users, round=round))
    if reports.shape != (len(users), question.wire_size):
        raise ReportError(
            f"{question.name}: found reports of shape {list(reports.shape)} for {len(users)} users; "
            f"allowed: {question.wire_size} bytes each, whatever the value"
        )
    return reports
