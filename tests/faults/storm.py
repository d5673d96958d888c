# SPDX-License-Identifier: Apache-2.0
"""A storm over a cluster: workers die at moments that are seen in the logs and at any, freeze, and lose their brokers.

Contract: a chosen moment is a kind of record: as soon as it stands in its log, committed or not, whoever runs the stage
that wrote it is killed.  Everything is drawn by a seed but for how the processes run.  No two losses of brokers
overlap.  Workers that have ended are started again at once.  Not here: the deployment and what is compared
(storm_run.py).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import orjson

from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.errors import BrokerError
from murmurate.topics.codec import decode_record
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Close, Done, Progress, Round, Seal, Settled, Tallied
from murmurate.topics.names import batch_partition
from murmurate.topics.release import Release
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos, Deed
from tests.faults.deployed import Deployed, Process

MOMENTS = (
    "door: events are in raw", "perturb: a round is answered", "shuffle: a round is closed",
    "shuffle: a batch is sealed", "aggregate: a batch is tallied", "publish: a round is asked",
    "publish: an estimate is released", "publish: a period is settled",
)  # fmt: skip
ANY = "any"
"""No moment of a stage: when it comes to it."""
WATCHED = ("raw", "rounds", "closings", "reports", "batches", "tallies", "releases")
POLL_MS = 40
MOST_SKIPPED = 3
"""A kill at a chosen moment is at the first to the fourth record of its kind: not always the same partition's."""
AGAIN_S, MOST_S = 1.0, 60.0


