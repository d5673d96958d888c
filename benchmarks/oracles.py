# SPDX-License-Identifier: Apache-2.0
"""Frequency oracles against pure-ldp and multi-freq-ldpy: reports per second, keyed randomness included.

Fair to the peers: the calls their documentation shows, on values of the type they are fastest with (Python integers,
and reports in a list), compiled before the clock starts.  Servers count and estimate.  The peers' unary reports take d
numbers of 8 bytes each, so they get fewer at a time; their rates do not fall by it.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, against_peers, at_least, at_most, best_seconds
from murmurate.randomizers import GRR, OUE, Key
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.randomness import canonical, contexts

N = 100_000
PEER_N = {("grr", 128): N, ("grr", 1024): N, ("oue", 128): 10_000, ("oue", 1024): 2_000}
EPSILON = 1.0
KEY = Key(bytes(range(32)), deployment="bench")
ROUND = b"\x01" * 32
USERS = contexts(np.arange(N), part=7)
Call = Callable[[], object]


def rows() -> Iterator[Row]:
    yield from keyed_words()
    for d in (128, 1024):
        yield from oracle(GRR(d=d, epsilon=EPSILON), client_times=15, server_times=50)
        yield from oracle(OUE(d=d, epsilon=EPSILON), client_times=10, server_times=15)
    yield from wide_unary()
    yield from single()


def keyed_words() -> Iterator[Row]:
    """One 64-bit word a context: of a report (user and value) and of a stage (row)."""
    values = canonical(np.arange(N) % 128)

    def report() -> None:
        for _ in KEY.draw(USERS, round=ROUND).open(ROUND, values).words(1, np.uint64):
            pass

    took = best_seconds({"report": report, "stage": lambda: KEY.words("permutation", USERS, round=ROUND)})
    yield at_least("keyed words of reports", N / took["report"], 50e6)
    yield at_least("keyed words of a stage", N / took["stage"], 50e6)


def oracle(ours: PureOracle, client_times: int, server_times: int) -> Iterator[Row]:
    """The client and the server of one mechanism and domain."""
    values = some_values(ours.d)
    counts = {"murmurate": N} | dict.fromkeys(("pure-ldp", "multi-freq"), PEER_N[ours.name, ours.d])
    few = values[: counts["pure-ldp"]].tolist()
    peers = {"pure-ldp": pure_ldp(ours.name, ours.d), "multi-freq": multi_freq(ours.name, ours.d)}

    clients: dict[str, Call] = {"murmurate": lambda: ours.perturb(values, KEY.draw(USERS, round=ROUND))}
    clients |= {name: bound(client, few) for name, (client, _) in peers.items()}
    took = best_seconds(clients)
    yield against_peers(f"{ours.name} client d={ours.d}", client_times, rates(counts, took))

    reports = ours.perturb(values, KEY.draw(USERS, round=ROUND))
    servers: dict[str, Call] = {"murmurate": lambda: ours.estimate(ours.support(reports), n=N)}
    servers |= {name: bound(server, client(few)) for name, (client, server) in peers.items()}
    took = best_seconds(servers)
    yield against_peers(f"{ours.name} server d={ours.d}", server_times, rates(counts, took))


def wide_unary() -> Iterator[Row]:
    """OUE at d = 1024: reports a second, and how far the memory of a fresh process grows while it makes them."""
    oue, values = OUE(d=1024, epsilon=EPSILON), some_values(1024)
    took = best_seconds({"client": lambda: oue.perturb(values, KEY.draw(USERS, round=ROUND))})
    yield at_least("oue client d=1024", N / took["client"], 1e6)
    fresh = subprocess.run([sys.executable, "-m", "benchmarks.memory"], check=True, capture_output=True)
    yield at_most("  its peak memory growth", json.loads(fresh.stdout), 100, "MB")


def single() -> Iterator[Row]:
    """One user at a time in plain Python, as an app would: GRR, a draw of its own each."""
    grr, user, few = GRR(d=128, epsilon=EPSILON), USERS[0].tobytes(), 5_000

    def answer() -> None:
        for value in range(few):
            grr.perturb_one(value % 128, KEY.draw_one(user, round=ROUND))

    yield at_least("grr perturb_one d=128", few / best_seconds({"one": answer})["one"], 50e3)


def calls(client: Any, server: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """What pure-ldp's client and server do with all values and all reports at once."""

    def serve(reports: Any) -> Any:
        server.reset()
        server.aggregate_all(reports)
        server.check_and_update_estimates()
        return server.get_estimates

    return lambda values: [client.privatise(value) for value in values], serve


def pure_ldp(name: str, d: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Its client and server: lists of reports, and what it estimates from them."""
    direct = import_module("pure_ldp.frequency_oracles.direct_encoding")
    unary = import_module("pure_ldp.frequency_oracles.unary_encoding")
    if name == "grr":
        client, server = direct.DEClient(EPSILON, d, index_mapper=same), direct.DEServer(EPSILON, d, index_mapper=same)
    else:
        client = unary.UEClient(EPSILON, d, use_oue=True, index_mapper=same)
        server = unary.UEServer(EPSILON, d, use_oue=True, index_mapper=same)

    return calls(client, server)


def multi_freq(name: str, d: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Its client and server."""
    if name == "grr":
        grr = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
        client = grr.GRR_Client
        return (
            lambda values: [client(value, d, EPSILON) for value in values],
            lambda reports: grr.GRR_Aggregator_MI(reports, d, EPSILON),
        )
    unary = import_module("multi_freq_ldpy.pure_frequency_oracles.UE")
    client = unary.UE_Client
    return (
        lambda values: [client(value, d, EPSILON) for value in values],
        lambda reports: unary.UE_Aggregator_MI(reports, EPSILON),
    )


def some_values(d: int) -> NDArray[np.int64]:
    return np.random.default_rng(d).integers(0, d, N)


def rates(counts: dict[str, int], seconds: dict[str, float]) -> dict[str, float]:
    return {name: counts[name] / seconds[name] for name in seconds}


def bound(call: Callable[[Any], object], argument: Any) -> Call:
    return lambda: call(argument)


def same(value: int) -> int:
    return value
