# SPDX-License-Identifier: Apache-2.0
"""A threshold that is found first: what is asked, what stands meanwhile, what every crash leaves, and that it pays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.clipping import Growth
from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import channel_of
from murmurate.aggregators.methods.asking import oracle
from murmurate.aggregators.methods.last_estimate import packed, unpacked
from murmurate.aggregators.methods.method import Answer, Decision, Estimate, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS, finds_first
from murmurate.aggregators.methods.threshold import ExpectedAnswers, FoundThreshold, coarse, find, mean_noise
from murmurate.randomizers import (
    HM,
    SR,
    SW,
    Key,
    Mechanism,
    ParameterError,
    SnapshotError,
    ValueAndPresence,
    clipped,
    view_clipped,
)
from murmurate.randomizers.ledger import Ledger, Verdict
from murmurate.randomizers.randomness import contexts
from tests.aggregators.distribution.dense import band
from tests.aggregators.methods.driving import SEED, Asked, drive, method, told
from tests.measured import figures, sized, vector_decision

KEY = Key(hashlib.sha256(b"hold-out").digest(), deployment="test")
TOP, W, SLOTS, FIRST = 65_536, 4, 256, 7
RANGE = (0.0, 10_000.0)
NONE = TOP + 1
LONG = range(FIRST, FIRST + 4 * W)


def setting(*, none: bool = True, **changes: Any) -> Setting:
    fixed = Setting(sized(TOP + 1 + none, "mean", says_none=none), 1_000_000, W, SLOTS, FIRST, SEED)
    return replace(fixed, **changes)


def spec(name: str, **more: str) -> Mapping[str, str]:
    return {"name": name, "clip": "found", **more}


def skewed(n: int, *, none: bool = True, seed: int = 5) -> np.ndarray:
    """Codes of made-up amounts, most of them small; a fifth of the users has none."""
    rng = np.random.default_rng(seed)
    codes = np.rint(np.clip(rng.lognormal(np.log(60), 1.0, n) / RANGE[1], 0, 1) * TOP).astype(np.int64)
    return np.where(none & (np.arange(n) % 5 == 0), NONE, codes)


def replies(
    codes: np.ndarray, lost: Callable[[int], bool] = lambda t: False, run: int = 0
) -> Callable[[Asked], Answer]:
    """Real reports of the asked users; the same question of the same run has the same answer."""
    slot = np.arange(len(codes)) * 7919 % SLOTS

    def answer(asked: Asked) -> Answer:
        mechanism, mine = asked.request.question, asked.mask(SLOTS)[slot]
        if lost(asked.t) or not mine.any():
            return Answer(np.zeros(mechanism.outcomes, np.int64), 0)
        draw = KEY.draw(contexts(np.flatnonzero(mine) + run * len(codes)), round=asked.digest)
        return Answer(mechanism.support(mechanism.perturb(codes[mine], draw)), int(mine.sum()))

    return answer


def clip_of(step: Asked | Decision) -> int:
    assert isinstance(step, Decision)
    view = view_clipped(step.question)
    return TOP if view is None else view.clip


@pytest.mark.parametrize("none", [True, False])
@pytest.mark.parametrize("name", ["lpu", "lpa", "lba", "lsp"])
def test_everybody_answers_once_then_nobody_and_then_the_method_asks_as_if_it_had_begun_there(
    name: str, none: bool
) -> None:
    of, answer = setting(none=none), replies(skewed(4_000, none=none))
    steps = list(drive(method(spec(name), of), LONG, answer))
    first, one, *others = steps
    assert isinstance(first, Asked)
    assert (first.t, first.request.asked) == (FIRST, None)
    assert first.request.question.spec() == {
        "name": "recoded", "d": of.d, "epsilon_micro": 1_000_000, "clip": TOP, "group": 128,
        "inner": "sw_mean_presence" if none else "sw_mean",
    }  # fmt: skip
    held = [step for step in (one, *others[: W - 1]) if isinstance(step, Decision)]
    assert [(step.t, step.published, step.measured_t) for step in held] == [
        (t, t == FIRST, FIRST) for t in range(FIRST, FIRST + W)
    ]
    clip = clip_of(steps[-1])
    assert 0 < clip <= TOP
    assert clip % 128 == 0
    assert clip < TOP or name == "lsp"  # whose answers are as large as the phase's own
    alone = drive(method({"name": name}, replace(of, first_t=FIRST + W, clip=clip)), LONG[W:], answer)
    for mine, other in zip(others[W - 1 :], alone, strict=True):
        if isinstance(mine, Asked):
            assert isinstance(other, Asked)
            assert told(mine.request) == told(other.request)
        else:
            assert isinstance(other, Decision)
            assert told(mine) == told(other)
            assert (mine.vector.clipped > 0) == (clip < TOP)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_ledger_never_refuses_whatever_method_follows_and_whatever_is_lost(name: str) -> None:
    w = next(w for w in (W, 10, 50) if finds_first(MethodOptions(name, clip="found"), setting(w=w)))
    for lost in (lambda t: False, lambda t: t == FIRST):
        ledger = Ledger(SLOTS, w=w, limit_micro=1_000_000, division=METHODS[name].division)
        asked_first = []
        steps = drive(method(spec(name), setting(w=w)), range(FIRST, FIRST + 4 * w), replies(skewed(800), lost))
        for step in steps:
            if isinstance(step, Asked):
                mask = step.mask(SLOTS)
                verdicts = ledger.charge(step.t, step.request.question.epsilon_micro, step.digest, mask)
                assert (verdicts[mask] == Verdict.CHARGED).all()
                asked_first += [step.t] * bool(step.request.question.outcomes > 300)
        assert asked_first == ([FIRST, FIRST + w] if lost(FIRST) else [FIRST])


@pytest.mark.parametrize(
    ("name", "filtered", "w"),
    [
        *((name, "off", W) for name in ("lpu", "lpa", "lba")),
        *((name, "off", 10) for name in ("lb-pegasus", "lb-fast")),
        ("lba", "adaptive", 10),
    ],
)
def test_a_crash_at_any_point_changes_nothing(name: str, filtered: str, w: int) -> None:
    of, periods, fixed = spec(name, filter=filtered), range(FIRST, FIRST + 3 * w), setting(w=w)
    answer = replies(skewed(700), lambda t: t == FIRST)
    whole = list(drive(method(of, fixed), periods, answer))
    machine, seen = method(of, fixed), []

    def crash() -> None:
        nonlocal machine
        state = machine.state()
        machine = method(of, fixed)
        machine.load(state)
        assert machine.state() == state

    for t in periods:
        crash()
        step = machine.open(t)
        while isinstance(step, Request):
            crash()
            seen.append(told(step))
            ahead = [machine.later(t + k) for k in range(1, 6)]
            crash()
            assert [known and told(known) for known in ahead] == [
                known and told(known) for known in (machine.later(t + k) for k in range(1, 6))
            ]
            step = machine.tally(answer(Asked(t, step)))
        seen.append(told(step))
        again = unpacked(packed(step))
        assert told(again) == told(step)
        assert again.vector.clipped == step.vector.clipped
    assert seen == [told(step.request if isinstance(step, Asked) else step) for step in whole]


def test_what_the_method_asks_is_known_ahead_only_when_its_first_period_is() -> None:
    machine, answer = method(spec("lpu"), setting()), replies(skewed(1_000))
    step = machine.open(FIRST)
    assert isinstance(step, Request)
    assert all(machine.later(t) is None for t in LONG)
    machine.tally(answer(Asked(FIRST, step)))
    assert [machine.later(t) is None for t in LONG] == [t < FIRST + W for t in LONG]
    with pytest.raises(SnapshotError, match="method lpu"):
        method(spec("lpa"), setting()).load(machine.state())


@pytest.mark.parametrize("codes", [np.full(3_000, NONE), np.full(3, 100)])
def test_a_phase_that_sees_nobody_begins_anew_after_its_window(codes: np.ndarray) -> None:
    tiny = len(codes) < 10
    steps = drive(method(spec("lpu"), setting()), LONG, replies(codes, lambda t: tiny))
    asked = [step for step in steps if isinstance(step, Asked)]
    assert [step.t for step in asked] == list(LONG[::W])
    assert all(step.request.asked is None for step in asked)


@pytest.mark.parametrize("none", [True, pytest.param(False, marks=pytest.mark.audit)])
def test_the_mean_that_stands_meanwhile_lies_within_its_error(none: bool) -> None:
    # 20 phases; more than 5 of them outside of two errors would be chance once in 1e4.
    missed, errors = 0, []
    for run in range(20):
        codes = skewed(4_000, none=none, seed=run)
        truth = codes[codes < NONE].mean() / TOP * RANGE[1]
        steps = drive(method(spec("lpu"), setting(none=none)), LONG[:W], replies(codes))
        tell = [figures(step, RANGE) for step in steps if isinstance(step, Decision)]
        missed += abs(tell[0].estimate[0] - truth) > 2 * tell[0].stderr[0]
        assert [one.estimate[0] for one in tell] == [tell[0].estimate[0]] * W
        assert (np.diff([one.stderr[0] for one in tell]) >= 0).all()  # older, and nothing known of drift
        errors.append([abs(found - truth) for found in (tell[0].estimate[0], tell[0].unbiased[0])])
    assert missed <= 5
    mine, raw = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    assert mine < raw / 2  # most of the noise lies in the tail that is cut off


def textbook(
    codes: np.ndarray, support: np.ndarray, clip: int, epsilon: float, likely: np.ndarray
) -> tuple[float, float]:
    """What clipping there takes by weighted least squares, and its error: from the matrix as the paper defines it."""
    wave = SW(d=TOP // 128 + 1, epsilon=epsilon)
    matrix = band(wave.d, wave.reach, float(wave.p), float(wave.q))
    middles = np.minimum(np.arange(wave.d) * 128 + 63.5, TOP)
    above = np.maximum(middles - clip, 0.0)
    root = np.sqrt(matrix.mean(axis=1))
    worth = np.linalg.lstsq((matrix / root[:, None]).T, above, rcond=None)[0] / root
    n, chances = len(codes), matrix @ likely
    return float(worth @ support) / n, float(np.sqrt((worth**2 @ chances - (worth @ chances) ** 2) / n))


@pytest.mark.parametrize("kind", ["skewed", "a hill in the middle"])
def test_what_clipping_may_take_is_what_the_reports_cannot_exclude(kind: str) -> None:
    n, rng = 20_000, np.random.default_rng(8)
    codes = skewed(n, none=False)
    if kind == "a hill in the middle":
        codes = np.where(rng.random(n) < 0.01, rng.integers(TOP // 3, TOP // 2, n), codes)
    of = setting(none=False)
    phase = oracle(coarse(of), 1_000_000)
    support = phase.support(phase.perturb(codes, KEY.draw(contexts(np.arange(n)), round=bytes(32))))
    told_by = find(of, ExpectedAnswers(Fraction(1, W), divided=False, periods=1), FIRST, Answer(support, n))
    assert told_by is not None
    found, known = told_by
    assert found.clip < TOP
    assert found.clipped > 1e-3
    likely = em(channel_of(SW(d=TOP // 128 + 1, epsilon=1)), support).frequencies
    seen, error = textbook(codes, support, found.clip, 1.0, likely)
    assert found.clipped == pytest.approx((max(seen, 0) + error) / TOP, rel=1e-6)
    # What was said of the mean of clipped values holds, too: four errors and half a cell.
    values = 2 * np.minimum(codes, found.clip) / found.clip - 1
    assert abs(known.known[0] - values.mean()) < 4 * np.sqrt(known.variance[0])
    # A release's own error comes on top, and is not in it.
    steps = drive(method(spec("lpu"), of), LONG, replies(codes))
    for step in steps:
        if isinstance(step, Decision) and step.t >= FIRST + W:
            bare, whole = figures(step.with_vector(clipped=0.0), RANGE), figures(step, RANGE)
            assert whole.stderr[0] ** 2 == pytest.approx(bare.stderr[0] ** 2 + (step.vector.clipped * RANGE[1]) ** 2)


def test_what_clipping_may_take_grows_with_the_mean_of_clipped_values() -> None:
    growth = Growth(np.array([100.0, 200.0, 300.0]), np.array([0.0, 0.0, 600.0]))
    found = FoundThreshold(3, 400, 0.002, 0.0, np.zeros(1), 100.0, growth)

    def clipped(level: float, error: float) -> float:
        said = Estimate(9, np.array([level / 200 - 1]), np.array([(error / 200) ** 2]))
        return found.clipped_at(said, TOP)

    assert clipped(90, 0) == clipped(200, 0) == clipped(100, 50) == 0.002
    assert clipped(250, 0) == clipped(150, 50) == pytest.approx(np.hypot(0.002, 300 / TOP))
    assert replace(found, clip=TOP).clipped_at(Estimate(9, np.ones(1), np.ones(1)), TOP) == 0
    of_holders = Estimate(9, np.array([0.5, 0.125]), np.array([0.0, 1e-6]))  # half of all hold 250 on average
    assert found.clipped_at(of_holders, TOP) == pytest.approx(np.hypot(0.002, (50 + 2 * 200 * 2e-3) * 6 / TOP))


@pytest.mark.parametrize(("name", "filtered"), [("lbu", "adaptive"), ("lb-pegasus", "off"), ("lb-fast", "off")])
def test_whatever_averages_knows_what_everybody_answered_and_nothing_of_the_phase_is_revised(
    name: str, filtered: str
) -> None:
    w = 10
    of, periods, answer = setting(w=w), range(FIRST, FIRST + 2 * w), replies(skewed(4_000))
    revised = {"revise": 3} if filtered == "adaptive" else {}
    machine = method({**spec(name, filter=filtered), **revised}, of)
    after = [step for step in drive(machine, periods, answer) if isinstance(step, Decision)][w:]
    clip = clip_of(after[0])
    alone = method({"name": name, "filter": filtered}, replace(of, first_t=FIRST + w, clip=clip))
    without = next(step for step in drive(alone, periods[w:], answer) if isinstance(step, Decision))
    said = (step.vector for step in (after[0], without))
    mine, own = (one.best.variance if one.best else one.variance for one in said)
    if filtered == "adaptive":
        assert (mine < own / 2).all()
    assert mine.mean() < 0.6 * own.mean()  # also of a group, which may hide a little
    assert [step.revised and step.revised.t for step in after] == [
        step.t - 3 if revised and step.t >= FIRST + w + 3 else None for step in after
    ]


def incomes(n: int, rng: np.random.Generator) -> np.ndarray:
    """Most are 0, some small, and one in two hundred stands at the top of the range: parts of it."""
    return np.where(rng.random(n) < 0.005, 1.0, np.where(rng.random(n) < 0.08, rng.uniform(0, 0.15, n), 0))


Replies = Callable[[Asked], Answer]
KINDS: Mapping[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "incomes": incomes,
    "skewed": lambda n, rng: rng.lognormal(np.log(0.02), 1.0, n),
    "spread out": lambda n, rng: rng.random(n),
    "spiky": lambda n, rng: rng.choice([0.01, 0.05, 0.4, 0.99], n, p=[0.7, 0.2, 0.09, 0.01]),
    "heavy-tailed": lambda n, rng: 0.01 * rng.pareto(1.2, n),
}


@dataclass
class Coverage:
    """Errors of estimates after the phase, as parts of the range."""

    off: np.ndarray
    stderr: np.ndarray
    clips: set[int]

    @property
    def held(self) -> float:
        return float((np.abs(self.off) <= 2 * self.stderr).mean())

    @property
    def rmse(self) -> float:
        return float(np.sqrt((self.off**2).mean()))


def measured(
    kind: str, spec: Mapping[str, str], n: int, w: int, periods: int, runs: int, grow: float = 1.0, epsilon: float = 1.0
) -> Coverage:
    """Runs of a method over amounts that stay, but for once, in the middle, when all of them may grow."""
    off, stderr, clips = [], [], set()
    for run in range(runs):
        amounts = KINDS[kind](n, np.random.default_rng([run, 5]))
        codes = [np.rint(np.clip(amounts * factor, 0, 1) * TOP).astype(np.int64) for factor in (1.0, grow)]
        # Who falls into which slot, and the public order of slots, change from run to run.
        shuffled = np.random.default_rng([run, 6]).permutation(n)
        before, after = (replies(each[shuffled], run=run) for each in codes)
        of = setting(
            none=False, w=w, first_t=1, seed=hashlib.sha256(b"%d" % run).digest(), epsilon_micro=int(1e6 * epsilon)
        )

        def answer(asked: Asked, sources: tuple[Replies, Replies] = (before, after)) -> Answer:
            return sources[asked.t > periods // 2](asked)

        for step in drive(method(spec, of), range(1, periods + 1), answer):
            if isinstance(step, Decision) and step.t > w:
                tell = figures(step, (0.0, 1.0))
                truth = codes[step.t > periods // 2].mean() / TOP
                off.append(tell.estimate[0] - truth)
                stderr.append(tell.stderr[0])
                clips |= {clip_of(step)} if spec["clip"] == "found" else set()
    return Coverage(np.array(off), np.array(stderr), clips)


SOME = ("incomes", "skewed", "heavy-tailed")


@pytest.mark.parametrize(
    ("kinds", "n", "w", "runs"), [(SOME, 12_000, 10, 1), pytest.param(KINDS, 32_561, 20, 9, marks=pytest.mark.audit)]
)
def test_behind_a_filter_nothing_is_asked_in_vain(kinds: Iterable[str], n: int, w: int, runs: int) -> None:
    for kind in kinds:
        found, declared = (
            measured(kind, {"name": "lpu", "filter": "adaptive", "clip": clip}, n, w, 6 * w, runs)
            for clip in ("found", "declared")
        )
        assert found.clips == {TOP}  # a hundred periods' answers can tell more than one round of everybody
        assert found.held >= 0.92
        assert np.array_equal(found.off, declared.off)
        assert np.array_equal(found.stderr, declared.stderr)


@pytest.mark.audit
@pytest.mark.parametrize(
    ("name", "filtered", "n", "w", "periods", "runs"),
    [
        ("lpu", "adaptive", 32_561, 60, 240, 30),
        ("lbu", "adaptive", 8_000, 20, 80, 30),
        ("lb-pegasus", "off", 8_000, 20, 80, 150),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_averages_loses_nothing_by_a_phase(
    kind: str, name: str, filtered: str, n: int, w: int, periods: int, runs: int
) -> None:
    """With other seeds the largest ratio was .98. So many runs know it to .1 at worst: a kind of which it is .98 is
    above 1.1 once in nine times. Most are far below.
    """
    found, declared = (
        measured(kind, {"name": name, "filter": filtered, "clip": clip}, n, w, periods, runs)
        for clip in ("found", "declared")
    )
    assert found.held >= 0.92
    assert found.rmse <= 1.1 * declared.rmse


@pytest.mark.parametrize(
    ("kinds", "grow", "runs"),
    [(SOME, 1, 1), *(pytest.param(KINDS, grow, 9, marks=pytest.mark.audit) for grow in (1, 3))],
)
def test_without_a_filter_clipping_pays_and_bars_hold_even_if_amounts_treble(
    kinds: Iterable[str], grow: float, runs: int
) -> None:
    ratios = []
    for kind in kinds:
        found, declared = (
            measured(kind, spec("lpu", clip=clip), 12_000, 10, 50, runs, grow) for clip in ("found", "declared")
        )
        assert found.held >= 0.92
        ratios.append(found.rmse / declared.rmse)
    assert max(ratios) <= 1.1
    assert np.mean(ratios) <= 0.8


@pytest.mark.parametrize("mechanism", [HM(epsilon=2), SR(epsilon=1), ValueAndPresence(epsilon=2)], ids=lambda m: m.name)
def test_the_noise_that_is_weighed_is_the_mechanisms_own(mechanism: Mechanism) -> None:
    means, squares = np.array([-0.9, 0.0, 0.3]), np.array([0.85, 0.2, 0.5])
    for share in (0.3, 1.0):
        found = mean_noise(mechanism, 500, share, means, squares)
        for noise, mean, square in zip(found.tolist(), means, squares, strict=True):
            if isinstance(mechanism, ValueAndPresence):
                assert noise == pytest.approx(mechanism.mean_variance(500, share, mean, square))
            else:
                assert noise == pytest.approx(float(mechanism.noise(np.array([mean, square]))[0]) / 500)


def test_figures_of_a_clipped_mean_are_in_the_declared_range_and_say_what_clipping_may_take() -> None:
    inner = ValueAndPresence(d=1_002, epsilon=2)
    made = clipped(d=NONE + 1, epsilon=2, inner="value_presence", clip=1_000)
    codes = np.full(20_000, 5_000)  # all of them above
    support = made.support(made.perturb(codes, KEY.draw(contexts(np.arange(20_000)), round=bytes(32))))
    profile = made.profile(support, 20_000)
    assert profile.tolist() == inner.profile(support, 20_000).tolist()
    decision = vector_decision(3, True, 3, profile[:2], np.full(2, 1e-4), made, Answer(support, 20_000), clipped=0.01)
    shown, bare = figures(decision, RANGE), figures(decision.with_vector(clipped=0.0), RANGE)
    theta = 1_000 / TOP * RANGE[1]
    assert shown.estimate[0] <= theta
    assert shown.unbiased[0] == pytest.approx(theta, rel=0.05)
    assert shown.stderr[0] == pytest.approx(np.hypot(bare.stderr[0], 100))
    assert shown.stderr[1] == bare.stderr[1]


@pytest.mark.parametrize(
    ("of", "changes", "said"),
    [
        ({"clip": "guessed"}, {}, "clip: found 'guessed'; allowed: declared, found"),
        ({}, {"measure": sized(4)}, "clip: found a stream of frequency; allowed: a mean or a total"),
        ({"variance": "paper"}, {}, "variance: found 'paper'"),
        ({}, {"slots": 3}, "allowed: at least 2 w = 8"),
    ],
)
def test_what_cannot_begin_later_is_refused_at_once(of: dict[str, str], changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        method({**spec("lpa"), **of}, setting(**changes))
