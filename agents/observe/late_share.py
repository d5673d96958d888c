# SPDX-License-Identifier: Apache-2.0
"""How much of the last minute's events was refused as late or too far ahead: a gauge, and a line in the log.

Contract: no release says how many events were late (ARCHITECTURE rule 9), so that a source whose times are wrong, or a
door whose clock is, shows as nothing but more *none*: here it shows within the minute.  These are raw-side facts: for
the edge's endpoint, page and log alone.  A stream of which few events were refused has a share of 0.  Not here: who
refuses (stages/closing.py, stages/perturb.py).
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from murmurate.agents.observe.committed import JUDGED
from murmurate.agents.observe.families import gauge

WINDOW_S: Final = 60
MUCH: Final = 0.1
"""A tenth: ten times as much as sources lose by lateness where lateness was chosen with care."""
FEW: Final = 20
"""The fewest refused events of a minute that make a share: one of three events says nothing."""
REFUSED: Final = ("late", "future")
log = logging.getLogger("murmurate.late")


class RefusedShare(NamedTuple):
    """The last minute of one stream at one stage."""

    stream: str
    stage: str
    late: int
    future: int
    judged: int

    @property
    def share(self) -> float:
        """The part that was refused; 0 where few were."""
        refused = self.late + self.future
        return refused / max(refused, self.judged) if refused >= FEW else 0.0


class LateShares(Collector):
    """The last minute. `elapsed_s`: a clock that nobody sets."""

    def __init__(self, elapsed_s: Callable[[], float] = time.monotonic) -> None:
        self._elapsed_s = elapsed_s
        self._seconds: deque[tuple[int, Counter[tuple[str, str, str]]]] = deque()
        self._said = float("-inf")

    def take(self, stage: str, grown: Mapping[tuple[str, str], int]) -> None:
        """What a stage has counted since its last transaction, by stream and reason."""
        now = self._elapsed_s()
        if not self._seconds or self._seconds[-1][0] != int(now):
            self._seconds.append((int(now), Counter()))
        into = self._seconds[-1][1]
        for (stream, reason), n in grown.items():
            if reason in REFUSED:
                into[stream, stage, reason] += n
            if reason == JUDGED or (stage == "perturb" and reason in ("late", "accepted")):
                into[stream, stage, JUDGED] += n
        self._tell(now)

    def minute(self) -> list[RefusedShare]:
        """Every stream of which events came in the last minute, those with the largest share first."""
        since, found = self._elapsed_s() - WINDOW_S, Counter[tuple[str, str, str]]()
        while self._seconds and self._seconds[0][0] <= since:
            self._seconds.popleft()
        for _, counted in self._seconds:
            found.update(counted)
        rows = [
            RefusedShare(stream, stage, found[stream, stage, "late"], found[stream, stage, "future"], judged)
            for (stream, stage, reason), judged in sorted(found.items())
            if reason == JUDGED
        ]
        return sorted(rows, key=lambda row: -row.share)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauge."""
        share = gauge("murmurate_late_share")
        for row in self.minute():
            share.add_metric((row.stream, row.stage), row.share)
        yield share

    def _tell(self, now: float) -> None:
        """A line where much was refused, at most one a minute."""
        if now - self._said < WINDOW_S:
            return
        worst = next(iter(self.minute()), None)
        if worst is not None and worst.share > MUCH:
            self._said = now
            log.warning("%s", words(worst))


def words(row: RefusedShare) -> str:
    """What was refused, and where to look for the reason."""
    return (
        f"{row.stream}: {100 * row.share:.0f} % of the events of the last minute were refused at the {row.stage}: "
        f"{row.late} late, {row.future} too far ahead, of {row.judged}. Their times, `time.lateness` or a door's clock "
        "may be wrong (docs/OPERATING.md, Clocks)"
    )
