# SPDX-License-Identifier: Apache-2.0
"""Records for whoever looks at a deployment: several partitions at once, their last records, the newest states.

Contract: in no group, nothing is written, nobody's place is touched.  What is read ends where the partitions ended when
it began, so it ends.  Not here: what records say (cli/peek.py), following what comes (release_reader.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from murmurate.agents.kafka.client import Client, Got, Place, Reader
from murmurate.agents.kafka.state import StateRecord, state_key

FIRST_STEP = 64
GROWTH = 8
"""From the end of a partition it is looked back so many offsets, then so many times as many, until there is enough."""


def everything(got: Got) -> bool:
    """Every record."""
    return True


async def places(client: Client, topics: Iterable[str]) -> dict[str, list[Place]]:
    """The partitions of those topics that are there and that we may see."""
    async with client.admin() as admin:
        found = await admin.describe(list(topics))
    return {name: [Place(name, p) for p in range(found[name].partitions)] for name in topics if name in found}


async def span(reader: Reader, ranges: Mapping[Place, tuple[int, int]]) -> AsyncIterator[Got]:
    """The records of each partition from its first offset to before its second, in order within each."""
    left = {place for place, (start, stop) in ranges.items() if start < stop}
    if not left:
        return
    reader.at({place: ranges[place][0] for place in left})
    while left:
        for got in await reader.poll():
            if got.place in left and got.offset < ranges[got.place][1]:
                yield got
        left = {place for place in left if await reader.position(place) < ranges[place][1]}


async def whole(reader: Reader, wanted: Iterable[Place]) -> tuple[dict[Place, int], dict[Place, list[Got]]]:
    """Where each partition begins, and everything that is in it."""
    bounds = await reader.bounds(list(wanted))
    found: dict[Place, list[Got]] = {place: [] for place in bounds}
    async for got in span(reader, bounds):
        found[got.place].append(got)
    return {place: first for place, (first, _) in bounds.items()}, found


async def last(
    reader: Reader, wanted: Iterable[Place], count: int, keep: Callable[[Got], bool] = everything
) -> tuple[dict[Place, int], dict[Place, list[Got]]]:
    """Where each partition ends, and of the records that one keeps the last `count` of each."""
    bounds = await reader.bounds(list(wanted))
    found: dict[Place, list[Got]] = {place: [] for place in bounds}
    seen = {place: end for place, (_, end) in bounds.items()}  # from there on it has been looked at
    step = max(FIRST_STEP, 2 * count)
    while True:
        short = [place for place, (first, _) in bounds.items() if len(found[place]) < count and first < seen[place]]
        if not short:
            return {place: end for place, (_, end) in bounds.items()}, {p: found[p][-count:] for p in found}
        ranges = {place: (max(bounds[place][0], seen[place] - step), seen[place]) for place in short}
        earlier: dict[Place, list[Got]] = {place: [] for place in short}
        async for got in span(reader, ranges):
            if keep(got):
                earlier[got.place].append(got)
        for place in short:
            found[place] = earlier[place] + found[place]
            seen[place] = ranges[place][0]
        step *= GROWTH


async def states(reader: Reader, deployment: str, stage: str, partitions: int) -> dict[int, StateRecord]:
    """The newest state record of each instance of a stage that has written one."""
    topic = f"{deployment}.state.{stage}"
    wanted = [Place(topic, p) for p in range(partitions)]

    def is_state(got: Got) -> bool:
        return got.key == state_key(got.place.partition) and got.value is not None

    _, found = await last(reader, wanted, 1, is_state)
    return {
        place.partition: StateRecord.load(records[-1].value or b"", f"{topic} {place.partition}")
        for place, records in found.items()
        if records
    }
