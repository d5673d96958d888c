"""The promise over a window, measured behind the whole edge: what all that left a user's device shows about w periods.

One run, two sides of 200 000 users.  For w periods one side says one thing and the other another; before and after
they say the same, and the server, which sees them all together, asks both alike.  So each user is a trial of two
w-neighbouring streams, and everything that leaves a device while it crashes and recovers is the transcript.  The
attacker bets on the likelihood ratio of the joint transcript, at the most telling of its few levels.  False alarms:
1e-6 a measurement, shared among the levels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from murmurate.agents.embedded import task as task_module
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.door import raw_records
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.methods.uniform import LPU
from murmurate.config.plan import Plan
from murmurate.randomizers import DeviceArray, Grant
from murmurate.randomizers.audit import epsilon_at_least
from murmurate.randomizers.device import Answers
from murmurate.randomizers.ledger import Ledger, Mask
from murmurate.topics.codec import encode
from murmurate.topics.domains import Categories
from murmurate.topics.messages import Progress
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Crashes, deployment, stream

SIDE = 200_000
FEW = 50_000
"""Enough to see twice the epsilon."""
ALPHA = 1e-6
W = 4
BEGIN = FIRST + 3
"""The window: periods BEGIN to BEGIN + W - 1, not in step with the groups of LPU."""
PERIODS = range(FIRST - 1, BEGIN + W + 2)


def plan(method: str) -> Plan:
    screen = stream(
        "screen", method, domain=Categories(("home", "help")), w=W, carry_ms=None, mechanism="grr", slots=128
    )
    return deployment(screen, epsilon_micro=1_000_000, partitions=1, targets=2, min_batch=1000)


@dataclass
class Transcript:
    """All that left the devices about the periods of the window, as logarithms of likelihood ratios."""

    side: int
    ratios: np.ndarray = field(init=False)
    """float64[users]: ln P[all reports | one side] / P[... | the other]"""
    left: dict[bytes, list[tuple[bytes, bytes]]] = field(default_factory=lambda: defaultdict(list))
    """Per round the different answers of the whole array: (rows, reports)."""
    times: int = 0
    """How often a round was answered, crashes included."""

    def __post_init__(self) -> None:
        self.ratios = np.zeros(2 * self.side)

    def note(self, grant: Grant, answers: Answers) -> None:
        self.times += 1
        said = answers.rows.tobytes(), answers.reports.tobytes()
        if said in self.left[grant.ask.digest]:
            return  # the same bytes again tell nothing
        self.left[grant.ask.digest].append(said)
        if BEGIN <= grant.ask.t < BEGIN + W:
            one, other = (grant.ask.mechanism.law(value) for value in (0, 1))
            table = np.zeros(256)
            for report, chance in one.items():
                table[report[0]] = math.log(chance / other[report])
            self.ratios[answers.rows] += table[answers.reports[:, 0]]

    def shown(self) -> float:
        """The largest epsilon that the transcripts prove."""
        ratios = self.ratios.round(9)
        levels = np.unique(ratios)[1:]
        assert 1 <= len(levels) <= 64
        hits = [(int((ratios[0::2] >= level).sum()), int((ratios[1::2] >= level).sum())) for level in levels]
        return max(epsilon_at_least(one, other, self.side, ALPHA / len(levels)) for one, other in hits)


def users(n: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (n, 16), np.uint8)


def observed(
    made: Plan, side: int, monkeypatch: pytest.MonkeyPatch, answer: Callable[..., Answers] = DeviceArray.answer
) -> Transcript:
    """Run the window through the stages, with a crash in each transaction of the edge and now and then elsewhere."""
    transcript = Transcript(side)

    def noted(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        answers = answer(self, grant, values, members)
        transcript.note(grant, answers)
        return answers

    monkeypatch.setattr(DeviceArray, "answer", noted)
    monkeypatch.setattr(task_module, "SNAPSHOT_BYTES", 20_000_000)
    moments: Mapping[tuple[str, str], Any] = {
        ("in the transaction", "perturb"): range(1, 200, 2),
        ("after the commit", "perturb"): (3, 7),
        ("before fold", "perturb"): (11, 23),
        ("after fold", "shuffle"): (5, 50),
        ("after fold", "publish"): (3, 9),
    }
    crashes = Crashes(moments)
    runtime = Runtime(made, KEYS, sources={TOPIC: 1}, faults=crashes)
    runtime.start({"screen": FIRST})
    everybody = users(2 * side)
    second = np.arange(2 * side) % 2
    for t in PERIODS:
        records: list[Out] = []
        if t in (FIRST - 1, BEGIN, BEGIN + W):  # rows are given in the order of these first events
            codes = (second if t == BEGIN else 0 * second).astype(np.uint32)
            times = np.full(len(everybody), t * SECOND + 7)
            records += raw_records(made, "screen", everybody, times, codes)
        clock = Progress(topic=TOPIC, partition=0, time=(t + 1) * SECOND + 500)
        first = [Progress(topic=TOPIC, partition=0, time=t * SECOND)] if t == FIRST - 1 else []
        runtime.write([Out(Log("raw", 0), encode(one)) for one in first] + records)
        runtime.write([Out(Log("raw", 0), encode(clock))])
        assert runtime.run()
    assert len(runtime.releases()) == len(PERIODS) - 1
    assert crashes.died > 2 * len(PERIODS)
    assert transcript.times > 1.5 * len(transcript.left)
    return transcript


@pytest.mark.parametrize(("method", "near"), [("lpu", 0.95), ("lpa", 0.9), ("lbu", 0.85)])
def test_a_window_shows_no_more_than_the_claim_and_nearly_all_of_it(
    method: str, near: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = observed(plan(method), SIDE, monkeypatch)
    assert all(len(answers) == 1 for answers in transcript.left.values())  # after a crash: the same bytes
    shown = transcript.shown()
    assert near < shown <= 1.0


def asks_again_after(gap: int) -> Callable[[LPU, int], np.ndarray]:
    return lambda self, t: np.asarray(self._group % gap == (t - self.setting.first_t) % gap)


def test_a_server_that_asks_too_often_learns_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LPU, "_turn", asks_again_after(W - 1))
    assert observed(plan("lpu"), FEW, monkeypatch).shown() <= 1.0


def test_a_ledger_that_recycles_a_slot_at_w_minus_1_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = Ledger.verdicts

    def early(self: Ledger, t: int, charge_micro: int, digest: bytes, asked: Mask) -> np.ndarray:
        self.w -= 1
        try:
            return verdicts(self, t, charge_micro, digest, asked)
        finally:
            self.w += 1

    monkeypatch.setattr(LPU, "_turn", asks_again_after(W - 1))
    monkeypatch.setattr(Ledger, "verdicts", early)
    assert observed(plan("lpu"), FEW, monkeypatch).shown() > 1.5  # a third of the users answers twice: 2 epsilon


def test_fresh_coins_for_the_same_question_after_a_crash_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, tries = DeviceArray.answer, [0]

    def fresh(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        tries[0] += 1
        other = grant.ask.digest[:28] + tries[0].to_bytes(4, "little")
        rows = answer(self, grant, values, members).rows
        draw = self._secrets.randomness.draw(self.users[rows], round=other)
        return Answers(rows, grant.ask.mechanism.perturb(values[rows].astype(np.int32), draw))

    assert observed(plan("lpu"), FEW, monkeypatch, fresh).shown() > 1.5
