"""Central streams, audited: exact sums from the events anew, and every noisy sum from those and the key.

Contract: shares no code with stages and trees.  It reads `raw`, `rounds`, `sums` and `tallies` from their beginning and
holds the edge's keys.  A partition's sums of a period must be those of the events that were in time, each period said
once and in order (`missummed`); each period curated once, in order, from the stream's start on (`miscurated`); each
noisy sum the exact one with the key's consistent noise of its leaf, in the tree that the record names (`misnoised`);
each threshold the one that the events of its hold-out and the key give (`mischosen`), until the next hold-out.  What
somebody may still write is not missing.  Slow and plain on purpose.  Source: ARCHITECTURE rule 27, section 5.12.  Not
here: how a threshold is chosen (chosen.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from murmurate.agents.audit.chosen import chosen_threshold, drawn_under
from murmurate.agents.audit.findings import Audit, Extent, Reader
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import Key
from murmurate.randomizers.central import NodeNoise
from murmurate.topics.block import RawBlock, SumsBlock
from murmurate.topics.curated import Curated, Planted
from murmurate.topics.message import SAFE_INTEGER
from murmurate.topics.messages import Progress, Start
from murmurate.topics.names import stream_id, stream_partition
from murmurate.topics.quiet import Quiet

Sums = tuple[int, ...]
Event = tuple[bytes, int, int]
"""A pseudonym, a time and a code."""


def audit_sums(plan: Plan, key: Key, read: Reader, sources: Mapping[str, int], found: Audit, extent: Extent) -> None:
    """Compare what central streams wrote with what they had to write."""
    said: dict[tuple[bytes, int], list[tuple[int, Sums]]] = defaultdict(list)
    for _, record in found.decoded(read, "sums", 0) if plan.central else ():
        if isinstance(record, SumsBlock):
            said[record.stream, record.contributor].append((record.t, tuple(record.sums.tolist())))
    starts: dict[str, int] = {}
    for _, record in found.decoded(read, "rounds", 0) if plan.central else ():
        if isinstance(record, Start):
            starts.setdefault(record.stream, record.t)
    for stream in plan.central:
        exact: dict[int, list[Sums]] = defaultdict(list)
        reached = []
        for p in range(plan.partitions):
            mine = said[stream_id(stream.name), p]
            for t, sums in _compare(stream, p, _summed(plan, stream, read, p, sources, found), mine, found, extent):
                exact[t].append(sums)
            reached.append(max((t for t, _ in mine), default=-1))
        curated = [
            record
            for _, record in found.decoded(read, "tallies", stream_partition(stream.name, plan.tallies))
            if isinstance(record, Curated) and record.stream == stream.name
        ]
        begun = starts.get(stream.name)
        if begun is None:
            found.wrong("miscurated", len(curated), f"stream {stream.name!r}, which has no start")
            continue
        after = _Curator(plan, stream, key, found, begun).follow(curated, exact)
        if extent.folded is None:  # nothing may still come
            missing = max(0, min(reached) + 1 - after)
            found.wrong("miscurated", missing, f"stream {stream.name!r}, which lacks periods from {after} on")


# ---- sums of partitions ----


@dataclass
class _Clock:
    """What closed a stream's periods at a raw partition."""

    times: dict[int, int] = field(default_factory=dict)
    open_t: int | None = None


