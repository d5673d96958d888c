"""What stands in `reports`, as the auditor compares it: reports, `done` records, and what was never committed.

Contract: by round, contributor and target; an answer that is tried again begins anew.  Not here: what ought to stand
there (auditor.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from murmurate.agents.audit.findings import Audit, Extent, Place, Reader
from murmurate.config.plan import Plan
from murmurate.topics.block import ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Done


@dataclass
class There:
    """What stands in `reports`."""

    reports: dict[Place, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))
    dones: dict[Place, list[Done]] = field(default_factory=lambda: defaultdict(list))
    attempts: dict[Place, list[Counter[bytes]]] = field(default_factory=lambda: defaultdict(list))
    """The answers that were not committed: the reports of each attempt."""
    waiting: set[Place] = field(default_factory=set)
    """Where an answer may have come in part: it is seen partition by partition."""

    def answered(self, digest: str, p: int, targets: int) -> bool:
        """Whether the contributor's answer has come to every target: it is one transaction."""
        return all((digest, p, q) in self.dones for q in range(targets))


def there_is(plan: Plan, read: Reader, extent: Extent, found: Audit) -> There:
    """Reports and `done` records that are there, and those that were but for the end of their transaction."""
    there = There()
    for q in range(plan.targets):
        for _, record in found.decoded(read, "reports", q):
            if isinstance(record, ReportBlock):
                there.reports[record.round.hex(), record.contributor, q].update(_rows(record))
            elif isinstance(record, Done):
                there.dones[record.round, record.contributor, q].append(record)
        for place, attempt in _attempts(extent.aborted.get(q, ()), q):
            there.attempts[place].append(attempt)
            found.aborted += sum(attempt.values())
    return there


def _attempts(records: Iterable[bytes], q: int) -> Iterable[tuple[Place, Counter[bytes]]]:
    """Answers, each from its first block on: an answer that is tried again begins anew."""
    found: list[tuple[Place, Counter[bytes]]] = []
    running: dict[Place, Counter[bytes]] = {}
    for record in records:
        try:
            block = decode_record(record)
        except WireError:
            continue
        if isinstance(block, ReportBlock):
            place = block.round.hex(), block.contributor, q
            if block.sequence == 0 or place not in running:
                running[place] = Counter()
                found.append((place, running[place]))
            running[place].update(_rows(block))
    return found


def _rows(block: ReportBlock) -> Iterable[bytes]:
    return (row.tobytes() for row in block.reports)
