# SPDX-License-Identifier: Apache-2.0
"""Who may answer a round, worked out from `rounds` alone: slot by slot and window by window, in arrays over the slots.

Contract: shares no code with ledger, guard and sessions.  A round that does not fit the deployment may be answered by
nobody and costs nothing; one that fits is charged to each slot that it asks and that every window allows, in the order
of the log.  What is kept is what some window or bill may still need.  Not here: users (people.py) and reports
(expected.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Question
from murmurate.randomizers import question as built
from murmurate.randomizers.bill import Bill
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.messages import Round, Start

Mask = NDArray[np.bool_]
LONG_AGO = -(1 << 62)
UNSETTLED = 8
"""The number of periods that may wait for their decision: a round may ask as far ahead, and a window further."""


class AskedRound(NamedTuple):
    """A round, and who may answer it."""

    number: int
    """Where it stands in `rounds`."""
    round: Round
    question: Question | None
    """None where the descriptor describes no question."""
    allowed: Mask
    """The slots that are asked and may answer."""
    refused: Mask
    """The slots that are asked and that some window does not allow."""
    targets: int
    """Over how many targets answers scatter, of those that there are."""
    known: bool = True
    """Whether the file under which it was asked is this one."""
    silent: bool = False
    """Whether nobody says a word of it: it came when nothing more could be asked about its period, or before the start.
    """

    @property
    def digest(self) -> str:
        """The round's identity."""
        return self.round.digest.hex()


@dataclass
class HorizonAsked:
    """One horizon of one cohort, as far as rounds tell."""

    digest: bytes
    last_t: int
    asked_t: int


