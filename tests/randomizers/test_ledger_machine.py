# SPDX-License-Identifier: Apache-2.0
"""Any sequence of rounds, repeats, corrections, crashes and lies leaves every promise of the ledger standing.

I1 every window within budget, I2 gaps of w, I3 one report per user and round, I5 decisions blind to values, I8
nothing forgotten (ARCHITECTURE section 5.12).  The oracle is guards.World: lists and sums, no ledger arithmetic.  Then
the same machine, and scenarios where it is not about rounds, catch each seeded bug.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from numpy.typing import NDArray

from murmurate.randomizers import GRR, OUE, FrozenFactsError, Key
from murmurate.randomizers import ledger as ledger_module
from murmurate.randomizers.device import Device
from murmurate.randomizers.devices import DeviceArray, Grant
from murmurate.randomizers.guard import Ask, Guard, Refusal
from murmurate.randomizers.identity import Pepper
from murmurate.randomizers.ledger import Ledger, Verdict
from murmurate.randomizers.randomness import canonical
from murmurate.randomizers.reopening import reopen_devices
from murmurate.randomizers.terms import StreamTerms, Terms
from tests.cases import every
from tests.randomizers.guards import DOMAIN, EPSILON, SECRETS, World, people, secret

EVERY: list[HealthCheck] = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
SHORT = settings(max_examples=40, stateful_step_count=100, deadline=None, suppress_health_check=EVERY)
LONG = settings(SHORT, max_examples=10_000, stateful_step_count=200)
# One choice each where several would do the same: half of what a step costs is Hypothesis drawing it.
STEPS = [*range(3)] * 15 + [*range(-3, 41)]
ASKED = [list(asked) for asked in itertools.product([False, True], repeat=4)]


class Rounds(RuleBasedStateMachine):
    """What a server, good or bad, and a bad day can do."""

    world: World

    @initialize(
        division=st.sampled_from(["population", "budget"]),
        w=st.sampled_from([1, 2, 3, 7, 30]),
        slots=st.sampled_from([1, 2, 4]),
    )
    def begin(self, division: Any, w: int, slots: int) -> None:
        self.world = World(division, w, slots)
        self.t = 0

    @rule(
        step=st.sampled_from(STEPS), asked=st.sampled_from(ASKED), share=st.sampled_from([1, 2, 3, 4, 7]),
        seed=st.integers(0, 255),
    )  # fmt: skip
    def ask(self, step: int, asked: list[bool], share: int, seed: int) -> None:
        t = max(0, self.t + step)
        self.t = max(self.t, t)
        self.world.fold(self.world.ask(t, asked[: self.world.slots], EPSILON // share), seed)

    @precondition(lambda self: self.world.log)
    @rule(back=st.integers(0, 5), seed=st.integers(0, 255))
    def repeat_with_other_values(self, back: int, seed: int) -> None:
        ask, _ = self.world.log[max(0, len(self.world.log) - 1 - back)]
        self.world.fold(ask, seed)

    @rule(lie=st.sampled_from(["slots", "mask", "domain", "stream", "expensive"]), t=st.integers(0, 5))
    def lie(self, lie: str, t: int) -> None:
        world = self.world
        before = world.array.snapshot()
        slots = world.slots + (lie == "slots")
        mask = np.ones(slots + (lie == "mask"), np.bool_)
        mechanism = GRR(d=DOMAIN + (lie == "domain"), epsilon=1.000001 if lie == "expensive" else 1.0)
        ask = Ask("other" if lie == "stream" else "screen", self.t + t, slots, mask, mechanism, bytes([t] * 32))
        answer = world.array.charge(ask)
        if isinstance(answer, Grant):  # more than the promise: every slot says so
            assert lie == "expensive"
            assert not answer.answering.any()
        assert world.array.snapshot() == before
        for device in world.devices:
            assert isinstance(device.answer(ask, 0, now=1 << 40), Refusal)

    @rule()
    def save(self) -> None:
        self.world.save()

    @rule()
    def crash(self) -> None:
        self.world.crash()


def test_no_sequence_of_rounds_breaks_a_promise() -> None:
    run_state_machine_as_test(Rounds, settings=SHORT)


@pytest.mark.audit
@pytest.mark.timeout(7200)
def test_no_long_sequence_of_rounds_breaks_a_promise() -> None:
    run_state_machine_as_test(Rounds, settings=LONG)


# ---- all small cases ----


@every("periods", [5], long=[6])
def test_every_population_schedule_of_two_users_keeps_the_gap(periods: int) -> None:
    # w = 3, each period asks nobody, one or both; afterwards every round is asked once more.
    masks = [np.array(mask) for mask in itertools.product([False, True], repeat=2)]
    for schedule in itertools.product(range(4), repeat=periods):
        ledger = Ledger(2, w=3, limit_micro=EPSILON, division="population")
        answered: dict[int, list[int]] = {0: [], 1: []}
        for t, choice in enumerate(schedule):
            for digest in (
                bytes([t] * 32),
                bytes([t + 100] * 32),
                bytes([t] * 32),
            ):  # the round, a rival, the round again
                verdicts = ledger.charge(t, EPSILON, digest, masks[choice])
                for slot in np.flatnonzero(verdicts == Verdict.CHARGED).tolist():
                    answered[slot].append(t)
        for slot, times in answered.items():
            assert all(b - a >= 3 for a, b in itertools.pairwise(times))
            wanted = [t for t, choice in enumerate(schedule) if masks[choice][slot]]
            greedy: list[int] = []
            for t in wanted:  # and nothing is refused without need
                if not greedy or t - greedy[-1] >= 3:
                    greedy.append(t)
            assert times == greedy


@every("charges", [3], long=[4])
def test_every_small_sequence_of_charges_keeps_every_window(charges: int) -> None:
    # Two slots, w = 3; charges of a third, a half or all at any t < 6; the second slot is asked at even t only.
    options = [(t, EPSILON // share) for t in range(6) for share in (1, 2, 3)]
    seen = 0

    def explore(ledger: Ledger, spent: list[list[tuple[int, int]]], depth: int) -> None:
        nonlocal seen
        for t, charge in options:
            digest, asked = seen.to_bytes(32, "little"), np.array([True, t % 2 == 0])
            seen += 1
            if depth > 1:
                branch = Ledger(2, w=3, limit_micro=EPSILON, division="budget")
                branch.load(ledger.arrays())
                told = branch.charge(t, charge, digest, asked)
            else:  # nobody goes on from here: what `charge` would book is what `verdicts` says
                branch, told = ledger, ledger.verdicts(t, charge, digest, asked)
            after = list(spent)
            for slot in np.flatnonzero(told == Verdict.CHARGED).tolist():  # where nothing was charged, nothing changed
                after[slot] = [*spent[slot], (t, charge)]
                for start in range(-2, 6):
                    assert sum(c for at, c in after[slot] if start <= at < start + 3) <= EPSILON
            if depth > 1:
                explore(branch, after, depth - 1)

    explore(Ledger(2, w=3, limit_micro=EPSILON, division="budget"), [[], []], charges)
    assert seen == sum(18**many for many in range(1, charges + 1))


def test_a_charge_of_others_at_a_later_time_forgets_nothing_of_a_slot_that_was_not_asked() -> None:
    # w = 3. Slot A pays at 5, the others at 9, and A is asked about 6: its window still holds what it paid at 5.
    ledger = Ledger(3, w=3, limit_micro=EPSILON, division="budget")
    first = np.array([True, False, False])
    for t, charge, asked, verdict in (
        (5, EPSILON, first, Verdict.CHARGED),
        (9, EPSILON // 2, ~first, Verdict.CHARGED),
        (6, 1, first, Verdict.BUDGET),
        (7, 1, first, Verdict.BUDGET),
        (10, EPSILON - EPSILON // 2, ~first, Verdict.CHARGED),
        (11, 1, ~first, Verdict.BUDGET),
        (8, EPSILON, first, Verdict.CHARGED),
        (10, 1, first, Verdict.BUDGET),
    ):
        told = ledger.charge(t, charge, t.to_bytes(32, "little"), asked)
        assert set(told[asked]) == {verdict}, t


def test_every_three_charges_of_two_slots_apart_keep_every_window_and_refuse_nothing_else() -> None:
    # Slots that do not march in step: A, B or both, at any t < 7, w = 3, two thirds each; against lists of charges.
    masks = [np.array(mask) for mask in ((True, False), (False, True), (True, True))]
    charge, seen = 2 * EPSILON // 3, 0

    def explore(ledger: Ledger, spent: list[list[int]], depth: int) -> None:
        nonlocal seen
        for t, asked in itertools.product(range(7), masks):
            seen += 1
            digest, branch = seen.to_bytes(32, "little"), ledger
            if depth > 1:
                branch = Ledger(2, w=3, limit_micro=EPSILON, division="budget")
                branch.load(ledger.arrays())
                told = branch.charge(t, charge, digest, asked)
            else:  # nobody goes on from here
                told = ledger.verdicts(t, charge, digest, asked)
            after = [list(times) for times in spent]
            for slot in np.flatnonzero(asked).tolist():
                mine = spent[slot]
                fits = not mine or (t >= max(mine) and all(abs(t - at) >= 3 for at in mine))
                assert (told[slot] == Verdict.CHARGED) == fits, (spent, t, asked)
                after[slot] += [t] if fits else []
            if depth > 1:
                explore(branch, after, depth - 1)

    explore(Ledger(2, w=3, limit_micro=EPSILON, division="budget"), [[], []], 3)
    assert seen == 21 + 21**2 + 21**3


# ---- seeded bugs: each is caught ----

# A third of what the short form draws is enough for each of them.
CATCH = settings(SHORT, max_examples=12, phases=[Phase.generate], derandomize=True)


def caught() -> None:
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Rounds, settings=CATCH)


def test_bug_an_older_t_is_accepted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ledger.verdicts

    def verdicts(self: Ledger, t: int, *charge: Any) -> NDArray[np.uint8]:
        told = real(self, t, *charge)
        told[told == Verdict.CLOSED] = Verdict.CHARGED
        return told

    monkeypatch.setattr(Ledger, "verdicts", verdicts)
    caught()


def test_bug_recycling_at_w_minus_1_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ledger.__init__

    def shorter(self: Ledger, rows: int, *, w: int, limit_micro: int, division: Any) -> None:
        real(self, rows, w=max(1, w - 1), limit_micro=limit_micro, division=division)

    monkeypatch.setattr(ledger_module.Ledger, "__init__", shorter)
    caught()


def test_bug_fresh_randomness_on_a_retry_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = DeviceArray.answer

    def fresh(self: DeviceArray, grant: Grant, values: NDArray[np.int64]) -> Any:
        vars(self)["tries"] = vars(self).get("tries", 0) + 1
        retried = replace(grant, ask=replace(grant.ask, digest=vars(self)["tries"].to_bytes(32, "little")))
        return real(self, retried, values)

    monkeypatch.setattr(DeviceArray, "answer", fresh)
    caught()


def test_bug_a_correction_is_answered_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = DeviceArray.answer

    def forgetful(self: DeviceArray, grant: Grant, values: NDArray[np.int64]) -> Any:
        self._value_t[:] = ledger_module.NEVER
        return real(self, grant, values)

    monkeypatch.setattr(DeviceArray, "answer", forgetful)
    caught()


def test_bug_a_repeat_is_not_recognised_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ledger.charge

    def amnesic(self: Ledger, *args: Any) -> NDArray[np.uint8]:
        told = real(self, *args)
        self.forget_answers()
        return told

    monkeypatch.setattr(Ledger, "charge", amnesic)
    caught()


def shared_bits(key: Key) -> int:
    """In how many of 1024 bits the reports of one user for two values agree."""
    oue = OUE(d=1024, epsilon=1.0)
    draw = key.draw(people(1), round=bytes(32))
    one, other = (np.unpackbits(oue.perturb(np.array([value]), draw)) for value in (0, 1))
    return int((one == other).sum())


def test_bug_coins_without_the_value_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two values with the same coins differ in their own two bits at most; with their own coins in about 0.39 of all.
    assert shared_bits(SECRETS.randomness) < 800
    monkeypatch.setattr(
        "murmurate.randomizers.frequency.unary.canonical", lambda values: np.zeros_like(canonical(values))
    )
    assert shared_bits(SECRETS.randomness) >= 1022


def charges_accepted(ledger: Ledger, w: int, charge: int) -> int:
    asked = np.ones(1, np.bool_)
    verdicts = [ledger.charge(t, charge, t.to_bytes(32, "little"), asked)[0] for t in range(w)]
    return sum(verdict == Verdict.CHARGED for verdict in verdicts)


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.audit)])
def test_bug_float_budgets_are_caught(every: int) -> None:
    # LBA's first rounds: w charges of epsilon / (2 w) in half the budget. Micro-nats always fit; floats often do not.
    float_refuses = 0
    for w in range(1, 400):
        if w % every == 0:
            ledger = Ledger(1, w=w, limit_micro=EPSILON // 2, division="budget")
            assert charges_accepted(ledger, w, EPSILON // (2 * w)) == w
            assert int(ledger.spent_micro(w - 1)[0]) <= EPSILON // 2
        spent = 0.0
        for _ in range(w):
            spent += 1.0 / (2 * w)
        float_refuses += spent > 0.5
    assert float_refuses == 172


def rotated(restore: Any) -> Grant:
    """A user answers, the pepper is rotated, and the new pseudonym is asked in the next period."""
    keys = [Pepper(secret(f"pepper {i}"), deployment="shop") for i in range(2)]
    promises = [
        Terms(
            "shop",
            EPSILON,
            (StreamTerms("screen", 1_000_000, 10, 64, "population", ("code", DOMAIN)),),
            keys=(("pepper", key.fingerprint),),
        )
        for key in keys
    ]
    old = DeviceArray(promises[0], "screen", SECRETS)
    old.enrol(keys[0].pseudonyms([b"ada"]))
    assert isinstance(old.charge(Ask("screen", 5, 64, None, GRR(d=DOMAIN, epsilon=1), bytes(32))), Grant)
    new = restore(old.snapshot(), promises[1])
    new.enrol(keys[1].pseudonyms([b"ada"]))
    grant = new.charge(Ask("screen", 6, 64, None, GRR(d=DOMAIN, epsilon=1), bytes([1] * 32)))
    assert isinstance(grant, Grant)
    return grant


def test_bug_a_pepper_switch_without_overlap_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FrozenFactsError, match=r"keys\.pepper"):
        rotated(lambda data, promise: DeviceArray.restore(data, promise, "screen", SECRETS))
    closed = rotated(lambda data, promise: reopen_devices(data, promise, "screen", SECRETS, opened_ms=6000))
    assert not closed.answering.any()

    def fresh(data: bytes, promise: Terms) -> DeviceArray:
        return DeviceArray(promise, "screen", SECRETS)

    assert rotated(fresh).answering.any()  # the bug: a fresh budget, which the two checks above exclude


def total_spent(promise: Terms) -> int:
    """What one user pays when every stream asks for everything at once."""
    user = people(1)[0].tobytes()
    device = Device(promise, user, SECRETS)
    spent = 0
    for number, stream in enumerate(promise.streams):
        for share in (1, 2, 4):
            ask = Ask(stream.name, 5, stream.slots, None, GRR(d=2, epsilon=1 / share), bytes([number, share] * 16))
            if isinstance(device.answer(ask, 0, now=9), bytes):
                spent += ask.question.epsilon_micro
    return spent


@pytest.mark.parametrize("split", ["users", "budget"])
def test_bug_a_budget_per_stream_instead_of_one_is_caught(split: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = tuple(StreamTerms(name, 250_000, 3, 8, "budget", ("code", 2)) for name in ("a", "b", "c", "d"))
    promise = Terms("shop", EPSILON, streams, split=split)
    assert total_spent(promise) <= EPSILON
    monkeypatch.setattr(Terms, "limit_micro", lambda self, name: self.epsilon_micro)
    monkeypatch.setattr(Guard, "refusal", lambda self, ask: None)
    monkeypatch.setattr("murmurate.randomizers.device.streams", lambda key, users, shares: np.zeros(1, np.int64))
    everyone = Terms("shop", EPSILON, streams, split="budget")
    assert total_spent(everyone) > EPSILON
