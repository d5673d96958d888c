"""A second opinion on every answer of a run: were there ever more reports than the promise allows?

Contract: shares nothing with the ledger.  It follows `rounds` and counts, slot by slot and window by window, who may
answer; every `done` that counts more reports than those slots have users is over budget.  It sees counts only; the
whole audit, report by report, is agents/audit/auditor.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.stage import Out
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets, question
from murmurate.randomizers.identity import slots
from murmurate.topics.block import MAGIC
from murmurate.topics.codec import decode
from murmurate.topics.messages import Done, Round


class BudgetWatch:
    """Follows a run's logs as they are written."""

    def __init__(self, plan: Plan, secrets: Secrets) -> None:
        self._plan, self._secrets = plan, secrets
        self._users = {s.name: np.zeros(s.slots, np.int64) for s in plan.streams}  # per slot, of all users ever seen
        self._spent: dict[str, list[tuple[int, int, NDArray[np.bool_]]]] = defaultdict(list)  # t, charge, who paid
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
        for log, value in records:
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
        plan = self._plan.stream(round_.stream)
        charge, limit = question(round_.mechanism).bill(round_.t).epsilon_micro, self._plan.spent_micro(round_.stream)
        mask = round_.slots.mask()
        paying = np.ones(plan.slots, np.bool_) if mask is None else mask.copy()
        spent = self._spent[round_.stream] = [s for s in self._spent[round_.stream] if s[0] > round_.t - plan.w]
        if plan.division == "population":
            for _, _, paid in spent:
                paying &= ~paid
        else:
            paying &= sum((c * paid.astype(np.int64) for _, c, paid in spent), np.int64(0)) + charge <= limit
        spent.append((round_.t, charge, paying))
        self._may_answer[round_.digest.hex()] = round_.stream, paying
