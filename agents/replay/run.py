# SPDX-License-Identifier: Apache-2.0
"""A replay: a source runs through every stage on the embedded runtime, and its truth is computed beside it.

Contract: the same source, plan and keys give the same releases, to the byte.  Truth and error are raw data: they are
computed from the source alone and live only here, never beside a live deployment (ARCHITECTURE rule 9).  `stop` ends it
cleanly with what is done so far.  Not here: files, terminals and signals (cli/), the page (web/).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson

from murmurate.agents.audit.budget_watch import BudgetWatch
from murmurate.agents.embedded.runtime import Keys, Runtime
from murmurate.agents.page_header import page_header
from murmurate.agents.replay.listed import of_found, of_release
from murmurate.agents.replay.score import Score, score, shortfalls
from murmurate.agents.replay.source import Batch, Source, SourceError
from murmurate.agents.replay.summary import summary
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.agents.replay.truth import Truth
from murmurate.agents.stages.admission import Admission, cut, raw_records
from murmurate.agents.stages.closing import newest_closing
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.publish import ROUNDS
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import Key, Pepper, Secrets
from murmurate.randomizers.ledger import MAX_T
from murmurate.topics.block import REFUSED
from murmurate.topics.codec import encode
from murmurate.topics.messages import Progress, Settled

Frame = dict[str, Any]
PROGRESS_S = 0.2  # between two progress frames
NEVER_ASKED = MAX_T - 1
"""The period up to which nothing is asked about a stream that the source does not hold, so that nothing waits for it.
"""


def keys(secrets: Mapping[str, bytes], deployment: str) -> Keys:
    """All zones' keys from their secrets, for a deployment in one process."""
    devices = Secrets(*(Key(secrets[name], deployment=deployment) for name in ("randomness", "slots", "split")))
    edge = EdgeSecrets(devices, Pepper(secrets["pepper"], deployment=deployment), secrets["state"])
    return Keys(edge, Key(secrets["shuffle"], deployment=deployment))


@dataclass
class Outcome:
    """The results of a replay."""

    releases: list[bytes] = field(default_factory=list)
    truth: list[TruePeriod] = field(default_factory=list)
    events: int = 0
    seconds: float = 0.0
    over_budget: int = 0
    users: int = 0
    """The number of users in the source, over all streams."""
    refused: Counter[str] = field(default_factory=Counter)
    interrupted: bool = False
    stages: dict[str, float] = field(default_factory=dict)
    """The seconds spent in each stage."""

    def score(self, plan: Plan) -> Score:
        """The errors and costs."""
        return score(plan, map(orjson.loads, self.releases), self.truth, self.refused)

    def shortfalls(self, plan: Plan) -> list[str]:
        """One line for each stream that measured nothing, or often had too few reports, with what it lacks."""
        return shortfalls(plan, self.score(plan), map(orjson.loads, self.releases), self.users)

    def summary(self, plan: Plan) -> dict[str, Any]:
        """The content of summary.json."""
        return summary(self.score(plan), events=self.events, seconds=self.seconds, over_budget=self.over_budget)


