# SPDX-License-Identifier: Apache-2.0
"""No method, whatever crashes, lets anybody learn more than epsilon about any w periods of a user: in exact arithmetic.

Two streams that differ in one window of one user go through all stages, from events to releases, with crashes
everywhere and snapshots all the time.  What left the devices is heard where it leaves them, so that what a crash threw
away counts too, and compared with the log.  The law behind it is joint.py's.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest

from murmurate.agents.embedded import task as task_module
from murmurate.agents.embedded.runtime import Runtime
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS
from murmurate.config.plan import Plan
from murmurate.randomizers.mechanism import nats
from murmurate.randomizers.thresholds import exp_floor
from murmurate.topics.block import ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.domains import Categories, Grid
from tests.agents.world import FIRST, KEYS, SECOND, Crashes, Event, Shuffled, arrivals, deployment, played, stream
from tests.audit import planted
from tests.audit.joint import Told, listening

W, USERS, PERIODS = 4, 240, 12
EPSILON = 3_000_000
"""Micro-nats; enough for adaptive methods to publish often among few users."""
CLAIM = exp_floor(EPSILON)
SAYS = (None, "home", "help")
"""What a user may do in a period: nothing, or one of two values."""
KINDS = ("door", "perturb", "shuffle", "aggregate", "publish")
POINTS = ("before fold", "after fold", "in the transaction", "after the commit", "in a snapshot", "in a recovery")
SPECS = {
    **{name: {"name": name} for name in METHODS},
    **{f"{name}, paid": {"name": name, "grouping": "paid"} for name in ("lb-pegasus", "lp-pegasus")},
    **{f"{name}, clip found": {"name": name, "clip": "found"} for name in ("lpu", "lpa", "lba")},
}
NUMBERS = {None: None, "home": 10.0, "help": 60.0}
"""What users do in a stream of numbers."""
LEAST = {"lb-rescuedp": 0.3, "lb-dsat": 0.5}
"""The part of epsilon that a window uses at least, where it is not nearly all."""
SHORT, LONG = 1, 20
"""Seeds a method and mechanism."""
TWICE = ("lpa",)
"""Where the short form has a second mechanism, too."""
LONG_ONLY = ("lp-pegasus, paid", "lpu, clip found", "lba, clip found")
"""Those that have no short form: the two parts of each are in others."""


@pytest.fixture(autouse=True)
def snapshots_are_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_module, "SNAPSHOT_BYTES", 5_000)


def plan(spec: Mapping[str, Any], mechanism: str = "grr") -> Plan:
    screen = replace(
        stream("screen", domain=Categories(("home", "help")), w=W, mechanism=mechanism),
        method=MethodOptions(**spec),
    )  # fmt: skip
    if "clip" in spec:
        screen = replace(screen, measure=Mean(Grid(0.0, 100.0, 17, "points")), mechanism="auto")
    return deployment(screen, epsilon_micro=EPSILON, partitions=2, min_batch=2)


def habits(rng: random.Random) -> list[list[str | None]]:
    """What each user does in each period: most of them one thing, and another one every three periods."""
    everybody = [rng.choices(SAYS, [1, 4, 1] if t // 3 % 2 else [1, 1, 4], k=USERS) for t in range(PERIODS + 1)]
    everybody[0] = ["home"] * USERS  # who is there before the first period is asked about it
    return [list(user) for user in zip(*everybody, strict=True)]


def run(made: Plan, said: Sequence[Sequence[str | None]], rng: random.Random, deaths: int = 5) -> tuple[Runtime, Told]:
    """The stream through all stages. deaths: of each kind of stage at each point."""
    start, means = FIRST - 1, NUMBERS if made.streams[0].measure.clips else {what: what for what in SAYS}
    events = [
        Event("screen", f"user-{u}", (start + t) * SECOND + u, value, u % 2, (start + t) * SECOND + u)
        for t in range(PERIODS + 1)
        for u in range(USERS)
        if (value := means[said[u][t]]) is not None
    ]
    moments = {(point, kind): rng.sample(range(1, 60), deaths) for point in POINTS for kind in KINDS}
    crashes = Crashes(moments)
    records = arrivals(events, until=(FIRST + PERIODS + 1) * SECOND, every=500)
    with listening() as told:
        runtime = played(made, records, faults=crashes, schedule=Shuffled(rng), step=200)
    assert len(runtime.releases()) == PERIODS
    assert crashes.died > 5 * deaths
    return runtime, told


def in_the_log(runtime: Runtime) -> dict[bytes, Counter[bytes]]:
    """Reports by round, as the mixing zone has them."""
    found: dict[bytes, Counter[bytes]] = defaultdict(Counter)
    for record in runtime.logs.all("reports"):
        block = decode_record(record)
        if isinstance(block, ReportBlock):
            found[block.round].update(report.tobytes() for report in block.reports)
    return found


def pseudonym(user: int) -> bytes:
    return KEYS.edge.pepper.pseudonym(f"user-{user}".encode())


Law = Mapping[bytes, Fraction]


@dataclass
class Pair:
    """Two runs whose streams differ in one window of one user, in every period of it."""

    one: Told
    other: Told
    user: bytes
    window: range

    def laws(self) -> list[tuple[Law, Law]]:
        """Of each report about the window, as the one stream and the other have it, for the first run's questions."""
        here, there = self.one.values(self.user), self.other.values(self.user)
        asks = [ask for ask in self.one.answered(self.user, self.window) if ask.t in there]
        return [(ask.question.law(here[ask.t]), ask.question.law(there[ask.t])) for ask in asks]

    def told(self) -> Fraction:
        """By how much any joint outcome may be likelier for the one stream than for the other, or the reverse."""
        one = prod((max(a[y] / b[y] for y in a) for a, b in self.laws()), start=Fraction(1))
        other = prod((max(b[y] / a[y] for y in a) for a, b in self.laws()), start=Fraction(1))
        return max(one, other)


