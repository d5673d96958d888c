# SPDX-License-Identifier: Apache-2.0
"""What may change in a deployment that runs: each difference is free, makes a new revision of a stream, or is refused.

Contract: whatever is a frozen fact of the plan (ARCHITECTURE rule 5), a topic's shape, or folded again by a recovery is
refused; whatever changes a stream's `config` digest, and nothing else, makes a revision.  A secret's place is never
shown.  Not here: reading what runs (agents/cli/check.py), refusing at the start (Perturb.restore).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel

from murmurate.config.agreement import differences, values
from murmurate.config.brokers import HIDDEN_KEYS, Secret
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.config.quantities import Duration, Missing, PrivacyWindow, shortest
from murmurate.config.settings import Deployment
from murmurate.config.streams import MethodTable, Post, SourceTable
from murmurate.randomizers.terms import Facts
from murmurate.topics.messages import Config

Effect = Literal["free", "revision", "refused"]
LEFT_OUT: Final = "left out"
HIDDEN: Final = "(hidden)"
FROZEN: Final = "a frozen fact: with another one, users would begin with a fresh budget for what was asked before"
ANOTHER: Final = "allowed under another name, as a deployment of its own"
RECOVERY: Final = "a recovery folds the log again, and would close periods elsewhere than they were closed"
SHAPE: Final = "records and state have their places in the partitions that there are"
REVISION: Final = "its releases mean something else: a new revision of the stream"
SAME: Final = "says in words what held without them"
CLAIMED: Final = "what the mixing is worth is claimed by it in releases from then on"
MIXED: Final = "devices are asked another question, or at another epsilon: a new revision of every local stream"
RESTART: Final = "holds when workers are restarted"
CENTRAL: Final = (
    "perturb and curate keep exact sums under the config of a central stream and refuse another one, under which the "
    "same events could get a second noise"
)
KIND: Final = "users randomize reports of a local stream, and the edge sums a central one: another promise"
AGREE: Final = "workers compare it: `murmurate topics create` writes it down, then they are restarted"
APPLY: Final = "`murmurate config apply` says from when on, and workers are restarted one by one until then"
EXPLAINED: Final[Mapping[str, tuple[Effect, str]]] = {
    "schema": ("free", "the form of the file"),
    "name": ("refused", "another name is another deployment: topics, keys and budgets of its own"),
    "privacy.mixed*": ("revision", MIXED),
    "privacy.fakes": ("revision", "estimates take out another number of fakes: a new revision of every local stream"),
    "privacy.delta": ("free", CLAIMED),
    "privacy.assumed_corrupt": ("free", CLAIMED),
    "privacy.min_batch": ("free", f"rounds about periods that begin from then on are judged by it. {APPLY}"),
    "curator.*": ("refused", f"{CENTRAL}; {ANOTHER}"),
    "population.enrol": ("revision", REVISION),
    "population.users": ("free", "what `check` and `plan` take for the number of users"),
    "population.forget_after": ("revision", "who is asked changes: a new revision of every stream"),
    "time.lateness": ("refused", RECOVERY),
    "time.clock": ("refused", "periods would be those of another time"),
    "time.future": ("free", f"the door judges events that come from then on by it. {APPLY}"),
    "time.skew": ("free", RESTART),
    "time.patience": ("free", f"rounds that are asked from then on have it. {APPLY}"),
    "until": ("free", APPLY),
    "until.*": ("free", APPLY),
    "kafka.targets": ("refused", SHAPE),
    "kafka.replication": ("free", "topics keep the copies they have, and workers want at least as many as it says"),
    "kafka.*": ("free", RESTART),
    "secrets.shuffle": ("free", f"the order of reports may change at any time. {AGREE}"),
    "secrets.*": ("free", "a place may change, the secret in it may not: compare `murmurate keys fingerprint`"),
    "web.*": ("free", RESTART),
    "releases.*": ("free", "stated in releases from then on; for rows `murmurate topics create` makes a topic"),
    "streams.*.thresholds": ("free", "stated in releases from then on"),
    "streams.*.post": ("free", "estimates are shaped by it from then on"),
    "streams.*": ("revision", REVISION),
}
"""Explanations by key: the first that fits is taken, unless a key of MOVED moves a frozen fact and is refused."""
MOVED: Final[Mapping[str, tuple[str, ...]]] = {
    "privacy.epsilon": ("epsilon_micro",),
    "privacy.unprotected_locally": ("streams.*.unprotected_locally",),
    "privacy.window": ("streams.*.w", "streams.*.slots"),
    "privacy.split": ("split",),
    "population.partitions": ("partitions",),
    "streams.*.every": ("every_ms", "w", "slots"),
    "streams.*.share": ("share_micro",),
    "streams.*.missing": ("w", "slots"),
    "streams.*.slots": ("slots",),
    "streams.*.method": ("division",),
    "streams.*.mechanism": ("unprotected_locally",),
}
"""The frozen facts that a key can move; for a stream's key, the facts of that stream."""
KEYS: Final[Mapping[str, str]] = {
    "epsilon_micro": "privacy.epsilon, in micro-nats",
    "split": "privacy.split",
    "partitions": "population.partitions",
    "base_period_ms": "the base period of all streams, in ms",
    "slots": "how users are given slots, which a version of this program decides",
    "keys.pepper": "the secret pepper, by its fingerprint",
    "keys.slots": "the secret slots, by its fingerprint",
    "keys.split": "the secret split, by its fingerprint",
    "keys.randomness": "the secret randomness, by its fingerprint",
    "lateness_ms": "time.lateness, in ms",
    "streams.*.share_micro": "share, in millionths",
    "streams.*.w": "w, the periods that a window can touch",
    "streams.*.slots": "slots",
    "streams.*.division": "division, which the method decides",
    "streams.*.every_ms": "every, in ms",
    "streams.*.unprotected_locally": "unprotected_locally, which its mechanism needs",
}
"""Frozen facts in words; tests hold this to what the terms say."""
FACTS: Final[Mapping[str, str]] = {
    "privacy.epsilon_micro": "epsilon_micro",
    "privacy.split": "split",
    "population.partitions": "partitions",
    "time.lateness_ms": "lateness_ms",
    **{f"secrets.{name}": f"keys.{name}" for name in ("pepper", "slots", "split", "randomness")},
}
"""Keys of the config record that are frozen facts too, by the names that those have."""
OF_TARGET: Final = ("privacy.delta", "privacy.assumed_corrupt", "privacy.min_batch")
"""Keys by which a central target is kept, where there is one."""
OF_CENTRAL: Final = "central."
"""How the facts begin that states hold of central streams: their config digests."""
SEEN_ONLY: Final = ("keys.", "source.", "lateness_ms")
"""Facts that only a worker may have: secrets, and partitions of sources."""


