# SPDX-License-Identifier: Apache-2.0
"""Where horizons of changes cross LPU: without a filter by exact variances, behind the filter by simulation.

`python -m benchmarks.horizons lpu` prints the ratio of variances of SaO2 and LPU on one bit, and more bits;
`--picture docs/images/horizons.svg` draws it.  `python -m benchmarks.horizons filter` simulates LPU with the filter on
truths in which every user changes once in a horizon, gradually or in so many steps at random times, and divides the
exact error of SaO2 at one change, which nothing about a truth alters, by its mean squared error.  A figure below 1 says
that SaO2 has the smaller error.  `python -m benchmarks.horizons forms` divides the variance with the best form of
reports by that with the paper's.  Not here: a deployment's own comparison (`murmurate plan`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from math import exp, expm1
from pathlib import Path

import numpy as np

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture
from murmurate.agents.simulate.simulated_answers import run
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.horizon_errors import horizon_unit
from murmurate.aggregators.methods.horizons import SaO2
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers import GRR
from murmurate.randomizers.sessions import Category, Count
from murmurate.randomizers.sessions.node import Node

BIT = Count(2, none=False)
WINDOWS = (128, 256, 512, 1_024, 2_048, 4_096, 8_192)
CHANGES = (1, 2, 4, 8)
STEPS = (0, 4, 8, 16, 32, 64)
RUNS = 3


def ratio(w: int, periods: int, changes: int, d: int = 1, epsilon: float = 1.0, *, told: bool = False) -> float:
    """SaO2's variance over LPU's: of noise alone, or with the sampling of users, of whom half have the bit. d: a bit,
    or so many values beside none, of which a user has one at most.
    """
    ones = BIT if d == 1 else Category(d + 1, none=True)
    ours = horizon_unit(ones, round(epsilon * 10**6), changes, w, periods, told=told)
    grr = float(GRR(d=d + 1, epsilon=epsilon).variance(1, 0.0))
    noise = min(grr, 4 * exp(epsilon) / expm1(epsilon) ** 2)  # or by OUE
    return ours / (w * (noise + 0.25 * told))


def tables() -> None:
    """Ratios by w and s, by T, by d and by epsilon."""
    for told, what in ((False, "noise alone"), (True, "sampling of users and all changes included")):
        print(f"sao2 / lpu, variances, one bit, epsilon 1, T = w; {what}")
        print("     w " + "".join(f"{w:>8}" for w in WINDOWS))
        for s in CHANGES:
            print(f" s = {s} " + "".join(f"{ratio(w, w, s, told=told):8.2f}" for w in WINDOWS))
    print("by the horizon, w = 1024, s = 2: T = " + row([(t, ratio(1_024, t, 2)) for t in (512, 1_024, 2_048, 8_192)]))
    print("by epsilon, w = T = 1024, s = 2: " + row([(e, ratio(1_024, 1_024, 2, 1, e)) for e in (0.5, 1, 2, 4)]))
    print("by coordinates, w = T = 1024, s = 2: d = " + row([(d, ratio(1_024, 1_024, 2, d)) for d in (1, 4, 16, 64)]))


def row(found: Sequence[tuple[float, float]]) -> str:
    """Settings and their ratios."""
    return ", ".join(f"{of:g}: {value:.2f}" for of, value in found)


def forms() -> None:
    """The best form's variance over the paper's, users who tell all changes that they may."""
    epsilons = (0.25, 0.5, 1, 2, 4)
    print('form = "best" / the paper\'s, variances, T = w = 1024, by epsilon')
    for what, ones in (("one bit", BIT), ("a number of 8 steps", Count(9, none=False))):
        print(f"{what:<20}" + "".join(f"{epsilon:8g}" for epsilon in epsilons))
        for s in CHANGES[1:]:
            found = [
                horizon_unit(ones, round(epsilon * 10**6), s, 1_024, 1_024, form="best")
                / horizon_unit(ones, round(epsilon * 10**6), s, 1_024, 1_024)
                for epsilon in epsilons
            ]
            print(f"  s = {s:<14}" + "".join(f"{one:8.2f}" for one in found))


def drawn() -> str:
    """The ratios by w, as a picture."""
    looks = [Look(i) for i in range(4)]
    across = [(float(np.log2(w)), str(w)) for w in WINDOWS[::2]]

    def chart(title: str, curves: Sequence[Curve]) -> Chart:
        ends = [(x, 1.0) for x, _ in curves[0].points]
        even = Curve("as good", Look(None, 1, 1.0), ends)
        return Chart(title, across, [*curves, even], "w", logarithmic=True, ends=(0.03, 20.0))

    def curve(name: str, look: Look, ratios: Sequence[float]) -> Curve:
        return Curve(name, look, [(float(np.log2(w)), one) for w, one in zip(WINDOWS, ratios, strict=True)])

    by_s = [curve(f"{s} changes", looks[i], [ratio(w, w, s) for w in WINDOWS]) for i, s in enumerate(CHANGES)]
    by_t = [
        curve(f"T = {name}", Look(4 + i), [ratio(w, round(w * part), 2) for w in WINDOWS])
        for i, (name, part) in enumerate((("w/2", 0.5), ("w", 1), ("8w", 8)))
    ]
    by_d = [curve(f"d = {d}", Look(i, 2), [ratio(w, w, 2, d) for w in WINDOWS]) for i, d in enumerate((1, 4, 16))]
    by_e = [
        curve(f"epsilon {e:g}", Look(4 + i, 2), [ratio(w, w, 2, 1, e) for w in WINDOWS])
        for i, e in enumerate((0.5, 1.0, 2.0))
    ]
    charts = [chart("by changes s", by_s), chart("by horizon T, s = 2", by_t)]
    charts += [chart("by coordinates d, s = 2", by_d), chart("by epsilon, s = 2", by_e)]
    return picture("SaO2's variance over LPU's without the filter, by w", charts)


def rising(w: int, steps: int, seed: int) -> np.ndarray:
    """The share of users with the bit in two horizons, in each of which it goes from .05 to .95: in so many steps, or
    gradually (0).
    """
    rng = np.random.default_rng([seed, steps, w])
    found = list[np.ndarray]()
    for _ in range(2):
        moves = np.full(w, 0.9 / w)
        if steps:
            moves[:] = 0
            moves[rng.choice(np.arange(1, w), steps, replace=False)] = 0.9 / steps
        found.append(0.05 + np.cumsum(moves))
    return np.asarray(np.minimum(np.concatenate(found), 1.0))


def filtered(users: int, w: int, steps: int, seed: int) -> float:
    """The mean squared error of LPU with the filter in the second horizon."""
    share = rising(w, steps, seed)
    held = np.rint(share * users).astype(np.int64)
    setting = Setting(
        Frequency.of_size(2, says_none=False), 10**6, w, w, first_t=0, seed=hashlib.sha256(b"%d" % seed).digest()
    )
    periods = run(np.stack((users - held, held), axis=1), MethodOptions("lpu", filter="adaptive"), setting, seed=seed)
    best = (period.decision.vector.best for period in periods)
    off = [one.statistics[1] - share[i] for i, one in enumerate(best) if one is not None and i >= w]
    return float(np.mean(np.square(off)))


def told(users: int, w: int, steps: int, seed: int) -> float:
    """The mean squared error of SaO2 in both horizons, by its own code."""
    share = rising(w, steps, seed)
    found = [(float(one.vector.unbiased[0]) + 1) / 2 for one in decisions(users, w, share, seed)]
    return float(np.mean(np.square(found - share)))


def decisions(users: int, w: int, share: np.ndarray, seed: int, **options: str) -> Iterator[Decision]:
    """The decisions of SaO2 by its own code, where this share of users has the bit and each gets it once in a horizon
    of w periods; answers are drawn by their laws.
    """
    rng = np.random.default_rng([seed, 7])
    setting = Setting(Mean.of_size(2, says_none=False), 10**6, w, 16_384, first_t=0, seed=bytes(32), min_batch=100)
    made = SaO2(setting, **{"horizon": str(w), "changes": "1", "users": str(users), **options})
    for t, true in enumerate(share):
        step = made.open(t)
        while isinstance(step, Request):
            node = step.question
            assert isinstance(node, Node)
            assert step.asked is not None
            n, first = int(rng.binomial(users, step.asked.mean())), node.first_t(t)
            began = share[first + node.begins - 1] if node.begins else 0.0
            changed = rng.binomial(n, true - began)
            own, opposite, absent = map(float, node.protocol.supports)
            of_changed = rng.multinomial(changed, (own, opposite, max(0.0, 1 - own - opposite)))
            of_others = rng.multinomial(n - changed, (absent, absent, max(0.0, 1 - 2 * absent)))
            step = made.tally(Answer((of_changed + of_others)[:2], n))
        yield step


def measured(users: int, w: int, steps: int) -> None:
    """Both methods on the same truths."""
    ours, theirs = (float(np.mean([of(users, w, steps, seed) for seed in range(8)])) for of in (told, filtered))
    exact = horizon_unit(BIT, 10**6, 1, w, w) / users
    print(
        f"{users:.0e} users, w = {w}, {steps} steps: standard error of sao2 {ours**0.5:.3g} (exact {exact**0.5:.3g}),"
    )
    print(f"of lpu with the filter {theirs**0.5:.3g}; ratio of mean squared errors {ours / theirs:.2f}")


def against_filter(populations: Sequence[int], windows: Sequence[int]) -> None:
    """The exact error of SaO2 over that of LPU with the filter, by users, windows and steps."""
    print("sao2 (s = 1, T = w) / lpu with the filter, mean squared errors, one bit, epsilon 1, by steps a horizon")
    print("    users      w  gradual" + "".join(f"{steps:>8}" for steps in STEPS[1:]))
    for users in populations:
        for w in windows:
            ours = horizon_unit(BIT, 10**6, 1, w, w) / users
            found = [ours / np.mean([filtered(users, w, steps, seed) for seed in range(RUNS)]) for steps in STEPS]
            print(f"{users:9.0e} {w:6} {found[0]:8.2f}" + "".join(f"{one:8.2f}" for one in found[1:]), flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    if "--picture" in words:
        Path(words[words.index("--picture") + 1]).write_text(drawn(), encoding="utf-8")
    if words[:1] == ["lpu"]:
        tables()
    elif words[:1] == ["forms"]:
        forms()
    elif words[:1] == ["measured"]:
        measured(*(int(float(word)) for word in words[1:] or ("1e7", "512", "40")))
    elif words[:1] == ["filter"]:
        given = [int(float(word)) for word in words[1:]]
        against_filter(given[:1] or (10**6, 10**7, 10**8), given[1:] or (512, 2_048, 8_192))
