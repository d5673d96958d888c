# SPDX-License-Identifier: Apache-2.0
"""What a Task writes of its state: the record of where it stands, and the chunks that the record points to.

Contract: nothing but what is handed in.  Not here: their bytes (state.py), when they are written (task.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.state import Pointer, StateRecord, chunk_key, sealed, split, state_key
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.stage import Log, Stage


def record_of(stage: Stage, wiring: Wiring, marks: Mapping[Log, int], pointer: Pointer | None) -> StateRecord:
    """The state of a stage at these marks. `pointer`: its newest snapshot."""
    marks = dict(marks)
    if not stage.large:
        start, pointer = dict(stage.replay_from(marks)), None
    else:
        start = dict(pointer.start) if pointer else dict.fromkeys(wiring.inputs, 0)
    return StateRecord(marks, start, stage.small(), pointer, wiring.revisions, wiring.config, wiring.ids)


def state_writes(
    stage: Stage, wiring: Wiring, marks: Mapping[Log, int], pointer: Pointer | None,
    last: tuple[int, StateRecord] | None,
) -> tuple[StateRecord, list[Write]]:  # fmt: skip
    """The state record of a stage at these marks, and what is to be written: its chunks, then the record itself.
    `last`: the newest state record that was written, and its offset.
    """
    record, chunks = record_of(stage, wiring, marks, pointer), list[bytes]()
    if not stage.large:
        record, chunks = split(record, last)
    record = sealed(record, stage)
    writes = chunk_writes(wiring.state, record.snapshot.generation, chunks) if record.snapshot and chunks else []
    return record, [*writes, Write(wiring.state, record.dump(), state_key(wiring.partition))]


def chunk_writes(place: Place, generation: int, parts: Iterable[bytes]) -> list[Write]:
    """The chunks of a state, as records of its state partition."""
    return [Write(place, part, chunk_key(place.partition, generation, i)) for i, part in enumerate(parts)]
