# SPDX-License-Identifier: Apache-2.0
"""A change of values at an instant, as the config record says it, and a file beside it: before the change, or after.

Contract: a file agrees with a record whose change is to come if it has the new values and, in [until], those before
them; or if it has the values before, until the instant.  Nobody takes a value from the record.  Not here: values by
themselves (agreement.py), reading records (agents/kafka/agreement.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from murmurate.config.agreement import ABSENT, Difference, differences, values
from murmurate.config.plan import Plan
from murmurate.config.quantities import shortest
from murmurate.topics.config_parts import ConfigUntil
from murmurate.topics.messages import Config
from murmurate.topics.times import instant

SWITCHED: Final[Mapping[str, tuple[str, str]]] = {
    "privacy.min_batch": ("min_batch", "min_batch"),
    "time.future_ms": ("future", "future_ms"),
    "time.patience_ms": ("patience", "patience_ms"),
}
"""Values that may change at an instant: key of the record -> key of [until], and field of a plan."""


def until_of(plan: Plan) -> ConfigUntil | None:
    """The change that a file knows of, as a record says it."""
    if plan.until is None:
        return None
    held = {key: getattr(plan.until, field) for key, (_, field) in SWITCHED.items()}
    before = {key: value for key, value in held.items() if value is not None}
    return ConfigUntil(time=plan.until.time_ms, values=before)


def before(record: Config) -> Config:
    """The record as it was before its change."""
    told = {} if record.until is None else record.until.values
    return record.model_copy(update={"values": {**record.values, **told}, "until": None})


class FileBesideRecord(NamedTuple):
    """A file beside a record."""

    differences: list[Difference]
    ends_ms: int | None = None
    """The instant at which a worker with this file has to stop, since the file has only the values before it."""


def compared(record: Config, plan: Plan, secrets: Mapping[str, str], *, fed: bool, now_ms: int) -> FileBesideRecord:
    """What differs. `now_ms`: the time; 0 where it is not known, as that of a recording."""
    mine, said = until_of(plan), values(plan, fed=fed)
    if mine == record.until:
        return FileBesideRecord(differences(record, said, secrets))
    past = mine is None or mine.time <= now_ms or fed
    if record.until is None:
        found = differences(record, said, secrets)
        return FileBesideRecord(found if past else [*found, _until(mine, None)])
    held = differences(before(record), said, secrets)
    if past and not held and now_ms < record.until.time:
        return FileBesideRecord([], record.until.time)
    found = differences(record, said, secrets)
    return FileBesideRecord([*found, _until(mine, record.until)] if not found or past else found)


def _until(found: ConfigUntil | None, allowed: ConfigUntil | None) -> Difference:
    return Difference(
        "until", ABSENT if found is None else _short(found), ABSENT if allowed is None else _short(allowed)
    )


def _short(until: ConfigUntil) -> str:
    named = [f"{SWITCHED[key][0]} = {_value(key, value)}" for key, value in sorted(until.values.items())]
    return " ".join([f'time = "{instant(until.time)}"', *named])


def _value(key: str, value: int | str) -> str:
    return f'"{shortest(int(value))}"' if key.endswith("_ms") else str(value)


def table(until: ConfigUntil) -> str:
    """The table for the file."""
    lines = [f"{SWITCHED[key][0]} = {_value(key, value)}" for key, value in sorted(until.values.items())]
    return "\n".join(["[until]", f'time = "{instant(until.time)}"', *lines, ""])
