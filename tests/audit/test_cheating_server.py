# SPDX-License-Identifier: Apache-2.0
"""Everything a server may try in order to hear more of a user than was promised, and what it gets: refusals, counted.

Each cheat is a list of rounds after an honest one that everybody has answered.  It is tried on the perturb stage, which
guards many users, and on a Device for each of them, under both divisions of the promise, with and without a crash
between.  Whoever refuses says why, once for each user and round; nobody sends a second report, and the refused rounds
have cost nothing.  Not here: descriptors that no deployment fits (tests/agents/stages/test_perturb.py), random servers
(tests/randomizers/test_ledger_machine.py), servers behind all stages (test_window.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol

import numpy as np
import pytest

from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stream_at_partition import as_ask
from murmurate.aggregators.methods.slots import groups
from murmurate.config.plan import Plan
from murmurate.randomizers import Device, FrozenFactsError, ParameterError, Refusal, mechanism
from murmurate.randomizers.identity import slots
from murmurate.randomizers.terms import Division
from murmurate.topics.block import ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Round
from murmurate.topics.slots import Slots
from tests.agents.stages.hands import RAW, ROUNDS, Hand, progress, pseudonyms, question, rows, settled, start
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, key, secret, stream

USERS, W, EPSILON = 40, 4, 2_000_000
NOW = FIRST + 6
"""The newest period that is over when a server begins to cheat."""
VALUES = [user % 3 for user in range(USERS)]
SLOTS = slots(KEYS.edge.devices.slots, pseudonyms(USERS), 128, "screen")
"""Of each user."""
BY: dict[Division, str] = {"population": "lpa", "budget": "lba"}
"""A method of each division."""


class Guarded(Protocol):
    """Users behind their guard."""

    reports: dict[bytes, list[bytes]]
    """All that left them, by round."""
    refused: Counter[str]
    """Users, by the reason they gave."""

    def ask(self, round_: Round) -> None:
        """Put a question."""
        ...

    def settle(self, t: int) -> None:
        """Say that nothing more will be asked about t."""
        ...

    def crash(self) -> None:
        """Die, and come back from what was stored."""
        ...


def plan(division: Division) -> Plan:
    return deployment(stream("screen", BY[division], w=W, carry_ms=10**9), partitions=1, targets=1)


class Stage:
    """The perturb stage, which guards users in one vector."""

    def __init__(self, made: Plan) -> None:
        self.plan, self.reports, self.refused = made, dict[bytes, list[bytes]](), Counter[str]()
        self._hand = self._fresh()
        before = [(FIRST - 1) * SECOND + 1] * USERS
        self._hand.give(RAW, progress((FIRST - 1) * SECOND))
        for each in made.streams:
            self._hand.give(RAW, *rows(made, each, users(), before, VALUES))
        self._hand.give(ROUNDS, *(start(each) for each in made.streams))
        self._hand.give(RAW, progress((NOW + 1) * SECOND + made.lateness_ms))

    def _fresh(self) -> Hand:
        return Hand(Perturb(self.plan, KEYS.edge, 0, {TOPIC: 1}))

    @property
    def stage(self) -> Perturb:
        assert isinstance(self._hand.stage, Perturb)
        return self._hand.stage

    def ask(self, round_: Round) -> None:
        before = Counter(self.stage.refusals)
        for one in self._hand.give(ROUNDS, round_):
            block = decode_record(one.value)
            if isinstance(block, ReportBlock):
                self.reports.setdefault(block.round, []).extend(report.tobytes() for report in block.reports)
        self.refused.update({reason: n for (_, reason), n in (self.stage.refusals - before).items()})

    def settle(self, t: int) -> None:
        self._hand.give(ROUNDS, settled(self.plan.streams[0], t))

    def stored(self) -> tuple[bytes, list[bytes]]:
        return self.stage.small(), list(self.stage.snapshot())

    def crash(self) -> None:
        small, snapshot = self.stored()
        self._hand = self._fresh()
        self._hand.stage.restore(small, snapshot)


class Apps:
    """A Device for each user, in an app of theirs."""

    def __init__(self, made: Plan) -> None:
        self.plan, self.reports, self.refused = made, dict[bytes, list[bytes]](), Counter[str]()
        self.sent: dict[bytes, dict[int, bytes]] = defaultdict(dict)
        self._terms, self._secrets = made.terms(KEYS.edge.fingerprints()), KEYS.edge.devices
        self._users = [user.tobytes() for user in users()]
        self._devices = [Device(self._terms, user, self._secrets) for user in self._users]

    def ask(self, round_: Round) -> None:
        for user, device in enumerate(self._devices):
            answer = self._answer(device, round_, VALUES[user])
            if isinstance(answer, Refusal):
                self.refused[answer.reason] += 1
            elif self.sent[round_.digest].setdefault(user, answer) == answer:  # else it would be a second report
                self.reports[round_.digest] = list(self.sent[round_.digest].values())
            else:
                self.reports[round_.digest].append(answer)

    def _answer(self, device: Device, round_: Round, value: int) -> bytes | Refusal:
        try:
            return device.answer(as_ask(round_), value, now=NOW)
        except ParameterError as error:
            return Refusal("mechanism", str(error))

    def settle(self, t: int) -> None:
        """An app takes a newer question for that."""

    def crash(self) -> None:
        stored = [device.snapshot() for device in self._devices]
        self._devices = [
            Device.restore(data, self._terms, user, self._secrets)
            for data, user in zip(stored, self._users, strict=True)
        ]


def users() -> np.ndarray:
    return pseudonyms(USERS)


Guards = Callable[[Plan], Guarded]
GUARDED: list[Guards] = [Stage, Apps]
DIVISIONS: tuple[Division, ...] = ("population", "budget")
OUE = mechanism({"name": "oue", "d": 5, "epsilon_micro": EPSILON}).spec()
DEAR = mechanism({"name": "grr", "d": 5, "epsilon_micro": EPSILON + 1}).spec()
CHEAP = mechanism({"name": "grr", "d": 5, "epsilon_micro": 1}).spec()
WIDE = mechanism({"name": "grr", "d": 6, "epsilon_micro": EPSILON}).spec()
LASTING = {"name": "rappor", "d": 5, "epsilon_micro": EPSILON}


@dataclass(frozen=True)
class Cheat:
    """Changes of an honest question. `why`: the reason given by everybody, under population and budget division."""

    asks: Sequence[dict[str, Any]]
    why: tuple[str, str]
    honest: dict[str, Any] = field(default_factory=lambda: {"t": FIRST})
    """What was asked before."""


AGAIN = ("gap", "budget")
CHEATS = {
    "a user twice within w": Cheat([{"t": FIRST + gap} for gap in range(1, W)], AGAIN),
    "a user twice within w, cheaply": Cheat([{"t": FIRST + W - 1, "mechanism": CHEAP}], AGAIN),
    "another mechanism under the same t": Cheat([{"mechanism": OUE}, {"mechanism": CHEAP}], AGAIN),
    "a second purpose under the same t": Cheat([{"purpose": "dissimilarity"}], AGAIN),
    "the same question in another round": Cheat([{"patience_ms": 1}, {"patience_ms": 2}], AGAIN),
    "time skipped, far ahead": Cheat([{"t": FIRST + 1000}, {"t": (1 << 53) - 1}], ("future", "future")),
    "periods out of order": Cheat([{"t": FIRST + 1}, {"t": FIRST}], ("closed", "closed"), {"t": FIRST + 2}),
    "a larger S": Cheat([{"t": FIRST + W, "slots": Slots.every(256)}], ("slot", "slot")),
    "a smaller S": Cheat([{"t": FIRST + W, "slots": Slots.every(64)}], ("slot", "slot")),
    "more slots than there are": Cheat(
        [{"t": FIRST + W, "slots": Slots.chosen(np.ones(129, np.bool_))}], ("slot", "slot")
    ),
    "a larger epsilon than promised": Cheat([{"t": FIRST + W, "mechanism": DEAR}], ("budget", "budget")),
    "another domain": Cheat([{"t": FIRST + W, "mechanism": WIDE}], ("mechanism", "mechanism")),
    "a mechanism whose reports outlive a round": Cheat(
        [{"t": FIRST + W, "mechanism": LASTING}], ("mechanism", "mechanism")
    ),
    "a mechanism that nobody knows": Cheat(
        [{"t": FIRST + W, "mechanism": {"name": "plain", "d": 5}}], ("mechanism", "mechanism")
    ),
}


@pytest.mark.parametrize("guarded", GUARDED)
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gets_a_counted_refusal_and_never_a_second_report(name: str, guarded: Guards) -> None:
    cheat = CHEATS[name]
    for division, crash in product(DIVISIONS, (False, True)):
        made = plan(division)
        theirs = guarded(made)
        honest = question(made, made.streams[0], **cheat.honest)
        theirs.ask(honest)
        assert [len(reports) for reports in theirs.reports.values()] == [USERS]
        assert not theirs.refused
        said = {digest: list(reports) for digest, reports in theirs.reports.items()}
        for change in cheat.asks:
            if crash:
                theirs.crash()
            theirs.ask(question(made, made.streams[0], **(cheat.honest | change)))
        assert theirs.reports == said
        assert theirs.refused == {cheat.why[DIVISIONS.index(division)]: USERS * len(cheat.asks)}
        after = question(made, made.streams[0], honest.t + W)
        theirs.ask(after)  # nothing was spent on the cheat
        assert len(theirs.reports[after.digest]) == USERS


@pytest.mark.parametrize("guarded", GUARDED)
def test_the_very_same_round_gets_the_very_same_bytes_and_an_old_one_nothing(guarded: Guards) -> None:
    for division in DIVISIONS:
        made = plan(division)
        theirs = guarded(made)
        first, second = (question(made, made.streams[0], t) for t in (FIRST, FIRST + W))
        theirs.ask(first)
        said = list(theirs.reports[first.digest])
        theirs.ask(first)
        theirs.crash()
        theirs.ask(first)
        assert theirs.reports == {first.digest: said}
        assert not theirs.refused
        theirs.ask(second)
        theirs.settle(FIRST + W)
        for old in (first, second, question(made, made.streams[0], FIRST, patience_ms=7)):
            theirs.ask(old)
        assert theirs.reports.keys() == {first.digest, second.digest}
        assert theirs.reports[first.digest] == said
        assert theirs.refused["closed"] >= 2 * USERS


@pytest.mark.parametrize("guarded", GUARDED)
def test_nobody_answers_about_a_period_that_is_not_over(guarded: Guards) -> None:
    for division in DIVISIONS:
        made = plan(division)
        theirs = guarded(made)
        theirs.ask(question(made, made.streams[0], NOW + 1))
        theirs.crash()
        assert not theirs.reports


@pytest.mark.parametrize("guarded", GUARDED)
def test_slots_drawn_by_other_seeds_find_nobody_twice(guarded: Guards) -> None:
    made = plan("population")
    theirs = guarded(made)
    answered, vain = 0, 0
    used = np.zeros(128, np.bool_)
    for t in range(FIRST, FIRST + W):
        asked = groups(slots=128, w=W, seed=secret(f"another seed {t}")) == 0
        theirs.ask(question(made, made.streams[0], t, slots=Slots.chosen(asked)))
        answered += int((asked & ~used)[SLOTS].sum())
        vain += int((asked & used)[SLOTS].sum())
        used |= asked
    assert sum(map(len, theirs.reports.values())) == answered < USERS
    assert theirs.refused["gap"] == vain > 0


@pytest.mark.parametrize("guarded", GUARDED)
def test_a_user_of_one_stream_says_nothing_to_another(guarded: Guards) -> None:
    streams = [stream(name, w=W, share_micro=500_000, carry_ms=10**9) for name in ("a", "b")]
    made = deployment(*streams, partitions=1, targets=1)
    theirs = guarded(made)
    for t, each in product((FIRST, FIRST + 1), made.streams):
        theirs.ask(question(made, each, t))
    first = [len(theirs.reports[question(made, each, FIRST).digest]) for each in made.streams]
    assert sum(first) == USERS
    assert min(first) > 5  # false alarm: 1e-6
    assert sum(map(len, theirs.reports.values())) == USERS
    assert theirs.refused["gap"] == USERS


@pytest.mark.parametrize("guarded", GUARDED)
def test_under_split_by_budget_a_stream_gets_its_share_and_no_stream_may_have_anothers(guarded: Guards) -> None:
    streams = [stream(name, w=W, share_micro=500_000, carry_ms=10**9) for name in ("a", "b")]
    made = deployment(*streams, partitions=1, targets=1, split="budget")
    theirs = guarded(made)
    whole, half = ({"name": "grr", "d": 5, "epsilon_micro": micro} for micro in (EPSILON, EPSILON // 2))
    theirs.ask(question(made, made.streams[0], FIRST, mechanism=whole))
    assert theirs.refused == {"budget": USERS}
    for each in made.streams:
        theirs.ask(question(made, each, FIRST, mechanism=half))
        theirs.ask(question(made, each, FIRST + 1, mechanism=half))
    assert sum(map(len, theirs.reports.values())) == 2 * USERS
    assert theirs.refused == {"budget": USERS, "gap": 2 * USERS}


@pytest.mark.parametrize("guarded", GUARDED)
def test_a_stream_that_was_never_promised_hears_nothing(guarded: Guards) -> None:
    theirs = guarded(plan("population"))
    other = deployment(stream("other", w=W, carry_ms=10**9), partitions=1, targets=1)
    theirs.ask(question(other, other.streams[0], FIRST))
    assert not theirs.reports


def test_a_changed_salt_stops_the_edge_instead_of_handing_out_fresh_slots() -> None:
    made, other = plan("population"), key("another salt")
    for changed in (KEYS.edge.devices._replace(slots=other), KEYS.edge.devices._replace(split=other)):
        edge = KEYS.edge._replace(devices=changed)
        small, snapshot = Stage(made).stored()
        with pytest.raises(FrozenFactsError, match="frozen facts differ: keys"):
            Perturb(made, edge, 0, {TOPIC: 1}).restore(small, snapshot)
        user = users()[0].tobytes()
        device = Device(made.terms(KEYS.edge.fingerprints()), user, KEYS.edge.devices)
        with pytest.raises(FrozenFactsError, match="frozen facts differ: keys"):
            Device.restore(device.snapshot(), made.terms(edge.fingerprints()), user, changed)
