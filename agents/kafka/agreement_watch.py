# SPDX-License-Identifier: Apache-2.0
"""Config records that come while a worker runs: one that changes values at an instant, or takes such a change back.

Contract: a worker whose file has only the values before a change goes on until the instant, by its clock, and ends with
one line; so does one whose file says a change that was taken back.  Any other record changes nothing until the worker
is started again.  While the brokers are away nothing comes.  Not here: what is compared (config/switch.py), a stage
that meets a period after the instant all the same (stages/plan_by_time.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final, Protocol

from murmurate.agents.kafka.agreement import Agreed, config_in
from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.errors import AgreementError, AwayError
from murmurate.agents.stages.plan_by_time import outdated
from murmurate.config.agreement import follows
from murmurate.topics.messages import Config
from murmurate.topics.times import instant

EVERY_S: Final = 5.0
log = logging.getLogger("murmurate.config")


class Judges(Protocol):
    """What compares a record with this worker's file and secrets; AgreementError if they differ."""

    def __call__(self, record: Config, *, now_ms: int) -> Agreed:
        """The record beside the file."""
        ...


class AgreementWatch:
    """The config record in force, as long as a worker runs."""

    def __init__(self, client: Client, rounds: str, agreed: Agreed, judge: Judges, *, fed: bool) -> None:
        self._client, self._place, self._agreed, self._judge = client, Place(rounds, 0), agreed, judge
        self._fed = fed  # the time is that of a recording, which stages alone go by
        self._next: int | None = None
        self._tell(agreed)

    async def run(self, now_ms: Callable[[], int | None]) -> None:
        """Never returns; AgreementError at the instant. `now_ms`: None while the clock may decide nothing."""
        while True:
            with contextlib.suppress(AwayError):
                async with self._client.reader() as reader:
                    while True:
                        await self._look(reader, 0 if self._fed else now_ms())
                        await asyncio.sleep(EVERY_S)
            await asyncio.sleep(EVERY_S)

    async def _look(self, reader: Reader, now_ms: int | None) -> None:
        """1. Whether the instant has come. 2. Whether there is another record."""
        ends_ms = self._agreed.ends_ms
        if now_ms is not None and ends_ms is not None and now_ms >= ends_ms:
            raise AgreementError(outdated(self._agreed.record))
        first, end = (await reader.bounds([self._place]))[self._place]
        start = first if self._next is None else max(first, self._next)
        self._next = end
        async for got in reader.between(self._place, start, end):
            found = config_in(got.value)
            if found is None or found == self._agreed.record or not follows(self._agreed.record, found):
                continue
            if found.until is not None or self._agreed.record.until is not None:
                self._agreed = self._judge(found, now_ms=now_ms or 0)
                self._tell(self._agreed)

    def _tell(self, agreed: Agreed) -> None:
        if agreed.ends_ms is not None:
            log.warning(
                "config %d holds from %s on, and this worker's file has the values before it: start it again with the "
                "file that `murmurate config apply` wrote", agreed.record.number, instant(agreed.ends_ms),
            )  # fmt: skip
