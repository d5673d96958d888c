# SPDX-License-Identifier: Apache-2.0
"""The decision whether a question is answered or refused, which one device and an array of devices share.

Contract: a decision depends on terms, ledger and question, and is the same for every user of a slot.  The price of an
answer is the question's own bill.  State written under other frozen facts is an error (ARCHITECTURE rules 4 and 5).
Not here: users, values and reports (device.py), the closure after a change of frozen facts (reopening.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import FrozenFactsError, ParameterError, shown
from murmurate.randomizers.ledger import MAX_T, Ledger, Mask
from murmurate.randomizers.question import Question
from murmurate.randomizers.randomness import DIGEST, Key
from murmurate.randomizers.terms import Facts, StreamTerms, Terms, changed


@dataclass(frozen=True, eq=False)
class Ask:
    """A question to the users of some slots: the part of a round descriptor that a device uses."""

    stream: str
    t: int
    slots: int
    """The number of slots S that the server assumes."""
    asked: Mask | None
    """bool[S], the slots that are asked; None: every slot."""
    question: Question
    digest: bytes
    """Identity of the round."""

    def __post_init__(self) -> None:
        if isinstance(self.t, bool) or not isinstance(self.t, int) or not 0 <= self.t < MAX_T:
            raise ParameterError(f"round: t: found {self.t!r}; allowed: a whole number from 0 to {MAX_T - 1}")
        if not isinstance(self.digest, bytes) or len(self.digest) != DIGEST:
            raise ParameterError(f"round: found a digest that is not {DIGEST} bytes")


@dataclass(frozen=True)
class Refusal:
    """The reason why a question is not answered. `reason`: stream, slot, mechanism, session, future, closed, gap
    or budget.
    """

    reason: str
    why: str


class Secrets(NamedTuple):
    """The keys of the edge that a guard needs: one for randomness, others to place users in slots and streams."""

    randomness: Key
    slots: Key
    split: Key


class Guard:
    """The decision that `Device` and `DeviceArray` share: terms and ledger of one stream."""

    def __init__(self, terms: Terms, stream: StreamTerms, rows: int) -> None:
        self.terms, self.stream = terms, stream
        limit = terms.spent_micro(stream.name)
        self.ledger = Ledger(rows, w=stream.w, limit_micro=limit, division=stream.division)

    def refusal(self, ask: Ask) -> Refusal | None:
        """The reason why nobody here may answer this question, or None."""
        stream = self.stream
        if ask.stream != stream.name:
            return Refusal("stream", f"asked about another stream than {stream.name!r}")
        if ask.slots != stream.slots or (ask.asked is not None and ask.asked.shape != (stream.slots,)):
            return Refusal("slot", f"stream {stream.name!r}: asked {ask.slots} slots; allowed: {stream.slots}")
        if ask.question.memoised:
            found = f"asked by {ask.question.name}, whose reports outlive a round; allowed: fresh ones"
            return Refusal("mechanism", f"stream {stream.name!r}: {found}")
        if ask.question.unprotected and not stream.unprotected_locally:
            found = f"asked by {ask.question.name}, whose reports show their values; allowed: what protects each report"
            return Refusal("mechanism", f"stream {stream.name!r}: {found}")
        if stream.questions is not None and ask.question.claimed_as().digest.hex() not in stream.questions:
            found = f"asked by {ask.question.name}, digest {ask.question.digest.hex()[:16]}"
            allowed = ", ".join(digest[:16] for digest in stream.questions)
            return Refusal("mechanism", f"stream {stream.name!r}: {found}; allowed: {allowed}")
        if ask.question.layout != stream.layout:
            found = f"asked over {shown(list(ask.question.layout))}; allowed: {shown(list(stream.layout))}"
            return Refusal("mechanism", f"stream {stream.name!r}: {found}")
        return None

    def charge(self, ask: Ask, asked: Mask) -> NDArray[np.uint8]:
        """The verdicts for the rows of the ledger, with charges booked. The price is the question's own bill, not a
        descriptor's.
        """
        bill = ask.question.bill(ask.t)
        if bill.digest is None:
            return self.ledger.charge(ask.t, bill.epsilon_micro, ask.digest, asked)
        return self.ledger.charge(ask.t, bill.epsilon_micro, bill.digest, asked, (bill.first, bill.last))

    def close_until(self, time_ms: int) -> None:
        """Refuse to charge for a period that begins before this time."""
        self.ledger.close_until(-(-time_ms // self.stream.every_ms))


def check_facts(held: Facts, terms: Terms, where: str) -> None:
    """FrozenFactsError if state was written under other frozen facts than these terms'."""
    differences = changed(held, terms.facts())
    if differences:
        raise FrozenFactsError(f"{where}: frozen facts differ: " + "; ".join(differences))
