# SPDX-License-Identifier: Apache-2.0
"""The topics as data: what each topic carries, for how long, and which zone reads it.

Contract: every topic of a deployment is `{deployment}.{name}` with a name from `TOPICS`, so provisioning, ACLs and
docs read one table. `stream_hash` and `batch_partition` are part of the wire: another implementation must place
sub-batches alike (ARCHITECTURE rule 16).
Not here: creating topics (agents/kafka/provision.py), partition counts (the deployment file).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from murmurate.topics.errors import TopicError

Zone = Literal["edge", "mixing", "analysis"]
Cleanup = Literal["delete", "compact", "theirs"]

ZONES: tuple[Zone, ...] = ("edge", "mixing", "analysis")
STAGES: Mapping[str, Zone] = MappingProxyType(
    {
        "door": "edge", "perturb": "edge", "curate": "edge",
        "shuffle": "mixing", "aggregate": "analysis", "publish": "analysis",
    }
)  # fmt: skip
"""Every stage and the zone it runs in."""

NAME_PATTERN = r"^[a-z][a-z0-9-]{0,31}$"
"""What a deployment may be called: topics, groups and transactional ids begin with it."""
STREAM_PATTERN = r"^[a-z][a-z0-9_-]{0,31}$"
"""What a stream may be called: it is a table in the deployment file and a label of metrics."""

MAX_RECORD = 1 << 20
"""`max.message.bytes` of our topics: twice the largest block, so that Kafka's own framing never decides."""
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a topic keeps its records: windows + replay horizons + a fixed time, and why."""

    why: str
    windows: int = 0
    horizons: int = 0
    fixed_ms: int = 0
    forever: bool = False

    def ms(self, window_ms: int, horizon_ms: int) -> int | None:
        """The retention in milliseconds for a deployment's window and replay horizon; None is for ever."""
        if window_ms < 1 or horizon_ms < 1:
            raise TopicError(f"retention: found {window_ms} ms and {horizon_ms} ms; allowed: at least 1 ms each")
        return None if self.forever else self.windows * window_ms + self.horizons * horizon_ms + self.fixed_ms


@dataclass(frozen=True, slots=True)
class Topic:
    """One row of the table."""

    name: str
    """The name after the prefix `{deployment}.`."""
    carries: str
    key: str | None
    partitions: str
    """The rule that gives the number of partitions and places a record."""
    cleanup: Cleanup
    retention: Retention
    zone: Zone
    """The zone whose principals administer the topic; `readers` says who else may read. One reader is of this zone: it
    names in the zone's dead letters what nobody can read.
    """
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    max_bytes: int = MAX_RECORD
    fed: bool = False
    """Whether the topic exists only where `[time] clock = "feed"`."""
    central: bool = False
    """Whether the topic exists only where a stream is central."""
    latest: bool = False
    """Whether the topic exists only where `[releases] latest = true`."""


_SHORT = "recovery folds it again from the oldest snapshot; anything longer only keeps raw data or reports alive"
_THEIRS = Retention("the topic is the user's; a door that was down needs what it missed", forever=True)

_PIPELINE = (
    Topic(
        "events", "JSON events {stream, user, time, value}", "user", "theirs", "theirs", _THEIRS, "edge",
        ("applications", "feed"), ("door",),
    ),
    Topic(
        "raw", "blocks of (pseudonym, time, value); progress, quiet", None, "fixed for life; by pseudonym", "delete",
        Retention(_SHORT, horizons=1), "edge", ("door",), ("perturb", "auditor"),
    ),
    Topic(
        "rounds", "start, config, round, give_up, settled", None, "1: one order for everybody", "delete",
        Retention("a ledger follows from one window of rounds; recovery folds more", windows=1, horizons=1),
        "analysis", ("provision", "feed", "publish"),
        ("perturb", "shuffle", "publish", "provision", "feed", "curate", "auditor"),
    ),
    Topic(
        "closings", "close: who counts in a round", None, "1: one order for everybody", "delete",
        Retention(_SHORT, horizons=1), "mixing", ("shuffle",), ("shuffle", "operator", "auditor"),
    ),
    Topic(
        "reports", "blocks of randomized reports; done", None, "N, drawn for each report", "delete",
        Retention(_SHORT, horizons=1), "mixing", ("perturb",), ("shuffle", "auditor"),
    ),
    Topic(
        "batches", "blocks of one sealed sub-batch, then its seal", None, "N; (stream_hash + q) mod N", "delete",
        Retention(_SHORT, horizons=1), "analysis", ("shuffle",), ("aggregate", "auditor"),
    ),
    Topic(
        "tallies", "additive counts of one sub-batch: a message, and blocks where they are many; noisy sums", None,
        "1 today; stream_hash mod N", "delete", Retention(_SHORT, horizons=1), "analysis", ("aggregate", "curate"),
        ("publish", "auditor"),
    ),
    Topic(
        "releases", "one JSON release a period", "stream", "as tallies", "delete",
        Retention("a subscriber may be away for a month", fixed_ms=30 * DAY_MS),
        "analysis", ("publish",), ("subscribers", "web"),
    ),
    Topic(
        "releases.latest", "one row a name: what its stream's newest release says of it", "stream and name",
        "as releases", "compact", Retention("the newest row of each name is the state of a table", forever=True),
        "analysis", ("publish",), ("subscribers",), latest=True,
    ),
)  # fmt: skip