def neighbours(made: Plan, seed: int) -> Pair:
    rng = random.Random(seed)
    said = habits(rng)
    runtime, one = run(made, said, rng)
    logged = in_the_log(runtime)
    for digest, users in one.said.items():  # the log holds what was heard, once, and nothing else
        assert logged.pop(digest, Counter()) == Counter(report for reports in users.values() for report in reports)
    assert not logged
    begin = 1 if made.streams[0].method.finds_clip else rng.randrange(2, PERIODS - W)  # a hold-out phase is in it
    window = range(FIRST - 1 + begin, FIRST - 1 + begin + W)
    user = max(range(USERS), key=lambda u: len(one.answered(pseudonym(u), window)))
    changed = [list(row) for row in said]
    for t in range(begin, begin + W):
        changed[user][t] = rng.choice([what for what in SAYS if what != said[user][t]])
    _, other = run(made, changed, rng)
    return Pair(one, other, pseudonym(user), window)


def audited(made: Plan, seeds: range) -> Fraction:
    """The most telling transcript of any window of any user, in any of these runs."""
    most, differ, again = Fraction(1), Fraction(1), 0
    for seed in seeds:
        pair = neighbours(made, seed)
        for told in (pair.one, pair.other):
            assert all(len(reports) == 1 for users in told.said.values() for reports in users.values())
            most = max(most, told.most_telling(W))
            again += told.times - len(told.asks) * made.partitions
        assert pair.told() <= pair.one.most_telling(W)
        differ = max(differ, pair.told())
        for digest in pair.one.said.keys() & pair.other.said.keys():
            one, other = pair.one.said[digest], pair.other.said[digest]
            assert one.keys() == other.keys(), "who answers depends on what somebody says"
            if pair.one.asks[digest].t in pair.window:
                one, other = ({u: y for u, y in said.items() if u != pair.user} for said in (one, other))
            assert one == other
    assert differ > 1  # the neighbour was asked about its window
    assert again > 0  # crashes made devices answer once more
    return most


def holds(name: str, seeds: int) -> None:
    mechanisms = ("auto",) if "clip" in SPECS[name] else ("grr", "oue") if seeds > SHORT or name in TWICE else ("grr",)
    found = {mechanism: audited(plan(SPECS[name], mechanism), range(seeds)) for mechanism in mechanisms}
    shown = ", ".join(f"{nats(most):.6f} by {mechanism}" for mechanism, most in found.items())
    print(f"{name}: claimed {EPSILON / 1e6:.6f}, {shown}")
    assert max(found.values()) <= CLAIM
    assert nats(max(found.values())) > LEAST.get(name, 0.85) * EPSILON / 1e6


@pytest.mark.parametrize("name", [name for name in SPECS if name not in LONG_ONLY])
def test_no_window_tells_more_than_the_claim(name: str) -> None:
    holds(name, SHORT)


@pytest.mark.audit
@pytest.mark.parametrize("name", SPECS)
def test_no_window_of_many_runs_tells_more_than_the_claim(name: str) -> None:
    holds(name, LONG)


def test_the_product_of_the_largest_ratios_is_what_all_joint_outcomes_say() -> None:
    pair = neighbours(plan(SPECS["lba"]), 3)
    laws = pair.laws()
    assert len(laws) > W  # some period of the window has two rounds
    outcomes = list(product(*(a for a, _ in laws)))
    one, other = (
        [prod(law[y] for law, y in zip(side, ys, strict=True)) for ys in outcomes] for side in zip(*laws, strict=True)
    )
    assert sum(one) == sum(other) == 1
    assert max(max(p / q, q / p) for p, q in zip(one, other, strict=True)) == pair.told()


# ---- planted faults ----

GREEDY = {
    "lpu": planted.asks_groups_again_early,
    "lpa": planted.recycles_slots_early,
    "lpd": planted.recycles_slots_early,
    "lbu": planted.asks_for_half_each_period,
    "lba": planted.publishes_with_all_that_is_left,
}
FAULTS = [
    ("lpu", planted.ledger_lets_slots_go_early),
    ("lpa", planted.ledger_lets_slots_go_early),
    ("lpd", planted.ledger_lets_slots_go_early),
    ("lbu", planted.charge_is_forgotten_in_a_crash),
    ("lba", planted.second_charge_replaces_the_first),
]


def most_told(name: str) -> Fraction:
    rng = random.Random(1)
    return run(plan(SPECS[name]), habits(rng), rng)[1].most_telling(W)


@pytest.mark.parametrize("name", GREEDY)
def test_a_server_that_asks_too_much_learns_no_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    GREEDY[name](monkeypatch)
    assert most_told(name) <= CLAIM


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_device_that_gives_it_away_is_seen(name: str, fault: planted.Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    GREEDY[name](monkeypatch)
    fault(monkeypatch)
    assert most_told(name) > CLAIM


def test_silence_of_those_who_have_nothing_to_say_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.who_has_no_value_is_silent(monkeypatch)
    with pytest.raises(AssertionError, match="who answers"):
        audited(plan(SPECS["lbu"]), range(2))


@pytest.mark.parametrize("name", ["lpu", "lbu"])
def test_fresh_coins_after_a_crash_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.fresh_coins_after_a_crash(monkeypatch)
    assert most_told(name) > CLAIM
