# SPDX-License-Identifier: Apache-2.0
"""Who may do what on the brokers: the commands of kafka-acls that make zones of principals.

Contract: whoever reads or writes a topic in names.TOPICS may do that and no more; a zone's principal has the groups and
the transactional ids of its own stages.  What is not allowed is denied, if the brokers deny by default
(`allow.everyone.if.no.acl.found=false`).  Not here: applications, which write their own topics as they always did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from murmurate.agents.kafka.opening import TOGETHER
from murmurate.agents.kafka.provision import wanted
from murmurate.config.plan import Plan
from murmurate.config.settings import Deployment
from murmurate.topics.names import STAGES, TOPICS, ZONES, topic

ROLES: Final = (*ZONES, "feed", "subscribers", "provision", "operator", "auditor")
"""Every principal of a deployment: "User:shop-edge" and so on, unless they are called otherwise."""
HOME: Final[Mapping[str, str]] = {**STAGES, "web": "analysis"}
"""Whose principal a reader or a writer of the table works under, where it is no principal itself."""
PROVISION: Final = ("Create", "Describe", "AlterConfigs")


class Permission(NamedTuple):
    """One thing that one principal may do to some resources."""

    role: str
    operations: tuple[str, ...]
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    """Transactional ids."""
    prefixed: bool = False
    """Whether the names are what the real names begin with."""


def acl(deployment: Deployment, plan: Plan, principals: Mapping[str, str] | None = None) -> list[str]:
    """The commands, one a line. `principals`: role -> principal, where it is not "User:{deployment}-{role}"."""
    named = {role: f"User:{plan.name}-{role}" for role in ROLES} | dict(principals or {})
    head = ["kafka-acls", "--bootstrap-server", ",".join(deployment.kafka.brokers)]
    if deployment.kafka.security != "plaintext":
        head += ["--command-config", "admin.properties"]
    return [" ".join([*head, "--add", *_words(grant, named[grant.role])]) for grant in grants(deployment, plan)]


def grants(deployment: Deployment, plan: Plan) -> Iterator[Permission]:
    """Everything that is allowed."""
    sources = tuple(sorted({stream.topic for stream in plan.everything}))
    ours = tuple(wanted(deployment, plan, dict.fromkeys(sources, 1)))
    theirs = tuple(name for name in sources if name not in ours)
    fed = deployment.time.clock == "feed"
    for role in ROLES:
        if role == "feed" and not fed:
            continue
        read = _touched(plan, role, ours, sources, "readers")
        write = _touched(plan, role, ours, sources, "writers")
        stages = [stage for stage, zone in STAGES.items() if zone == role]
        groups = tuple(f"{plan.name}-{stage}" for stage in stages)
        if read or groups:
            yield Permission(role, ("Read",), read, groups)
        if write:
            yield Permission(role, ("Write",), write)
        if role == "operator":
            everybody = tuple(f"{plan.name}-{stage}" for stage in STAGES)
            yield Permission(role, ("Describe",), (*ours, *theirs), everybody)
            yield Permission(role, ("DescribeConfigs",), (*ours, *theirs))
        elif role == "subscribers":
            yield Permission(role, ("Read",), groups=(f"{plan.name}-subscribers",), prefixed=True)
        elif role == "provision":
            yield Permission(role, PROVISION, ours)
            yield Permission(role, ("Alter",), (topic(plan.name, "state.door"),))  # where a source gets more
            if theirs:
                yield Permission(role, ("Describe", "DescribeConfigs"), theirs)
            yield Permission(role, ("Write",), ids=(f"{plan.name}-provision",))
            deciding = dict.fromkeys(stage for stages in TOGETHER.values() for stage in stages)
            yield Permission(role, ("Describe",), groups=tuple(f"{plan.name}-{stage}" for stage in deciding))
        else:
            seen = sources if role == "auditor" else ()  # it counts their partitions
            if seen:
                yield Permission(role, ("Describe",), seen)
            yield Permission(role, ("DescribeConfigs",), tuple(dict.fromkeys((*read, *write, *seen))))
        if stages:
            yield Permission(role, ("Write",), ids=tuple(f"{plan.name}-{stage}-" for stage in stages), prefixed=True)


def _touched(plan: Plan, role: str, ours: Iterable[str], sources: tuple[str, ...], how: str) -> tuple[str, ...]:
    """The topics that a role reads or writes, by the table; a row that is the user's stands for every source."""
    found: list[str] = []
    for row in TOPICS.values():
        if role in {HOME.get(who, who) for who in getattr(row, how)}:
            found += sources if row.cleanup == "theirs" else [topic(plan.name, row.name)]
    return tuple(name for name in found if name in ours or name in sources)


def _words(grant: Permission, principal: str) -> Iterator[str]:
    yield from ("--allow-principal", principal)
    for option, names in (
        ("--operation", grant.operations), ("--topic", grant.topics), ("--group", grant.groups),
        ("--transactional-id", grant.ids),
    ):  # fmt: skip
        for name in names:
            yield from (option, name)
    if grant.prefixed:
        yield from ("--resource-pattern-type", "prefixed")
