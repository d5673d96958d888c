# SPDX-License-Identifier: Apache-2.0
"""The promise over a window, measured behind the whole edge: what all that left a user's device shows about w periods.

One run, two sides of many users.  For w periods one side says one thing and the other another; before and after they
say the same, and the server, which sees them all together, asks both alike.  So each user is a trial of two
w-neighbouring streams, and everything that leaves a device while it crashes and recovers is the transcript.  The
attacker bets on the likelihood ratio of the joint transcript, at one of some levels, or on two reports together.  What
test_window.py takes for granted is measured here too: reports of one user are independent, each by its mechanism's law.
False alarms: 1e-6 a measurement, shared among the bets.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest

from murmurate.agents.embedded import task as task_module
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS
from murmurate.config.plan import Plan
from murmurate.randomizers import Ask, DeviceArray, Grant
from murmurate.randomizers.audit import epsilon_at_least
from murmurate.randomizers.binomial import lower, upper
from murmurate.randomizers.devices import Answers
from murmurate.randomizers.ledger import Mask
from murmurate.topics.codec import encode
from murmurate.topics.domains import Categories
from murmurate.topics.messages import Progress
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Crashes, deployment, stream
from tests.audit import planted

SIDE, FEW = 200_000, 10_000
LEAST = {FEW: {"population": 0.6, "budget": 0.1}, SIDE: {"population": 0.9, "budget": 0.3}}
"""What so many users a side show at least: some methods leave much of epsilon unused, and small parts are hard to
see.
"""
ALPHA = 1e-6
LEVELS = 64
W = 4
BEGIN = FIRST + 3
"""The window: periods BEGIN to BEGIN + W - 1, not in step with the groups of LPU."""
PERIODS = range(FIRST - 1, BEGIN + W + 2)


def plan(method: str) -> Plan:
    screen = stream("screen", domain=Categories(("home", "help")), w=W, carry_ms=None, mechanism="grr", slots=128)
    screen = replace(screen, method=MethodOptions(method))
    return deployment(screen, epsilon_micro=1_000_000, partitions=1, targets=2, min_batch=100)


@dataclass
class Heard:
    """The answer to one round."""

    ask: Ask
    reports: np.ndarray
    """int8[users]: 0 or 1, -1 for those who did not answer."""

    @property
    def laws(self) -> list[list[float]]:
        """The chance of each report, by value."""
        return [[float(self.ask.question.law(value)[bytes([y])]) for y in (0, 1)] for value in (0, 1)]


@dataclass
class Transcript:
    """All that left the devices about the periods of the window. Users of even rows are one side, of odd the other."""

    side: int
    heard: list[Heard] = field(default_factory=list)
    left: dict[bytes, list[tuple[bytes, bytes]]] = field(default_factory=lambda: defaultdict(list))
    """Per round the different answers of the whole array: (rows, reports)."""
    times: int = 0
    """How often a round was answered, crashes included."""

    def note(self, ask: Ask, answers: Answers) -> None:
        self.times += 1
        said = answers.rows.tobytes(), answers.reports.tobytes()
        if said in self.left[ask.digest]:
            return  # the same bytes again tell nothing
        self.left[ask.digest].append(said)
        if BEGIN <= ask.t < BEGIN + W and len(answers.rows):
            reports = np.full(2 * self.side, -1, np.int8)
            reports[answers.rows] = answers.reports[:, 0]
            self.heard.append(Heard(ask, reports))

    def shown(self) -> float:
        """The largest epsilon that the transcripts prove."""
        hits = [(int(bet[0::2].sum()), int(bet[1::2].sum())) for bet in chain(self._levels(), self._pairs())]
        proofs = [(a, b) for one, other in hits for a, b in ((one, other), (other, one))]
        return max(epsilon_at_least(one, other, self.side, ALPHA / len(proofs)) for one, other in proofs)

    def _levels(self) -> Iterator[np.ndarray]:
        """Who sent a transcript that is so much likelier from the one side, for each of a few levels."""
        ratios, most = np.zeros(2 * self.side), 0.0
        for each in self.heard:
            one, other = each.laws
            table = np.array([math.log(one[y] / other[y]) for y in (0, 1)] + [0.0])  # reports of -1 take the last
            ratios += table[each.reports]
            most += float(table.max())
        steps = np.unique(ratios.round(9))
        levels = steps[1:] - 1e-9 if len(steps) <= LEVELS else np.linspace(-most, most, LEVELS)
        yield from (ratios >= level for level in levels)

    def _pairs(self) -> Iterator[np.ndarray]:
        """Who sent these two reports, for any two rounds."""
        for a, b in combinations(self.heard, 2):
            yield from ((a.reports == y) & (b.reports == z) for y, z in product((0, 1), repeat=2))

    def dependent(self) -> list[str]:
        """Pairs of rounds in which the reports of one user do not follow the product of their laws."""
        found, tests = [], 16 * math.comb(len(self.heard), 2)
        for a, b in combinations(self.heard, 2):
            both = (a.reports >= 0) & (b.reports >= 0)
            for value in (0, 1):
                n = int(both[value::2].sum())
                for y, z in product((0, 1), repeat=2):
                    count = int(((a.reports == y) & (b.reports == z))[value::2].sum())
                    chance = a.laws[value][y] * b.laws[value][z]
                    if n and not lower(count, n, ALPHA / tests) <= chance <= upper(count, n, ALPHA / tests):
                        found.append(f"t = {a.ask.t} and {b.ask.t}: {y}, {z} from {count} of {n}, not {chance * n:.0f}")
        return found


def users(n: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (n, 16), np.uint8)


def observed(made: Plan, side: int) -> Transcript:
    """Run the window through the stages, with a crash in each transaction of the edge and now and then elsewhere."""
    transcript, answer = Transcript(side), DeviceArray.answer

    def noted(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        answers = answer(self, grant, values, members)
        transcript.note(grant.ask, answers)
        return answers

    moments: Mapping[tuple[str, str], Any] = {
        ("in the transaction", "perturb"): range(1, 200, 2),
        ("after the commit", "perturb"): (3, 7),
        ("before fold", "perturb"): (11, 23),
        ("after fold", "shuffle"): (5, 50),
        ("after fold", "publish"): (3, 9),
    }
    crashes = Crashes(moments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceArray, "answer", noted)
        patch.setattr(task_module, "SNAPSHOT_BYTES", 100 * side)
        runtime = Runtime(made, KEYS, sources={TOPIC: 1}, faults=crashes)
        runtime.start({"screen": FIRST})
        for records in told(made, side):
            runtime.write(records)
            assert runtime.run()
    assert len(runtime.releases()) == len(PERIODS) - 1
    assert crashes.died > 2 * len(PERIODS)
    assert transcript.times > 1.5 * len(transcript.left)
    return transcript


def told(made: Plan, side: int) -> Iterator[list[Out]]:
    """What comes to the raw partition, period by period."""
    everybody, second = users(2 * side), np.arange(2 * side) % 2
    for t in PERIODS:
        records = []
        if t == FIRST - 1:
            records = [Out(Log("raw", 0), encode(Progress(topic=TOPIC, partition=0, time=t * SECOND)))]
        if t in (FIRST - 1, BEGIN, BEGIN + W):  # rows are given in the order of these first events
            codes = (second if t == BEGIN else 0 * second).astype(np.uint32)
            times = np.full(len(everybody), t * SECOND + 7)
            records += raw_records(made, "screen", everybody, times, codes)
        clock = Progress(topic=TOPIC, partition=0, time=(t + 1) * SECOND + 500)
        yield [*records, Out(Log("raw", 0), encode(clock))]


def holds(method: str, side: int) -> float:
    """What so many users a side have shown."""
    transcript = observed(plan(method), side)
    assert all(len(answers) == 1 for answers in transcript.left.values())  # after a crash: the same bytes
    assert transcript.dependent() == []
    shown = transcript.shown()
    print(f"{method}: claimed 1, shown {shown:.3f} by {side} users a side")
    assert LEAST[side][METHODS[method].division] < shown <= 1.0
    return shown


@pytest.mark.parametrize("method", ["lpu", "lpa", "lbu", "lba", "lb-pegasus"])
def test_a_window_shows_no_more_than_the_claim(method: str) -> None:
    holds(method, FEW)


@pytest.mark.audit
@pytest.mark.parametrize(("method", "near"), [("lpu", 0.95), ("lpa", 0.9), ("lbu", 0.85)])
def test_a_window_shows_nearly_all_of_the_claim(method: str, near: float) -> None:
    assert near < holds(method, SIDE)


@pytest.mark.audit
@pytest.mark.parametrize("method", METHODS)
def test_many_users_show_no_more_than_the_claim_and_what_is_used_of_it(method: str) -> None:
    holds(method, SIDE)


@pytest.mark.parametrize("method", ["lba", "lbd"])
def test_a_second_round_by_the_coins_of_the_first_is_seen(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.second_round_repeats_the_coins_of_the_first(monkeypatch)
    transcript = observed(plan(method), FEW)
    assert transcript.dependent()
    assert transcript.shown() > 1.2  # some pairs of reports have become impossible for one side


def test_fresh_coins_after_a_crash_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.fresh_coins_after_a_crash(monkeypatch)
    assert observed(plan("lpu"), FEW).shown() > 1.5


def test_a_slot_that_answers_again_after_w_minus_1_periods_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.asks_groups_again_early(monkeypatch)
    assert observed(plan("lpu"), FEW).shown() <= 1.0  # the ledger refuses
    planted.ledger_lets_slots_go_early(monkeypatch)
    assert observed(plan("lpu"), FEW).shown() > 1.5  # a third of the users answers twice: 2 epsilon
