"""Runs of a method over made-up users, without the users: what all their reports add up to is drawn at once.

Contract: the methods' own code with the mechanisms' own probabilities; only who is who is left out.  In each period the
asked slots hold a sample of the users without replacement, both rounds of a period disjoint ones.  A pure oracle's
support has, cell by cell, the distribution of real reports; what a pool of hash functions adds is drawn as a normal
error of its variance, anew in every round.  GRR's cells have it together, subset selection's too up to 32 values, and
so has the support of any other mechanism: drawn by its law where that is short, else real reports of every user.  The
same seed, the same run.
Source: ARCHITECTURE section 5.7.  Not here: streams (synthetic_counts.py), what is made of a run (series.py), the path
of every user through all stages (run.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers import GRR, Branches, Key, Question, SubsetSelection, Viewed, view_clipped
from murmurate.randomizers.mechanism import PureOracle

Holders = NDArray[np.int64]
"""How many users hold each value: of a period int64[d], of a stream int64[periods, d]."""
Rows = NDArray[np.uint32]
"""Values of several words, a row for each that is counted."""

MOST_USERS = 999_999_999
"""NumPy draws samples from fewer than 10^9."""
MOST_REPORTS = 1 << 9
"""The most different reports that a mechanism may have to be drawn by its law."""
MOST_TOGETHER = 32
"""Subsets of at most so many values are drawn whole: of larger ones, that they hold k values each says next to nothing.
"""
MOST_ONE_BY_ONE = 10_000_000
"""The most users who are put into their slots one by one."""
_KEY = Key(hashlib.sha256(b"murmurate/drawn/1").digest(), deployment="drawn")


@dataclass(frozen=True, eq=False)
class Heard:
    """A round and its answer."""

    request: Request
    answer: Answer
    slots: int
    """How many slots were asked."""


@dataclass(frozen=True, eq=False)
class Period:
    """What a method did in one period."""

    t: int
    rounds: tuple[Heard, ...]
    decision: Decision


def run(
    holders: Holders, options: MethodOptions, setting: Setting, *, seed: int, counts_from: int | None = None
) -> Iterator[Period]:
    """A method over a stream of users, who fall into slots by chance. counts_from: a smaller
    round counts for nothing; None: from the size on from which the method thinks one worth asking.
    """
    generator = np.random.default_rng([seed, 3])
    users, least = int(holders[0].sum()), setting.min_batch if counts_from is None else counts_from
    sizes, rows = _slots(users, setting.slots, generator), setting.measure.held_by
    machine = method(options, setting)
    for i, held in enumerate(holders):
        t, left, rounds = setting.first_t + i, held.copy(), list[Heard]()
        step = machine.open(t)
        while isinstance(step, Request):
            if step.asked is None:
                asked, sample, n = setting.slots, held, users
            else:
                asked, n = int(step.asked.sum()), int(sizes[step.asked].sum())
                sample = generator.multivariate_hypergeometric(left, n, method="marginals")
                left -= sample
            heard = Heard(step, answer(step.question, sample, n, least, generator, rows), asked)
            rounds.append(heard)
            step = machine.tally(heard.answer)
        yield Period(t, tuple(rounds), step)


def answer(
    question: Question, sample: Holders, n: int, min_batch: int, generator: np.random.Generator,
    rows: Rows | None = None,
) -> Answer:  # fmt: skip
    """What n users who hold these values answer together; nothing counts where they are fewer than min_batch, or where
    a part of the question has no answer. rows: the values that are counted, where values are rows of words.
    """
    if n >= min_batch:
        found = support(question, sample, generator) if rows is None else _looked_at(question, sample, generator, rows)
        if question.complete(found):
            return Answer(found, n)
    return Answer(np.zeros(question.outcomes, np.int64), 0)


def _slots(users: int, slots: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """How many users fall into each slot; many are not drawn one by one, which would fill the memory."""
    if users > MOST_ONE_BY_ONE:
        return generator.multinomial(users, np.full(slots, 1 / slots))
    return np.bincount(generator.integers(0, slots, users), minlength=slots)


def support(mechanism: Question, sample: Holders, generator: np.random.Generator) -> NDArray[np.int64]:
    """The support of one report each of users who hold these values."""
    if isinstance(mechanism, GRR):
        return _told(mechanism, sample, generator)
    if isinstance(mechanism, SubsetSelection) and mechanism.d <= MOST_TOGETHER:
        return _chosen(mechanism, sample, generator)
    if isinstance(mechanism, PureOracle):
        p, q, n = float(mechanism.p), float(mechanism.q), int(sample.sum())
        support = generator.binomial(sample, p) + generator.binomial(n - sample, q)
        added = mechanism.added_variance(n, sample / n) if n else np.zeros(mechanism.d)
        if added.any():
            error = generator.normal(0, n * (p - q) * np.sqrt(added))
            support = np.clip(support + np.rint(error).astype(np.int64), 0, n)
        return np.asarray(support)
    if mechanism.reports_possible <= MOST_REPORTS and view_clipped(mechanism) is None:  # whose values are many
        chances, supports = _listed(mechanism, len(sample))
        return np.asarray(generator.multinomial(sample, chances).sum(axis=0) @ supports)
    values = np.repeat(np.arange(len(sample)), sample)
    draw = _KEY.draw(generator.integers(0, 256, (len(values), 16), np.uint8), round=generator.bytes(32))
    return mechanism.support(mechanism.perturb(values, draw))


def _looked_at(question: Question, sample: Holders, generator: np.random.Generator, rows: Rows) -> NDArray[np.int64]:
    """The support of one report each of users who hold these rows: of each branch those who are in it, of each view
    the codes that it tells.
    """
    if isinstance(question, Branches):
        chances = np.array([float(chance) for chance in question.chances])
        parts = generator.multinomial(sample, chances / chances.sum()).T
        pairs = zip(question.questions, parts, strict=True)
        return np.concatenate([np.append(part.sum(), _looked_at(one, part, generator, rows)) for one, part in pairs])
    if not isinstance(question, Viewed):
        raise TypeError(f"found {question.name} about rows of words; allowed: views and branches of them")
    codes, chances = _laws(question, rows.tobytes(), rows.shape[1])
    counts = np.zeros(question.view.d, np.int64)
    told = generator.multinomial(sample, chances) if chances.shape[1] > 1 else sample[:, np.newaxis]
    np.add.at(counts, codes, told)
    return support(question.inner, counts, generator)


@lru_cache(maxsize=32)
def _laws(question: Viewed, rows: bytes, words: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Which codes a view tells of each row, and how likely: two arrays [rows, codes]."""
    values = np.frombuffer(rows, np.uint32).reshape(-1, words)
    laws = [question.view.law(int(row[0]) if words == 1 else tuple(map(int, row))) for row in values]
    width = max(map(len, laws))
    codes, chances = np.zeros((len(laws), width), np.int64), np.zeros((len(laws), width))
    for row, law in enumerate(laws):
        codes[row, : len(law)] = list(law)
        chances[row, : len(law)] = [float(chance) for chance in law.values()]
    return codes, chances / chances.sum(axis=1, keepdims=True)


