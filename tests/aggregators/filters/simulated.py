"""The adaptive filter on made-up streams: its error over LPA's own, and how often its error bars hold.

Contract: `score` is a function of its arguments; users are drawn exactly, but all at once: who holds what among those
asked is hypergeometric, their reports are binomial.  LPA and LPU are the real methods with the real mechanisms; both
see the same truth.  Source: spec filter.md, the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.synthetic import probabilities
from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.methods.asking import sample_of
from murmurate.aggregators.methods.method import Answer, Decision, Question, Setting
from murmurate.aggregators.methods.registry import method as method_of
from murmurate.aggregators.methods.turns import Turns
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.randomizers import Mechanism
from tests.aggregators.methods.driving import SEED, Asked, counts

Floats = NDArray[np.float64]
Round = tuple[Mechanism, Answer, float | None]

USERS, PERIODS, WINDOW, SLOTS = 200_000, 800, 20, 4_000
SETTLED = 20
"""Periods that are not scored."""
RECENT = 10
"""Periods after a jump in which coverage is counted again."""


@dataclass(frozen=True, eq=False)
class Stream:
    """What is true."""

    truth: NDArray[np.int64]
    """Holders of each value: int64[periods, d]."""
    jumped: NDArray[np.bool_]
    """In which periods it jumped: bool[periods]."""

    @property
    def shares(self) -> Floats:
        """float64[periods, d]."""
        return np.asarray(self.truth / self.truth.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Recording:
    """What a method asked and was answered, and what it released of itself."""

    rounds: list[list[Round]]
    """Of each period."""
    series: Floats
    """The method's own releases: float64[periods, d]."""


@dataclass(frozen=True)
class Score:
    """Means over seeds."""

    lpa: float
    """LPA's own mean squared error."""
    ratio: float
    """The filter's over it."""
    projected: float
    """The same with estimates that are frequencies: norm_sub afterwards."""
    raw: float
    """The unfiltered method's over it."""
    coverage: float
    """Share of errors within two standard errors."""
    after_jumps: float
    """The same in the periods after a jump; nan where nothing jumped."""


# ---- streams ----


def _two(p: Floats, users: int) -> NDArray[np.int64]:
    ones = np.rint(p * users).astype(np.int64)
    return np.stack((users - ones, ones), axis=1)


def _apportioned(shares: Floats, users: int) -> NDArray[np.int64]:
    ends = np.rint(np.cumsum(shares, axis=1) * users).astype(np.int64)
    ends[:, -1] = users
    return np.diff(ends, axis=1, prepend=0)


def _softmax(logits: Floats) -> Floats:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _jumps(rng: np.random.Generator, periods: int) -> NDArray[np.bool_]:
    return rng.random(periods) < 1 / 100


def _step(rng: np.random.Generator, periods: int) -> tuple[Floats, NDArray[np.bool_]]:
    jumped = _jumps(rng, periods)
    levels = np.concatenate(([0.05], rng.uniform(0.02, 0.3, int(jumped.sum()))))
    return levels[np.cumsum(jumped)], jumped


def _walks(rng: np.random.Generator, periods: int, d: int) -> tuple[Floats, NDArray[np.bool_]]:
    steps = rng.normal(0, 0.02, (periods, d))
    return _softmax(rng.normal(0, 1, d) + np.cumsum(steps, axis=0)), np.zeros(periods, np.bool_)


def _sines(rng: np.random.Generator, periods: int, d: int) -> tuple[Floats, NDArray[np.bool_]]:
    t = np.arange(periods)[:, None]
    turn = 2 * np.pi * (t / rng.uniform(200, 800, d) + rng.random(d))
    return _softmax(rng.normal(0, 1, d) + 0.5 * np.sin(turn)), np.zeros(periods, np.bool_)


def _all_jump(rng: np.random.Generator, periods: int, d: int) -> tuple[Floats, NDArray[np.bool_]]:
    jumped = _jumps(rng, periods)
    levels = _softmax(rng.normal(0, 1, (int(jumped.sum()) + 1, d)))
    return levels[np.cumsum(jumped)], jumped


def _two_swap(rng: np.random.Generator, periods: int, d: int) -> tuple[Floats, NDArray[np.bool_]]:
    jumped = _jumps(rng, periods)
    shares, level = np.empty((periods, d)), _softmax(rng.normal(0, 1, d))
    for t in range(periods):
        if jumped[t]:
            two = rng.choice(d, 2, replace=False)
            level = level.copy()
            level[two] = level[two[::-1]]
        shares[t] = level
    return shares, jumped


