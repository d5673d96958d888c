# SPDX-License-Identifier: Apache-2.0
"""What every worker compares before it joins: the values that shape rounds, batches or time, and secrets' fingerprints.

Contract: `topics create` writes them as a `config` record of `rounds`; everybody compares the newest one with the own
file and the secrets that one holds, and nobody takes a value from it.  A value of FREE may change while a deployment
lives, by a further record; any other is refused, since the state was written under it.  Not here: reading and writing
the record (agents/kafka/agreement.py), what another file would change (changes.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Final, NamedTuple

import orjson

from murmurate.config.plan import CentralPlan, Plan, StreamPlan
from murmurate.config.plugins import foreign_parts
from murmurate.config.secrets import ZONE_SECRETS
from murmurate.topics.messages import Config
from murmurate.topics.names import Zone

FREE: Final = frozenset({"privacy.min_batch", "time.future_ms", "time.patience_ms", "secrets.shuffle"})
"""Facts in which another record may differ while the deployment lives."""
REMEDIES: Final[Mapping[str, str]] = {
    "time.clock": ", for life, since its periods lie in that clock's time: the other clock needs a deployment of "
    "another name, with topics of its own",
    "until": ", as `murmurate config apply` writes it into the file",
}
"""What to do instead, where it is not plain from the two values."""
ABSENT: Final = "nothing"
MOST_NAMED: Final = 4
"""The most differences that one line names; of more it says how many."""
SOURCES: Final = "sources."
"""How the values begin that say, for each stream, how many partitions its source had when the deployment began. They
stay, and nobody compares them: most zones may not see a source.
"""
_HOME: Final[Mapping[str, Zone]] = {name: zone for zone, names in ZONE_SECRETS.items() for name in names}
_DIGITS: Final = 16
_LONG: Final = 120  # characters


class Difference(NamedTuple):
    """One value that differs from the record."""

    key: str
    found: str
    """The value found here; ABSENT where this side has none."""
    allowed: str
    """The value in the record; ABSENT where the record has none."""

    @property
    def free(self) -> bool:
        """Whether a further record may change it; a secret that no record has named yet may be added."""
        return self.key in FREE or (self.key.startswith("secrets.") and self.allowed == ABSENT)

    @property
    def line(self) -> str:
        """In words. Of a secret the fingerprint, and whose it is."""
        zone = _HOME.get(self.key.removeprefix("secrets.")) if self.key.startswith("secrets.") else None
        what = f"{self.key} of the {zone} zone" if zone else self.key
        mark = "fingerprint " if zone and self.found != ABSENT else ""
        return f"{what}: found {mark}{self.found}; allowed: {self.allowed}{REMEDIES.get(self.key, '')}"


def values(plan: Plan, *, fed: bool) -> dict[str, str | int]:
    """Everything that shapes rounds, batches or time. `fed`: the clock is the feed's."""
    found: dict[str, str | int] = {
        "privacy.epsilon_micro": plan.epsilon_micro,
        "privacy.split": plan.split,
        "privacy.window_ms": 0 if plan.window_ms is None else plan.window_ms,
        "privacy.min_batch": plan.min_batch,
        "population.partitions": plan.partitions,
        "population.enrol": plan.enrol,
        "population.forget_after_ms": plan.forget_after_ms,
        "kafka.targets": plan.targets,
        "kafka.tallies": plan.tallies,
        "time.clock": "feed" if fed else "wall",
        "time.lateness_ms": plan.lateness_ms,
        "time.future_ms": plan.future_ms,
        "time.patience_ms": plan.patience_ms,
    }
    if plan.fakes:
        found["privacy.fakes"] = plan.fakes
    for stream in plan.streams:
        found |= {f"streams.{stream.name}.{key}": value for key, value in _stream(stream).items()}
    for central in plan.central:
        found |= {f"streams.{central.name}.{key}": value for key, value in _central(central, plan).items()}
    return found


def _central(stream: CentralPlan, plan: Plan) -> dict[str, str | int]:
    """As `_stream`, of a central stream. `future` decides which events its sums hold, and may not change under them."""
    return {
        "model": "central",
        "measure": stream.measure.name,
        "domain": _text(asdict(stream.domain)),
        "every_ms": stream.every_ms,
        "epsilon_micro": stream.epsilon_micro,
        "future_ms": plan.future_ms,
        "protects": _text({"events": stream.events, "window_ms": stream.window_ms}),
        "tree": _text({**asdict(stream.tree), "block": stream.block, "smoother": stream.smoother}),
        "source": _text({"topic": stream.topic, **asdict(stream.fields)}),
        "revision": stream.revision,
        "config": stream.config,
    }


def _stream(stream: StreamPlan) -> dict[str, str | int]:
    """The agreed values of one stream. Its `config` digest covers most of the others, but does not show which one
    differs.
    """
    return {
        "measure": stream.measure.name,
        "domain": _text(asdict(stream.domain)),
        "every_ms": stream.every_ms,
        "w": stream.w,
        "share_micro": stream.share_micro,
        "slots": stream.slots,
        "method": _text(stream.method.described()),
        "mechanism": stream.mechanism,
        "prefer": stream.prefer,
        "several": stream.several,
        "carry_ms": "always" if stream.carry_ms is None else stream.carry_ms,
        "source": _text({"topic": stream.topic, **asdict(stream.fields)}),
        "revision": stream.revision,
        "config": stream.config,
        **({} if stream.mixed is None else {"question": stream.mixed.question[:_DIGITS]}),
        **{f"{kind}_of": of.rpartition(" ")[0] for kind, _, of in foreign_parts(stream)},
    }


