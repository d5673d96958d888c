# SPDX-License-Identifier: Apache-2.0
"""What a release of 65 536 items costs publish: CPU of the answer, the state and the release, and the state's size.

`python -m benchmarks.many_items` prints milliseconds of CPU beside those of the adaptive filter that follows a tenth of
them all closely, in one run, and how good what it lists is. Not here: devices and counts (benchmarks/vectors.py).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.measures.largest import LargestNumbers, Listing
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers.vectors import SparseOracle
from murmurate.topics.domains import Signed

D, HELD, LISTED = 65_536, 30, 20


def main() -> None:
    """Print what it costs."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--reports", type=int, default=100_000)
    given.add_argument("--periods", type=int, default=40)
    asked = given.parse_args()
    for filtered in ("adaptive", "off"):
        run(asked.reports, asked.periods, filtered)
    closely(D // 10)


def run(n: int, periods: int, filtered: str) -> None:
    """Follow a made-up truth in which 30 of all items are held, by ever fewer users."""
    measure = LargestNumbers(Signed(D, 8), listed=Listing((), LISTED))
    setting = Setting(measure, 1_000_000, 4, 4096, 1, bytes(32), mechanism="exsub")
    followed, rng = method(MethodOptions("lpu", filter=filtered), setting), np.random.default_rng(3)
    true = np.zeros(D)
    true[rng.choice(D, HELD, replace=False)] = 0.5 / np.arange(1, HELD + 1) ** 0.7 * rng.choice([-1, 1], HELD)
    spent, within, ratio, beyond, size = np.zeros(3), list[float](), list[float](), 0, 0
    for t in range(1, periods + 1):
        request = followed.open(t)
        assert isinstance(request, Request)
        question = request.question
        assert isinstance(question, SparseOracle)
        own, opposite, absent, *_ = map(float, question.supports)
        up, down, nobody = np.maximum(true, 0), np.maximum(-true, 0), 1 - np.abs(true)
        rates = np.append(up * own + down * opposite + nobody * absent, down * own + up * opposite + nobody * absent)
        answer = Answer(rng.binomial(n, rates).astype(np.int64), n)
        at = [time.process_time()]
        decision = followed.tally(answer)
        at.append(time.process_time())
        size = len(followed.state())
        at.append(time.process_time())
        assert isinstance(decision, Decision)
        figures = measure.result(decision).named
        at.append(time.process_time())
        spent += np.diff(at)
        chosen = figures.chosen
        assert chosen is not None
        items = np.array([int(name) for name in chosen.found])
        miss, error = figures.estimate[: len(items)] - true[items], figures.stderr[: len(items)]
        within.append(float((np.abs(miss) <= 2 * error).mean()))
        ratio.append(float((np.sign(figures.estimate[: len(items)]) * miss / error).mean()))
        beyond += bool(((true[items] == 0) & (np.abs(figures.estimate[: len(items)]) > chosen.errors * error)).any())
    tally, state, release = 1000 * spent / periods
    costs = f"{tally:.1f} ms an answer, {release:.1f} a release, {state:.1f} its state of {size / 1e6:.1f} MB"
    print(f"filter {filtered}: {costs}")
    print(
        f"  what is found: {100 * np.mean(within):.0f} % within two standard errors, too large by "
        f"{np.mean(ratio):.2f} of them on average; zeros beyond the threshold in {beyond} of {periods} releases"
    )


def closely(followed: int) -> None:
    """What the adaptive filter of so many items costs, means and shares."""
    statistics, rng = 2 * followed, np.random.default_rng(1)
    whole = AdaptiveFilter(statistics, ranges=[(-1.0, 1.0)] * followed + [(0.0, 1.0)] * followed)
    began = time.process_time()
    for _ in range(3):
        seen = OutsideEstimate(0.1 * rng.standard_normal(statistics), np.full(statistics, 0.01), 100)
        whole.learn(seen, Answer(np.zeros(0, np.int64), 100), None)
        whole.release()
        whole.advance()
    spent, size = (time.process_time() - began) / 3, sum(array.nbytes for array in whole.arrays().values())
    print(f"the adaptive filter of {followed} items: {1000 * spent:.0f} ms a period, {size / 1e6:.0f} MB of state")


if __name__ == "__main__":
    main()