SEVERAL: dict[str, Callable[[np.random.Generator, int, int], tuple[Floats, NDArray[np.bool_]]]] = {
    "walks": _walks,
    "sines": _sines,
    "jumps": _all_jump,
    "swaps": _two_swap,
}
BINARY = ("lns", "sin", "log", "step")


def stream(model: str, seed: int, *, d: int = 2, users: int = USERS, periods: int = PERIODS) -> Stream:
    """A stream of this kind: one of BINARY with d = 2, or one of SEVERAL."""
    rng = np.random.default_rng([seed, 2])
    if model in SEVERAL:
        shares, jumped = SEVERAL[model](rng, periods, d)
        return Stream(_apportioned(shares, users), jumped)
    if model == "step":
        p, jumped = _step(rng, periods)
        return Stream(_two(p, users), jumped)
    assert model in ("lns", "sin", "log")
    return Stream(_two(probabilities(model, periods, seed), users), np.zeros(periods, np.bool_))  # type: ignore[arg-type]


# ---- users and methods ----


def record(stream: Stream, *, method: str, mechanism: str, epsilon: float, seed: int, w: int = WINDOW) -> Recording:
    """Run a method over a stream."""
    rng = np.random.default_rng([seed, 3])
    d, users = stream.truth.shape[1], int(stream.truth[0].sum())
    sizes = np.bincount(rng.integers(0, SLOTS, users), minlength=SLOTS)
    setting = Setting(
        d=d, epsilon_micro=round(epsilon * 1e6), w=w, slots=SLOTS, first_t=0, seed=SEED, mechanism=mechanism
    )
    machine = method_of({"name": method}, setting)
    assert isinstance(machine, Turns)
    rounds: list[list[Round]] = []
    series = np.empty(stream.truth.shape)
    for t, cell in enumerate(stream.truth):
        left, of_period = cell.copy(), list[Round]()
        said = machine.open(t)
        while isinstance(said, Question):
            n = int(sizes[Asked(t, said).mask(SLOTS)].sum())
            holders = rng.multivariate_hypergeometric(left, n)
            left -= holders
            answer = Answer(_supports(said, holders, rng), n)
            question, said = said, machine.tally(answer)
            of_period.append((question.mechanism, answer, sample_of(machine.division, machine.crowd)))
        assert isinstance(said, Decision)
        series[t] = said.unbiased
        rounds.append(of_period)
    return Recording(rounds, series)


def _supports(question: Question, holders: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    support = counts(question, holders, rng)
    if question.mechanism.name == "grr":  # over two values: the other count is the rest
        assert len(holders) == 2
        support[0] = holders.sum() - support[1]
    return support


def filtered(recording: Recording, filter_: AdaptiveFilter) -> Iterator[tuple[Floats, Floats]]:
    """Estimates and variances, period by period."""
    for rounds in recording.rounds:
        for mechanism, answer, users in rounds:
            filter_.learn(mechanism, answer, users)
        yield filter_.release()
        filter_.advance()


def recent(jumped: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which periods lie within RECENT of a jump, its own included."""
    return np.convolve(jumped, np.ones(RECENT))[: len(jumped)] > 0


def score(
    model: str,
    *,
    mechanism: str,
    epsilon: float,
    d: int = 2,
    seeds: range = range(10),
    method: str = "lpu",
    periods: int = PERIODS,
) -> Score:
    """A method and the filter over LPA's own series, after the first periods."""
    lpa = raw = own = near = 0.0
    held, told, held_late, told_late = 0, 0, 0, 0
    for seed in seeds:
        true = stream(model, seed, d=d, periods=periods)
        c, late = true.shares[SETTLED:], recent(true.jumped)[SETTLED:]
        first = record(true, method="lpa", mechanism=mechanism, epsilon=epsilon, seed=seed)
        heard = (
            first if method == "lpa" else record(true, method=method, mechanism=mechanism, epsilon=epsilon, seed=seed)
        )
        estimate, variance = map(np.array, zip(*filtered(heard, AdaptiveFilter(d)), strict=True))
        error = estimate[SETTLED:] - c
        lpa += float(((first.series[SETTLED:] - c) ** 2).mean())
        raw += float(((heard.series[SETTLED:] - c) ** 2).mean())
        own += float((error**2).mean())
        near += float(((np.array([norm_sub(f) for f in estimate[SETTLED:]]) - c) ** 2).mean())
        within = error**2 <= 4 * variance[SETTLED:]
        held, told = held + int(within.sum()), told + within.size
        held_late, told_late = held_late + int(within[late].sum()), told_late + within[late].size
    after = held_late / told_late if told_late else float("nan")
    return Score(lpa / len(seeds), own / lpa, near / lpa, raw / lpa, held / told, after)
