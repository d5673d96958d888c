# SPDX-License-Identifier: Apache-2.0
"""States whose transitions are checked: no other step is taken, and the drawings show them all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.embedded import task as embedded
from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import Task
from murmurate.agents.kafka import life
from murmurate.agents.kafka import task as kafka
from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.topology import Topology, ZoneKeys
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.open_period import PERIOD_STATES
from murmurate.agents.stages.round_in_progress import ROUND_STATES, RoundInProgress, RoundState
from murmurate.agents.stages.stage import Out
from murmurate.aggregators.methods.holdout import PHASES
from murmurate.aggregators.transitions import State, TransitionError
from tests.agents.world import KEYS, TOPIC, deployment

PAGE = Path(__file__).resolve().parents[2] / "docs" / "DATA_MODEL.md"
TABLES: dict[str, Mapping[Any, tuple[Any, ...]]] = {
    "## A task": embedded.LIVES,
    "### A task on Kafka": life.LIVES,
    "### A round at a target of the shuffle": ROUND_STATES,
    "### The open period of a stream": PERIOD_STATES,
    "## A hold-out": PHASES,
}


@pytest.mark.parametrize("heading", TABLES)
def test_a_drawing_shows_the_steps_that_the_code_takes_and_no_others(heading: str) -> None:
    table = TABLES[heading]
    (drawn,) = re.findall(rf"^{heading}\n(?:(?!^#).)*?^```mermaid\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    arrows = re.findall(r"([a-z]+) --> ([a-z]+)", drawn)
    assert set(arrows) == {(state.value, to.value) for state, follow in table.items() for to in follow}
    (first,) = re.findall(r"\[\*\] --> ([a-z]+)", drawn)
    assert first == next(iter(table)).value


@pytest.mark.parametrize("heading", TABLES)
def test_every_other_step_is_refused_and_changes_nothing(heading: str) -> None:
    table = TABLES[heading]
    assert {to for follow in table.values() for to in follow} <= table.keys()
    for now, follow in table.items():
        for then in table:
            stands = State("it", now, table)
            if then in follow:
                stands.to(then)
                assert stands.now is then
                continue
            with pytest.raises(TransitionError, match=f"^it: found {then.value} after {now.value}; allowed: "):
                stands.to(then)
            assert stands.now is now
        stands = State("it", next(iter(table)), table)
        stands.load(now.value)
        assert stands.now is now
        with pytest.raises(TransitionError, match="found 'elsewhere' in a state; allowed: "):
            stands.load("elsewhere")


def test_a_task_that_has_stopped_folds_nothing_and_one_that_is_dead_flushes_nothing() -> None:
    topology = Topology(deployment(partitions=1), ZoneKeys(KEYS.edge, KEYS.shuffle), {TOPIC: 1}, fed=False)
    (wiring,) = topology.wirings("aggregate")[:1]
    task = Task("aggregate 0", wiring.build, wiring.inputs, Logs(), {})
    assert task.life is embedded.Life.LIVE
    task.flush()
    assert task.life is embedded.Life.LIVE
    task._life.to(embedded.Life.DEAD)
    with pytest.raises(TransitionError, match="aggregate 0: found flushing after dead; allowed: recovering"):
        task.flush()
    task.recover()
    assert task.life is embedded.Life.LIVE


class Silent:
    """Is told, and says nothing. Implements Observer."""

    def recovered(self, task: kafka.Task, seconds: float) -> None:
        """It is live."""

    def flushed(self, task: kafka.Task, seconds: float, out: tuple[Out, ...]) -> None:
        """A transaction has been committed."""


def test_a_task_on_kafka_cannot_be_live_before_it_is_open() -> None:
    async def checked(wiring: Wiring) -> None:
        task = kafka.Task(wiring, Client(Access(("localhost:1",))), Silent())
        task.stage = wiring.build()  # as if it had recovered, without having been opened
        with pytest.raises(TransitionError, match=f"{wiring.name}: found live after closed; allowed: open"):
            await task.run()
        with pytest.raises(TransitionError, match=f"{wiring.name}: found parked after closed; allowed: open"):
            await task.park()
        await task.close()
        assert task.life is life.Life.CLOSED

    topology = Topology(deployment(partitions=1), ZoneKeys(KEYS.edge, KEYS.shuffle), {TOPIC: 1}, fed=False)
    for stage in ("publish", "perturb"):
        asyncio.run(checked(topology.wirings(stage)[0]))


def test_a_round_that_is_sealed_never_opens_again() -> None:
    gathering = RoundInProgress.begun("shuffle 0: round 0123", 0)
    for stand in (RoundState.ASKED, RoundState.EMPTY, RoundState.ASKED, RoundState.CLOSED, RoundState.SEALED):
        gathering.state.to(stand)
    with pytest.raises(TransitionError, match="shuffle 0: round 0123: found asked after sealed; allowed: nothing"):
        gathering.state.to(RoundState.ASKED)
