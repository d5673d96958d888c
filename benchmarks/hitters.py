# SPDX-License-Identifier: Apache-2.0
"""A search for frequent strings that nobody has listed: devices, counting, and the search, on one core.

`python -m benchmarks.hitters` measures PEM for the 32 most frequent of 48 and of 128 bits, among 2^20 users, epsilon 2.
The peers are pure-ldp's PEM and TreeHist, where they are installed, over 12 bits: each of their reports is hashed with
every value of the domain, which for 48 bits they cannot hold.  `python -m benchmarks.hitters memory` prints how many MB
a process rises by at its peak.  Not here: how good what is found is (`murmurate reproduce hitters`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from benchmarks.measure import Row, against_peers, at_least, at_most, heading, line
from benchmarks.memory import held_mb
from benchmarks.questions import least_seconds
from murmurate.aggregators.hitters.pem import PrefixPlan
from murmurate.aggregators.hitters.search import Floats, Walked
from murmurate.randomizers import Branches, Key, LongPrefix, OLHCounts, Viewed
from murmurate.randomizers.layouts import BitsLayout
from murmurate.randomizers.layouts import Row as Rows
from murmurate.randomizers.question import Counts
from murmurate.randomizers.randomness import contexts

N: Final = 1 << 20
EPSILON, K, POOL = 2.0, 32, 16_400
BITS: Final = 48
KEY = Key(bytes(range(32)), deployment="bench")
ROUND = bytes([2]) * 32
LANE: Final = 1 << 17
"""Users of a call, as many as a partition of a worker might hold."""
FEW, SMALL = 200, 12
"""Users and bits that the peers can do in a second."""


class CountedPrefixes:
    """A group's counts, which are asked about prefixes."""

    def __init__(self, question: Viewed, counts: Counts, n: int) -> None:
        view, oracle = question.view, question.inner
        assert isinstance(view, LongPrefix)
        assert isinstance(oracle, OLHCounts)
        self.view, self.oracle, self.counts, self.n, self.bits = view, oracle, counts, n, view.bits

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        """Shares and variances of these prefixes."""
        shares = self.oracle.shares_of(self.counts, self.n, self.view.codes_of(rows))
        return shares, self.oracle.variances_of(self.counts, self.n, shares)


