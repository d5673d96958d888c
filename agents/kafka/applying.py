# SPDX-License-Identifier: Apache-2.0
"""What `murmurate config apply` writes: the next config record, with the instant from which its values hold.

Contract: once, whoever else writes config records: 1. fence them, 2. read the record that holds, 3. write the next one.
Nothing is written where a value may not change while the deployment lives, while another change is to come, or where
the instant leaves workers no time to hear of it.  `cancel` writes what holds now as the next record.  Not here: the
words for it (agents/cli/config.py), who compares (agreement.py), what goes by it (stages/plan_by_time.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from murmurate.agents.kafka.agreement import agreed, none_found, stranger
from murmurate.agents.kafka.client import Client, Place, Write
from murmurate.agents.kafka.errors import AgreementError, TopicsError
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.registry import kind_of
from murmurate.config.agreement import Difference, differences, successor, values
from murmurate.config.plan import Plan
from murmurate.config.switch import SWITCHED, before
from murmurate.topics.codec import encode
from murmurate.topics.config_parts import ConfigUntil
from murmurate.topics.messages import Config
from murmurate.topics.names import topic
from murmurate.topics.times import instant

ROLLING_MS: Final = 10 * 60_000
"""How long a restart of all workers, one by one, is given where no instant is named."""
LEAST_MS: Final = 30_000
"""How long workers have to hear of a change: they look for records every five seconds."""
FULL_MS: Final = 60_000


class Applied(NamedTuple):
    """What is written, or would be."""

    record: Config
    changes: list[Difference]
    """What is another then."""


async def apply(
    client: Client, plan: Plan, secrets: Mapping[str, str], *, fed: bool, from_ms: int | None, now_ms: int,
    dry_run: bool = False,
) -> Applied:  # fmt: skip
    """The values of this file from an instant on; by default soon enough for a rolling restart."""

    def made(record: Config) -> Applied:
        if record.until is not None and (fed or now_ms < record.until.time):
            _pending(record, until=instant(record.until.time), fed=fed)
        found = differences(record, values(replace(plan, until=None), fed=fed), secrets)
        for one in found:
            if one.key not in SWITCHED:
                way = "`murmurate topics create`" if one.free else "a deployment of another name"
                raise AgreementError(f"{one.line} (config {record.number}; another one takes {way})")
        if any(one.key == "privacy.min_batch" for one in found) and (why := _shaped(plan)):
            raise AgreementError(f"privacy.min_batch: found another one with {why}; allowed: another deployment")
        if not found:
            raise AgreementError(f"config {record.number}: found the values of this file; allowed: a file with others")
        time = from_ms if from_ms is not None else -(-(now_ms + ROLLING_MS) // FULL_MS) * FULL_MS
        if not fed and time < now_ms + LEAST_MS:
            raise AgreementError(
                f"--from: found {instant(time)}; allowed: {instant(now_ms + LEAST_MS)} or later, so that workers hear "
                "of it before"
            )
        held = ConfigUntil(time=time, values={one.key: record.values[one.key] for one in found})
        following = successor(record, values(plan, fed=fed), secrets)
        return Applied(following.model_copy(update={"until": held}), found)

    return await _written(client, plan, secrets, made, dry_run=dry_run)


async def cancel(
    client: Client, plan: Plan, secrets: Mapping[str, str], *, fed: bool, now_ms: int, dry_run: bool = False
) -> Applied:
    """Take back a change that has not come: what holds now goes on to hold."""

    def made(record: Config) -> Applied:
        if record.until is None or (not fed and record.until.time <= now_ms):
            raise AgreementError(f"config {record.number}: found no change that is to come; allowed: one to take back")
        following = before(record).model_copy(update={"number": record.number + 1})
        return Applied(following, differences(record, following.values, {}))

    return await _written(client, plan, secrets, made, dry_run=dry_run)


def _shaped(plan: Plan) -> str | None:
    """What decides by min_batch who is asked what, so that it stays; None if nothing does."""
    for stream in plan.streams:
        if issubclass(kind_of(stream.method.name), HorizonMethod):
            return f"method = {stream.method.name} (streams.{stream.name})"
        if stream.method.finds_clip:
            return f"a clip that is found (streams.{stream.name})"
    return "privacy.mixed" if plan.mixed is not None else "privacy.fakes" if plan.fakes else None


def _pending(record: Config, *, until: str, fed: bool) -> None:
    """Raise, since one change waits for its instant."""
    raise AgreementError(
        f"config {record.number}: found a change that holds from {until} on; allowed: one at a time (`murmurate config "
        f"apply --cancel` takes it back{', until the recording has come there' if fed else ''})"
    )


async def _written(
    client: Client, plan: Plan, secrets: Mapping[str, str], made: Callable[[Config], Applied], *, dry_run: bool
) -> Applied:
    """Fence, read, write."""
    rounds = Place(topic(plan.name, "rounds"), 0)
    writer = client.writer(f"{plan.name}-provision")
    try:
        if not dry_run:
            await writer.open()
        async with client.reader() as reader:
            record = await agreed(reader, plan.name)
        if record is None:
            raise TopicsError(none_found(rounds.topic))
        if other := stranger(record, plan, secrets):
            raise AgreementError(other)
        applied = made(record)
        if not dry_run:
            await writer.transact([Write(rounds, encode(applied.record))])
        return applied
    finally:
        await writer.close()