class AskedSlots:
    """The budget of one stream's slots. `short`: the log does not go back to its beginning."""

    def __init__(self, plan: Plan, stream: StreamPlan, *, short: bool = False) -> None:
        self._plan, self._stream, self._short = plan, stream, short
        self._limit = plan.epsilon_micro * (stream.share_micro if plan.split == "budget" else MICRO) // MICRO
        self._last_t = np.full(stream.slots, LONG_AGO, np.int64)  # per slot: the period of its newest answer,
        self._last_end = np.full(stream.slots, LONG_AGO, np.int64)  # the last period of all its bills,
        self._last_bill = np.full(stream.slots, -1, np.int64)  # and the number of its newest bill
        self._bills: list[Bill] = []
        self._charges: list[tuple[int, int, Mask]] = []  # budget division: period, price and slots of every answer
        self._first_t: int | None = None
        self._own_config = False  # whether the config of this plan holds by now, and rounds of others are nobody's
        self.settled_t = -1
        """The newest period of which nothing more may be asked."""
        self.known_from: int | None = None
        """The first period in whose windows every answer is known, even if the log has forgotten its first rounds."""
        self.horizons: dict[tuple[int, int], HorizonAsked] = {}
        """By cohort and first period."""

    def start(self, start: Start) -> None:
        """The stream begins; of several records the first counts."""
        if self._first_t is None:
            self._first_t = start.t
            self.settled_t = max(self.settled_t, start.t - 1)
        self._own_config |= (start.config, start.revision) == (self._stream.config, self._stream.revision)

    def settle(self, t: int) -> None:
        """Nothing more may be asked about this period and those before it."""
        self.settled_t = max(t, self.settled_t)
        self.horizons = {at: one for at, one in self.horizons.items() if one.last_t > self.settled_t}

    def ask(self, round_: Round, number: int) -> AskedRound:
        """Decide who may answer, and charge them."""
        nobody, targets = np.zeros(self._stream.slots, np.bool_), min(round_.targets, self._plan.targets)
        if self._is_over(round_.t):
            return AskedRound(number, round_, None, nobody, nobody, targets, silent=True)
        if self.known_from is None:  # rounds that were forgotten asked no further ahead than this
            self.known_from = round_.t + UNSETTLED + 2 * self._stream.w + 1
        try:
            question = built(round_.mechanism).of_round(round_.digest)
        except ParameterError:
            return AskedRound(number, round_, None, nobody, nobody, targets)
        known = (round_.config, round_.revision) == (self._stream.config, self._stream.revision)
        self._own_config |= known
        if not self._fits(round_, question) or (not known and self._own_config):
            return AskedRound(number, round_, question, nobody, nobody, targets)
        asked = np.array(round_.slots.mask())
        bill = question.bill(round_.t)
        allowed = asked & self._may_pay(round_.t, bill)
        if isinstance(question, Node):
            self._granted(round_, question)
        if allowed.any():
            self._charge(round_.t, bill, allowed)
        return AskedRound(number, round_, question, allowed, asked & ~allowed, targets, known)

    # ---- whether it may be asked at all ----

    def _is_over(self, t: int) -> bool:
        """Whether nothing can be asked about a period any more, or nothing yet."""
        if self._first_t is None:
            return not self._short or t <= self.settled_t
        return t <= self.settled_t or t < self._first_t

    def _fits(self, round_: Round, question: Question) -> bool:
        """1. The descriptor. 2. The question. 3. The period. 4. A node has to fit its horizon. (Not its config.)"""
        stream, plan = self._stream, self._plan
        targets = 1 if question.summed_when_mixed else round_.targets
        if round_.slots.of != stream.slots or round_.contributors != plan.partitions:
            return False
        if round_.targets != targets or round_.targets > plan.targets:
            return False
        if question.memoised or (question.unprotected and not stream.unprotected):
            return False
        if stream.mixed is not None and question.claimed_as().digest.hex() != stream.mixed.question:
            return False
        if tuple(question.layout) != tuple(stream.domain.layout(stream.says_none)):
            return False
        begun = self._first_t if self._first_t is not None else round_.t
        if round_.t > max(begun, self.settled_t + 1) + UNSETTLED + stream.w:
            return False
        return not isinstance(question, Node) or self._admits(round_, question)

    def _admits(self, round_: Round, node: Node) -> bool:
        cohort, first_t = node.horizon.cohort, node.first_t(round_.t)
        if self._stream.division == "budget" or node.epsilon_micro > self._limit:
            return False  # nobody could ever pay for it
        if any(round_.t < one.asked_t for one in self.horizons.values()):
            return False  # newer values may have been read
        if first_t < 0 or round_.slots.mask().tolist() != node.horizon.asked(node.level).tolist():
            return False
        held = self.horizons.get((cohort, first_t))
        if held is not None:
            return held.digest == node.horizon.digest
        busy = any(of == cohort and one.last_t >= round_.t for (of, _), one in self.horizons.items())
        return node.opens and not busy

    def _granted(self, round_: Round, node: Node) -> None:
        at = node.horizon.cohort, node.first_t(round_.t)
        if at not in self.horizons:
            last = at[1] + node.horizon.tree.periods - 1
            self.horizons[at] = HorizonAsked(node.horizon.digest, last, round_.t)
        self.horizons[at].asked_t = round_.t

    # ---- who can pay ----

    def _may_pay(self, t: int, bill: Bill) -> Mask:
        """Which slots may answer once more at t: every window allows it, or they are on this bill already."""
        if self._stream.division == "population":
            fresh = (bill.first - self._last_end >= self._stream.w) & (bill.epsilon_micro <= self._limit)
        else:  # of all windows that hold t the one that ends with it holds most of what was spent
            spent = np.zeros(self._stream.slots, np.int64)
            for at, micro, slots in self._charges:
                if at > t - self._stream.w:
                    spent += micro * slots
            fresh = spent + bill.epsilon_micro <= self._limit
        fresh &= self._last_t <= t
        if bill.digest is None or bill not in self._bills:
            return np.asarray(fresh)
        return np.where(self._last_bill == self._bills.index(bill), self._last_t < t, fresh)

    def _charge(self, t: int, bill: Bill, slots: Mask) -> None:
        if bill not in self._bills:
            self._bills.append(bill)
        self._last_t[slots] = t
        self._last_end[slots] = np.maximum(self._last_end[slots], bill.last)
        self._last_bill[slots] = self._bills.index(bill)
        if self._stream.division == "budget":
            self._charges.append((t, bill.epsilon_micro, slots))
            # A slot answers nothing before its newest answer: what lies a window before that is never looked at again.
            oldest = self._last_t - self._stream.w
            self._charges = [one for one in self._charges if (one[2] & (one[0] > oldest)).any()]
        if len(self._bills) > 256:
            used, self._last_bill = np.unique(self._last_bill, return_inverse=True)
            self._last_bill = self._last_bill - (1 if used[0] < 0 else 0)
            self._bills = [self._bills[number] for number in used.tolist() if number >= 0]

    # ---- state ----

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        return {
            "last_t": self._last_t, "last_end": self._last_end, "last_bill": self._last_bill,
            "bills": [tuple(bill) for bill in self._bills],
            "charges": [(t, micro, np.packbits(slots)) for t, micro, slots in self._charges],
            "first_t": self._first_t, "known_from": self.known_from, "own_config": self._own_config,
            "settled_t": self.settled_t, "short": self._short,
            "horizons": {at: (one.digest, one.last_t, one.asked_t) for at, one in self.horizons.items()},
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._last_t, self._last_end, self._last_bill = state["last_t"], state["last_end"], state["last_bill"]
        self._bills = [Bill(*bill) for bill in state["bills"]]
        self._charges = [(t, micro, unpacked(bits, self._stream.slots)) for t, micro, bits in state["charges"]]
        self._first_t, self._own_config, self.known_from = state["first_t"], state["own_config"], state["known_from"]
        self.settled_t, self._short = state["settled_t"], state["short"]
        self.horizons = {at: HorizonAsked(*one) for at, one in state["horizons"].items()}


def unpacked(bits: NDArray[np.uint8], size: int) -> Mask:
    """The mask of packed bits."""
    return np.unpackbits(bits, count=size).view(np.bool_)
