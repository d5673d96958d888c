# SPDX-License-Identifier: Apache-2.0
"""The auditor: recomputes from the logs, as they grow, who had to answer what and what was made of it, and compares.

Contract: it shares no code with ledger, Device or stages; it holds the edge's keys and takes `raw`, `rounds`,
`closings`, `reports`, `batches`, `tallies` and `sums`, record by record, each log in its own order.  `settle` says how
far the stages had come when what was taken ended: what is missing below that is a violation.  Its state is all that it
knows: one that goes on from it finds what one finds that never stopped.  `audit` is the same over logs that have ended.
Source: ARCHITECTURE section 5.12.  Not here: reading the logs (kafka/audited_logs.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from murmurate.agents.audit.central_audit import CentralAudit
from murmurate.agents.audit.findings import ALL, Audit, Extent, Reader
from murmurate.agents.audit.local_audit import LocalAudit
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets
from murmurate.topics.codec import decode_record
from murmurate.topics.errors import WireError

OFTEN = 64
"""After so many records what has come whole is judged."""


class Auditor:
    """The audit of one deployment. people, sums: whether the logs about local and central streams go back to the
    beginning, or what is missing does not matter. short: they do not, and it judges from the first period on of which
    it knows everybody. covers: whether everything of a round is still there.
    """

    def __init__(
        self, plan: Plan, secrets: Secrets, sources: Mapping[str, int], *, people: bool = True, sums: bool = True,
        short: bool = False,
        covers: Callable[[str], bool] = lambda digest: True,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.local = LocalAudit(plan, secrets, sources, people=people, short=short, covers=covers)
        self.central = CentralAudit(plan, secrets.randomness, sources) if plan.central and people and sums else None
        self._torn: dict[tuple[str, int], int] = {}
        self._aborted = self._pending = self._since_judged = 0
        self.taken = 0
        """Reports that were taken, in `reports`."""

    def take(self, topic: str, partition: int, number: int, data: bytes) -> None:
        """One record of a log; number: where it stands in it."""
        try:
            record = decode_record(data)
        except WireError:
            self._torn[topic, partition] = self._torn.get((topic, partition), 0) + 1
            return
        if topic == "reports":
            self.taken += len(getattr(record, "reports", ()))
        self.local.take(topic, partition, number, record, data)
        if self.central is not None:
            self.central.take(topic, partition, number, record)
        self._since_judged += 1
        if self._since_judged >= OFTEN:
            self.judge()

    def take_aborted(self, q: int, data: bytes) -> None:
        """A record of `reports` that was never committed: somebody may have read it all the same."""
        try:
            self._aborted += self.local.aborted(q, decode_record(data))
        except WireError:
            return

    def judge(self) -> None:
        """Judge what has come whole."""
        self._since_judged = 0
        self.local.judge()
        if self.central is not None:
            self.central.judge()

    def settle(self, extent: Extent) -> None:
        """Judge what is missing too."""
        self._pending = self.local.settle(extent)
        if self.central is not None:
            self.central.settle(extent)

    @property
    def found(self) -> Audit:
        """What was found so far."""
        found = Audit(torn=dict(self._torn), aborted=self._aborted, pending=self._pending)
        self.local.add_to(found)
        if self.central is not None:
            found.add(self.central.found)
        return found

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        central = None if self.central is None else self.central.state()
        counts = {"aborted": self._aborted, "pending": self._pending, "taken": self.taken}
        return {"torn": self._torn, "local": self.local.state(), "central": central, **counts}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._torn, self._aborted, self._pending = state["torn"], state["aborted"], state["pending"]
        self.taken = state["taken"]
        self.local.load(state["local"])
        if self.central is not None and state["central"] is not None:
            self.central.load(state["central"])


ORDER = ("rounds", "closings", "raw", "sums", "reports", "batches", "tallies")
"""Causes before their effects."""


def audit(plan: Plan, secrets: Secrets, read: Reader, sources: Mapping[str, int], extent: Extent = ALL) -> Audit:
    """Compare all logs with what they ought to hold. extent: how far they reach."""
    auditor = Auditor(plan, secrets, sources, people=extent.people, sums=extent.sums, covers=extent.covers)
    partitions = {
        "rounds": 1, "closings": 1, "raw": plan.partitions, "sums": 1 if plan.central else 0, "reports": plan.targets,
        "batches": plan.targets, "tallies": plan.tallies,
    }  # fmt: skip
    for topic in ORDER:
        for partition in range(partitions[topic]):
            for number, record in enumerate(read(topic, partition)):
                auditor.take(topic, partition, number, record)
    for q, records in sorted(extent.aborted.items()):
        for record in records:
            auditor.take_aborted(q, record)
    auditor.settle(extent)
    return auditor.found


__all__ = ["Audit", "Auditor", "Extent", "audit"]
