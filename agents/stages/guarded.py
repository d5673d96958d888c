"""One stream at one raw partition: its devices, its clock, its values and the questions that wait.

Contract: `load` of `facts` and `arrays` gives the same state, to the byte.  Not here: what is done with it
(perturb.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from murmurate.agents.stages.closing import Closing
from murmurate.agents.stages.values import Values
from murmurate.config.plan import StreamPlan
from murmurate.randomizers import Ask, DeviceArray, Grant, Refusal, Secrets, Terms, mechanism
from murmurate.randomizers.state import Arrays
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import Round

MAX_UNSETTLED = 4  # periods of one stream that wait for their decision before raw has to wait too


def as_ask(asked: Round) -> Ask:
    """What a device takes from a round's descriptor."""
    return Ask(asked.stream, asked.t, asked.slots.of, asked.slots.mask(), mechanism(asked.mechanism), asked.digest)


@dataclass(eq=False)
class Guarded:
    """One stream's part of the partition."""

    plan: StreamPlan
    position: int
    """Among the streams of the terms, as the split key counts them."""
    devices: DeviceArray
    closing: Closing
    values: Values
    pending: dict[str, tuple[Round, Grant | Refusal]]
    """Rounds that wait for their period to close, in the order of the log, by digest."""
    first_t: int | None = None
    """The first period that rounds may ask about."""
    settled_t: int = -1
    asked: dict[str, int] = field(default_factory=dict)
    """Rounds about periods that are not settled, by digest: each is answered once, however often it stands in the
    log.
    """

    @property
    def full(self) -> bool:
        """Whether as many periods as allowed wait for their decision."""
        return len(self.values.frozen) >= MAX_UNSETTLED

    @property
    def waits(self) -> bool:
        """Whether raw has to wait for this stream."""
        return self.closing.due or self.full

    def facts(self) -> dict[str, Any]:
        """What is not an array, for a snapshot."""
        refused = {d: [grant.reason, grant.why] for d, (_, grant) in self.pending.items() if isinstance(grant, Refusal)}
        return {
            "first_t": self.first_t,
            "settled_t": self.settled_t,
            "asked": self.asked,
            "open_t": self.closing.open_t,
            "reached_t": self.closing.reached_t,
            "times": {str(partition): time for partition, time in sorted(self.closing.times.items())},
            "pending": [encode(asked).decode() for asked, _ in self.pending.values()],
            "refused": refused,
        }

    def arrays(self) -> Arrays:
        """What is: values, devices, and who answers the questions that wait."""
        arrays: Arrays = {f"values/{name}": array for name, array in self.values.arrays().items()}
        arrays["devices"] = np.frombuffer(self.devices.snapshot(), np.uint8)
        for digest, (_, grant) in self.pending.items():
            if isinstance(grant, Grant):
                arrays[f"grant/{digest}"] = grant.answering
        return arrays

    def load(self, facts: dict[str, Any], arrays: Arrays, terms: Terms, secrets: Secrets, partition: int) -> None:
        """Take over a state."""
        name = self.plan.name
        self.devices = DeviceArray.restore(arrays["devices"].tobytes(), terms, name, secrets, partition=partition)
        self.values.load({key[7:]: array for key, array in arrays.items() if key.startswith("values/")})
        self.first_t, self.settled_t = facts["first_t"], facts["settled_t"]
        self.asked = facts["asked"]
        self.closing.open_t, self.closing.reached_t = facts["open_t"], facts["reached_t"]
        self.closing.times = {int(source): time for source, time in facts["times"].items()}
        for text in facts["pending"]:
            asked = decode(text.encode())
            assert isinstance(asked, Round)  # noqa: S101 - what `facts` wrote
            digest = asked.digest.hex()
            refused = facts["refused"].get(digest)
            grant = Refusal(*refused) if refused else Grant(as_ask(asked), arrays[f"grant/{digest}"], {})
            self.pending[digest] = asked, grant
