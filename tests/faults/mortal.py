# SPDX-License-Identifier: Apache-2.0
"""Workers that die by kill -9 at chosen moments of a round, and are started again at once: for test_every_phase.py.

Contract: a phase is a step of a round and a moment of the transaction that takes it; it is wanted as often as it has
periods, in each of them or later.  A worker that comes to one writes it down and kills itself: nothing leaves it after
that.  It is `murmurate worker` in a process of its own, forked from this one, which has imported everything and started
nothing, so that a life begins in a moment.  This process ends when it is told to, or when a worker ends in any other
way; its workers end with it.

    python -m tests.faults.mortal CONFIG WANTED DIED INSTANCE...        WANTED: {phase: [period, ...]}
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, cast
from unittest.mock import patch

import orjson
from aiokafka import AIOKafkaProducer

from murmurate.agents.cli.main import main as murmurate_main
from murmurate.agents.kafka.client import Write, Writer
from murmurate.agents.kafka.task import Task
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Record, Stage
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Close, Done, Round, Seal, Tallied
from murmurate.topics.release import Release

ROUNDS = {"dissimilarity": "M1", "publication": "M2"}
CHARGED = "M1 is charged and waits for its period"
"""Nothing is written about this but a mark."""
STEPS = (
    *(f"{name} is {step}" for step in ("answered", "closed", "sealed", "tallied") for name in ROUNDS.values()),
    "M2 is asked",  # in one transaction with M1's decision
    "an old estimate is released",  # in one transaction with `settled` and the next period's M1
    "a new estimate is released",
)
MOMENTS = WITHIN, AFTER = ("before it is committed", "after it is committed")
PHASES = (CHARGED, *(f"{step}, {moment}" for step in STEPS for moment in MOMENTS))
"""All that may be wanted."""

Step = tuple[int, str]
"""Of which period, and what."""
Commit = Callable[[AIOKafkaProducer], Awaitable[None]]


class Fate:
    """When this process dies."""

    def __init__(self, wanted: Path, died: Path) -> None:
        self._wanted: dict[str, list[int]] = orjson.loads(wanted.read_bytes())
        self._died = died
        self._rounds: dict[str, Round] = {}
        self._writing: dict[AIOKafkaProducer, list[Step]] = {}

    def rule(self) -> None:
        """Be asked at every step of every stage from now on."""
        for kind in (Perturb, Shuffle, Aggregate, Publish):
            self._learn(kind)
        self._charges()
        self._transactions()

    def _learn(self, kind: type[Any]) -> None:
        """Which round a digest names, from whatever a stage folds, after a crash too."""
        fold = kind.fold

        def folded(stage: Stage, record: Record) -> None:
            fold(stage, record)
            match decode_record(record.value):
                case Round() as round_:
                    self._rounds[round_.digest.hex()] = round_
                case Seal() as seal:
                    self._rounds[seal.round] = seal.descriptor

        patch.object(kind, "fold", folded).start()

    def _charges(self) -> None:
        fold = Task._fold

        def folded(task: Task, stage: Stage, log: Log, run: list[tuple[int, bytes]], *more: Any) -> None:
            fold(task, stage, log, run, *more)
            if isinstance(stage, Perturb) and log.topic == "rounds":
                round_ = [one for _, value in run if isinstance(one := decode_record(value), Round)]
                waiting = [one for one in round_ if one.digest.hex() in stage._streams[one.stream].pending]
                self._come(((one.t, CHARGED) for one in waiting), "")

        patch.object(Task, "_fold", folded).start()

    def _transactions(self) -> None:
        transact, commit = Writer.transact, cast(Commit, AIOKafkaProducer.commit_transaction)

        async def transacted(writer: Writer, writes: Iterable[Write]) -> list[int]:
            written = list(writes)
            steps = [] if "-door-" in writer.identity else list(self._steps(written))
            self._writing[writer._producer] = steps
            offsets = await transact(writer, written)
            self._come(steps, AFTER)
            return offsets

        async def committed(producer: AIOKafkaProducer) -> None:
            self._come(self._writing.pop(producer, ()), WITHIN)  # every record has been delivered
            await commit(producer)

        patch.object(Writer, "transact", transacted).start()
        patch.object(AIOKafkaProducer, "commit_transaction", committed).start()

    def _steps(self, writes: list[Write]) -> Iterator[Step]:
        for place, value, _ in writes:
            if ".state." in place.topic:
                continue
            match decode_record(value):
                case Done() | Close() | Seal() | Tallied() as one if one.round in self._rounds:
                    round_ = self._rounds[one.round]
                    did = {Done: "answered", Close: "closed", Seal: "sealed"}.get(type(one), "tallied")
                    yield (round_.t, f"{ROUNDS[round_.purpose]} is {did}")
                case Round() as round_ if round_.purpose == "publication":
                    yield (round_.t, "M2 is asked")
                case Release() as one:
                    new = "a new" if one.decision == "published" else "an old"
                    yield (one.t, f"{new} estimate is released")

    def _come(self, steps: Iterable[Step], moment: str) -> None:
        """Die, if a phase among these is wanted, and not as many have died in it already."""
        died = self._died.read_text().splitlines() if self._died.exists() else []
        here = []
        for phase, t in {f"{what}, {moment}" if moment else what: t for t, what in steps}.items():
            left = sorted(self._wanted.get(phase, []))[died.count(phase) :]
            here += [phase] if left and t >= left[0] else []
        if here:
            with self._died.open("a") as file:
                file.writelines(f"{phase}\n" for phase in here)
            os.kill(os.getpid(), signal.SIGKILL)


def live(config: str, wanted: str, died: str, instance: str) -> int:
    """Start a worker: its process id."""
    parent, pid = os.getpid(), os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with contextlib.suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: there is no such thing outside Linux
        if os.getppid() == parent:
            Fate(Path(wanted), Path(died)).rule()
            sys.argv = ["murmurate", "worker", "-c", config, "--instance", instance]
            murmurate_main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def main() -> int:
    """Keep workers alive."""
    config, wanted, died, *instances = sys.argv[1:]
    import_module("murmurate.agents.cli.worker")  # once, not in each life
    lives = {live(config, wanted, died, instance): instance for instance in instances}
    ending = False

    def end(_: int, __: FrameType | None) -> None:
        nonlocal ending
        ending = True
        for pid in lives:
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    codes = []
    while lives:
        pid, status = os.wait()
        instance = lives.pop(pid)
        if not ending and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            lives[live(config, wanted, died, instance)] = instance
        elif not ending:
            return 1
        else:
            codes.append(os.waitstatus_to_exitcode(status))
    return max(map(abs, codes), default=0)


if __name__ == "__main__":
    sys.exit(main())