@dataclass(frozen=True)
class Change:
    """One difference."""

    key: str
    old: str
    new: str
    effect: Effect
    why: str


def compare(old: Deployment, new: Deployment) -> list[Change]:
    """Every difference between two files, in the order of the file."""
    before, after = planned(old), planned(new)
    facts = before.terms({}).facts(), after.terms({}).facts()
    had, has = dict(_leaves(old)), dict(_leaves(new))
    had["kafka.targets"], has["kafka.targets"] = str(before.targets), str(after.targets)
    found = []
    central = old.central.keys() & new.central.keys()
    switched = (old.central.keys() ^ new.central.keys()) & old.streams.keys() & new.streams.keys()
    for key in dict.fromkeys((*had, *has)):
        if had.get(key, LEFT_OUT) != has.get(key, LEFT_OUT):
            effect, why = _central(key) if _stream_of(key) in central else _effect(key, *facts)
            if key in OF_TARGET and None not in (before.mixed, after.mixed) and effect == "free":
                effect, why = "revision", MIXED
            if key == "time.future" and central:
                effect, why = "refused", f"{CENTRAL}; {ANOTHER}"
            if _means_the_same(key, before, after):
                effect, why = "free", SAME
            found.append(Change(key, _hide(key, had.get(key)), _hide(key, has.get(key)), effect, why))
    gone, come = old.streams.keys() - new.streams.keys(), new.streams.keys() - old.streams.keys()
    kept = [one for one in found if _stream_of(one.key) not in gone | come | switched]
    kept += [_switched(name, name in new.central) for name in sorted(switched)]
    return kept + [_stream(name, name in come) for name in sorted(gone | come)]


