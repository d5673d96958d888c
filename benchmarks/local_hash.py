# SPDX-License-Identifier: Apache-2.0
"""Optimized local hashing against pure-ldp and multi-freq-ldpy: reports per second, keyed randomness included.

Fair to the peers as in oracles.py: Python integers, reports in a list.  They draw a fresh seed for every report and
their servers hash all n d pairs, one call a pair, so they get fewer reports; rates do not fall by it.  Ours is asked
both ways: with its default pool of seeds, and with fresh ones, which is the work that they do.  pure-ldp's own pool
(FastLH) stands beside ours of the same size; the table of hashes that it makes beforehand is not in its time.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from benchmarks.measure import Row, against_peers, best_seconds
from benchmarks.oracles import EPSILON, KEY, ROUND, USERS, Call, N, bound, calls, rates, same, some_values
from murmurate.randomizers.frequency.local_hash import DEFAULT_POOL
from murmurate.randomizers.frequency.olh import OLH

PEER_N = {128: 10_000, 1024: 2_000}
POOLED_D = 128


def rows() -> Iterator[Row]:
    for d in PEER_N:
        yield from oracle(d)
    yield pooled()


def oracle(d: int) -> Iterator[Row]:
    """The client, and the server both ways, of one domain."""
    ours, fresh = OLH(d=d, epsilon=EPSILON).of_round(ROUND), OLH(d=d, epsilon=EPSILON, pool=0)
    values = some_values(d)
    counts = {"murmurate": N, "fresh": N} | dict.fromkeys(("pure-ldp", "multi-freq"), PEER_N[d])
    few = values[: PEER_N[d]].tolist()
    peers = {"pure-ldp": pure_ldp(d), "multi-freq": multi_freq(d)}

    clients: dict[str, Call] = {"murmurate": lambda: ours.perturb(values, KEY.draw(USERS, round=ROUND))}
    clients |= {name: bound(client, few) for name, (client, _) in peers.items()}
    yield against_peers(f"olh client d={d}", 60, rates(counts, best_seconds(clients)))

    reports, singles = (made.perturb(values, KEY.draw(USERS, round=ROUND)) for made in (ours, fresh))
    servers: dict[str, Call] = {
        "murmurate": lambda: ours.estimate(ours.support(reports), n=N),
        "fresh": lambda: fresh.estimate(fresh.support(singles), n=N),
    }
    servers |= {name: bound(server, client(few)) for name, (client, server) in peers.items()}
    found = rates(counts, best_seconds(servers))
    with_fresh_seeds = found.pop("fresh")
    yield against_peers(f"olh server d={d}", 300, found)
    yield against_peers(f"  fresh seeds d={d}", 60, found | {"murmurate": with_fresh_seeds})


def pooled() -> Row:
    """The server with a pool of seeds, against a peer's with one of the same size."""
    ours, values = OLH(d=POOLED_D, epsilon=EPSILON).of_round(ROUND), some_values(POOLED_D)
    reports = ours.perturb(values, KEY.draw(USERS, round=ROUND))
    client, server = fast_pure_ldp(POOLED_D)
    servers: dict[str, Call] = {
        "murmurate": lambda: ours.estimate(ours.support(reports), n=N),
        "pure-ldp": bound(server, client(values.tolist())),
    }
    found = rates(dict.fromkeys(servers, N), best_seconds(servers))
    return against_peers(f"  a peer's pool d={POOLED_D}", 15, found)


def pure_ldp(d: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Its client and server: lists of reports, and what it estimates from them."""
    local = import_module("pure_ldp.frequency_oracles.local_hashing")
    return calls(
        local.LHClient(EPSILON, d, use_olh=True, index_mapper=same),
        local.LHServer(EPSILON, d, use_olh=True, index_mapper=same),
    )


def fast_pure_ldp(d: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The same with a pool of seeds."""
    local = import_module("pure_ldp.frequency_oracles.local_hashing")
    return calls(
        local.FastLHClient(EPSILON, d, DEFAULT_POOL, use_olh=True, index_mapper=same),
        local.FastLHServer(EPSILON, d, DEFAULT_POOL, use_olh=True, index_mapper=same),
    )


def multi_freq(d: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Its client and server."""
    local = import_module("multi_freq_ldpy.pure_frequency_oracles.LH")
    client = local.LH_Client
    return (
        lambda values: [client(value, d, EPSILON) for value in values],
        lambda reports: local.LH_Aggregator_MI(reports, d, EPSILON),
    )