def _summed(
    plan: Plan, stream: CentralPlan, read: Reader, p: int, sources: Mapping[str, int], found: Audit
) -> Iterator[tuple[int, int, Sums]]:
    """Each period that closed here: the number of the record that closed it, the period, its sums."""
    clock, waiting = _Clock(), list[Event]()
    counted: dict[bytes, list[int]] = defaultdict(list)  # of each user, when events that count were
    for number, record in found.decoded(read, "raw", p):
        if isinstance(record, RawBlock) and (record.stream, record.words) == (stream_id(stream.name), 1):
            for user, time, code in zip(record.users, record.times.tolist(), record.values.tolist(), strict=True):
                pseudonym = user.tobytes()
                here = int.from_bytes(pseudonym[:8], "little") % plan.partitions == p
                if here and time >= (clock.open_t or 0) * stream.every_ms and _has_a_value(stream, code):
                    waiting.append((pseudonym, time, code))
        elif isinstance(record, Progress | Quiet) and record.topic == stream.topic:
            for source in record.partitions if isinstance(record, Quiet) else (record.partition,):
                clock.times[source] = record.time
            if not set(range(sources[stream.topic])) <= clock.times.keys():
                continue
            now = max(0, min(clock.times.values()) - plan.lateness_ms) // stream.every_ms
            if clock.open_t is None:
                clock.open_t = now
                waiting = [event for event in waiting if event[1] >= now * stream.every_ms]
            for t in range(clock.open_t, now):
                mine = sorted(event for event in waiting if event[1] < (t + 1) * stream.every_ms)
                waiting = [event for event in waiting if event[1] >= (t + 1) * stream.every_ms]
                codes = [code for user, time, code in mine if _counts(stream, counted[user], time)]
                yield number, t, tuple(stream.measure.sums(np.array(codes, np.uint32)).tolist())
            clock.open_t = max(clock.open_t, now)


def _has_a_value(stream: CentralPlan, code: int) -> bool:
    return bool(stream.measure.counting(np.array([code], np.uint32))[0])


def _counts(stream: CentralPlan, before: list[int], time: int) -> bool:
    """Whether an event counts, if these of the user's events before it did."""
    if stream.events is None or stream.window_ms is None:
        return True
    if sum(at > time - stream.window_ms for at in before) >= stream.events:
        return False
    before.append(time)
    return True


def _compare(
    stream: CentralPlan, p: int, right: Iterator[tuple[int, int, Sums]], said: Sequence[tuple[int, Sums]],
    found: Audit, extent: Extent,
) -> Iterator[tuple[int, Sums]]:  # fmt: skip
    """One partition's blocks against what they have to be; gives what they have to be, period by period."""
    left = list(said)
    for number, t, sums in right:
        yield t, sums
        where = f"sums of stream {stream.name!r}, period {t}, raw partition {p}"
        if left and left[0][0] == t:
            found.sums += 1
            found.wrong("missummed", int(left.pop(0)[1] != sums), where)
        elif left or extent.closed(p, number):
            found.wrong("missummed", 1, where)
    found.wrong("missummed", len(left), f"sums of stream {stream.name!r} that nobody awaits, raw partition {p}")


# ---- what the curator said ----