def compare_facts(held: Facts, facts: Facts) -> list[Change]:
    """Every difference between the frozen facts that a state holds and a plan's. Of a fact that only a worker may
    have, those that both have: whoever compares may not hold the secrets.
    """
    old, new = _streams(held), _streams(facts)
    found = [_stream(name, name in new) for name in sorted(old ^ new)]
    for name in held.keys() | facts.keys():
        of = name.split(".")[1] if name.startswith("streams.") else None
        both = name in held and name in facts
        if held.get(name) != facts.get(name) and (both or not name.startswith(SEEN_ONLY)) and of not in old ^ new:
            key = f"streams.{of}: {KEYS[_pattern(name)]}" if of else KEYS.get(name, name)
            why = FROZEN
            if name.startswith(OF_CENTRAL):
                key, why = f"streams.{name.removeprefix(OF_CENTRAL)}: config digest", CENTRAL
            found.append(Change(key, str(held.get(name, LEFT_OUT)), str(facts.get(name, LEFT_OUT)), "refused",
                                f"{why}; {ANOTHER}"))  # fmt: skip
    return sorted(found, key=lambda change: change.key)


def compare_digests(held: Mapping[str, tuple[str, int]], plan: Plan) -> list[Change]:
    """A new revision for each stream whose config is another than the running one's; of a central one it is refused."""
    digests = {stream.name: (stream.config, stream.revision) for stream in plan.everything}
    effects: dict[str, tuple[Effect, str]] = {one.name: ("revision", REVISION) for one in plan.streams}
    effects |= {one.name: ("refused", f"{CENTRAL}; {ANOTHER}") for one in plan.central}
    return [
        Change(f"streams.{name}: config digest", held[name][0], digests[name][0], *effects[name])
        for name in sorted(held.keys() & digests.keys())
        if held[name] != digests[name]
    ]


def compare_agreement(agreed: Config, plan: Plan, secrets: Mapping[str, str], *, fed: bool) -> list[Change]:
    """Every difference from the config record that all workers compare; of secrets, those whose fingerprints are given.
    Keys that are frozen facts too have the names of those.
    """
    found = []
    for one in differences(agreed, values(plan, fed=fed), secrets):
        stream = one.key.split(".")[1] if one.key.count(".") == 2 else None
        last = one.key.rpartition(".")[2]
        fact = FACTS.get(one.key, f"streams.*.{last}")
        key = KEYS.get(fact, one.key if stream is None else last)
        effect: tuple[Effect, str] = "free", AGREE if one.key.startswith("secrets.") else APPLY
        if one.free:
            pass
        elif f"streams.{stream}.model" in agreed.values or stream in {each.name for each in plan.central}:
            effect = "refused", f"{KIND if last == 'model' else CENTRAL}; {ANOTHER}"
        elif (stream is not None or one.key.startswith(("population.", "privacy.fakes"))) and fact not in KEYS:
            effect = "revision", REVISION
        else:
            effect = "refused", f"{FROZEN}; {ANOTHER}"
        found.append(Change(f"streams.{stream}: {key}" if stream else key, one.allowed, one.found, *effect))
    return found


def _means_the_same(key: str, old: Plan, new: Plan) -> bool:
    """Whether a key leaves the meaning of releases as it is: a default that is written out, or what no stream uses."""
    if key.startswith("curator."):
        held = {stream.name: stream.config for stream in old.central}
        return all(held.get(stream.name, stream.config) == stream.config for stream in new.central)
    if not fnmatchcase(key, "streams.*.initial"):
        return False
    name = key.split(".")[1]
    both = all(name in {stream.name for stream in plan.streams} for plan in (old, new))
    return both and old.stream(name).initial_code == new.stream(name).initial_code


