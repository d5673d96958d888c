# SPDX-License-Identifier: Apache-2.0
"""Curate: exact sums of central streams in, noisy sums out. The one stage that adds noise, and it is in the edge zone.

Logs: `sums`, where every raw partition says the exact sums of each of its periods in order, and `rounds`, for the
`start` of a stream.  Once all raw partitions have said theirs, a period is curated: in the hold-out its values help to
find the threshold, and nothing is said of them; later they are added to the leaf of the tree that they belong to, and
the leaf's noisy sum is written with its last period.  A period that somebody is still to say waits, for ever if it has
to: a sum is complete or never released.  Nobody can ask this stage anything, and no record that it reads decides what
noise is added: that follows from the plan, the key and the threshold (curation.py).
State: all of it, in every transaction, under the edge's state key, since it holds exact sums; periods that wait are
folded again from the log.  Source: ARCHITECTURE rules 13 and 27.  Not here: what is released (publish.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.curation import Curation
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.errors import WAY_ON, StateError
from murmurate.agents.stages.frozen import refuse_others
from murmurate.agents.stages.reading import dead, read
from murmurate.agents.stages.sealing import SnapshotSeal
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.config.plan import Plan
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.randomizers.terms import Facts
from murmurate.topics.block import SumsBlock
from murmurate.topics.codec import encode
from murmurate.topics.messages import Start
from murmurate.topics.names import stream_id, stream_partition

FORM: Final = StateForm("curate", 1)
"""The form of the stage's state."""
SECRET: Final = StateForm("curate sums", 1)
"""The form of the sealed part."""
TOPIC: Final = "sums"
Ints = NDArray[np.int64]


class Curate:
    """The stage of the one partition of `sums`."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, secrets: EdgeSecrets, partition: int = 0) -> None:
        self._plan, self._key = plan, secrets.devices.randomness
        self._seal = SnapshotSeal(secrets.state, f"{plan.name}/curate/{partition}")
        self.proof = self._seal.proof  # of its state records
        self._streams = {stream.name: CuratedStream(plan, Curation(plan, stream, self._key)) for stream in plan.central}
        self._by_id = {stream_id(name): stream for name, stream in self._streams.items()}
        self._out: list[Out] = []
        self._urgent = False
        self.counts: Counter[tuple[str, str]] = Counter()
        """(stream, periods | leaves | foreign) -> what was done, and blocks that fit no stream, for metrics."""

    def fold(self, record: Record) -> None:
        """Take the sums of a period at a raw partition, or the start of a stream."""
        found = read(record, "edge", self._out if record.log.topic == TOPIC else [])
        match found:
            case SumsBlock() if record.log.topic == TOPIC:  # in `rounds` anybody beyond the edge could say one
                stream = self._by_id.get(found.stream)
                if stream is None or not stream.fits(found):
                    self.counts["", "foreign"] += 1
                    self._out.append(dead("foreign", record, "edge"))
                    return
                stream.take(found, record.offset)
                self._go_on(stream)
            case Start() if record.log.topic != TOPIC:
                self._start(found)

    def _start(self, start: Start) -> None:
        """Begin a stream; of several `start` records the first counts."""
        stream = self._streams.get(start.stream)
        if stream is None or stream.curation.t is not None:
            return
        stream.curation.begin(start.t)
        stream.drop_before(start.t)
        self._go_on(stream)

    def ready(self, log: Log) -> bool:
        """Always."""
        return True

    def drain(self) -> Outbox:
        """Noisy sums, which are urgent."""
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    def _go_on(self, stream: CuratedStream) -> None:
        """Curate all periods that every raw partition has said."""
        name = stream.curation.stream.name
        log = Log("tallies", stream_partition(name, self._plan.tallies))
        while (sums := stream.next()) is not None:
            curated = stream.curation.period(sums)
            self.counts[name, "periods"] += 1
            self.counts[name, "leaves"] += curated.sums is not None
            self._out.append(Out(log, encode(curated)))
            self._urgent = True

    # ---- state ----

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From the first record about a period that waits."""
        first = [at for stream in self._streams.values() for at in stream.waiting_from]
        return {log: min([mark, *first]) if log.topic == TOPIC else mark for log, mark in marks.items()}

    def small(self) -> bytes:
        """Facts in the clear, and everything else sealed."""
        facts = {name: stream.curation.facts() for name, stream in self._streams.items()}
        arrays = {
            f"{name}/{key}": array
            for name, stream in self._streams.items()
            for key, array in stream.curation.arrays().items()
        }
        sealed = self._seal.chunks([dump(SECRET, facts, arrays)])
        return dump(
            FORM, dict(self._facts()), {f"{i:06d}": np.frombuffer(part, np.uint8) for i, part in enumerate(sealed)}
        )

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: `small` and the log hold everything."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Take over every stream's tree and threshold."""
        said, sealed = load(FORM, small)
        refuse_others("curate", said, self._facts(), "the same events must not get a second noise")
        chunks = [sealed[name].tobytes() for name in sorted(sealed)]
        facts, arrays = load(SECRET, b"".join(self._seal.open(chunks)))
        if facts.keys() != self._streams.keys():
            raise StateError(f"curate: the state holds other streams than the config; {WAY_ON}")
        for name, stream in self._streams.items():
            mine = {key.partition("/")[2]: array for key, array in arrays.items() if key.startswith(f"{name}/")}
            stream.curation.load(facts[name], mine)

    def _facts(self) -> Facts:
        """What the noise of everything released so far was made of: with another key or config it would come anew."""
        streams = {f"central.{name}": stream.curation.stream.config for name, stream in self._streams.items()}
        return {**streams, "partitions": self._plan.partitions, "keys.randomness": self._key.fingerprint}


class CuratedStream:
    """One stream: the periods that wait for raw partitions, and its curation."""

    def __init__(self, plan: Plan, curation: Curation) -> None:
        self.curation = curation
        self._contributors = plan.partitions
        self._reached: dict[int, int] = {}  # the newest period that each raw partition has said
        self._sums: dict[int, Ints] = {}  # of each period that waits, over those that have said it
        self._first: dict[int, int] = {}  # and the offset of its first record

    def fits(self, block: SumsBlock) -> bool:
        """Whether the block is one of this stream and deployment."""
        return block.contributor < self._contributors and len(block.sums) == self.curation.stream.measure.cells

    @property
    def waiting_from(self) -> Iterable[int]:
        """Offsets of the first records of periods that wait."""
        return self._first.values()

    def take(self, block: SumsBlock, at: int) -> None:
        """Take the sums of a period at a raw partition. Each says its periods in order, from its first one on: what it
        did not say before had no events there. A period that was said before is nothing new.
        """
        t, who = block.t, block.contributor
        if t <= self._reached.get(who, -1) or (self.curation.t is not None and t < self.curation.t):
            return
        self._reached[who] = t
        self._sums[t] = self._sums[t] + block.sums if t in self._sums else block.sums.astype(np.int64)
        self._first.setdefault(t, at)

    def next(self) -> Ints | None:
        """The sums of the next period, once every raw partition has said it or a later one."""
        t = self.curation.t
        if t is None or len(self._reached) < self._contributors or t > min(self._reached.values()):
            return None
        self._first.pop(t, None)
        found = self._sums.pop(t, None)
        return np.zeros(self.curation.stream.measure.cells, np.int64) if found is None else found

    def drop_before(self, t: int) -> None:
        """Forget periods before the start."""
        for early in [one for one in self._sums if one < t]:
            del self._sums[early], self._first[early]