class Storm(Chaos):
    """Chaos that also waits for moments, and has a cluster to hit."""

    def __init__(self, deployed: Deployed, brokers: Broker, *, seed: int, pause_s: float) -> None:
        super().__init__(deployed, seed=seed, pause_s=pause_s)
        self._brokers, self._thread = brokers, ThreadPoolExecutor(1, thread_name_prefix="mends-brokers")
        self._mending: Future[None] | None = None
        self._wanted: tuple[str, int] | None = None
        self._brokers_down, self._before = False, 0
        self._frozen: set[int] = set()
        self.hit: dict[str, Counter[str]] = {}
        """Per moment how often each worker was killed there."""
        self.freezes: list[tuple[str, float]] = []
        """Who, and for how many seconds."""
        self.losses: list[tuple[str, float]] = []
        """Which brokers, and for how many seconds until all answered again."""
        self.released: set[tuple[str, int]] = set()
        """Periods whose releases were seen, committed or not."""

    def __call__(self) -> None:
        """What is due; of the last kill too, whose moment may never come."""
        super().__call__()
        if self._wanted is not None and not self._deeds and time.monotonic() >= self._next + MOST_S:
            self._wanted = None
            self._kill(ANY, None)

    def recovered(self, now: float) -> bool:
        """Once something was released since the last deed, or that has been waited for long enough: where a machine is
        so busy that workers take longer to start than from one kill to the next, nothing would ever run.
        """
        if len(self.released) == self._before and now < self._next + MOST_S:
            return False
        self._before = len(self.released)
        return True

    # ---- what it does ----

    def strike(self, moment: str) -> None:
        """Kill whoever writes a record of this kind next; whom the last one has waited for in vain, dies now."""
        if self._wanted is not None:
            self._kill(ANY, None)
        self._wanted = None
        if moment == ANY:
            self._kill(ANY, None)
        else:
            self._wanted = moment, self.draw.randrange(1 + MOST_SKIPPED)

    def stop_for(self, seconds: float) -> None:
        """SIGSTOP to one that runs, and SIGCONT after so long."""
        worker = self._least_hit()
        worker.freeze()
        self._frozen.add(worker.pid)
        self.freezes.append((worker.log.stem, seconds))
        self.later(seconds, partial(self._wake, worker))

    def lose(self, nodes: Sequence[int], seconds: float) -> None:
        """kill -9 of these brokers; after so long they start again."""
        if self._brokers_down:  # the last ones are not back yet
            self._deeds.insert(0, partial(self.lose, nodes, seconds))
            return
        for node in nodes:
            self._brokers.kill(node)
        self._brokers_down, began = True, time.monotonic()
        self.later(seconds, partial(self._mend, nodes, began))

    def _mend(self, nodes: Sequence[int], began: float) -> None:
        def mend() -> None:
            self._brokers.mend()
            self._brokers_down = False
            self.losses.append((" ".join(map(str, nodes)), time.monotonic() - began))

        self._mending = self._thread.submit(mend)  # it waits until they answer, and the storm goes on meanwhile

    def _wake(self, worker: Process) -> None:
        self._frozen.discard(worker.pid)
        worker.thaw()

    def _least_hit(self) -> Process:
        """Of the workers that run awake, one of those that were killed least."""
        awake = [one for one in self._deployed.workers if one.running and one.pid not in self._frozen]
        awake = awake or [one for one in self._deployed.workers if one.running]
        times = {one.pid: sum(each[one.log.stem] for each in self.hit.values()) for one in awake}
        return self.draw.choice([one for one in awake if times[one.pid] == min(times.values())])

    def _kill(self, moment: str, worker: Process | None) -> None:
        worker = worker or self._least_hit()
        self.kill(worker)
        self.hit.setdefault(moment, Counter())[worker.log.stem] += 1

    # ---- what it sees ----

    async def follow(self, enough: int, idle_s: float) -> None:
        """Until the releases of so many periods were seen and all is done, or nothing was released for so long."""
        positions: dict[Place, int] = {}
        last, seen = time.monotonic(), 0
        while time.monotonic() - last < idle_s and not (len(self.released) >= enough and self.over):
            try:
                async with self._deployed.client.reader(aborted=True) as reader:
                    places = positions or await self._places()
                    positions = {place: positions.get(place, 0) for place in places}
                    reader.at(positions)
                    while time.monotonic() - last < idle_s and not (len(self.released) >= enough and self.over):
                        self()
                        for got in await reader.poll(POLL_MS):
                            positions[got.place] = got.offset + 1
                            self.see(got)
                        if len(self.released) > seen or not self.over:
                            last, seen = time.monotonic(), len(self.released)
            except BrokerError:
                await asyncio.sleep(AGAIN_S)

    async def _places(self) -> list[Place]:
        name = self._deployed.plan.name
        async with self._deployed.client.admin() as admin:
            found = await admin.describe([f"{name}.{topic}" for topic in WATCHED])
        return [Place(topic, p) for topic, one in found.items() for p in range(one.partitions)]

    @property
    def over(self) -> bool:
        """Whether everything was done, and whoever slept or was away is back."""
        if self._mending is not None and self._mending.done():
            self._mending.result()
        return not (self._deeds or self._later or self._wanted or self._brokers_down)

    def see(self, got: Got) -> None:
        """Note a release; kill, if it was for this that one waited."""
        try:
            found = decode_record(got.value or b"")
        except WireError:
            return
        if isinstance(found, Release):
            self.released.add((found.stream, found.t))
        if self._wanted is None:
            return
        moment, skipped = self._wanted
        if (task := self._task(moment, found, got)) is None:
            return
        self._wanted = (moment, skipped - 1) if skipped else None
        if not skipped:
            self._kill(moment, self._holder(task))

    def _task(self, moment: str, found: object, got: Got) -> str | None:
        """Whose this record is, if it is of this moment."""
        plan = self._deployed.plan
        match moment, found:
            case "door: events are in raw", Progress():
                return f"door {found.partition}"
            case "perturb: a round is answered", Done():
                return f"perturb {found.contributor}"
            case "shuffle: a round is closed", Close():
                return "shuffle 0"
            case "shuffle: a batch is sealed", Seal():
                return f"shuffle {found.q}"
            case "aggregate: a batch is tallied", Tallied():
                return f"aggregate {batch_partition(found.stream, found.q, plan.targets)}"
            case ("publish: a round is asked", Round()) | ("publish: a period is settled", Settled()):
                return "publish 0"
            case "publish: an estimate is released", Release():
                return f"publish {got.place.partition}"
        return None

    def _holder(self, task: str) -> Process | None:
        """The worker that was the last one to recover this task, if it runs."""
        said: list[tuple[str, int]] = []
        for i, worker in enumerate(self._deployed.workers):
            lines = [line for line in worker.said().splitlines() if f'"{task}"' in line and '"recovered"' in line]
            said += [(orjson.loads(lines[-1])["time"], i)] if lines else []
        if not said:
            return None
        worker = self._deployed.workers[max(said)[1]]
        return worker if worker.running and worker.pid not in self._frozen else None

    def close(self) -> None:
        """Whoever mends is awaited."""
        self._thread.shutdown(wait=True)


def deeds(
    storm: Storm, *, kills: int, freezes_s: Sequence[float], losses: Sequence[tuple[Sequence[int], float]]
) -> list[Deed]:
    """What is to be done: two kills of three at a chosen moment; losses in their order, evenly among the others."""
    moments = [MOMENTS[i // 3 * 2 % len(MOMENTS) + i % 3] if i % 3 < 2 else ANY for i in range(kills)]
    others: list[Deed] = [partial(storm.strike, moment) for moment in moments]
    others += [partial(storm.stop_for, seconds) for seconds in freezes_s]
    storm.draw.shuffle(others)
    for i, (nodes, seconds) in reversed(list(enumerate(losses))):
        others.insert((i + 1) * len(others) // (len(losses) + 1), partial(storm.lose, nodes, seconds))
    return others
