# SPDX-License-Identifier: Apache-2.0
"""The auditor that follows, as a process, and violations that are planted for it on a real broker.

Contract: what is planted stands in rounds of the newest periods, since a report to a much older one is `foreign`,
whatever it says.  Not here: the auditor that looks once, and what each violation is (test_audit_ledger.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from murmurate.agents.kafka.client import Write
from murmurate.topics.block import encode_reports
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Done, Round, Seal
from tests.faults.deployed import Deployed, Process
from tests.faults.test_audit_ledger import another_answer, blocks

NEWEST = 8


def auditor(of: Deployed) -> Process:
    """Start one that follows; `of` ends it."""
    options = ["audit", "ledger", "--follow", "--state", str(of.folder / "audited"), "--listen", "127.0.0.1:0"]
    process = Process([*of.command, *options, "-c", str(of.file)], of.folder / "audit.log", {})
    of.others.append(process)
    return process


def until_more(process: Process, text: str, said: int, within_s: float) -> float:
    """Until it has said this more often than so many times: how many seconds that took."""
    since = time.monotonic()
    while process.said().count(text) <= said:
        assert time.monotonic() - since < within_s, f"{text} was not said: {process.said()[-2000:]}"
        assert process.running, process.said()[-2000:]
        time.sleep(0.05)  # another process writes the file
    return time.monotonic() - since


def violations(of: Deployed, stream: str) -> Iterator[tuple[str, Write]]:
    """Records that must not be there, by the names of what they violate: of the newest periods of this stream."""
    asked = [r for got in of.everything("rounds") if isinstance(r := decode_record(got.value or b""), Round)]
    newest = max(r.t for r in asked if r.stream == stream)
    rounds = {r.digest for r in asked if r.stream == stream and r.t > newest - NEWEST}
    there = [(got, block) for got, block in blocks(of) if block.round in rounds]
    (got, first), (at, second) = there[0], there[-1]
    (forged,) = encode_reports(second.round, second.contributor, another_answer(of, second, at.place.partition))
    (unasked,) = encode_reports(bytes(32), 0, first.reports)
    others = {digest.hex() for digest in rounds - {first.round, second.round}}  # theirs are miscounted by then
    records = [(g, decode_record(g.value or b"")) for topic in ("reports", "batches") for g in of.everything(topic)]
    done = next(g for g, found in records if isinstance(found, Done) and found.round in others)
    seal = next(g for g, found in records if isinstance(found, Seal) and found.round in others)
    yield "twice", Write(got.place, got.value or b"")
    yield "conflicting", Write(at.place, forged)
    yield "foreign", Write(got.place, unasked)
    yield "miscounted", Write(done.place, done.value or b"")
    yield "miscounted", Write(seal.place, seal.value or b"")