def _told(mechanism: GRR, sample: Holders, generator: np.random.Generator) -> NDArray[np.int64]:
    """Every report speaks for one value: who does not tell the truth tells each other value alike."""
    d = mechanism.d
    true = generator.binomial(sample, float(mechanism.p))
    if d == 2:
        return np.asarray(true + (sample - true)[::-1])
    others = (1 - np.eye(d)) / (d - 1)
    return np.asarray(true + generator.multinomial(sample - true, others).sum(axis=0))


def _chosen(mechanism: SubsetSelection, sample: Holders, generator: np.random.Generator) -> NDArray[np.int64]:
    """Cell by cell: who still has j values to choose, out of r others, takes this one with chance j / r."""
    d, k = mechanism.d, mechanism.k
    told = generator.binomial(sample, float(mechanism.p))
    support, missing = told.astype(np.int64), np.arange(k + 1)
    before, after = np.zeros((d, k + 1), np.int64), np.zeros(k + 1, np.int64)  # the own cell is to come, or is over
    before[:, k - 1], before[:, k] = told, sample - told
    for cell in range(d):
        for waiting, others in ((before[cell + 1 :], d - 1 - cell), (after, d - cell)):
            if waiting.any():
                taking = generator.binomial(waiting, np.minimum(missing / others, 1))
                support[cell] += taking.sum()
                waiting -= taking
                waiting[..., :-1] += taking[..., 1:]
        after += before[cell]
    return support


@lru_cache(maxsize=16)
def _listed(mechanism: Question, d: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The chance of each report for each value, float64[d, reports]; and what each adds, int64[reports, outcomes]."""
    laws = [mechanism.law(value) for value in range(d)]
    reports = sorted(set().union(*laws))
    chances = np.array([[float(law.get(report, 0)) for report in reports] for law in laws])
    supports = [mechanism.support(np.frombuffer(report, np.uint8)[np.newaxis]) for report in reports]
    return chances / chances.sum(axis=1, keepdims=True), np.array(supports, np.int64)