_CENTRAL = (
    Topic(
        "sums", "exact sums of a period at a raw partition, for central streams", None, "1: one curator", "delete",
        Retention(_SHORT, horizons=1), "edge", ("perturb",), ("curate", "auditor"), central=True,
    ),
)  # fmt: skip

_FED = (
    Topic(
        "ticks", "tick: the recording's clock at each source partition", None, "1: one order for every door", "delete",
        Retention(_SHORT, horizons=1), "edge", ("feed",), ("door",), fed=True,
    ),
    Topic(
        "feed", "progress: the instants at which periods close, as the recording reaches them", None, "1", "delete",
        Retention(_SHORT, horizons=1), "analysis", ("feed",), ("publish",), fed=True,
    ),
)  # fmt: skip

_DEAD = tuple(
    Topic(
        f"dead.{zone}", "reason, topic, partition, offset of a record nobody could read", None, "any", "delete",
        Retention("somebody has to look before it goes", fixed_ms=14 * DAY_MS), zone,
        tuple(stage for stage, home in STAGES.items() if home == zone), ("operator",),
    )
    for zone in ZONES
)  # fmt: skip

_STATE = tuple(
    Topic(
        f"state.{stage}", "marks, small state, snapshots of a stage instance", "partition/chunk",
        "as the stage's source", "compact",
        Retention("the last record of each key is the state", forever=True), zone, (stage,),
        (stage, "auditor") if stage in ("perturb", "aggregate") else (stage,),
        central=stage == "curate",
    )
    for stage, zone in STAGES.items()
)  # fmt: skip

TOPICS: Mapping[str, Topic] = MappingProxyType(
    {row.name: row for row in (*_PIPELINE, *_CENTRAL, *_FED, *_DEAD, *_STATE)}
)
"""Every topic of a deployment, by the name after the prefix."""


def topic(deployment: str, name: str) -> str:
    """The full name of a topic.

    >>> topic("shop", "raw")
    'shop.raw'
    """
    if name not in TOPICS:
        raise TopicError(f"topic: found a name of no topic; allowed: {', '.join(TOPICS)}")
    return f"{deployment_name(deployment)}.{name}"


def topics(*, fed: bool, central: bool, latest: bool = False) -> tuple[Topic, ...]:
    """The topics that a deployment has: those of the feed only where the feed's clock is the deployment's, those of the
    curator only where a stream is central, the newest releases only where the file asks for them.

    >>> [row.name for row in topics(fed=False, central=True) if row.central]
    ['sums', 'state.curate']
    >>> [row.name for row in topics(fed=True, central=False) if row.fed]
    ['ticks', 'feed']
    """
    has = {"fed": fed, "central": central, "latest": latest}
    return tuple(row for row in TOPICS.values() if all(has[when] or not getattr(row, when) for when in has))


def deployment_name(name: str) -> str:
    """The name, if a deployment may have it."""
    return _matching("deployment", NAME_PATTERN, name)


def stream_name(name: str) -> str:
    """The name, if a stream may have it."""
    return _matching("stream", STREAM_PATTERN, name)


def stream_id(stream: str) -> bytes:
    """The subject of a stream's raw blocks: SHA-256 of its name."""
    return hashlib.sha256(stream_name(stream).encode()).digest()


def stream_hash(stream: str) -> int:
    """A stream's place among partitions, the same for ever: the first 8 bytes of its id, little-endian."""
    return int.from_bytes(stream_id(stream)[:8], "little")


def names_dead(name: str, zone: str) -> bool:
    """Whether a stage of this zone names in dead letters what nobody can read in a topic; else it skips that in
    silence. A topic of the user's, and a log that is no topic, are named by whoever reads them.
    """
    return name not in TOPICS or TOPICS[name].zone == zone


def batch_partition(stream: str, q: int, partitions: int) -> int:
    """Where sub-batch q of a stream goes: (stream_hash + q) mod partitions, so that streams start apart."""
    if q < 0 or partitions < 1:
        raise TopicError(f"sub-batch: found q = {q}, {partitions} partitions; allowed: q >= 0, at least 1 partition")
    return (stream_hash(stream) + q) % partitions


def stream_partition(stream: str, partitions: int) -> int:
    """Where a stream's tallies and releases go: one partition, so that they keep their order."""
    return batch_partition(stream, 0, partitions)


def _matching(what: str, pattern: str, name: str) -> str:
    if not isinstance(name, str) or not re.fullmatch(pattern.strip("^$"), name):
        found = f"{len(name)} characters that do not match" if isinstance(name, str) else type(name).__name__
        raise TopicError(f"{what} name: found {found}; allowed: {pattern}")
    return name
