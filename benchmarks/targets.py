# SPDX-License-Identifier: Apache-2.0
"""How long a central target takes at start, and a window whose rounds answers decide: `python -m benchmarks.targets`.

Seconds of one core's time, each in a state without any cache; then the gain, as the chooser sees it, and how far the
worst schedule of a window is from the dearest one that can be fixed beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.measure import at_least, at_most, heading, line
from murmurate.aggregators.accounting import (
    MixedTarget,
    WindowRounds,
    largest_epsilon,
    under_target,
    window_claim,
    worst_window,
)
from murmurate.aggregators.accounting import blanket as blankets
from murmurate.aggregators.accounting.gaussian import dominating_mu
from murmurate.aggregators.candidates import candidates
from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.strings import Prefixes
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers import OLH
from murmurate.topics.domains import Bits, Grid, Items

TARGET = MixedTarget(0.1, 1e-8, 0.1)
MEASURES: dict[str, Measure] = {
    "frequency, d = 4096": Frequency.of_size(4096),
    "mean, 65 537 points": Mean(Grid(0, 1, 65_537, "points")),
    "distribution, 512 stretches": Distribution.of_size(513),
    "items, 1024": ItemShares(Items(1024, 8), pad=4),
    "strings, 12 bits": Prefixes(Bits(48), prefix=12),
}
SETTING = Setting(Frequency.of_size(64), 1_000_000, 20, slots=4_000, first_t=1, seed=bytes(32))


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def forget() -> None:
    dominating_mu.cache_clear()
    blankets.orders_of.cache_clear()


def rounds(name: str, micro: int = 1_000_000, mechanism: str = "auto") -> WindowRounds:
    return method(MethodOptions(name), replace(SETTING, epsilon_micro=micro, mechanism=mechanism)).most_rounds()


def main() -> None:
    print(heading())
    for name, measure in MEASURES.items():
        forget()

        def chosen(measure: Measure = measure) -> object:
            return under_target(candidates(measure), TARGET, smallest=100_000, limit=8_000_000)

        print(line(at_most(f"target, {name}", seconds(chosen), 2, "s")))
    for name in ("lb-dsat", "lba", "lbd"):
        forget()

        def largest(name: str = name) -> object:
            return largest_epsilon(lambda micro: rounds(name, micro), TARGET, smallest=10_000, limit=8_000_000)

        print(line(at_most(f"target of a window, {name}", seconds(largest), 2, "s")))
    best = under_target(
        candidates(Frequency.of_size(915)), MixedTarget(0.5, 1e-9), smallest=602_325, limit=20_000_000
    )  # fmt: skip
    local = float(OLH(d=915, epsilon=0.5).variance(602_325, 1 / 915))
    print(line(at_least("less error than OLH at a local 0.5", local / best.variance, 100, "x")))
    for name, mechanism, amounts, most in (
        ("lba", "auto", [500_000], 1.05),
        ("lbd", "oue", [500_000 >> k for k in range(1, 9)], 1.1),
        ("lbd", "auto", [500_000 >> k for k in range(1, 9)], 3),  # what clones give
    ):
        of = rounds(name, mechanism=mechanism)
        fixed = [(of.question(amount), 10_000, 1) for amount in amounts]
        known = window_claim([(of.question(25_000), 10_000, 20), *fixed], 1e-8)
        found = worst_window(of, 10_000, 1e-8)
        print(line(at_most(f"worst over fixed, {name}, {mechanism}", found.epsilon / known.epsilon, most, "x")))


if __name__ == "__main__":
    main()
