# SPDX-License-Identifier: Apache-2.0
"""A second opinion on every answer of a run: were there ever more reports than the promise allows?

Contract: shares nothing with the ledger.  It follows `rounds` and counts, slot by slot and window by window, who may
answer; every `done` that counts more reports than those slots have users is over budget.  It sees counts only; the
whole audit, report by report, is agents/audit/auditor.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.stage import Out
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets, question
from murmurate.randomizers.bill import Bill
from murmurate.randomizers.identity import slots
from murmurate.topics.block import MAGIC
from murmurate.topics.codec import decode
from murmurate.topics.messages import Done, Round


class _Paid(NamedTuple):
    """What some slots have paid for."""

    bill: Bill
    t: int
    """The newest period that they were asked about for it."""
    by: NDArray[np.bool_]


class BudgetWatch:
    """Follows a run's logs as they are written."""

    def __init__(self, plan: Plan, secrets: Secrets) -> None:
        self._plan, self._secrets = plan, secrets
        self._users = {s.name: np.zeros(s.slots, np.int64) for s in plan.streams}  # per slot, of all users ever seen
        self._spent: dict[str, list[_Paid]] = defaultdict(list)
        self._may_answer: dict[
            str, tuple[str, NDArray[np.bool_]]
        ] = {}  # per round: its stream, and the slots that may answer
        self._received: dict[str, dict[int, int]] = defaultdict(dict)
        self.over_budget = 0
        """Reports beyond what the promise allows."""

    def meet(self, users: NDArray[np.uint8]) -> None:
        """New pseudonyms: uint8[n, 16]."""
        for stream in self._plan.streams:
            held = slots(self._secrets.slots, users, stream.slots, stream.name)
            self._users[stream.name] += np.bincount(held, minlength=stream.slots)

    def follow(self, records: Iterable[Out]) -> None:
        """What was written to any log."""
        for log, value, *_ in records:
            if log.topic not in ("rounds", "reports") or value.startswith(MAGIC):
                continue
            match decode(value):
                case Round() as round_:
                    self._round(round_)
                case Done() as done:
                    self._received[done.round][done.contributor] = done.total
                case _:
                    pass

    def settle(self) -> int:
        """Compare the numbers received so far, and give the number of reports over budget."""
        for digest in [d for d, received in self._received.items() if len(received) == self._plan.partitions]:
            sent, of_round = sum(self._received.pop(digest).values()), self._may_answer.pop(digest, None)
            # Counted now, not when the round was asked: users may have come while it waited for its period to close.
            most = 0 if of_round is None else int(self._users[of_round[0]][of_round[1]].sum())
            self.over_budget += max(0, sent - most)
        return self.over_budget

    def _round(self, round_: Round) -> None:
        """1. What the slots have paid for. 2. Who has paid for this one, and goes on. 3. Who may pay for it now."""
        plan, asked = self._plan.stream(round_.stream), round_.slots.mask()
        bill, limit = question(round_.mechanism).bill(round_.t), self._plan.spent_micro(round_.stream)
        paying = np.ones(plan.slots, np.bool_) if asked is None else asked.copy()
        spent = [one for one in self._spent[round_.stream] if one.bill.last > bill.first - plan.w]
        goes_on = np.zeros(plan.slots, np.bool_)
        for place, one in enumerate(spent):
            if bill.digest is not None and one.bill == bill and one.t < round_.t:
                goes_on |= one.by & paying
                spent[place] = one._replace(t=round_.t)
        if plan.division == "population":
            for one in spent:
                paying &= ~one.by
        else:
            paying &= sum((one.bill.epsilon_micro * one.by.astype(np.int64) for one in spent), np.int64(0)) <= (
                limit - bill.epsilon_micro
            )
        spent.append(_Paid(bill, round_.t, paying))
        self._spent[round_.stream], paying = spent, paying | goes_on
        self._may_answer[round_.digest.hex()] = round_.stream, paying
