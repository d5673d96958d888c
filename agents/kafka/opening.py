# SPDX-License-Identifier: Apache-2.0
"""What `topics create` writes into `rounds`: the config record that all workers compare, and where streams begin.

Contract: once, whoever else does it at the same time: 1. fence them, 2. read what is there, 3. write the rest in one
transaction.  Nothing is written where something is refused: a value that may never change, or one that all mixing
workers must change together while one of them runs: whoever has joined by then is seen here, afterwards too, and
whoever joins later compares once more.  Of two starts of a stream every stage takes the first, of the
config records the newest holds.  Not here: making topics (provision.py), comparing (agreement.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from murmurate.agents.kafka.agreement import config_in
from murmurate.agents.kafka.client import Client, Place, Write
from murmurate.agents.kafka.errors import BrokerError
from murmurate.config.agreement import counted, differences, holding, refused, successor, values
from murmurate.config.plan import Plan
from murmurate.config.secrets import NAMES
from murmurate.topics.codec import decode, encode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Config, Start
from murmurate.topics.names import topic
from murmurate.topics.times import instant

TOGETHER: Final[Mapping[str, tuple[str, ...]]] = {"privacy.min_batch": ("shuffle", "publish")}
"""Values of which two at one time would contradict each other, and the stages that go by them."""


class Opening(NamedTuple):
    """What is written, or would be."""

    config: Config | None
    """The config record to write; None where the one in force holds all of it."""
    starts: tuple[Start, ...]
    refused: tuple[str, ...]
    uncompared: tuple[str, ...]
    """Secrets of which no fingerprint is known."""
    together: tuple[str, ...] = ()
    """Stages of which no worker may run meanwhile."""


async def begin(
    client: Client, plan: Plan, secrets: Mapping[str, str], sources: Mapping[str, int], *, fed: bool, now_ms: int
) -> Opening:
    """Write the missing records, and report them. sources: partitions of each source topic."""
    writer = client.writer(f"{plan.name}-provision")
    try:
        await writer.open()
        opening = await look(client, plan, secrets, sources, fed=fed, now_ms=now_ms)
        records = [encode(record) for record in (opening.config, *opening.starts) if record is not None]
        if records:
            place = Place(topic(plan.name, "rounds"), 0)
            await writer.transact([Write(place, record) for record in records])
        if opening.together and (late := await _running(client, plan, opening.together)):
            return opening._replace(refused=tuple(f"config: was written{one}" for one in late))
        return opening
    finally:
        await writer.close()


async def look(
    client: Client, plan: Plan, secrets: Mapping[str, str], sources: Mapping[str, int], *, fed: bool, now_ms: int,
    there: bool = True,
) -> Opening:  # fmt: skip
    """What would be written. `there`: whether `rounds` exists."""
    held, begun = await _read(client, plan) if there else (None, set[str]())
    wanted = successor(held, values(plan, fed=fed), secrets, counted(plan, sources))
    uncompared = tuple(name for name in NAMES if name not in wanted.secrets)
    wrong = [
        f"{one.line} (config {held.number if held else 0} in {topic(plan.name, 'rounds')}; another needs a deployment "
        "of another name)"
        for one in refused(held, wanted)
    ]
    if not wrong and held is not None and held.until is not None and wanted != held and now_ms < held.until.time:
        at = instant(held.until.time)
        wrong.append(
            f"config {held.number}: found a change that holds from {at} on; allowed: the file that `murmurate config "
            "apply` wrote, or `murmurate config apply --cancel` first"
        )
    together: dict[str, None] = {}
    if held is not None and not wrong:
        for one in (one for one in differences(held, wanted.values, wanted.secrets) if one.key in TOGETHER):
            together |= dict.fromkeys(TOGETHER[one.key])
            if await _has_published(client, plan):
                wrong.append(f"{one.line} since publish has a state; another takes `murmurate config apply`")
                continue
            wrong += [f"{one.line}{running}" for running in await _running(client, plan, TOGETHER[one.key])]
    if wrong:
        return Opening(None, (), tuple(wrong), uncompared)
    starts = [] if fed else [stream for stream in plan.everything if stream.name not in begun]
    return Opening(
        None if wanted == held else wanted,
        tuple(
            Start(stream=stream.name, t=stream.period(now_ms) + 1, config=stream.config, revision=stream.revision)
            for stream in starts
        ),
        (),
        uncompared,
        tuple(together),
    )


async def _has_published(client: Client, plan: Plan) -> bool:
    """Whether publish has decided anything: its methods go by the value that they began with."""
    places = [Place(topic(plan.name, "state.publish"), p) for p in range(plan.tallies)]
    async with client.reader() as reader:
        return any(end for _, end in (await reader.bounds(places)).values())


async def _read(client: Client, plan: Plan) -> tuple[Config | None, set[str]]:
    """The config record that holds, and the streams that have begun: where `rounds` has begun to forget, all have."""
    place = Place(topic(plan.name, "rounds"), 0)
    configs, begun = list[Config](), set[str]()
    async with client.reader() as reader:
        first, end = (await reader.bounds([place]))[place]
        async for got in reader.between(place, first, end):
            if (config := config_in(got.value)) is not None:
                configs.append(config)
            elif (stream := _started(got.value)) is not None:
                begun.add(stream)
    return holding(configs), begun if first == 0 else {stream.name for stream in plan.everything}


def _started(value: bytes | None) -> str | None:
    try:
        found = decode(value or b"")
    except WireError:
        return None
    return found.stream if isinstance(found, Start) else None


async def _running(client: Client, plan: Plan, stages: tuple[str, ...]) -> list[str]:
    """A line's end for each of these stages that has a worker, or of which that cannot be seen."""
    found = []
    async with client.admin() as admin:
        for stage in stages:
            group = f"{plan.name}-{stage}"
            try:
                _, members = await admin.owners(group)
            except BrokerError as error:
                found.append(f" (whether anybody is in group {group} cannot be seen: {error})")
                continue
            if members:
                found.append(f" while a worker runs {stage}: stop those workers, run this again, and start them")
    return found
