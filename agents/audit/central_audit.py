# SPDX-License-Identifier: Apache-2.0
"""The audit of central streams as their logs grow: exact sums from the events anew, then what the curator made of them.

Contract: a partition's sums of a period must be those of the events that were in time, each period said once and in
order (`missummed`).  A record of the curator is looked at when the exact sums of its period are known.  What somebody
may still write is not missing.  Not here: which events count (event_sums.py), noise and thresholds (curator_audit.py).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from murmurate.agents.audit.curator_audit import CuratorAudit
from murmurate.agents.audit.event_sums import EventSums, Sums
from murmurate.agents.audit.findings import Audit, Extent
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import Key
from murmurate.topics.block import Block, RawBlock, SumsBlock
from murmurate.topics.codec import decode
from murmurate.topics.curated import Curated
from murmurate.topics.message import Message
from murmurate.topics.messages import Progress, Start
from murmurate.topics.names import stream_id
from murmurate.topics.quiet import Quiet


class CentralAudit:
    """Everything about central streams."""

    def __init__(self, plan: Plan, key: Key, sources: Mapping[str, int]) -> None:
        self._plan, self._key = plan, key
        self.found = Audit()
        self._events = {
            (stream.name, p): EventSums(plan, stream, p, sources)
            for stream in plan.central
            for p in range(plan.partitions)
        }
        self._named = {stream_id(stream.name): stream.name for stream in plan.central}
        self._right: dict[tuple[str, int], deque[tuple[int, int, Sums]]] = defaultdict(deque)  # not yet said
        self._said: dict[tuple[str, int], deque[tuple[int, Sums]]] = defaultdict(deque)  # not yet compared
        self._said_t: dict[tuple[str, int], int] = {}  # the newest period that was said
        self._exact: dict[str, dict[int, list[Sums]]] = defaultdict(lambda: defaultdict(list))
        self._curated: dict[str, deque[Curated]] = defaultdict(deque)  # not yet looked at
        self._curators: dict[str, CuratorAudit] = {}

    def take(self, topic: str, partition: int, number: int, record: Block | Message) -> None:
        """One record of a log."""
        match topic, record:
            case "raw", RawBlock() if (name := self._named.get(record.stream)) is not None:
                self._events[name, partition].take(record)
            case "raw", (Progress() | Quiet()):
                for stream in self._plan.central:
                    for due in self._events[stream.name, partition].tick(record, number):
                        self._right[stream.name, partition].append(due)
                        self._exact[stream.name][due[1]].append(due[2])
            case "sums", SumsBlock() if record.stream in self._named:
                at = self._named[record.stream], record.contributor
                self._said[at].append((record.t, tuple(record.sums.tolist())))
                self._said_t[at] = max(record.t, self._said_t.get(at, -1))
            case "rounds", Start() if record.stream in self._named.values() and record.stream not in self._curators:
                self._begin(record.stream, record.t)
            case "tallies", Curated() if record.stream in self._named.values():
                self._curated[record.stream].append(record)

    def _begin(self, name: str, t: int) -> CuratorAudit:
        stream = self._plan.any_stream(name)
        assert isinstance(stream, CentralPlan)  # noqa: S101 - the name is a central stream's
        found = self._curators[name] = CuratorAudit(self._plan, stream, self._key, self.found, t)
        return found

    def judge(self) -> None:
        """Compare what is known from both sides."""
        for at in self._events:
            self._compare(at, None)
        for name, curated in self._curated.items():
            curator = self._curators.get(name)
            while curated and curator is not None:
                exact = self._exact[name]
                if len(exact.get(curated[0].t, ())) < self._plan.partitions:
                    break
                self._look(name, curator, curated.popleft())

    def settle(self, extent: Extent) -> None:
        """Compare what is missing too."""
        self.judge()
        for at in self._events:
            self._compare(at, extent)
        for name, curated in self._curated.items():
            curator = self._curators.get(name)
            if curator is None:
                self.found.wrong("miscurated", len(curated), f"stream {name!r}, which has no start")
                curated.clear()
            while curated and curator is not None:
                self._look(name, curator, curated.popleft())
        if extent.folded is None:  # nothing may still come
            for name, curator in self._curators.items():
                reached = [self._said_t.get((name, p), -1) for p in range(self._plan.partitions)]
                missing = max(0, min(reached) + 1 - curator.due)
                where = f"stream {name!r}, which lacks periods from {curator.due} on"
                self.found.wrong("miscurated", missing, where)

    def _look(self, name: str, curator: CuratorAudit, one: Curated) -> None:
        exact = self._exact[name]
        curator.take(one, exact.get(one.t, ()))
        for t in [t for t in exact if t < curator.due]:
            del exact[t]

    def _compare(self, at: tuple[str, int], extent: Extent | None) -> None:
        """One partition's blocks against what they have to be. extent: what must have been said; None: nothing."""
        name, p = at
        right, said = self._right[at], self._said[at]
        while right:
            number, t, sums = right[0]
            where = f"sums of stream {name!r}, period {t}, raw partition {p}"
            if said and said[0][0] <= t:
                of, theirs = said.popleft()
                if of < t:
                    self.found.wrong("missummed", 1, f"sums of stream {name!r} that nobody awaits, raw partition {p}")
                    continue
                self.found.sums += 1
                self.found.wrong("missummed", int(theirs != sums), where)
            elif said or (extent is not None and extent.closed(p, number)):
                self.found.wrong("missummed", 1, where)
            else:
                return
            right.popleft()
        if extent is not None:
            self.found.wrong("missummed", len(said), f"sums of stream {name!r} that nobody awaits, raw partition {p}")
            said.clear()

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        return {
            "found": vars(self.found), "events": {at: one.state() for at, one in self._events.items()},
            "right": {at: list(one) for at, one in self._right.items()},
            "said": {at: list(one) for at, one in self._said.items()}, "said_t": self._said_t,
            "exact": {name: dict(one) for name, one in self._exact.items()},
            "curated": {name: [one.canonical() for one in held] for name, held in self._curated.items()},
            "curators": {name: one.state() for name, one in self._curators.items()},
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self.found = Audit(**state["found"])
        for at, one in state["events"].items():
            self._events[at].load(one)
        self._right.update({at: deque(one) for at, one in state["right"].items()})
        self._said.update({at: deque(one) for at, one in state["said"].items()})
        self._said_t = state["said_t"]
        for name, exact in state["exact"].items():
            self._exact[name].update(exact)
        for name, held in state["curated"].items():
            self._curated[name].extend(one for data in held if isinstance(one := decode(data), Curated))
        for name, one in state["curators"].items():
            self._begin(name, one["since"]).load(one)
