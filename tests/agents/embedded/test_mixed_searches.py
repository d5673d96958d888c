# SPDX-License-Identifier: Apache-2.0
"""Searches under a central target, from events to releases: they find what many hold, claim what their window is worth
and no more than the target, and the audit has nothing to say.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

import orjson
import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.accounting import mixed_claim, window_claim
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan, resolve
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Round
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Crashes, Event, Shuffled, arrivals, played

USERS, PERIODS, W, BATCH = 400, 6, 3, 100
BOTH = ("tree_hist", "tree_hist_all")


@cache
def made(method: str) -> Plan:
    promise = {"epsilon": 6, "mixed": {"epsilon": 2.0}, "delta": 1e-4, "assumed_corrupt": 0.0, "min_batch": BATCH}
    table = {"measure": "strings", "find": "strings", "bits": 16, "top": 4, "least": 0.05, "every": "1s"}
    return plan(build({
        "schema": 1, "name": "shop", "privacy": {**promise, "window": {"periods": W}},
        "population": {"partitions": 2}, "time": {"lateness": "500ms", "patience": "3s"},
        "streams": {"q": {**table, "method": method, "slots": 96, "missing": {"carry": "always"}}},
    }))  # fmt: skip


def events() -> Iterator[Event]:
    """Everybody says something in every period, nearly all the same."""
    rng = random.Random(3)
    for t in range(PERIODS):
        for user in range(USERS):
            time = (FIRST - 1 + t) * SECOND + rng.randrange(SECOND)
            yield Event("q", f"user-{user}", time, rng.choice(["hi"] * 9 + ["yo"]), user % 2, time)


def run(method: str, **changes: object) -> Runtime:
    of = sorted(events(), key=lambda one: (one.arrives, one.user))
    records = arrivals(of, until=(FIRST + 8) * SECOND, every=500)
    return played(made(method), records, step=100, **changes)  # type: ignore[arg-type]


@cache
def calm(method: str) -> Runtime:
    return run(method)


@pytest.mark.parametrize("method", BOTH)
def test_releases_find_what_many_hold_and_claim_what_their_window_is_worth(method: str) -> None:
    (stream,) = made(method).streams
    releases = [orjson.loads(record) for record in calm(method).releases()]
    asked = [one for record in calm(method).logs.all("rounds") if isinstance(one := decode_record(record), Round)]
    assert stream.mixed is not None
    assert any("hi" in one["estimate"] for one in releases)
    claims = [one["privacy"]["shuffled"] for one in releases if one["privacy"]["shuffled"] is not None]
    assert len(claims) >= PERIODS - 2
    assert max(claim["epsilon"] for claim in claims) <= stream.mixed.claim.epsilon <= 2
    first = resolve(made(method), "q")
    for claim in claims:  # composed exactly, a release's claim is hardly smaller
        n = claim["n"]
        exact = window_claim([(first, n, 2)], 1e-4) if method == "tree_hist_all" else mixed_claim(first, n, 1e-4)
        assert exact.epsilon <= claim["epsilon"] <= 1.1 * exact.epsilon
    full = [one.slots.count() == stream.slots for one in asked if one.slots.count()]
    assert all(full) if method == "tree_hist_all" else not any(full)


@pytest.mark.parametrize("method", BOTH)
def test_the_audit_has_nothing_to_say(method: str) -> None:
    runtime = calm(method)

    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]

    found = audit(made(method), KEYS.edge.devices, read, {TOPIC: 2})
    assert found.holds, found.where
    assert found.reports > 0


@pytest.mark.parametrize("method", BOTH)
def test_a_crash_at_any_point_changes_no_byte(method: str) -> None:
    rng = random.Random(7)
    points = ("before fold", "after fold", "in the transaction", "after the commit", "in a recovery")
    crashes = Crashes(
        {(point, kind): rng.sample(range(1, 30), 4) for point in points for kind in ("perturb", "publish")}
    )
    torn = run(method, faults=crashes, schedule=Shuffled(rng))
    assert crashes.died >= 10
    assert torn.releases() == calm(method).releases()
    assert torn.logs.all("rounds") == calm(method).logs.all("rounds")
