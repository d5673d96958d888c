# SPDX-License-Identifier: Apache-2.0
"""Runs of a method over synthetic users whose reports are drawn as counts, without simulating each user.

Contract: the methods' own code with the mechanisms' own probabilities; only single users are not kept.  In each period
the slots asked hold a sample of the users without replacement, and two rounds of a period have disjoint ones.  The
support of a pure oracle has, cell by cell, the distribution of real reports, to which a pool of hash functions adds a
normal error of its variance, anew in every round.  For GRR, and for subset selection of up to 32 values, the cells have
the right joint distribution; any other mechanism is drawn by its law where that is short, else by real reports of every
user.  The same seed gives the same run.
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

from murmurate.agents.simulate.simulated_vectors import support_of_vectors
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers import GRR, Branches, Faked, Key, Question, SubsetSelection, Viewed, view_clipped
from murmurate.randomizers.fakes import WORDS, fake_reports
from murmurate.randomizers.frequency.appended import AUE
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.vectors import VectorQuestion

Holders = NDArray[np.int64]
"""The number of users who hold each value: int64[d] for a period, int64[periods, d] for a stream."""
Rows = NDArray[np.uint32]
"""Values of several words, one row for each that is counted."""

MOST_USERS = 999_999_999
"""The largest population that NumPy samples from, below 10^9."""
MOST_REPORTS = 1 << 9
"""The largest number of different reports of a mechanism whose counts are drawn by its law."""
MOST_TOGETHER = 32
"""The largest domain for which subsets are drawn whole; in larger ones their k values are nearly independent."""
MOST_ONE_BY_ONE = 10_000_000
"""The largest number of users whose slots are drawn one by one."""
_KEY = Key(hashlib.sha256(b"murmurate/drawn/1").digest(), deployment="drawn")


@dataclass(frozen=True, eq=False)
class Heard:
    """A round with its answer."""

    request: Request
    answer: Answer
    slots: int
    """The number of slots that were asked."""


@dataclass(frozen=True, eq=False)
class Period:
    """The rounds and the decision of one period."""

    t: int
    rounds: tuple[Heard, ...]
    decision: Decision


def run(
    holders: Holders, options: MethodOptions, setting: Setting, *, seed: int, counts_from: int | None = None
) -> Iterator[Period]:
    """Run a method over a stream of users, who are assigned to slots at random. counts_from: the number of reports from
    which a round counts; None for the setting's min_batch.
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
                slots, sample, n = setting.slots, held, users
            else:
                slots, n = int(step.asked.sum()), int(sizes[step.asked].sum())
                sample = generator.multivariate_hypergeometric(left, n, method="marginals")
                left -= sample
            one = Heard(step, answer(step.question, sample, n, least, generator, rows), slots)
            rounds.append(one)
            step = machine.tally(one.answer)
        yield Period(t, tuple(rounds), step)


def answer(
    question: Question, sample: Holders, n: int, min_batch: int, generator: np.random.Generator,
    rows: Rows | None = None,
) -> Answer:  # fmt: skip
    """The counts of the reports of n users who hold these values; none if there are fewer than min_batch, or if a
    branch has no report. rows: the values that are counted, where values are rows of words.
    """
    if n >= min_batch:
        found = (
            support(question, sample, generator)
            if rows is None
            else _support_of_rows(question, sample, generator, rows)
        )
        if question.complete(found):
            return Answer(found, n)
    return Answer(np.zeros(question.outcomes, np.int64), 0)


