# SPDX-License-Identifier: Apache-2.0
"""The auditor as a worker of its own: pass after pass over the logs, with checkpoints, until it is told to stop.

Contract: whatever kills it, the next one goes on from the last checkpoint and finds what one finds that never stopped.
Where the logs have forgotten what lies behind a checkpoint, or there is none and they do not go back to their
beginning, it proves from the first period on of which it knows everybody.  Brokers that are away are waited for;
it goes on from its checkpoint then.  Not here: the comparison (agents/audit), what a person sees (cli/audit_follow.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from murmurate.agents.audit.auditor import Auditor
from murmurate.agents.audit.checkpoint import Checkpoints
from murmurate.agents.audit.findings import Audit
from murmurate.agents.kafka.agreement import first_counts
from murmurate.agents.kafka.audited_logs import AuditedLogs
from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.errors import AwayError
from murmurate.agents.kafka.provision import sources
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets

EVERY_S: Final = 0.5
"""Between passes that found nothing new."""
CHECKPOINT_S: Final = 10.0
MOST_OF_TIME: Final = 0.05
"""Writing checkpoints takes no larger part of the time."""
AGAIN_S: Final = 2.0
"""Before it tries again to reach brokers that are away."""
log = logging.getLogger("murmurate.audit")


@dataclass
class AuditProgress:
    """How far an auditor that follows has come."""

    found: Audit = field(default_factory=Audit)
    judged_ms: int | None = None
    """Everything written before has been judged; None before the first pass."""
    since_ms: int = 0
    """When it began to prove."""
    since_t: dict[str, int | None] = field(default_factory=dict)
    """Per stream the first period that is judged, where not all are; None while that is not known."""
    behind: dict[str, int] = field(default_factory=dict)
    """Per log the records that are there and not yet taken."""
    taken: int = 0
    """Reports that were taken."""
    forgotten: tuple[str, ...] = ()
    """A line for each log that did not go back to its beginning when it began."""


class AuditFollower:
    """Follows one deployment. `tell` is called after every pass, and now and then during a long one."""

    def __init__(
        self, plan: Plan, client: Client, secrets: Secrets, checkpoints: Checkpoints,
        now_ms: Callable[[], int], tell: Callable[[AuditProgress], None],
    ) -> None:  # fmt: skip
        self._plan, self._client, self._secrets = plan, client, secrets
        self._checkpoints, self._now_ms, self._tell = checkpoints, now_ms, tell
        self._progress = AuditProgress(since_ms=now_ms())
        self._save_at = time.monotonic() + CHECKPOINT_S

    async def run(self, stop: asyncio.Event) -> Audit:
        """Until told to stop; gives what was found by then."""
        while not stop.is_set():
            try:
                return await self._follow(stop)
            except AwayError as error:
                log.warning("brokers are away: %s", error)
                await _wait(stop, AGAIN_S)
        return self._progress.found

    async def _follow(self, stop: asyncio.Event) -> Audit:
        async with AuditedLogs(self._client, self._plan) as logs:
            auditor = await self._begin(logs)
            talking = asyncio.create_task(self._talk(auditor, logs))
            try:
                while not stop.is_set():
                    passed = await logs.take(auditor, stop, looked_ms=self._now_ms())
                    if passed is None:
                        break
                    self._progress.judged_ms = passed.judged_ms or self._progress.judged_ms
                    self._progress.found = auditor.found
                    self._say(auditor, logs)
                    self._save_in_time(auditor, logs)
                    if not passed.records:
                        await _wait(stop, EVERY_S)
            finally:
                talking.cancel()
                await asyncio.gather(talking, return_exceptions=True)
            self._save(auditor, logs)
        return auditor.found

    async def _begin(self, logs: AuditedLogs) -> Auditor:
        """1. From the checkpoint, if the logs still hold what came after it. 2. Else from what the logs hold."""
        where = await first_counts(self._client, self._plan, await sources(self._client, self._plan))

        def covers(digest: str) -> bool:
            return digest not in logs.uncovered

        state = self._checkpoints.load()
        if state is not None and await logs.begin(state["positions"]) is not None:
            auditor = Auditor(self._plan, self._secrets, where, covers=covers, **state["extent"])
            auditor.load(state["auditor"])
            self._progress.since_ms, self._extent = state["since_ms"], state["extent"]
            self._progress.forgotten = state["forgotten"]
            return auditor
        if state is not None:
            log.warning("the logs have forgotten what came after the checkpoint: it proves anew")
        forgotten = await logs.begin()
        assert forgotten is not None  # noqa: S101 - nothing lies behind the beginning
        self._extent = {"short": forgotten.people, "sums": not (forgotten.people or forgotten.sums)}
        self._progress.forgotten = tuple(forgotten.lines)
        return Auditor(self._plan, self._secrets, where, covers=covers, **self._extent)

    def _say(self, auditor: Auditor, logs: AuditedLogs) -> None:
        progress = self._progress
        progress.behind, progress.taken, progress.since_t = (
            dict(logs.behind),
            auditor.taken,
            dict(auditor.local.known.since),
        )
        self._tell(progress)

    async def _talk(self, auditor: Auditor, logs: AuditedLogs) -> None:
        """Say how far it is during a long pass, and save."""
        while True:
            await asyncio.sleep(1.0)
            self._say(auditor, logs)
            self._save_in_time(auditor, logs)

    def _save_in_time(self, auditor: Auditor, logs: AuditedLogs) -> None:
        """Write a checkpoint if it is time for one."""
        began = time.monotonic()
        if began >= self._save_at:
            self._save(auditor, logs)
            took = time.monotonic() - began
            self._save_at = began + max(CHECKPOINT_S, took / MOST_OF_TIME)

    def _save(self, auditor: Auditor, logs: AuditedLogs) -> None:
        """Between two records: what was taken and what is known of it belong together."""
        state: dict[str, Any] = {
            "positions": logs.positions, "auditor": auditor.state(), "since_ms": self._progress.since_ms,
            "extent": self._extent, "forgotten": self._progress.forgotten,
        }  # fmt: skip
        self._checkpoints.save(state)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    """Until told to stop, so long at most."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
