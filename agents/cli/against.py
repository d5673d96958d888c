# SPDX-License-Identifier: Apache-2.0
"""What a running deployment's topics say about its config, held against a file: the frozen facts and config digests.

Contract: topics and state are read and nothing is written.  The digests say that a stream's config is another one, and
cannot say what is: that needs the other file.  Not here: what a difference means (config/changes.py).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from murmurate.agents.cli.deployment import run
from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.client.access import access
from murmurate.agents.kafka.recovery import newest
from murmurate.agents.stages.frozen import facts_of
from murmurate.config.agreement import holding
from murmurate.config.brokers import ADDRESS
from murmurate.config.changes import SHAPE, Change, compare_agreement, compare_digests, compare_facts
from murmurate.config.errors import ConfigError, Mistake
from murmurate.config.planning import plan as planned
from murmurate.config.secrets import NAMES, fingerprints, readable
from murmurate.config.settings import Deployment
from murmurate.randomizers.terms import Facts
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Config, Start

KNOWN = (
    "Known from the topics: partitions, the config record with which every worker compares itself, the frozen facts, "
    "and a digest of what each stream's releases mean. What else would change, and what in a digest, only the other "
    "file can say: murmurate check --against FILE."
)


class RunningDeployment(NamedTuple):
    """What the topics say."""

    partitions: dict[str, int]
    """The partitions of raw and of reports, as far as these topics exist."""
    facts: Facts
    """The frozen facts, from a state of perturb; none before the first."""
    digests: dict[str, tuple[str, int]]
    """Config digest and revision of each stream."""
    config: Config | None = None
    """What every worker compares before it joins."""


def running(deployment: Deployment, brokers: str | None) -> tuple[list[Change], list[str]]:
    """The changes, and what could and could not be known. `brokers`: HOST:PORT, ...; None: those of the file."""
    reached = access(deployment)
    if brokers is not None:
        addresses = tuple(one.strip() for one in brokers.split(","))
        if not all(re.fullmatch(ADDRESS.pattern.strip("^$"), one) for one in addresses):
            raise ConfigError([Mistake("--against", repr(brokers), 'HOST:PORT, "config", or a file that exists')])
        reached = replace(reached, brokers=addresses)
    found = run(_read(Client(reached), deployment.name))
    plan, known = planned(deployment), [KNOWN]
    wanted = {"population.partitions": ("raw", plan.partitions), "kafka.targets": ("reports", plan.targets)}
    changes = [
        Change(key, str(found.partitions[name]), str(count), "refused", SHAPE)
        for key, (name, count) in wanted.items()
        if found.partitions.get(name, count) != count
    ]
    keys = fingerprints(readable(deployment), deployment.name)
    unread = [name for name in NAMES if name not in keys]
    if unread:
        known.append(f"Secrets that cannot be read here, and were not compared: {', '.join(unread)}.")
    agreed = [] if found.config is None else compare_agreement(found.config, plan, keys, fed=_fed(deployment))
    if found.config is None:
        known.append("No config record: workers join nobody before `murmurate topics create` has written one.")
    if found.facts:
        facts: Facts = plan.terms({name: keys[name] for name in ("pepper", "slots", "split") if name in keys}).facts()
        facts |= {"keys.randomness": keys["randomness"]} if "randomness" in keys else {}
        facts |= {"lateness_ms": plan.lateness_ms, **{f"central.{one.name}": one.config for one in plan.central}}
        raw = {"population.partitions"} if any(change.key == "population.partitions" for change in changes) else set()
        changes += [one for one in compare_facts(found.facts, facts) if one.key not in raw]
    else:
        known.append("No perturb has a state yet: the frozen facts are those of the first worker that starts.")
    if not found.digests:
        known.append("No stream has begun.")
    said = {change.key for change in changes}
    changes += [change for change in agreed if change.key not in said]
    named = {change.key.partition(":")[0] for change in agreed}  # the record says what is another in a stream
    digests = compare_digests(found.digests, plan)
    return changes + [one for one in digests if one.key.partition(":")[0] not in named], known


def _fed(deployment: Deployment) -> bool:
    return deployment.time.clock == "feed"


async def _read(client: Client, name: str) -> RunningDeployment:
    raw, reports, state, rounds = (f"{name}.{topic}" for topic in ("raw", "reports", "state.perturb", "rounds"))
    async with client.admin() as admin:
        there = await admin.describe([raw, reports, state, rounds])
    partitions = {
        topic: there[f"{name}.{topic}"].partitions for topic in ("raw", "reports") if f"{name}.{topic}" in there
    }
    if rounds not in there:
        return RunningDeployment(partitions, {}, {})
    facts: Facts = {}
    digests: dict[str, tuple[str, int]] = {}
    async with client.reader() as reader:
        starts, config = await _starts(reader, Place(rounds, 0))
        digests |= starts
        for partition in range(there[state].partitions if state in there else 0):
            last = await newest(reader, Place(state, partition))
            if last is not None:  # each of them holds the same
                facts = facts_of(last[1].small)
                digests |= last[1].revisions
                break
    return RunningDeployment(partitions, facts, digests, config)


async def _starts(reader: Reader, place: Place) -> tuple[dict[str, tuple[str, int]], Config | None]:
    first, end = (await reader.bounds([place]))[place]
    found, configs = dict[str, tuple[str, int]](), list[Config]()
    async for got in reader.between(place, first, end):
        try:
            message = decode(got.value or b"")
        except WireError:
            continue
        if isinstance(message, Start):
            found.setdefault(message.stream, (message.config, message.revision))
        elif isinstance(message, Config):
            configs.append(message)
    return found, holding(configs)
