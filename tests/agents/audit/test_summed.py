# SPDX-License-Identifier: Apache-2.0
"""The auditor of central streams: nothing where there is nothing, and every planted fault under its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.audit.findings import VIOLATIONS, Audit
from murmurate.agents.embedded.runtime import Keys, Runtime
from murmurate.agents.stages.central_at_partition import CentralAtPartition
from murmurate.agents.stages.counting import CountedEvents
from murmurate.agents.stages.curate import CuratedStream
from murmurate.agents.stages.curation import Curation
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets
from murmurate.topics.block import SumsBlock, encode_sums
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.curated import Curated
from murmurate.topics.messages import Start
from murmurate.topics.names import stream_id
from tests.agents.audit.test_auditor import Tape
from tests.agents.central import BLOCKS, EVERY_KIND, FEW, FOUND_SPENT, SPENT, beside, only, ran, spending
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Event, arrivals, key

END = (FIRST + 14) * SECOND
PLAN = beside()


def audited(tape: Tape, plan: Plan = PLAN, keys: Keys = KEYS) -> Audit:
    return audit(plan, keys.edge.devices, tape.read, {TOPIC: 2})


def seen(found: Audit) -> dict[str, int]:
    return {name: getattr(found, name) for name in VIOLATIONS if getattr(found, name)}


def run(plan: Plan = PLAN, *, keys: Keys = KEYS) -> Runtime:
    events = [event for event in spending(plan, users=20, periods=12) if event.arrives < END - SECOND]
    late = [replace(event, arrives=event.time + 4000) for event in events[::17] if event.time + 4000 < END]
    return ran(plan, arrivals(_sorted([*events, *late]), until=END), step=200, keys=keys)


def _sorted(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.arrives)


@cache
def honest() -> Runtime:
    return run()


def places(tape: Tape, kind: type, name: str, topic: str) -> list[tuple[int, Curated | SumsBlock]]:
    found = []
    for at, record in enumerate(tape.records[topic, 0]):
        one = decode_record(record)
        if isinstance(one, kind) and getattr(one, "stream", None) in (name, stream_id(name)):
            assert isinstance(one, Curated | SumsBlock)
            found.append((at, one))
    return found


def leaf(tape: Tape, name: str, number: int = 5) -> tuple[int, Curated]:
    """One of the stream's leaves, and where its record stands."""
    leaves = [(at, one) for at, one in places(tape, Curated, name, "tallies") if isinstance(one, Curated) and one.sums]
    return leaves[number]


# ---- nothing where there is nothing ----


@pytest.mark.parametrize(
    "plan", [PLAN, only(), only(split="budget", partitions=1), beside(split="budget", tallies=2)],
    ids=["beside a local stream", "alone", "by budget, one partition", "two publish instances"],
)  # fmt: skip
def test_an_honest_run_has_no_violation(plan: Plan) -> None:
    found = audited(Tape(honest() if plan is PLAN else run(plan)), plan)
    assert found.holds, found.where
    assert found.sums == plan.partitions * len(EVERY_KIND) * 15  # the first lies before the start
    assert found.leaves > 60


# ---- planted in the logs ----


def test_a_second_noisy_copy_of_a_sum_is_found() -> None:
    tape = Tape(honest())
    at, one = leaf(tape, "spent")
    again = Curation(replace(PLAN, name="another"), SPENT, KEYS.edge.devices.randomness)
    again.begin(one.t)
    copy = again.period(np.zeros(2, np.int64))
    tape.records["tallies", 0].insert(at + 3, encode(copy))
    found = audited(tape)
    assert seen(found) == {"miscurated": 1}
    assert f"stream 'spent', period {one.t} where period" in found.where[0]


def test_the_same_copy_twice_is_found_too() -> None:
    tape = Tape(honest())
    at, _ = leaf(tape, "visits")
    tape.records["tallies", 0].insert(at + 1, tape.records["tallies", 0][at])
    assert seen(audited(tape)) == {"miscurated": 1}


def test_a_period_that_was_left_out_is_found() -> None:
    tape = Tape(honest())
    at, _ = leaf(tape, "spent")
    del tape.records["tallies", 0][at]
    assert seen(audited(tape))["miscurated"] >= 1


