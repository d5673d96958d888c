# SPDX-License-Identifier: Apache-2.0
"""What a round says of every item, where releases list few of very many: for readers of `rounds` and `tallies`.

Contract: a function of the records of both logs, which hold no user and cost no privacy to read; each round with all
its tallies gives its raw estimates and their standard errors once, those of the mechanism, as estimates of whoever
answered (sampling and what changed since are not in them).  Nothing is filtered or chosen, so nothing is biased.
Files are NumPy archives with the arrays `names`, `estimate` and `stderr`.  Not here: releases (stages/publish.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.stage import Out
from murmurate.agents.stages.tallies import RoundTallies
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Answer
from murmurate.config.plan import Plan
from murmurate.topics.block import TallyBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Round, Tally, TallyInBlocks

OPEN: Final = 1 << 10
"""The most rounds that wait for their tallies: of older ones the log does not hold all."""


@dataclass(frozen=True, eq=False)
class WholeEstimate:
    """What one round says of every statistic of its stream."""

    stream: str
    t: int
    purpose: str
    """What the round was for: "publication", or whether there is something to publish."""
    counted: int
    """The number of reports behind it."""
    names: tuple[str, ...]
    estimate: NDArray[np.float64]
    """The raw, unbiased estimates, in the order of the names."""
    stderr: NDArray[np.float64]
    """The standard errors of `estimate`, from the mechanism's noise."""

    def write(self, folder: Path) -> Path:
        """The file in this folder that holds it, STREAM/T-PURPOSE.npz."""
        path = folder / self.stream / f"{self.t}-{self.purpose}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, names=np.array(self.names), estimate=self.estimate, stderr=self.stderr)
        return path


class WholeVectors:
    """Follows `rounds` and `tallies`, each in its own order."""

    def __init__(self, plan: Plan) -> None:
        self._names = {stream.name: stream.measure.whole_names for stream in plan.streams}
        self._open: dict[str, tuple[Round, RoundTallies]] = {}

    def follow(self, records: Iterable[Out]) -> Iterator[WholeEstimate]:
        """Take records as they were written to any log."""
        for log, value, *_ in records:
            if log.topic in ("rounds", "tallies"):
                yield from self.fold(log.topic, value)

    def fold(self, topic: str, value: bytes, at: int = 0) -> Iterator[WholeEstimate]:
        """Take a record of one of the two logs. A tally whose round was not read is passed over."""
        try:
            found = decode_record(value)
        except WireError:
            return
        match found:
            case Round() if topic == "rounds" and self._names.get(found.stream):
                self._open[found.digest.hex()] = found, RoundTallies()
                if len(self._open) > OPEN:
                    del self._open[next(iter(self._open))]
            case Tally() | TallyInBlocks() if topic == "tallies" and found.round in self._open:
                self._open[found.round][1].add(found, -1)
                yield from self._whole(found.round)
            case TallyBlock() if topic == "tallies" and (digest := found.round.hex()) in self._open:
                self._open[digest][1].take(found, value, at)
                yield from self._whole(digest)
            case _:
                pass

    def _whole(self, digest: str) -> Iterator[WholeEstimate]:
        """The estimates of a round, once all its tallies are here; none of one that was too small."""
        round_, tallies = self._open[digest]
        if tallies.whole < round_.targets:
            return
        del self._open[digest]
        if not tallies.counted:
            return
        question = question_of(round_)
        said = measured(round_.t, question, Answer(tallies.support(), tallies.counted), None)
        names = self._names[round_.stream]
        error = np.sqrt(said.variance)
        yield WholeEstimate(round_.stream, round_.t, round_.purpose, tallies.counted, names, said.unbiased, error)