class Replay:
    """A replay of one source. `tell` receives frames for a page or a progress bar while it runs."""

    def __init__(
        self, plan: Plan, source: Source, keys: Keys, tell: Callable[[Frame], None] = lambda frame: None
    ) -> None:
        self._plan, self._source, self._pepper, self._tell = plan, source, keys.edge.pepper, tell
        self._runtime = Runtime(plan, keys)
        self._watch = BudgetWatch(plan, keys.edge.devices)
        self._runtime.logs.listeners.append(self._watch.follow)
        self._truth = Truth(plan, source)
        self._admission = Admission(plan, keys.edge.pepper)
        self._true: dict[tuple[str, int], TruePeriod] = {}
        self._told_of: set[tuple[str, int]] = set()
        self._clock: int | None = None
        self._shown: int | None = None  # of it, what the stages were shown
        self._pseudonyms: dict[bytes, bytes] = {}
        self._numbered = np.zeros((0, 16), np.uint8)
        self._met = np.zeros(0, np.bool_)  # which of these have a pseudonym
        self._told_at = 0.0
        self._stopped = threading.Event()
        self.outcome = Outcome()

    def follow(self, listener: Callable[[Sequence[Out]], None]) -> None:
        """Hand all records to this listener, too, as they are written to any log."""
        self._runtime.logs.listeners.append(listener)

    def stop(self) -> None:
        """End the run after its current step, so that everything released so far is complete. May be called from any
        thread.
        """
        self._stopped.set()

    def run(self, *, pause_s: float = 0.0) -> Outcome:
        """Run to the end, or to a `stop`. pause_s: seconds to wait after each release, for people who watch."""
        outcome, began = self.outcome, time.perf_counter()
        source = self._source
        self._tell(page_header(self._plan, "replay", source.streams, source.periods, source.users()))
        for step in self._steps():
            released = self._release()
            outcome.events += step
            outcome.seconds = time.perf_counter() - began
            self._progress()
            if released and pause_s:
                paused = time.perf_counter()
                self._stopped.wait(pause_s)
                began += time.perf_counter() - paused  # waiting for who watches is no work
            if self._stopped.is_set():
                outcome.interrupted = True
                break
        outcome.seconds = time.perf_counter() - began
        outcome.over_budget = self._watch.settle()
        known = self._source.users()
        outcome.users = len(self._pseudonyms) + int(self._met.sum()) if known is None else known
        outcome.refused = Counter(self._source.counts)
        outcome.refused.update(late=self._truth.refused["late"], future=self._truth.refused["future"])
        outcome.stages = dict(self._runtime.seconds)
        if not outcome.events and not outcome.interrupted:
            faults = "; ".join(self._source.complaint_lines())
            raise SourceError(f"source: found no event that could be used{': ' + faults if faults else ''}")
        self._progress(last=True)
        self._tell({"type": "done", "summary": outcome.summary(self._plan)})
        return outcome

    def _steps(self) -> Iterator[int]:
        """Feed the source into the stages, and yield the number of events after each step."""
        begun = False
        for batch in map(self._cut, self._source.batches()):
            if not begun:
                self._begin(batch.clock)
                begun = True
            for period in self._truth.fold(batch):
                self._true[period.stream, period.t] = period
            self._reach(batch.clock)
            yield self._write(batch)
        if begun:
            self._close(self._source.end_clock)
            if not self._runtime.run():
                raise StageError(
                    "replay: found records that no stage would take; allowed: none when the source has ended"
                )
            yield 0

    def _begin(self, clock: int) -> None:
        """Announce the first period of each stream and, where all users are known, enrol them before it."""
        plans = [self._plan.any_stream(name) for name in self._source.streams]
        first = {plan.name: self._source.first_t(plan.name) for plan in plans}
        self._runtime.start(first)
        others = [plan.name for plan in self._plan.streams if plan.name not in first]
        self._runtime.write([Out(ROUNDS, encode(Settled(stream=name, t=NEVER_ASKED))) for name in others])
        users = self._source.users()
        if users is None:
            return
        ids = np.arange(users)
        self._numbered = self._pepper.pseudonyms(self._source.names(ids))
        self._watch.meet(self._numbered)
        if self._source.enrolled:
            for plan in plans:
                if isinstance(plan, CentralPlan) or plan.carry_ms is None:
                    continue  # nobody is asked, or, where values stand for ever, users join with their first event
                before = first[plan.name] * plan.every_ms - 1
                self._close(min(clock, before))  # also where the first periods have no events
                shown = np.full(users, before)
                words = plan.domain.words
                refused = np.full((users, words) if words > 1 else users, REFUSED, np.uint32)
                self._runtime.write(raw_records(self._plan, plan.name, self._numbered, shown, refused))

    def _close(self, clock: int) -> None:
        """Close the periods that end by this time, for the truth and for the stages."""
        for period in self._truth.close(clock):
            self._true[period.stream, period.t] = period
        self._reach(clock)

    def _reach(self, clock: int) -> None:
        """Let every raw partition know that the source has reached this time, one closing of a period after the other,
        since the source's clock has the times of its events.
        """
        if self._clock is not None and clock <= self._clock:
            return
        self._clock = clock
        closing = newest_closing((stream.every_ms for stream in self._plan.everything), self._plan.lateness_ms, clock)
        if self._shown is None or closing > self._shown:
            self._shown = closing
            topics = {self._plan.any_stream(name).topic for name in self._source.streams}
            self._runtime.write([
                Out(Log("raw", p), encode(Progress(topic=topic, partition=0, time=closing)))
                for topic in sorted(topics)
                for p in range(self._plan.partitions)
            ])  # fmt: skip
        self._runtime.run()
        self._watch.settle()

    def _write(self, batch: Batch) -> int:
        stream, users, clock = self._plan.any_stream(batch.stream), self._users(batch), batch.clock
        self._runtime.write(
            self._admission.admit(stream, users, batch.times, batch.codes, batch.long, before=clock, now=clock)
        )
        return len(batch)

    def _cut(self, batch: Batch) -> Batch:
        """The batch with lists of too many items cut, as the stages and the truth take them."""
        if not batch.long:
            return batch
        domain = self._plan.any_stream(batch.stream).domain
        return replace(batch, codes=cut(domain, self._pepper, self._users(batch), batch.codes, batch.long), long={})

    def _users(self, batch: Batch) -> np.ndarray:
        """The pseudonyms of a batch's users, each computed once."""
        if batch.ids is not None:
            if self._source.users() is None:
                self._meet(batch.ids)
            return self._numbered[batch.ids]
        names, known = batch.names or [], self._pseudonyms
        new = {name for name in names if name not in known}
        for name in new:
            known[name] = self._pepper.pseudonym(name)
        found = np.frombuffer(b"".join([known[name] for name in names]), np.uint8).reshape(-1, 16)
        if new:
            self._watch.meet(np.frombuffer(b"".join(known[name] for name in sorted(new)), np.uint8).reshape(-1, 16))
        return found

    def _meet(self, ids: np.ndarray) -> None:
        """The pseudonyms of users who are numbered as they come, each computed once."""
        more = int(ids.max(initial=-1)) + 1 - len(self._met)
        if more > 0:
            more = max(more, len(self._met))  # twice as many, so that growing costs little
            self._met = np.concatenate((self._met, np.zeros(more, np.bool_)))
            self._numbered = np.concatenate((self._numbered, np.zeros((more, 16), np.uint8)))
        new = ids[~self._met[ids]]
        if len(new):
            new = np.unique(new)
            self._met[new] = True
            self._numbered[new] = found = self._pepper.pseudonyms(self._source.names(new))
            self._watch.meet(found)

    def _release(self) -> bool:
        """Take over new releases, each with its truth."""
        fresh = self._runtime.releases(len(self.outcome.releases))
        for record in fresh:
            release = orjson.loads(record)
            period = self._true.get((release["stream"], release["t"]))
            measure = self._plan.any_stream(release["stream"]).measure
            names = measure.true_names
            if measure.lists_largest and period is not None:
                period = self._true[release["stream"], release["t"]] = of_release(period, release, names)
            if measure.is_searched and period is not None:
                period = self._true[release["stream"], release["t"]] = of_found(period, release, measure)
            truth = None if period is None else period.record(names)["truth"]
            if period is not None and (period.stream, period.t) not in self._told_of:
                self._told_of.add((period.stream, period.t))  # a revision has the same truth
                self.outcome.truth.append(period)
            self.outcome.releases.append(record)
            self._tell({"type": "release", "release": release, "truth": truth})
        return bool(fresh)

    def _progress(self, last: bool = False) -> None:
        outcome = self.outcome
        if last or outcome.seconds - self._told_at >= PROGRESS_S:
            self._told_at = outcome.seconds
            self._tell({
                "type": "progress", "events": outcome.events,
                "releases": len(outcome.releases), "of": self._source.periods,
                "events_per_second": round(outcome.events / max(outcome.seconds, 1e-9), 1),
            })  # fmt: skip
