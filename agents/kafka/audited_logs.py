# SPDX-License-Identifier: Apache-2.0
"""The logs of a deployment as an auditor takes them, pass after pass, so that what goes on meanwhile is no false alarm.

Contract: a pass looks at effects before their causes: 1. the marks of perturb and aggregate, 2. where tallies end,
3. sums and batches, 4. closings, 5. reports, 6. raw and rounds.  Then it takes every log up to there and no further, so
that whatever was taken has its cause in what was taken, and what lies below the marks that count (audit_marks.py) has
its effects.  A log that runs ahead of the others waits, so that memory stays bounded.  `reports` is read twice, with
and without what was never committed.  Source: ARCHITECTURE section 5.12.  Not here: the comparison (agents/audit),
checkpoints (audit_follow.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, NamedTuple

from murmurate.agents.audit.auditor import Auditor
from murmurate.agents.audit.findings import Audit
from murmurate.agents.kafka.agreement import first_counts
from murmurate.agents.kafka.audit_marks import WaitingMarks, look
from murmurate.agents.kafka.client import Client, Got, Place, Reader
from murmurate.agents.kafka.collect import places
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.provision import sources
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Round
from murmurate.topics.names import topic

ENDS: Final = (("tallies",), ("sums", "batches"), ("closings",), ("reports",), ("raw", "rounds"))
"""In the order in which their ends are looked at."""
TAKEN: Final = (("rounds", "closings"), ("raw",), ("sums",), ("reports",), ("batches",), ("tallies",))
"""The logs that share a reader, causes first."""
ONCE_S: Final = 30.0
"""How long whoever looks once waits for transactions that are open, before their answers are pending."""
AHEAD: Final = 3
"""The number of periods that may be closed at a contributor and not answered before `raw` waits for the answers."""
EARLY_BYTES: Final = 1 << 26
"""The bytes of reports that may wait for their period to close before `reports` waits for `raw`."""
UNCOMMITTED: Final = 1 << 14
"""The number of records of `reports` that may wait to be known as committed or not."""
POLL_MS: Final = 100
STATES: Final = ("state.perturb", "state.aggregate")
"""The logs with the marks."""


class Forgotten(NamedTuple):
    """What the logs no longer hold."""

    lines: Sequence[str]
    """A line for each log that no longer begins at offset 0."""
    people: bool
    """Whether raw or rounds have forgotten something."""
    sums: bool
    """Whether a log about central streams has."""


class Passed(NamedTuple):
    """A pass over the logs."""

    ends: Mapping[Place, int]
    """How far each log was taken."""
    records: int
    """How many records were."""
    judged_ms: int | None
    """Everything written before has been judged, what is missing too; None while no marks count."""


async def audited(client: Client, plan: Plan, secrets: Secrets) -> tuple[Audit, Sequence[str], bool]:
    """The audit of all that is in the logs now; a line for each that has forgotten its beginning, and whether it is
    known all the same who had to answer. TopicsError if a topic is missing.
    """
    async with AuditedLogs(client, plan) as logs:
        forgotten = await logs.begin()
        assert forgotten is not None  # noqa: S101 - nothing lies behind the beginning
        auditor = Auditor(
            plan, secrets, await first_counts(client, plan, await sources(client, plan)), people=not forgotten.people,
            sums=not (forgotten.sums or forgotten.people), covers=lambda digest: digest not in logs.uncovered,
        )  # fmt: skip
        end = time.monotonic() + ONCE_S
        while (passed := await logs.take(auditor)) and passed.judged_ms is None and time.monotonic() < end:
            await asyncio.sleep(POLL_MS / 1000)
        await logs.take_open(auditor)
        return auditor.found, forgotten.lines, not forgotten.people


class AuditedLogs:
    """Readers of all logs. `async with` connects; `begin` says where they go on."""

    def __init__(self, client: Client, plan: Plan) -> None:
        self._client, self._plan = client, plan
        self._names = [name for group in TAKEN for name in group if plan.central or name != "sums"]
        self._readers: dict[tuple[str, ...], Reader] = {}
        self._stack = contextlib.AsyncExitStack()
        self._held: dict[Place, deque[Got]] = {}
        self._taken: dict[Place, int] = {}
        self._uncommitted: dict[int, dict[int, bytes]] = {}  # per target what may never be committed, by offset
        self._limits: dict[Place, int] = {}
        self._marks = WaitingMarks()
        self._cut_ms = -1  # rounds asked up to then are not whole
        self.uncovered: set[str] = set()
        """Rounds of which not everything is there, of those that were taken."""
        self.behind: dict[str, int] = {}
        """Per log the records between what was taken and the last end that was looked at."""

    async def __aenter__(self) -> AuditedLogs:
        wanted = {name: topic(self._plan.name, name) for name in (*self._names, *STATES)}
        self._places = await places(self._client, wanted.values())
        for name in wanted.values():
            if name not in self._places:
                raise TopicsError(
                    f"{name}: found no such topic, or none that we may see (see `murmurate topics create`)"
                )
        # A connection that waits for records answers nothing else meanwhile: ends are asked for on another one.
        self._looking = await self._stack.enter_async_context(self._client.reader())
        self._asking = await self._stack.enter_async_context(self._client.reader())
        self._asking_all = await self._stack.enter_async_context(self._client.reader(aborted=True))
        self._everything = await self._stack.enter_async_context(self._client.reader(aborted=True))
        for group in TAKEN:
            if names := tuple(name for name in group if name in self._names):
                self._readers[names] = await self._stack.enter_async_context(self._client.reader())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, where)

    def _of(self, name: str) -> list[Place]:
        return self._places[topic(self._plan.name, name)]

    def _short_name(self, place: Place) -> str:
        return place.topic.removeprefix(f"{self._plan.name}.")

    # ---- where to begin ----

    async def begin(self, positions: Mapping[tuple[str, int], int] | None = None) -> Forgotten | None:
        """Go on at these positions; None if the logs have forgotten something behind them. Without any, begin with what
        there is.
        """
        first: dict[Place, int] = {}
        for name in self._names:
            first |= {place: begin for place, (begin, _) in (await self._asking.bounds(self._of(name))).items()}
        if positions is not None:
            at = {place: positions.get((self._short_name(place), place.partition), 0) for place in first}
            if any(at[place] < begin for place, begin in first.items()):
                return None
        else:
            at = first
        self._taken, self._held = dict(at), {place: deque() for place in at}
        for names, reader in self._readers.items():
            reader.at({place: at[place] for name in names for place in self._of(name)})
        self._everything.at({place: at[place] for place in self._of("reports")})
        self._uncommitted = {place.partition: {} for place in self._of("reports")}
        if positions is not None:
            return Forgotten((), people=False, sums=False)
        short = {self._short_name(place) for place, begin in first.items() if begin > 0}
        self._cut_ms = await self._cut([p for p, begin in first.items() if begin > 0 and self._is_effect(p)])
        lines = [f"{p.topic} {p.partition} begins at offset {begin}" for p, begin in sorted(first.items()) if begin > 0]
        return Forgotten(lines, people=bool(short & {"raw", "rounds"}), sums=bool(short & {"tallies", "sums"}))

    def _is_effect(self, place: Place) -> bool:
        return self._short_name(place) in ("reports", "closings", "batches", "tallies")

    async def _cut(self, short: Sequence[Place]) -> int:
        """The time of the newest of the oldest records of these logs: rounds that were asked later are whole."""
        cut = -1
        for place, (begin, end) in (await self._asking.bounds(short) if short else {}).items():
            oldest = None
            async for got in self._looking.between(place, begin, end):
                oldest = got.time_ms
                break
            if oldest is None:
                return 1 << 62  # nothing is left, and nobody knows since when
            cut = max(cut, oldest)
        return cut

    @property
    def positions(self) -> dict[tuple[str, int], int]:
        """Where to go on, log by log."""
        return {(self._short_name(place), place.partition): offset for place, offset in self._taken.items()}

    # ---- a pass ----

    async def take(self, auditor: Auditor, stop: asyncio.Event | None = None, *, looked_ms: int = 0) -> Passed | None:
        """One pass, settled; None if it was stopped before its end. looked_ms: the wall clock.

        1. Marks and ends. 2. Every log up to its end. 3. What was never committed. 4. Settle by the newest marks that
        count.
        """
        counts = {name: len(self._of(name)) for name in (*self._names, *STATES)}
        self._marks.add(await look(self._looking, self._asking_all, self._plan.name, counts, looked_ms))
        ends: dict[Place, int] = {}
        for group in ENDS:
            wanted = [place for name in group if name in self._names for place in self._of(name)]
            bounds = (await self._asking.bounds(wanted)).items() if wanted else ()
            ends |= {place: max(end, self._taken[place]) for place, (_, end) in bounds}
        self._limits = ends
        records = 0
        while not self._reached():
            if stop is not None and stop.is_set():
                return None
            records += await self._advance(auditor)
            await asyncio.sleep(0)
        marks = self._marks.taken(self._taken)
        auditor.settle(marks.extent)
        return Passed(ends, records, marks.looked_ms)

    def _reached(self) -> bool:
        self.behind = dict.fromkeys(self._names, 0)
        for place, end in self._limits.items():
            self.behind[self._short_name(place)] += max(0, end - self._taken[place])
        return not any(self.behind.values())

    async def _advance(self, auditor: Auditor) -> int:
        """Take some records of the logs that need not wait."""
        local = auditor.local
        waits = {("raw",)} if self.behind["reports"] and local.awaited >= AHEAD else set()
        if self.behind["raw"] and ("raw",) not in waits and local.early > EARLY_BYTES:
            waits.add(("reports",))
        wanted = [
            names for names in self._readers if names not in waits and any(self.behind[name] for name in names)
        ] or list(self._readers)
        polling = [self._readers[names].poll(POLL_MS) for names in wanted]
        if ("reports",) in wanted and sum(map(len, self._uncommitted.values())) < UNCOMMITTED:
            polling.append(self._also_uncommitted())
        for found in await asyncio.gather(*polling):
            for got in found:
                self._held[got.place].append(got)
        return sum([await self._drain(auditor, names) for names in self._readers])

    async def _drain(self, auditor: Auditor, names: tuple[str, ...]) -> int:
        """Take what has been read below the limits, and note how far that is."""
        count = 0
        for name in names:
            for place in self._of(name):
                limit, reader = self._limits[place], self._readers[names]
                if name == "reports":
                    limit = min(limit, await self._everything.position(place))
                held = self._held[place]
                while held and held[0].offset < limit:
                    self._give(auditor, name, got := held.popleft())
                    self._taken[place] = got.offset + 1  # at once: a checkpoint may be written whenever this waits
                    count += 1
                reached = held[0].offset if held else await reader.position(place)
                self._taken[place] = max(self._taken[place], min(limit, reached))
                if name == "reports":
                    self._aborted(auditor, place.partition, self._taken[place])
        return count

    def _give(self, auditor: Auditor, name: str, got: Got) -> None:
        value = got.value or b""
        if name == "reports":
            self._uncommitted[got.place.partition].pop(got.offset, None)
        if name == "rounds" and got.time_ms <= self._cut_ms and (digest := _digest(value)) is not None:
            self.uncovered.add(digest)
        auditor.take(name, got.place.partition, got.offset, value)

    def _aborted(self, auditor: Auditor, q: int, below: int) -> None:
        """What lies below where committed records have been taken, and is none of them, was never committed."""
        held = self._uncommitted[q]
        for offset in sorted(offset for offset in held if offset < below):
            auditor.take_aborted(q, held.pop(offset))

    async def take_open(self, auditor: Auditor) -> None:
        """What is written and not committed yet may have been read all the same. There will be no other pass."""
        wanted = self._of("reports")
        stable = await self._asking.bounds(wanted)
        ends = {place: end for place, (_, end) in (await self._everything.bounds(wanted)).items()}
        while any([await self._everything.position(place) < ends[place] for place in wanted]):
            await self._poll_everything()
        for place in wanted:
            held = self._uncommitted[place.partition]
            for offset in sorted(offset for offset in held if stable[place][1] <= offset < ends[place]):
                auditor.take_aborted(place.partition, held[offset])
        auditor.settle(self._marks.counting.extent)

    async def _also_uncommitted(self) -> list[Got]:
        await self._poll_everything()
        return []

    async def _poll_everything(self) -> None:
        for got in await self._everything.poll(POLL_MS):
            self._uncommitted[got.place.partition][got.offset] = got.value or b""


def _digest(value: bytes) -> str | None:
    try:
        found = decode(value)
    except WireError:
        return None
    return found.digest.hex() if isinstance(found, Round) else None
