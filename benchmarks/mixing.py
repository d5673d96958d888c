# SPDX-License-Identifier: Apache-2.0
"""What mixing is worth: how long one claim takes that nothing is cached for, and one that is.

A claim is a three-digit epsilon of a million reports at delta 10^-8.  No peer is in the table: the code of the papers
takes 1.6 to 11 s for the like, on other machines.  `python -m benchmarks.mixing` prints these rows alone.
"""

from collections.abc import Callable, Iterator

from benchmarks.measure import Row, at_most, best_seconds, heading, line
from murmurate.aggregators.accounting import blanket_epsilon, clones_epsilon, fakes_epsilon, mixed_claim
from murmurate.aggregators.accounting.claim import DIGITS
from murmurate.randomizers import GRR, OLH, OUE, Mechanism
from murmurate.randomizers.numeric import SW

N, FAKES, DELTA = 1_000_000, 100_000, 1e-8
ASKED = (GRR(d=16, epsilon=1), OLH(d=1024, epsilon=1), OUE(d=128, epsilon=1), SW(d=64, epsilon=1))


def rows() -> Iterator[Row]:
    for asked in ASKED:
        yield _row(f"mixed: {asked.name}, blanket", _blanket(asked))
    yield _row("mixed: clones", lambda: clones_epsilon(1.0, N, DELTA, DIGITS))
    yield _row("mixed: grr, fakes", lambda: fakes_epsilon(ASKED[0], N, FAKES, DELTA, DIGITS), 0.3)
    yield _row("mixed: grr, fakes alone", lambda: fakes_epsilon(ASKED[0], 1, FAKES, DELTA, DIGITS))
    cached = best_seconds({"claim": lambda: mixed_claim(ASKED[0], N + 1_234, DELTA)})["claim"]
    yield at_most("mixed: a claim again", cached * 1e6, 100, "us")


def _blanket(asked: Mechanism) -> Callable[[], object]:
    blanket = asked.blanket()
    assert blanket is not None
    return lambda: blanket_epsilon(blanket, N, DELTA, asked.epsilon, DIGITS)


def _row(what: str, claim: Callable[[], object], target_s: float = 0.15) -> Row:
    return at_most(what, best_seconds({"claim": claim})["claim"], target_s, "s")


if __name__ == "__main__":
    print(heading())
    for row in rows():
        print(line(row), flush=True)
