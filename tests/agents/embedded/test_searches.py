# SPDX-License-Identifier: Apache-2.0
"""Streams whose strings are searched for: no crash between phases and no interleaving changes a byte, the audit counts
their tallies again, and nothing but the answers of those who were asked decides what is asked and found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import orjson
import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import FINDING_METHODS
from murmurate.config.plan import Plan
from murmurate.randomizers.identity import slots
from murmurate.topics.codec import decode_record
from murmurate.topics.domains import Bits
from murmurate.topics.messages import Round
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Crashes,
    Event,
    Shuffled,
    arrivals,
    deployment,
    played,
    stream,
)

USERS, PERIODS, W = 200, 7, 3
POINTS = ("before fold", "after fold", "in the transaction", "after the commit", "in a recovery")
SEARCHES = tuple(name for name, kind in FINDING_METHODS.items() if kind.searches is FoundStrings)


@cache
def plan(method: str) -> Plan:
    words = FoundStrings(Bits(16), top=4, least=0.01, pool=256)
    one = stream("screen", slots=96, w=W, method=MethodOptions(method, filter="adaptive"))
    return deployment(replace(one, measure=words), min_batch=2, epsilon_micro=4_000_000)


def events(seed: int = 1) -> Iterator[Event]:
    """Everybody says something in every period; most say "hi"; some say what is too long or no text."""
    rng = random.Random(seed)
    for t in range(PERIODS):
        for user in range(USERS):
            time = (FIRST - 1 + t) * SECOND + rng.randrange(SECOND)
            value = rng.choice([*["hi"] * 7, "yo", "a", "\N{LATIN SMALL LETTER U WITH DIAERESIS}", "much too long", 7])
            yield Event("screen", f"user-{user}", time, value, user % 2, time)


def run(method: str, of: Sequence[Event], **changes: object) -> Runtime:
    records = arrivals(sorted(of, key=lambda one: (one.arrives, one.user)), until=(FIRST + 9) * SECOND, every=500)
    return played(plan(method), records, step=100, **changes)  # type: ignore[arg-type]


@cache
def calm(method: str) -> Runtime:
    return run(method, tuple(events()))


def rounds(runtime: Runtime) -> list[Round]:
    found = [decode_record(record) for record in runtime.logs.all("rounds")]
    return [one for one in found if isinstance(one, Round)]


def test_a_search_finds_what_many_hold_and_refuses_what_is_no_string_of_the_stream() -> None:
    releases = [orjson.loads(record) for record in calm("pem").releases()]
    last = next(one for one in releases[::-1] if "hi" in one["estimate"])
    assert abs(last["estimate"]["hi"] - 7 / 11) < 4 * last["stderr"]["hi"]
    assert last["names"] == "found"
    assert last["discovery"]["since"].keys() == last["estimate"].keys()
    assert last["reports"]["counted"] > 0
    assert last["mechanism"]["name"] == "branches"


@pytest.mark.parametrize("method", SEARCHES)
def test_the_audit_counts_what_a_search_was_told(method: str) -> None:
    runtime = calm(method)

    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))]

    found = audit(plan(method), KEYS.edge.devices, read, {TOPIC: 2})
    assert found.holds


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.audit)])
def test_a_crash_at_any_point_of_a_search_changes_no_byte(method: str, seed: int) -> None:
    rng = random.Random(seed)
    kinds = ("perturb", "aggregate", "publish")
    crashes = Crashes({(point, kind): rng.sample(range(1, 40), 5) for point in POINTS for kind in kinds})
    runtime = run(method, tuple(events()), faults=crashes, schedule=Shuffled(rng))
    assert crashes.died >= 20
    assert runtime.releases() == calm(method).releases()
    assert runtime.logs.all("rounds") == calm(method).logs.all("rounds")


@pytest.mark.parametrize("method", [name for name in SEARCHES if FINDING_METHODS[name].division == "population"])
def test_values_of_users_who_are_not_asked_decide_nothing(method: str) -> None:
    """Whatever they say in the periods that ask them nothing: neither candidates nor what is found knows it."""
    made, asked = plan(method), dict[int, np.ndarray]()
    for one in rounds(calm(method)):
        asked[one.t] = asked.get(one.t, np.zeros(one.slots.of, np.bool_)) | one.slots.mask()
    names = [f"user-{user}" for user in range(USERS)]
    pseudonyms = np.array([np.frombuffer(KEYS.edge.pepper.pseudonym(name.encode()), np.uint8) for name in names])
    slot = dict(zip(names, slots(KEYS.edge.devices.slots, pseudonyms, made.streams[0].slots, "screen"), strict=True))

    def silenced(event: Event) -> Event:
        mask = asked.get(event.time // SECOND)
        return event if mask is None or mask[slot[event.user]] else replace(event, value="zz")

    changed = [silenced(event) for event in events()]
    assert sum(one.value == "zz" for one in changed) > len(changed) / 2
    assert run(method, changed).releases() == calm(method).releases()


@pytest.mark.parametrize("method", SEARCHES)
def test_who_is_asked_when_depends_on_no_value(method: str) -> None:
    others = [replace(event, value="yo") for event in events()]
    mine, theirs = (
        [(one.t, one.slots.mask().tobytes()) for one in rounds(runtime)]
        for runtime in (calm(method), run(method, others))
    )
    assert mine == theirs