def _slots(users: int, slots: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """The number of users in each slot. Many users are drawn as counts, since single ones would fill the memory."""
    if users > MOST_ONE_BY_ONE:
        return generator.multinomial(users, np.full(slots, 1 / slots))
    return np.bincount(generator.integers(0, slots, users), minlength=slots)


def support(mechanism: Question, sample: Holders, generator: np.random.Generator) -> NDArray[np.int64]:
    """The support of the reports of users who hold these values, one report each."""
    if isinstance(mechanism, Faked):
        of_users: NDArray[np.int64] = support(mechanism.inner, sample, generator)
        return of_users + _of_fakes(mechanism, generator)
    if isinstance(mechanism, GRR):
        return _grr_support(mechanism, sample, generator)
    if isinstance(mechanism, AUE):
        return sample + generator.binomial(int(sample.sum()), float(mechanism.p), mechanism.d)
    if isinstance(mechanism, SubsetSelection) and mechanism.d <= MOST_TOGETHER:
        return _subset_support(mechanism, sample, generator)
    if isinstance(mechanism, PureOracle):
        p, q, n = float(mechanism.p), float(mechanism.q), int(sample.sum())
        found = generator.binomial(sample, p) + generator.binomial(n - sample, q)
        added = mechanism.added_variance(n, sample / n) if n else np.zeros(mechanism.d)
        if added.any():
            error = generator.normal(0, n * (p - q) * np.sqrt(added))
            found = np.clip(found + np.rint(error).astype(np.int64), 0, n)
        return np.asarray(found)
    if mechanism.reports_possible <= MOST_REPORTS and view_clipped(mechanism) is None:  # clipped ones have many values
        chances, supports = _listed(mechanism, len(sample))
        return np.asarray(generator.multinomial(sample, chances).sum(axis=0) @ supports)
    values = np.repeat(np.arange(len(sample)), sample)
    draw = _KEY.draw(generator.integers(0, 256, (len(values), 16), np.uint8), round=generator.bytes(32))
    return mechanism.support(mechanism.perturb(values, draw))


def _of_fakes(mechanism: Faked, generator: np.random.Generator) -> NDArray[np.int64]:
    """The support of the fakes of a round."""
    words = generator.integers(0, 1 << 64, (mechanism.fakes, WORDS), np.uint64)
    inner = mechanism.of_round(generator.bytes(32)).inner
    return inner.support(fake_reports(inner, words))


def _support_of_rows(
    question: Question, sample: Holders, generator: np.random.Generator, rows: Rows
) -> NDArray[np.int64]:
    """The support of the reports of users who hold these rows: branches divide the users at random, views map rows to
    codes.
    """
    if isinstance(question, Branches):
        chances = np.array([float(chance) for chance in question.chances])
        parts = generator.multinomial(sample, chances / chances.sum()).T
        pairs = zip(question.questions, parts, strict=True)
        return np.concatenate(
            [np.append(part.sum(), _support_of_rows(one, part, generator, rows)) for one, part in pairs]
        )
    if isinstance(question, VectorQuestion):
        return support_of_vectors(question, sample, generator, rows)
    if not isinstance(question, Viewed):
        raise TypeError(f"found {question.name} about rows of words; allowed: vectors, views and branches of them")
    codes, chances = _laws(question, rows.tobytes(), rows.shape[1])
    counts = np.zeros(question.view.d, np.int64)
    holders = generator.multinomial(sample, chances) if chances.shape[1] > 1 else sample[:, np.newaxis]
    np.add.at(counts, codes, holders)
    return support(question.inner, counts, generator)


@lru_cache(maxsize=32)
def _laws(question: Viewed, rows: bytes, words: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The codes that a view may give each row, and their probabilities: two arrays [rows, codes]."""
    values = np.frombuffer(rows, np.uint32).reshape(-1, words)
    laws = [question.view.law(int(row[0]) if words == 1 else tuple(map(int, row))) for row in values]
    width = max(map(len, laws))
    codes, chances = np.zeros((len(laws), width), np.int64), np.zeros((len(laws), width))
    for row, law in enumerate(laws):
        codes[row, : len(law)] = list(law)
        chances[row, : len(law)] = [float(chance) for chance in law.values()]
    return codes, chances / chances.sum(axis=1, keepdims=True)


def _grr_support(mechanism: GRR, sample: Holders, generator: np.random.Generator) -> NDArray[np.int64]:
    """The support under GRR: a report that is not true names each other value with equal probability."""
    d = mechanism.d
    true = generator.binomial(sample, float(mechanism.p))
    if d == 2:
        return np.asarray(true + (sample - true)[::-1])
    others = (1 - np.eye(d)) / (d - 1)
    return np.asarray(true + generator.multinomial(sample - true, others).sum(axis=0))


def _subset_support(mechanism: SubsetSelection, sample: Holders, generator: np.random.Generator) -> NDArray[np.int64]:
    """The support under subset selection, cell by cell: with j values left to choose out of r, a cell is chosen with
    probability j / r.
    """
    d, k = mechanism.d, mechanism.k
    included = generator.binomial(sample, float(mechanism.p))
    support, missing = included.astype(np.int64), np.arange(k + 1)
    before, after = np.zeros((d, k + 1), np.int64), np.zeros(k + 1, np.int64)  # the own cell is to come, or is over
    before[:, k - 1], before[:, k] = included, sample - included
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
    """The probability of each report for each value, float64[d, reports]; and the support of each report,
    int64[reports, outcomes].
    """
    laws = [mechanism.law(value) for value in range(d)]
    reports = sorted(set().union(*laws))
    chances = np.array([[float(law.get(report, 0)) for report in reports] for law in laws])
    supports = [mechanism.support(np.frombuffer(report, np.uint8)[np.newaxis]) for report in reports]
    return chances / chances.sum(axis=1, keepdims=True), np.array(supports, np.int64)
