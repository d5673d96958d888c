# SPDX-License-Identifier: Apache-2.0
"""Bad days: workers killed and frozen, brokers that go away, by a seed and a number of times, while releases come."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.faults.deployed import Deployed, Process

Deed = Callable[[], None]


class Chaos:
    """Does one deed after another, `pause_s` apart, and restarts whatever worker has ended. Call it often."""

    def __init__(self, deployed: Deployed, *, seed: int = 1, pause_s: float = 2.0) -> None:
        self._deployed, self.draw, self._pause_s = deployed, random.Random(seed), pause_s
        self._deeds: list[Deed] = []
        self._next = time.monotonic() + pause_s
        self._later: list[tuple[float, Deed]] = []
        self.deaths = 0
        """Workers that ended by themselves: fenced zombies, brokers lost."""
        self.codes: Counter[int] = Counter()
        """With which exit codes they did."""
        self.kills = 0
        self.restarts: dict[str, int] = {}
        self._killed: set[int] = set()

    def __call__(self) -> None:
        """What is due."""
        now = time.monotonic()
        for _, deed in [one for one in self._later if one[0] <= now]:
            self._later = [one for one in self._later if one[1] is not deed]
            deed()
        self._restart()
        if self._deeds and now >= self._next and self.recovered(now):
            self._next = now + self._pause_s * self.draw.uniform(0.5, 1.5)
            self._deeds.pop(0)()

    def recovered(self, now: float) -> bool:
        """Whether the next deed may come."""
        return True

    def plan(self, deeds: Sequence[Deed]) -> None:
        """What to do, in this order."""
        self._deeds = list(deeds)

    def finish(self) -> None:
        """Wake up who still sleeps; everything must have been done before the last release."""
        for _, deed in self._later:
            deed()
        self._later = []
        assert not self._deeds, f"{len(self._deeds)} deeds were left: the run was too short"

    def later(self, seconds: float, deed: Deed) -> None:
        """Do it then."""
        self._later.append((time.monotonic() + seconds, deed))

    def rest(self, seconds: float) -> None:
        """Nothing else for so long."""
        self._next += seconds

    def worker(self) -> Process:
        """Any worker that runs."""
        return self.draw.choice([worker for worker in self._deployed.workers if worker.running])

    def kill(self, worker: Process | None = None) -> None:
        """kill -9 of this worker, or of any."""
        worker = worker or self.worker()
        self._killed.add(worker.pid)
        worker.kill()
        self.kills += 1

    def freeze(self, seconds: float) -> None:
        """SIGSTOP; a successor starts beside it; it wakes up as a zombie."""
        worker = self.worker()
        worker.freeze()
        self.later(seconds, worker.thaw)

    def join(self) -> None:
        """One worker more."""
        self._deployed.worker()

    def leave(self) -> None:
        """SIGTERM to any worker, which is not started again."""
        worker = self.worker()
        worker.restarts = False
        worker.terminate()

    def _restart(self) -> None:
        for i, worker in enumerate(self._deployed.workers):
            if not worker.running and worker.restarts:
                if worker.pid not in self._killed:
                    self.deaths += 1
                    self.codes[worker.wait()] += 1
                self._deployed.workers[i] = worker.again()
