# SPDX-License-Identifier: Apache-2.0
"""Every state and every snapshot carries the number of its form, and one of another form is refused with the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from murmurate.agents.embedded.task import Task
from murmurate.agents.kafka import state as records
from murmurate.agents.kafka.state import StateRecord
from murmurate.agents.stages import aggregate, curate, door, frozen, perturb, publish, shuffle
from murmurate.agents.stages.errors import StateError
from murmurate.aggregators.filters import following
from murmurate.aggregators.methods import after_horizon, filtered_horizon, holdout, last_estimate
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import HORIZON_METHODS, METHODS, method
from murmurate.randomizers import GRR, Device, DeviceArray, SnapshotError, device, devices
from murmurate.randomizers.state import REMEDY, StateForm
from tests.agents.central import VISITS
from tests.agents.world import FIRST, KEYS, SECOND, Event, arrivals, deployment, played, stream
from tests.measured import sized, vector_decision

PLAN = deployment(stream("screen", "lpa", w=4), partitions=1, targets=1, min_batch=2, central=(VISITS,))
NUMBERS = Setting(sized(257, "mean"), 1_000_000, w=4, slots=40, first_t=1, seed=bytes(32))
STAGES: dict[str, tuple[ModuleType, str]] = {
    "door": (door, "FORM"),
    "perturb": (frozen, "FORM"),
    "curate": (curate, "FORM"),
    "shuffle": (shuffle, "FORM"),
    "aggregate": (aggregate, "FORM"),
    "publish": (publish, "FORM"),
}


@pytest.fixture(scope="module")
def tasks() -> Mapping[str, Task]:
    """A task of each stage, after some periods."""
    begin = (FIRST - 1) * SECOND
    times = [begin + period * SECOND + user for period in range(4) for user in range(30)]
    events = [Event("screen", f"u{i % 30}", time, "home", 0, time) for i, time in enumerate(times)]
    ran = played(PLAN, arrivals(events, until=(FIRST + 3) * SECOND, sources=1), sources=1)
    found = {task.name.split()[0]: task for task in ran.tasks}
    assert found.keys() == STAGES.keys()
    assert len(ran.releases()) > 1
    return found


def refused(found: str, allowed: StateForm, read: Callable[[], object]) -> None:
    """It is, in one line that says what was found, what is allowed, and what to do."""
    with pytest.raises((StateError, SnapshotError)) as caught:
        read()
    said = f"{allowed.kind}: found a snapshot of {found}; allowed: {allowed}. {REMEDY}"
    assert str(caught.value).endswith(said)
    assert "\n" not in str(caught.value)


def another(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> tuple[StateForm, StateForm]:
    """From now on the program knows a later form: the one that it knew, and that one."""
    old: StateForm = getattr(module, name)
    new = old._replace(number=old.number + 1)
    monkeypatch.setattr(module, name, new)
    return old, new


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_goes_on_from_its_own_form_and_from_no_other(
    stage: str, tasks: Mapping[str, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks[stage]
    task.recover()
    before = len(task.state)
    old, new = another(monkeypatch, *STAGES[stage])
    refused(str(old), new, task.recover)
    with pytest.raises(StateError, match=f"^{task.name}: "):
        task.recover()
    assert len(task.state) == before


def test_a_small_state_that_was_plain_json_is_no_state(tasks: Mapping[str, Task]) -> None:
    for task in tasks.values():
        with pytest.raises(SnapshotError, match=r"torn|no snapshot"):
            task.stage.restore(b'{"sealed":{},"missing":{}}', ())


def test_perturbs_snapshot_of_another_form_is_refused(
    tasks: Mapping[str, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks["perturb"]
    task.recover()
    snapshot, marks = task.snapshot()
    task.state.append(task.record(marks, snapshot))
    task.recover()
    old, new = another(monkeypatch, perturb, "FORM")
    refused(str(old), new, task.recover)
    task.state.pop()


def test_a_state_record_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    value = StateRecord({}, {}, b"small", None, {}).dump()
    assert StateRecord.load(value, "shop.state.publish 0").small == b"small"
    old, new = another(monkeypatch, records, "FORM")
    refused(str(old), new, lambda: StateRecord.load(value, "shop.state.publish 0"))


def test_a_method_and_all_behind_it_goes_on_from_its_own_form_and_from_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_changes = Setting(sized(4), 1_000_000, w=4, slots=40, first_t=1, seed=bytes(32))
    all_of_them = [(MethodOptions(name), NUMBERS, kind) for name, kind in METHODS.items()]
    all_of_them += [(MethodOptions(name, horizon="4"), of_changes, kind) for name, kind in HORIZON_METHODS.items()]
    for options, setting, kind in all_of_them:
        old = StateForm(f"method {options.name}", kind.form)
        state = method(options, setting).state()
        method(options, setting).load(state)
        with monkeypatch.context() as patch:
            patch.setattr(kind, "form", kind.form + 1)
            refused(str(old), old._replace(number=kind.form), partial(method(options, setting).load, state))
    for module, options, setting in (
        (following, MethodOptions("lpu", filter="adaptive"), NUMBERS),
        (holdout, MethodOptions("lpu", clip="found"), NUMBERS),
        (after_horizon, MethodOptions("sao2", horizon="4", revise=4), of_changes),
        (filtered_horizon, MethodOptions("sao2", horizon="4", filter="adaptive"), of_changes),
    ):
        state = method(options, setting).state()
        method(options, setting).load(state)
        with monkeypatch.context() as patch:
            older, newer = another(patch, module, "FORM")
            refused(str(older), newer, partial(method(options, setting).load, state))


def test_a_decision_that_is_kept_has_a_form_too(monkeypatch: pytest.MonkeyPatch) -> None:
    decision = vector_decision(3, False, 2, np.zeros(2), np.ones(2), GRR(d=2, epsilon=1.0))
    kept = last_estimate.packed(decision)
    assert last_estimate.unpacked(kept).t == 3
    old, new = another(monkeypatch, last_estimate, "FORM")
    refused(str(old), new, lambda: last_estimate.unpacked(kept))


def test_what_devices_have_spent_is_not_read_in_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    terms, secrets = PLAN.terms({}), KEYS.edge.devices
    one, many = Device(terms, bytes(16), secrets).snapshot(), DeviceArray(terms, "screen", secrets).snapshot()
    with monkeypatch.context() as patch:
        old, new = another(patch, device, "DEVICE")
        refused(str(old), new, lambda: Device.restore(one, terms, bytes(16), secrets))
    with monkeypatch.context() as patch:
        old, new = another(patch, devices, "DEVICES")
        refused(str(old), new, lambda: DeviceArray.restore(many, terms, "screen", secrets))
