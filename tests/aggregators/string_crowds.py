# SPDX-License-Identifier: Apache-2.0
"""Made-up users who hold strings for many periods, in several ways, and what searches make of their reports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.method import Answer, FoundValues, Request, Setting
from murmurate.aggregators.methods.pem import PEM
from murmurate.aggregators.methods.pem_rounds import PEMRounds
from murmurate.aggregators.methods.priv_trie import PrivTrie
from murmurate.randomizers import Key, Viewed
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.string_views import Extensions
from murmurate.topics.domains import Bits

USERS, SLOTS, W, PERIODS, STRINGS = 30_000, 600, 3, 24, 60
MEASURE = FoundStrings(Bits(24), top=8, least=0.005, pool=1024)
SETTING = Setting(MEASURE, 2_000_000, w=W, slots=SLOTS, first_t=1, seed=bytes(32))
ROWS = MEASURE.domain.rows([f"s{number:02d}" for number in range(STRINGS)])
KEY = Key(hashlib.sha256(b"crowds").digest(), deployment="made")
IDS = np.zeros((USERS, 16), np.uint8)
IDS[:, :4] = np.arange(USERS, dtype="<u4").view(np.uint8).reshape(-1, 4)


def _zipf(rng: np.random.Generator) -> Iterator[Floats]:
    """Popular strings, and a long tail."""
    while True:
        yield 1 / np.arange(1.0, STRINGS + 1) ** 1.2


def _even(rng: np.random.Generator) -> Iterator[Floats]:
    """All alike, about as frequent as chance lets pass: found by luck."""
    while True:
        yield np.ones(STRINGS) / 12


def _wandering(rng: np.random.Generator) -> Iterator[Floats]:
    """Every share walks, by a tenth of itself a period."""
    logs = -1.2 * np.log(np.arange(1.0, STRINGS + 1))
    while True:
        logs = logs + 0.1 * rng.standard_normal(STRINGS)
        yield np.exp(logs)


def _trending(rng: np.random.Generator) -> Iterator[Floats]:
    """A string that nobody held rises to a fifth of all in six periods, stays, and goes."""
    t = 0
    while True:
        t += 1
        shares = 1 / np.arange(1.0, STRINGS + 1) ** 1.2
        shares /= shares.sum()
        part = 0.2 * min(1.0, max(0, t - 6) / 6) * (t < 19)
        shares *= 1 - part
        shares[-1] = part
        yield shares


def _one(rng: np.random.Generator) -> Iterator[Floats]:
    """One string that nine users in ten hold."""
    shares = np.full(STRINGS, 0.1 / (STRINGS - 1))
    shares[0] = 0.9
    while True:
        yield shares


KINDS: dict[str, Callable[[np.random.Generator], Iterator[Floats]]] = {
    "zipf": _zipf, "even": _even, "wandering": _wandering, "trending": _trending, "one": _one,
}  # fmt: skip
SEARCHES: dict[str, Callable[[Setting], FindingMethod]] = {"pem": PEM, "pem_rounds": PEMRounds, "priv_trie": PrivTrie}


@dataclass
class Tally:
    """What came of a search, over all releases."""

    errors: list[float] = field(default_factory=list)
    """The errors of all estimates, in their standard errors."""
    first: list[float] = field(default_factory=list)
    """Those of them in the period in which a string was found."""
    raw_first: list[float] = field(default_factory=list)
    """Those that the measurement by which it was found alone would have had."""
    joined: int = 0
    """How many strings were found anew."""
    wrong: int = 0
    """How many of them nobody held."""
    releases: int = 0


def searched(method: str, kind: str, seed: int, tally: Tally, periods: int = PERIODS) -> None:
    """Follow one stream, and add what came of it."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    setting = Setting(MEASURE, 2_000_000, w=W, slots=SLOTS, first_t=1, seed=rng.bytes(32))
    made, slot = SEARCHES[method](setting), rng.integers(0, SLOTS, USERS)
    place = rng.random(USERS)  # a user changes strings only as shares change
    for t, shares in zip(range(1, periods + 1), KINDS[kind](rng), strict=False):
        held = np.searchsorted(np.cumsum(shares / shares.sum()), place)
        held = np.minimum(held, STRINGS - 1)
        step = made.open(t)
        while isinstance(step, Request):
            step = made.tally(_answer(step, held, slot, rng))
        assert isinstance(step.outcome, FoundValues)
        _add(tally, t, step.outcome, held)


def _answer(request: Request, held: np.ndarray, slot: np.ndarray, rng: np.random.Generator) -> Answer:
    assert request.asked is not None
    asked, question = request.asked[slot], request.question
    rows, digest = ROWS[held[asked]], rng.bytes(32)
    if isinstance(question, Viewed) and isinstance(question.view, Extensions):
        assert isinstance(question.inner, PureOracle)
        ones = np.bincount(question.view.codes_of(rows), minlength=question.view.d)
        own = rng.binomial(ones, float(question.inner.p))
        others = rng.binomial(len(rows) - ones, float(question.inner.q))
        return Answer(np.add(own, others, dtype=np.int64), len(rows), digest)
    reports = question.perturb(rows[:, 0], KEY.draw(IDS[asked], round=digest))
    return Answer(question.of_round(digest).support(reports), len(rows), digest)


def _add(tally: Tally, t: int, found: FoundValues, held: np.ndarray) -> None:
    known, counts = np.unique(held, return_counts=True)
    truth = MEASURE.true_shares(ROWS[known], counts, found.values)
    off = ((found.estimates - truth) / found.errors).tolist()
    assert found.finding is not None
    assert found.unbiased is not None
    assert found.unbiased_errors is not None
    new = (found.finding.since == t).tolist()
    raw = ((found.unbiased - truth) / found.unbiased_errors).tolist()
    tally.errors += off
    tally.first += [one for one, joined in zip(off, new, strict=True) if joined]
    tally.raw_first += [one for one, joined in zip(raw, new, strict=True) if joined]
    tally.joined += sum(new)
    tally.wrong += sum(joined and not share for joined, share in zip(new, truth.tolist(), strict=True))
    tally.releases += 1


def within(errors: list[float]) -> float:
    """The part within two standard errors."""
    return float((np.abs(errors) <= 2).mean()) if errors else 1.0
