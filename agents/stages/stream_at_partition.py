# SPDX-License-Identifier: Apache-2.0
"""One stream at one raw partition: its devices, its clock, its values and the rounds that wait.

Contract: `load` of `facts` and `arrays` gives the same state, to the byte.  Not here: when each is used (perturb.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.closing import MAX_UNSETTLED, Closing, unsettled
from murmurate.agents.stages.code_values import CodeValues
from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.row_values import RowValues
from murmurate.agents.stages.summing import targets_of
from murmurate.agents.stages.values import Frozen, Values
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Ask, DeviceArray, Grant, ParameterError, Refusal, Secrets, Terms
from murmurate.randomizers.devices import Answers
from murmurate.randomizers.layouts import Layout, layout
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.state import Arrays
from murmurate.topics.codec import decode, encode
from murmurate.topics.domains import Domain
from murmurate.topics.messages import Round


@lru_cache(maxsize=64)  # every partition of this process gets the same rounds
def as_ask(round_: Round) -> Ask:
    """A round's descriptor in the form that devices take."""
    return Ask(round_.stream, round_.t, round_.slots.of, round_.slots.mask(), question_of(round_), round_.digest)


@lru_cache(maxsize=64)
def _layout(domain: Domain) -> Layout:
    """The layout of raw rows of this domain, which have no value *none*."""
    return layout(domain.layout(none=False))


def stream_at_partition(
    plan: Plan, terms: Terms, secrets: Secrets, partition: int, stream: StreamPlan, sources: int
) -> StreamAtPartition:  # fmt: skip
    """A stream at a raw partition, before its first record. sources: the first partitions of the stream's source."""
    closing = Closing(stream.every_ms, plan.lateness_ms, sources)
    position = [one.name for one in terms.streams].index(stream.name)
    devices = DeviceArray(terms, stream.name, secrets, partition=partition)
    values = (CodeValues if stream.domain.coded else RowValues)(stream, plan.forget_after_ms)
    return StreamAtPartition(stream, position, devices, closing, values, {})