def _effect(key: str, old: Facts, new: Facts) -> tuple[Effect, str]:
    for pattern, moved in MOVED.items():
        if fnmatchcase(key, pattern):
            names = [f"{key.rpartition('.')[0]}.{fact}" if key.startswith("streams.") else fact for fact in moved]
            frozen = [fact for fact in old.keys() | new.keys() if any(fnmatchcase(fact, name) for name in names)]
            if any(old.get(fact) != new.get(fact) for fact in frozen):
                return "refused", f"{FROZEN}; {ANOTHER}"
            return "revision", REVISION
    return next(rule for pattern, rule in EXPLAINED.items() if fnmatchcase(key, pattern))


def _stream_of(key: str) -> str | None:
    return key.split(".")[1] if key.startswith("streams.") else None


def _central(key: str) -> tuple[Effect, str]:
    """What may change in a central stream: what its releases say beside their figures."""
    if fnmatchcase(key, "streams.*.thresholds"):
        return EXPLAINED["streams.*.thresholds"]
    return "refused", f"{CENTRAL}; {ANOTHER}"


def _switched(name: str, central: bool) -> Change:
    before, after = ("local", "central") if central else ("central", "local")
    return Change(f"streams.{name}.model", before, after, "refused", f"{KIND}; {ANOTHER}")


def _stream(name: str, comes: bool) -> Change:
    before, after = (LEFT_OUT, "a stream") if comes else ("a stream", LEFT_OUT)
    return Change(f"streams.{name}", before, after, "refused", f"streams and their shares are frozen; {ANOTHER}")


def _streams(facts: Facts) -> set[str]:
    return {name.split(".")[1] for name in facts if name.startswith("streams.")}


def _pattern(fact: str) -> str:
    """streams.screen.w as streams.*.w"""
    first, _, last = fact.split(".")
    return f"{first}.*.{last}"


def _leaves(model: BaseModel, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key with its value as one would write it; a secret's place in full, to be hidden where it is shown."""
    for name, field in type(model).model_fields.items():
        key, value = f"{path}{field.alias or name}", getattr(model, name)
        if isinstance(value, BaseModel) and not isinstance(value, (Secret, MethodTable, Post, SourceTable)):
            yield from _leaves(value, f"{key}.")
        elif value is None and name in ("curator", "mixed"):
            continue
        elif isinstance(value, dict):
            for stream, inner in value.items():
                yield from _leaves(inner, f"{key}.{stream}.")
        else:
            parts = (kind for part in get_args(field.annotation) for kind in getattr(part, "__metadata__", ()))
            lasts = any(isinstance(kind, Duration) for kind in (*field.metadata, *parts))
            yield key, shortest(value) if lasts and isinstance(value, int) else _written(value)


def _written(value: Any) -> str:
    match value:
        case None:
            return LEFT_OUT
        case bool():
            return str(value).lower()
        case PrivacyWindow():
            return f"{value.periods} periods" if value.ms is None else shortest(value.ms)
        case Missing(carry_ms=None):
            return "carry always"
        case Missing():
            return f"carry {shortest(value.carry_ms)}" if value.carry_ms else "none"
        case Mapping():
            return ", ".join(f"{name} {level:.12g}" for name, level in value.items()) or "none"
        case MethodTable():
            name, *options = (value.options().described() | value.length()).items()
            return f"{name[1]} ({', '.join(f'{key} {said}' for key, said in options)})"
        case Post():
            words = ", ".join(f"{key} {said}" for key, said in value.model_dump(exclude_none=True).items())
            return words.removeprefix("name ")
        case SourceTable():
            return " ".join(part for part in (value.topic, value.user, value.time, value.value) if part)
        case Secret():
            return f"file {value.file}" if value.file is not None else f"env {value.env}"
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _hide(key: str, value: str | None) -> str:
    hidden = key.startswith("secrets.") or key.rpartition(".")[2] in HIDDEN_KEYS
    return LEFT_OUT if value in (None, LEFT_OUT) else HIDDEN if hidden else value