@pytest.mark.parametrize("name", ["spent", "found", "blocks", "few", "visits", "screened"])
def test_a_noisy_sum_that_is_off_by_one_is_found(name: str) -> None:
    tape = Tape(honest())
    at, one = leaf(tape, name, number=2)
    assert one.sums is not None
    whole, rest = one.sums[-1]
    tape.records["tallies", 0][at] = encode(one.model_copy(update={"sums": (*one.sums[:-1], (whole + 1, rest))}))
    assert seen(audited(tape)) == {"misnoised": 1}


def test_noise_of_another_tree_and_a_record_that_names_another_are_found() -> None:
    tape = Tape(honest())
    at, one = leaf(tape, "spent")
    _, other = leaf(tape, "spent", number=1)
    assert one.sums is not None
    assert other.tree is not None
    tape.records["tallies", 0][at] = encode(one.model_copy(update={"tree": other.tree}))
    assert seen(audited(tape)) == {"misnoised": 1}
    stranger = Tape(honest())
    devices = KEYS.edge.devices
    other_key = Secrets(key("other"), devices.slots, devices.split)
    found = audit(PLAN, other_key, stranger.read, {TOPIC: 2})
    assert found.misnoised == found.leaves  # every one


def test_a_sums_record_that_says_something_else_is_found() -> None:
    for change in (1, -1):
        tape = Tape(honest())
        at, one = places(tape, SumsBlock, "found", "sums")[20]
        assert isinstance(one, SumsBlock)
        sums = one.sums.copy()
        sums[3] += change
        tape.records["sums", 0][at] = encode_sums(one.stream, one.contributor, one.t, sums)
        found = audited(tape)
        assert seen(found) == {"missummed": 1}
        assert f"period {one.t}, raw partition {one.contributor}" in found.where[0]


def test_a_sums_record_that_is_gone_or_comes_twice_is_found() -> None:
    for many in (0, 2):
        tape = Tape(honest())
        at, _ = places(tape, SumsBlock, "spent", "sums")[20]
        tape.records["sums", 0][at : at + 1] = tape.records["sums", 0][at : at + 1] * many
        assert seen(audited(tape))["missummed"] >= 1


def test_a_stream_that_nobody_began_is_found() -> None:
    tape = Tape(honest())
    tape.records["rounds", 0] = [
        record
        for record in tape.records["rounds", 0]
        if not (isinstance(one := decode_record(record), Start) and one.stream == "visits")
    ]
    assert seen(audited(tape)) == {"miscurated": 13}


# ---- planted in the code ----


def played_with(patch: Callable[[pytest.MonkeyPatch], None], *, plan: Plan = PLAN) -> dict[str, int]:
    """What is seen of a run whose stages have this fault."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        patch(monkeypatch)
        runtime = run(plan)
    return seen(audited(Tape(runtime), plan))


def test_a_curator_that_does_not_wait_for_all_partitions_is_found() -> None:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        whole = CuratedStream.take

        def take(self: CuratedStream, block: SumsBlock, at: int) -> None:
            if block.contributor == 2 and block.t % 5 == 0:
                block = replace(block, sums=np.zeros_like(block.sums))
            whole(self, block, at)

        monkeypatch.setattr(CuratedStream, "take", take)

    found = played_with(patch)
    assert found.keys() == {"misnoised", "mischosen"}
    assert found["misnoised"] > 3


def test_noise_that_does_not_begin_anew_with_each_tree_is_found() -> None:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        digest = Curation._digest

        def stuck(self: Curation, what: str, shape: dict[str, object]) -> bytes:
            since, self._since = self._since, FIRST
            found = digest(self, what, shape)
            self._since = since
            return found

        monkeypatch.setattr(Curation, "_digest", stuck)

    assert played_with(patch).keys() == {"misnoised", "mischosen"}


def test_sums_that_count_too_many_events_of_a_user_are_found() -> None:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        begun = CountedEvents.__init__
        monkeypatch.setattr(CountedEvents, "__init__", lambda self, most, window: begun(self, most + 1, window))

    assert played_with(patch, plan=only(FEW)).keys() == {"missummed", "misnoised"}


def test_sums_that_take_late_events_are_found() -> None:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        shown = CentralAtPartition.shown

        def early(self: CentralAtPartition, partitions: Sequence[int], time_ms: int) -> object:
            return shown(self, partitions, time_ms + 400)

        monkeypatch.setattr(CentralAtPartition, "shown", early)

    assert "missummed" in played_with(patch, plan=only(SPENT, BLOCKS, FOUND_SPENT))