class MeasuredSearch:
    """PEM among users of whom half hold one of 32 strings."""

    def __init__(self, m: int, n: int = N, k: int = K) -> None:
        self.plan, self.n, self.of = PrefixPlan.within(m, k), n, BitsLayout(m, none=True)
        self.views = [LongPrefix(self.of.spec(), bits) for bits in self.plan.bits]
        parts = [Viewed(view, OLHCounts(d=view.d, epsilon=EPSILON, pool=POOL)) for view in self.views]
        self.question = Branches([(1, part) for part in parts])
        rng = np.random.default_rng(5)
        strings = rng.integers(0, 1 << 32, (n, self.of.words), np.uint32)
        strings[:, 0] >>= 1
        strings[:, -1] &= np.uint32(0xFFFFFFFF << (31 - m % 32) & 0xFFFFFFFF)
        self.frequent = strings[:K].copy()
        strings[: n // 2] = self.frequent[np.sort(rng.integers(0, K, n // 2))]
        self.strings = strings if self.of.words > 1 else strings[:, 0].astype(np.int64)
        self.users = contexts(np.arange(n), part=3)

    def tell(self, users: int = LANE) -> np.ndarray:
        """The reports of some users."""
        return self.question.perturb(self.strings[:users], KEY.draw(self.users[:users], round=ROUND))

    def count(self) -> Counts:
        """The counts of all users."""
        bound, counts = self.question.of_round(ROUND), np.zeros(self.question.outcomes, np.int64)
        for start in range(0, self.n, LANE):
            rows = slice(start, start + LANE)
            reports = self.question.perturb(self.strings[rows], KEY.draw(self.users[rows], round=ROUND))
            assert not bound.malformed(reports).any()
            counts += bound.support(reports)
        return counts

    def find(self, counts: Counts) -> Walked:
        """The search in the counts."""
        bound = self.question.of_round(ROUND)
        told = []
        for question, (n, part) in zip(bound.questions, bound.parts(counts), strict=True):
            assert isinstance(question, Viewed)
            told.append(CountedPrefixes(question, part, n))
        return self.plan.found(self.of, told)


def rows() -> Iterator[Row]:
    """Devices, pairs, a whole search, its memory; 128 bits beside 48; peers."""
    usual, counted = MeasuredSearch(BITS), dict[int, Counts]()
    spent: dict[int, tuple[float, float]] = {}
    for m in (BITS, 128):
        search = usual if m == BITS else MeasuredSearch(m)
        counted[m] = search.count()
        find = of(search, counted[m])
        found = find()
        assert {bytes(row) for row in found.rows} <= {bytes(row) for row in search.frequent}
        spent[m] = least_seconds(search.tell) / LANE, min(timed(find) for _ in range(3))
        if m == BITS:
            yield at_least(f"PEM {m} bits, reports", 1 / spent[m][0], 5e6)
            yield at_least("their counts, reports", counts_a_second(search), 1e7)
            yield at_least("pairs of seed, candidate", pairs_a_second(), 2.4e8)
            yield at_most(f"search, {search.plan.queries:,} queries", spent[m][1], 3, "s")
            yield at_least(f"  found of {K}", len(found.rows), K, "")
    yield at_most("128 bits, a report", spent[128][0] / spent[BITS][0], 3, "x")
    yield at_most("128 bits, the search", spent[128][1] / spent[BITS][1], 3, "x")
    grown = subprocess.run([sys.executable, "-m", "benchmarks.hitters", "memory"], check=True, capture_output=True)
    yield at_most("memory, all of it", float(grown.stdout), 400, "MB")
    if find_spec("pure_ldp"):
        yield from beside_peers()


def of(search: MeasuredSearch, counts: Counts) -> Callable[[], Walked]:
    return lambda: search.find(counts)


def timed(run: Callable[[], object]) -> float:
    """Seconds of the processor for one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def counts_a_second(search: MeasuredSearch) -> float:
    """Reports that are counted."""
    reports, bound = search.tell(), search.question.of_round(ROUND)
    return LANE / least_seconds(lambda: bound.support(reports))


def pairs_a_second() -> float:
    """Pairs of a seed and a candidate."""
    made = OLHCounts(d=(1 << 48) + 1, epsilon=EPSILON, pool=POOL).of_round(ROUND)
    rng = np.random.default_rng(1)
    counts = np.bincount(rng.integers(0, made.outcomes, N // 6), minlength=made.outcomes)
    codes = rng.integers(0, 1 << 48, 1 << 11)
    return POOL * len(codes) / least_seconds(lambda: made.support_of_counts(counts, codes))


def beside_peers() -> Iterator[Row]:
    """Users a second, from their strings to what is found; TreeHist's fragments are half a string."""
    hashing, prefixes, fragments = (
        import_module(f"pure_ldp.{name}")
        for name in (
            "frequency_oracles.local_hashing", "heavy_hitters.prefix_extending", "heavy_hitters.treehistogram",
        )
    )  # fmt: skip
    own, half = MeasuredSearch(SMALL, N, 4), EPSILON / 2
    clients, servers = (kind(half, 1 << SMALL, use_olh=True) for kind in (hashing.LHClient, hashing.LHServer))
    peers: dict[str, tuple[Any, Any]] = {
        "PEM": (prefixes.PEMClient(EPSILON, 2, SMALL, 5), prefixes.PEMServer(EPSILON, 2, SMALL, 5)),
        "TreeHist": (
            fragments.TreeHistClient(EPSILON, SMALL // 2, SMALL, fo_client=clients),
            fragments.TreeHistServer(EPSILON, SMALL, SMALL // 2, fo_server=servers),
        ),
    }
    ours = N / timed(lambda: own.find(own.count()))
    for name, (client, server) in peers.items():
        theirs = FEW / timed(of_peer(client, server))
        yield against_peers(f"{SMALL} bits, users; {name}", 100, {"murmurate": ours, "pure-ldp": theirs})


def of_peer(client: Any, server: Any) -> Callable[[], object]:
    """A whole search of a peer."""

    def whole() -> None:
        for string in np.random.default_rng(6).integers(0, 1 << SMALL, FEW):
            server.aggregate(client.privatise(format(int(string), f"0{SMALL}b")))
        server.find_heavy_hitters(k=4)

    return whole


def memory() -> float:
    """MB by which this process rises at its peak: strings, reports of a lane, counts and the search."""
    before = held_mb("VmRSS")
    search = MeasuredSearch(BITS)
    search.find(search.count())
    return held_mb("VmHWM") - before


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        print(round(memory(), 1))
    else:
        print(heading())
        for row in rows():
            print(line(row), flush=True)