def differences(agreed: Config, found: Mapping[str, str | int], secrets: Mapping[str, str]) -> list[Difference]:
    """The differences from the record: of all values, and of the fingerprints of those secrets that are held here. A
    stream's `config` digest is left out where other values of the stream explain it.
    """
    absent = _streams(found) ^ _streams(agreed.values)
    here, there = (
        {key: value for key, value in _named(said, absent).items() if not key.startswith(SOURCES)}
        for said in (found, agreed.values)
    )
    mine = [
        Difference(key, str(here.get(key, ABSENT)), str(there.get(key, ABSENT)))
        for key in sorted(here.keys() | there.keys())
        if here.get(key) != there.get(key)
    ]
    named = {one.key.rpartition(".")[0] for one in mine if not one.key.endswith(".config")}
    shaped = any(one.key.startswith(("privacy.", "population.", "time.")) and not one.free for one in mine)
    plain = [one for one in mine if not (one.key.endswith(".config") and (shaped or one.key[:-7] in named))]
    return plain + [
        Difference(f"secrets.{name}", secrets[name], agreed.secrets.get(name, ABSENT))
        for name in sorted(secrets)
        if secrets[name] != agreed.secrets.get(name)
    ]


def _named(said: Mapping[str, str | int], absent: Iterable[str]) -> dict[str, str | int]:
    """With one key for a stream that only one side has."""
    whole = {f"streams.{name}": "a stream" for name in absent if name in _streams(said)}
    return {key: value for key, value in said.items() if ".".join(key.split(".")[:2]) not in whole} | whole


def _streams(said: Mapping[str, str | int]) -> set[str]:
    return {key.split(".")[1] for key in said if key.startswith("streams.")}


def line(number: int, where: str, found: Iterable[Difference]) -> str:
    """All of them in one line."""
    lines = [one.line for one in found]
    more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return f"config {number} in {where}: {'; '.join(lines[:MOST_NAMED])}{more}"


def fingerprint(zone: Zone, found: Mapping[str, str | int], secrets: Mapping[str, str]) -> str:
    """The digest of all that may never change, as far as a stage of this zone knows it: what its state is written
    under.
    """
    lasting = {key: value for key, value in found.items() if key not in FREE}
    lasting |= {
        f"secrets.{name}": secrets[name]
        for name in ZONE_SECRETS[zone]
        if name in secrets and f"secrets.{name}" not in FREE
    }
    return _short(lasting)


def holding(records: Iterable[Config]) -> Config | None:
    """The one that holds, of the records of a log in their order."""
    agreed = None
    for found in records:
        if follows(agreed, found):
            agreed = found
    return agreed


def follows(before: Config | None, found: Config) -> bool:
    """Whether a record may follow another: it is the next one, or the same again. The first one that is there may be
    any, since a log forgets.
    """
    return before is None or found == before or found.number == before.number + 1


def counted(plan: Plan, sources: Mapping[str, int]) -> dict[str, str | int]:
    """How many partitions each stream's source has, as values of a record. sources: partitions of each source topic."""
    return {f"{SOURCES}{stream.name}": sources[stream.topic] for stream in plan.everything if stream.topic in sources}


def first_sources(agreed: Config, plan: Plan) -> dict[str, int]:
    """How many partitions each source topic had when the deployment began, as far as the record says."""
    found = {stream.topic: agreed.values.get(f"{SOURCES}{stream.name}") for stream in plan.everything}
    return {topic: int(count) for topic, count in found.items() if count is not None}


def successor(
    agreed: Config | None, found: Mapping[str, str | int], secrets: Mapping[str, str],
    sources: Mapping[str, str | int] = MappingProxyType({}),
) -> Config:  # fmt: skip
    """The next record, with the values found here. Fingerprints of secrets that are unknown here are kept from the
    record before, and so are the partitions of sources (`counted`), wherever it has them.
    """
    if agreed is None:
        return Config(number=1, values={**found, **sources}, secrets=secrets)
    kept = {key: value for key, value in agreed.values.items() if key.startswith(SOURCES)}
    found = {**found, **sources, **kept}
    until = agreed.until if found == agreed.values else None
    next_one = Config(number=agreed.number, values=found, secrets={**agreed.secrets, **secrets}, until=until)
    return agreed if next_one == agreed else next_one.model_copy(update={"number": agreed.number + 1})


def refused(agreed: Config | None, wanted: Config) -> list[Difference]:
    """The differences that no further record may contain: all that are not FREE and were in the record before."""
    if agreed is None:
        return []
    found = differences(agreed, wanted.values, wanted.secrets)
    return [one for one in found if not one.free]


def of_another(agreed: Config, secrets: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets by which somebody else's deployment of the same name shows: all that are known here and last for the
    life of a deployment are others in the record.  None where even one is the same.
    """
    lasting = tuple(sorted(n for n in secrets.keys() & agreed.secrets.keys() if f"secrets.{n}" not in FREE))
    return lasting if len(lasting) > 1 and all(secrets[n] != agreed.secrets[n] for n in lasting) else ()


def _text(said: object) -> str:
    """As JSON; what is long as its digest."""
    text = orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= _LONG else _short(said)


def _short(said: object) -> str:
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_DIGITS]
