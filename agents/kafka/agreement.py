# SPDX-License-Identifier: Apache-2.0
"""The `config` record of `rounds`, read and compared before a worker joins anybody.

Contract: a worker that differs reports its value and the record's, and stops: no group was joined, nothing written.
What cannot be read, and a record whose number does not follow, is nobody's.  Not here: what is compared
(config/agreement.py), writing the record (provision.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.errors import AgreementError, TopicsError
from murmurate.config.agreement import first_sources, holding, line, of_another
from murmurate.config.plan import Plan
from murmurate.config.switch import compared
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Config
from murmurate.topics.names import topic

_TAG = Config.tag.encode()


async def agreed(reader: Reader, deployment: str) -> Config | None:
    """The config record that holds; None if there is none."""
    place = Place(topic(deployment, "rounds"), 0)
    first, end = (await reader.bounds([place]))[place]
    return holding([found async for got in reader.between(place, first, end) if (found := config_in(got.value))])


def config_in(value: bytes | None) -> Config | None:
    """The config record in these bytes, if they are one."""
    if value is None or _TAG not in value:
        return None
    try:
        found = decode(value)
    except WireError:
        return None
    return found if isinstance(found, Config) else None


def none_found(rounds: str) -> str:
    """A line for a topic that holds none."""
    return (
        f"{rounds}: found no config record; allowed: the one with which every worker compares its file and secrets "
        "(see `murmurate topics create`)"
    )


def stranger(record: Config, plan: Plan, secrets: Mapping[str, str]) -> str | None:
    """A line where somebody else's deployment has the name; None where none shows."""
    names = of_another(record, secrets)
    if not names:
        return None
    return (
        f"{topic(plan.name, 'rounds')}: found another deployment of the name {plan.name!r} on these brokers, with "
        f"secrets of its own ({', '.join(names)}: no fingerprint is that of config {record.number}); allowed: a name "
        "of its own for each (`name` in the file), or the secrets that this one was made with"
    )


class Agreed(NamedTuple):
    """The record that holds, beside the file of a worker."""

    record: Config
    ends_ms: int | None
    """The instant at which the worker has to stop, since its file has only what holds until then."""

    @property
    def number(self) -> int:
        """The record that the file is of."""
        return self.record.number - (self.ends_ms is not None)


async def compare(
    client: Client, plan: Plan, secrets: Mapping[str, str], *, fed: bool, now_ms: Callable[[], int] = lambda: 0
) -> Agreed:
    """The record that holds. AgreementError if anything is another here; TopicsError if there is none. `secrets`:
    fingerprints of those that are held here.
    """
    rounds = topic(plan.name, "rounds")
    async with client.reader() as reader:
        record = await agreed(reader, plan.name)
    if record is None:
        raise TopicsError(none_found(rounds))
    return judged(record, plan, secrets, fed=fed, now_ms=0 if fed else now_ms())


def judged(record: Config, plan: Plan, secrets: Mapping[str, str], *, fed: bool, now_ms: int) -> Agreed:
    """A record beside a worker's file and secrets; AgreementError where they differ. `now_ms`: the time; 0 where it is
    that of a recording.
    """
    if other := stranger(record, plan, secrets):
        raise AgreementError(other)
    found = compared(record, plan, secrets, fed=fed, now_ms=now_ms)
    if found.differences:
        raise AgreementError(
            f"{line(record.number, topic(plan.name, 'rounds'), found.differences)} (see `murmurate check --against "
            "config`; a change that is free takes `murmurate config apply`, any other a deployment of another name)"
        )
    return Agreed(record, found.ends_ms)


async def first_counts(client: Client, plan: Plan, now: Mapping[str, int]) -> dict[str, int]:
    """How many partitions each source topic had when the deployment began; those of `now` where no record says so."""
    async with client.reader() as reader:
        record = await agreed(reader, plan.name)
    return {**now, **({} if record is None else first_sources(record, plan))}


def sources_at_first(record: Config, plan: Plan, now: Mapping[str, int]) -> dict[str, int]:
    """How many partitions each source topic had when the deployment began. TopicsError if the record does not say so,
    or if one has fewer `now`.
    """
    first, rounds = first_sources(record, plan), topic(plan.name, "rounds")
    for name, count in now.items():
        if name not in first:
            raise TopicsError(
                f"{rounds}: found a config record that does not say how many partitions {name} had at first (see "
                "`murmurate topics create`)"
            )
        if count < first[name]:
            raise TopicsError(
                f"{name}: found {count} partitions; allowed: at least {first[name]}, as many as it had when the "
                "deployment began: it was made anew, and what the doors have read is of another topic (a deployment "
                "of another name can read it)"
            )
    return {name: first[name] for name in now}