@dataclass(eq=False)
class StreamAtPartition:
    """One stream's part of the partition."""

    plan: StreamPlan
    position: int
    """The stream's position among the streams of the terms, which the split key chooses from."""
    devices: DeviceArray
    closing: Closing
    values: Values
    pending: dict[str, tuple[Round, Grant]]
    """Rounds that wait for their period to close, in the order of the log, by digest."""
    first_t: int | None = None
    """The first period that rounds may ask about."""
    settled_t: int = -1
    unsettled_rounds: dict[str, int] = field(default_factory=dict)
    """The periods of rounds that are not settled, by digest: each round is answered once, however often the log has
    it.
    """

    @property
    def full(self) -> bool:
        """Whether as many periods as allowed wait for their decision."""
        return len(self.values.frozen) >= unsettled(self.plan.domain.words)

    @property
    def waits(self) -> bool:
        """Whether raw has to wait for this stream."""
        return self.closing.due or self.full

    @property
    def horizon(self) -> int:
        """The newest period that a round may ask about: it follows from `rounds` alone, as charges do, and keeps one
        round about a far future from closing every slot for good.
        """
        return max(self.first_t or 0, self.settled_t + 1) + MAX_UNSETTLED + self.plan.w

    def over(self, t: int) -> bool:
        """Whether nobody may ask about this period any more: it is settled, or lies before the start."""
        return t <= self.settled_t or (self.first_t is not None and t < self.first_t)

    def closed(self, t: int) -> bool:
        """Whether this period can be answered for."""
        return self.closing.open_t is not None and t < self.closing.open_t

    def valid(self, values: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which values of raw rows are values of the stream. Of codes the one for *none* is valid too."""
        if self.plan.domain.coded:
            return values < self.plan.d
        return ~_layout(self.plan.domain).wrong(values)

    def frozen(self, t: int) -> Frozen | None:
        """Every user's value in a closed period, as devices take it: values of one word as a plain column."""
        found = self.values.frozen.get(t)
        if found is None or found.values.ndim == 1 or found.values.shape[1] > 1:
            return found
        return Frozen(found.values[:, 0], found.members)

    def charge(self, round_: Round, plan: Plan) -> Grant | Refusal:
        """Grant or refuse a round, and book its price. One that does not fit the deployment is refused for every user,
        and costs nothing.
        """
        where = f"stream {self.plan.name!r}"
        if round_.t > self.horizon:
            return Refusal("future", f"{where}: asked about period {round_.t}; allowed: at most {self.horizon}")
        if round_.contributors != plan.partitions or round_.targets > plan.targets:
            found = f"{round_.contributors} contributors and {round_.targets} targets"
            allowed = f"{plan.partitions} and at most {plan.targets}"
            return Refusal("partitions", f"{where}: found {found}; allowed: {allowed}")
        if (round_.config, round_.revision) != (self.plan.config, self.plan.revision):
            found = f"config {round_.config}, revision {round_.revision}"
            allowed = f"{self.plan.config}, {self.plan.revision}"
            return Refusal("config", f"{where}: found {found}; allowed: {allowed}")
        try:
            ask = as_ask(round_)
        except ParameterError as error:
            return Refusal("mechanism", str(error))
        if round_.targets != (allowed_targets := targets_of(ask.question, round_.targets)):
            return Refusal("partitions", f"{where}: found {round_.targets} targets; allowed: {allowed_targets}")
        return self.devices.charge(ask)

    def answer(self, grant: Grant, frozen: Frozen) -> Answers:
        """The answers to a question about a closed period. Only a node of a horizon lets sessions read what was before:
        nodes are asked in the order of their periods, and other questions in any order.
        """
        if isinstance(grant.ask.question, Node):
            self.look(grant.ask.t - 1)
        return self.devices.answer(grant, frozen.values, frozen.members)

    def settle(self, t: int) -> None:
        """Forget the values of closed periods up to this one, once sessions have read them."""
        self.look(t)
        self.devices.end_sessions(t)
        self.values.settle(t)

    def look(self, t: int) -> None:
        """Let sessions read the values of closed periods up to this one."""
        if not self.devices.in_session:
            return
        for closed in sorted(self.values.frozen):
            if closed <= t and (found := self.frozen(closed)) is not None:
                self.devices.look(closed, found.values)

    def facts(self) -> dict[str, Any]:
        """The part of a snapshot that is no array."""
        return {
            "first_t": self.first_t,
            "settled_t": self.settled_t,
            "asked": self.unsettled_rounds,
            "open_t": self.closing.open_t,
            "reached_t": self.closing.reached_t,
            "times": {str(partition): time for partition, time in sorted(self.closing.times.items())},
            "pending": [encode(round_).decode() for round_, _ in self.pending.values()],
        }

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays of a snapshot, one by one: values, devices, and who answers each round that waits."""
        for name, array in self.values.arrays().items():
            yield f"values/{name}", array
        yield "devices", np.frombuffer(self.devices.snapshot(), np.uint8)
        for digest, (_, grant) in self.pending.items():
            yield f"grant/{digest}", grant.answering

    def load(self, facts: dict[str, Any], arrays: Arrays, terms: Terms, secrets: Secrets, partition: int) -> None:
        """Take over a state."""
        name = self.plan.name
        self.devices = DeviceArray.restore(arrays.pop("devices").tobytes(), terms, name, secrets, partition=partition)
        self.values.load({key[7:]: array for key, array in arrays.items() if key.startswith("values/")})
        self.first_t, self.settled_t = facts["first_t"], facts["settled_t"]
        self.unsettled_rounds = facts["asked"]
        self.closing.open_t, self.closing.reached_t = facts["open_t"], facts["reached_t"]
        self.closing.times = {int(source): time for source, time in facts["times"].items()}
        for text in facts["pending"]:
            round_ = decode(text.encode())
            assert isinstance(round_, Round)  # noqa: S101 - what `facts` wrote
            digest = round_.digest.hex()
            self.pending[digest] = round_, Grant(as_ask(round_), arrays[f"grant/{digest}"], {})
