# SPDX-License-Identifier: Apache-2.0
"""Restore a device, or an array of devices, under changed frozen facts: closed until the longest window has passed.

Contract (ARCHITECTURE rule 5): no question is answered about a period that begins before `opened_ms`, or the end of the
newest period charged, whichever is later, plus the longest window of the old and of the new terms; nor before any
earlier closure has passed, however often facts change, also where the streams that a user serves come and go.  So no
window of any terms that were ever in force holds charges from both sides of a change.  Past answers are forgotten:
no round can ask for them again.  `opened_ms`: from when the new facts hold, not before the end of any period that was
asked about under the old ones.  A new stream has no state: `close_until` the same time as the others.  Library only: no
stage uses it, since a worker whose facts differ from its state stops (agents/stages/perturb.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from murmurate.randomizers.device import DEVICE, Device
from murmurate.randomizers.devices import DEVICES, DeviceArray
from murmurate.randomizers.errors import FrozenFactsError
from murmurate.randomizers.guard import Secrets
from murmurate.randomizers.ledger import NEVER
from murmurate.randomizers.state import Arrays, load
from murmurate.randomizers.terms import Facts, Terms, changed


def reopen_device(data: bytes, terms: Terms, user: bytes, secrets: Secrets, *, opened_ms: int) -> Device:
    """The device of a snapshot under these terms, unchanged where no frozen fact has changed."""
    facts, arrays = load(DEVICE, data)
    if not changed(facts["terms"], terms.facts()):
        return Device.restore(data, terms, user, secrets)
    if facts["user"] != bytes(user).hex():
        raise FrozenFactsError("device: the snapshot is another user's")
    device = Device(terms, user, secrets)
    ledgers = {name.rpartition("/")[0]: name.removesuffix("open_from") for name in arrays if name.endswith("open_from")}
    closed_ms = _closed_until_ms(facts["terms"], arrays, ledgers.items(), terms, opened_ms)
    device.close_until(max(closed_ms, facts["closed_until_ms"]))
    return device


def reopen_devices(
    data: bytes, terms: Terms, stream: str, secrets: Secrets, *, opened_ms: int, partition: int = 0
) -> DeviceArray:
    """The array of a snapshot, under these terms, with those of its users who still belong to it."""
    facts, arrays = load(DEVICES, data)
    if not changed(facts["terms"], terms.facts()):
        return DeviceArray.restore(data, terms, stream, secrets, partition=partition)
    if (facts["stream"], facts["partition"]) != (stream, partition):
        raise FrozenFactsError(f"stream {stream!r}, partition {partition}: the snapshot is another's")
    devices = DeviceArray(terms, stream, secrets, partition=partition)
    devices.enrol(arrays["users"])
    devices.close_until(_closed_until_ms(facts["terms"], arrays, [(stream, "")], terms, opened_ms))
    return devices


def _closed_until_ms(
    held: Facts, arrays: Arrays, ledgers: Iterable[tuple[str, str]], terms: Terms, opened_ms: int
) -> int:
    """The latest of the closures in force, and of this change plus the longest window. ledgers: for each stream, the
    prefix of its ledger's arrays.
    """
    closed, since = [0], [opened_ms]
    for name, lead in ledgers:
        every_ms = int(held[f"streams.{name}.every_ms"])
        closed.append(int(arrays[f"{lead}open_from"][0]) * every_ms)
        charged = int(arrays[f"{lead}t"].max())
        if charged != NEVER:
            since.append((charged + 1) * every_ms)
    return max(*closed, max(since) + max(longest_ms(held), longest_ms(terms.facts())))


def longest_ms(facts: Facts) -> int:
    """The longest window of all streams."""
    names = {fact.split(".")[1] for fact in facts if fact.startswith("streams.")}
    return max(int(facts[f"streams.{name}.w"]) * int(facts[f"streams.{name}.every_ms"]) for name in names)