class _Curator:
    """Follows one stream from its start, hold-out by hold-out and tree by tree."""

    def __init__(self, plan: Plan, stream: CentralPlan, key: Key, found: Audit, t: int) -> None:
        self._plan, self._stream, self._key, self._found, self._t = plan, stream, key, found, t
        self._since, self._trees = t, 0
        self._threshold = None if stream.holdout else stream.measure.threshold_without_search
        self._leaf = np.zeros(stream.measure.cells, np.int64)
        self._right: int | None = None  # the threshold that the last hold-out has to choose, until a tree says one
        self._noise: list[list[int]] = []

    def follow(self, curated: Sequence[Curated], exact: Mapping[int, Sequence[Sums]]) -> int:
        """Every record, in the log's order; one that comes twice may be a second noise of the same sums. Gives the
        period that is due.
        """
        for one in curated:
            where = f"stream {self._stream.name!r}, period {one.t}"
            if one.t != self._t or one.config != self._stream.config:
                self._found.wrong("miscurated", 1, f"{where} where period {self._t} was due")
                continue
            self._t += 1
            self._period(one, self._added(exact.get(one.t, ())), where)
        return self._t

    def _added(self, sums: Sequence[Sums]) -> np.ndarray:
        """The sums of all partitions."""
        return np.asarray(np.array(sums, np.int64).reshape(-1, len(self._leaf)).sum(axis=0))

    def _period(self, one: Curated, sums: np.ndarray, where: str) -> None:
        stream, held = self._stream, self._stream.holdout
        if self._threshold is None and held is not None:  # in a hold-out
            self._found.wrong("misnoised", int(one.tree is not None or one.sums is not None), f"{where}, a hold-out")
            self._leaf = self._leaf + sums
            if one.t - self._since == held.periods - 1:
                self._right = chosen_threshold(self._plan, stream, self._key, self._since, self._leaf.tolist())
                self._since, self._threshold, self._leaf = one.t + 1, self._right, np.zeros_like(self._leaf)
            return
        self._leaf = self._leaf + sums
        at, rest = divmod(one.t - self._since, stream.block)
        if one.tree is None:
            self._found.wrong("misnoised", 1, where)
            return
        if not self._noise:
            self._plant(one.tree)
        digest = _digest(self._plan, stream, self._since, self._threshold or 0)
        named = (one.tree.first_t, one.tree.threshold, one.tree.digest)
        right = named == (self._since, self._threshold, digest.hex()[:16])
        expected = self._noisy(at) if rest == stream.block - 1 else None
        self._found.leaves += expected is not None
        self._found.wrong("misnoised", int(not right or one.sums != expected), where)
        if rest == stream.block - 1:
            self._leaf = np.zeros_like(self._leaf)
            if at == stream.tree.leaves - 1:
                self._end_tree(one.t + 1)

    def _plant(self, tree: Planted) -> None:
        """A tree begins: with the threshold that it says, if one was to be found, and with noise of its own. Another
        candidate than the right one is one finding, and what follows is compared with the trees of that candidate.
        """
        stream = self._stream
        if self._right is not None:
            told = f"threshold {tree.threshold} where the hold-out and the key choose {self._right}"
            where = f"stream {stream.name!r}, period {self._since}: {told}"
            self._found.thresholds += 1
            self._found.wrong("mischosen", int(tree.threshold != self._right), where)
            if tree.threshold in stream.measure.candidates:
                self._threshold = tree.threshold
            self._right = None
        digest = _digest(self._plan, stream, self._since, self._threshold or 0)
        self._noise = [
            _consistent(stream, NodeNoise(self._key, digest, stream.gamma(name, self._threshold or 0), cell))
            for cell, name in enumerate(stream.names)
        ]

    def _noisy(self, leaf: int) -> tuple[tuple[int, int], ...]:
        """The leaf's figures with their noise."""
        whole = self._stream.tree.fanout ** (2 * (self._stream.tree.levels - 1))
        figures = self._stream.measure.figures(self._leaf, self._threshold or 0).tolist()
        noisy = [
            divmod(figure * whole + noise[leaf], whole) for figure, noise in zip(figures, self._noise, strict=True)
        ]
        most = SAFE_INTEGER
        return tuple((q, r) if -most <= q <= most else (most if q > 0 else -most, 0) for q, r in noisy)

    def _end_tree(self, t: int) -> None:
        self._since, self._trees, self._noise = t, self._trees + 1, []
        held = self._stream.holdout
        if held is not None and held.again and self._trees == self._stream.tree.fanout:
            self._threshold, self._trees = None, 0


def _consistent(stream: CentralPlan, noise: NodeNoise) -> list[int]:
    """Noise of all leaves of a tree, over fanout^(2 (levels - 1)): up, each node weighed against its children, and
    down, what a family lacks to its parent in equal parts.
    """
    b, h = stream.tree.fanout, stream.tree.levels
    own = [[Fraction(n) for n in noise.of(level, 0, b ** (h - level)).tolist()] for level in range(1, h + 1)]
    upwards = [own[0]]
    for level in own[1:]:
        below = upwards[-1]
        upwards.append([((b - 1) * n + sum(below[b * j : b * j + b])) / b for j, n in enumerate(level)])
    down = upwards[-1]
    for level in reversed(upwards[:-1]):
        lack = [parent - sum(level[b * j : b * j + b]) for j, parent in enumerate(down)]
        down = [n + lack[j // b] / b for j, n in enumerate(level)]
    whole = b ** (2 * (h - 1))
    return [int(n * whole) for n in down]


def _digest(plan: Plan, stream: CentralPlan, first_t: int, threshold: int) -> bytes:
    """What a tree's noise is drawn under."""
    shape = {
        "block": stream.block, "fanout": stream.tree.fanout, "levels": stream.tree.levels, "threshold": threshold,
        "gammas": [str(stream.gamma(name, threshold)) for name in stream.names],
    }  # fmt: skip
    return drawn_under(plan, stream, "murmurate/noise/1", first_t, shape)
