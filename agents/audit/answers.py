# SPDX-License-Identifier: Apache-2.0
"""A contributor's answer to a round as it stands in `reports`, and what it lacks or has too much.

Contract: shares no code with stages.  For every target the multiset of reports that must be there is compared with the
one that is: lost, twice, over budget (an answer that some window did not allow), conflicting (a second, different
report of one user for one round), foreign (anything else).  What an aborted transaction held must be a part of the
same.  Equal multisets are found equal as sorted numbers; report by report only the others are looked at.  A verdict is
a function of what has come, in whatever order.  Not here: whose answer is awaited (local_audit.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from murmurate.agents.audit.asked import AskedRound
from murmurate.agents.audit.expected import ExpectedReports, Reports, expected, population, reports_of, targets_of
from murmurate.agents.audit.findings import Verdict
from murmurate.agents.audit.people import PeopleAtPartition, PeriodValues
from murmurate.agents.audit.prints import NOTHING, Printer, Prints
from murmurate.randomizers import Key
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.sessions.node import Node

MOST_OTHERS = 1 << 24
"""Reports with other values that are made at most, to see whether one of them is there."""


@dataclass
class ContributorAnswer:
    """What has come from one contributor for one round."""

    blocks: dict[int, list[Reports]] = field(default_factory=dict)
    """Per target the reports that have not been looked at, or that differ from what must be there."""
    dones: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Per target what its `done` records say: sent there, and to all."""
    attempts: list[list[Any]] = field(default_factory=list)
    """The answers that were never committed: target, and the reports of the attempt."""
    told: ExpectedReports | None = None
    """What had to be told, of a node: a session goes on, and nobody can tell it once more."""
    clean: bool = False
    """Whether all that must be there has been seen and let go of; what `blocks` hold came later."""
    judged: bool = False
    changed: bool = True
    """Whether something has come since it was judged."""
    received: dict[int, int] = field(default_factory=dict)
    """Per target how many reports have come."""
    prints: dict[int, Prints] = field(default_factory=dict)
    """Per target the numbers of its reports, sorted, once it was judged; until its sub-batch has been counted."""
    summed: tuple[int, int, Any] | None = None
    """Where reports are to be added up: how many came, how many are well-formed, and the support of those."""
    verdict: Verdict = field(default_factory=Counter)
    tried: Verdict = field(default_factory=Counter)
    """What is wrong with the answers that were never committed."""

    def take(self, q: int, reports: Reports) -> None:
        """Reports to a target."""
        self.blocks.setdefault(q, []).append(reports)
        self.received[q] = self.received.get(q, 0) + len(reports)
        self.changed = True

    def attempt(self, q: int, sequence: int, reports: Reports) -> None:
        """Reports that were not committed. An answer that is tried again begins anew."""
        mine = [one for one in self.attempts if one[0] == q]
        if sequence == 0 or not mine:
            self.attempts.append([q, [reports]])
        else:
            mine[-1][1].append(reports)
        self.changed = True

    def done(self, q: int, sent: int, total: int) -> None:
        """A `done` record at a target."""
        self.dones.setdefault(q, []).append((sent, total))
        self.changed = True

    def answered(self, asked: AskedRound) -> bool:
        """Whether it has come to every target: it is one transaction."""
        return asked.silent or all(q in self.dones for q in range(asked.targets))

    def printed(self, q: int, printer: Printer) -> Prints:
        """The numbers of the reports to a target, sorted."""
        return self.prints[q] if q in self.prints else _numbers(printer, self.blocks.get(q, []))

    def miscounted(self, asked: AskedRound) -> Verdict:
        """The `done` records that do not say what is there."""
        total = sum(self.received.values())
        found: Verdict = Counter()
        for q in range(asked.targets):
            if self.dones.get(q, []) != ([] if asked.silent else [(self.received.get(q, 0), total)]):
                found["miscounted", q] = 1
        return found


def judge(
    answer: ContributorAnswer, asked: AskedRound, people: PeopleAtPartition, closed: PeriodValues, key: Key,
    printer: Printer, whole: bool,
) -> None:  # fmt: skip
    """Give the answer its verdict. whole: nothing of it may still come.

    1. What must be there. 2. Targets where it is there, and nothing else, are clean. 3. All others report by report.
    """
    question, targets = asked.question, asked.targets
    must = answer.told or (
        expected(asked, key, people, closed, asked.allowed) if question is not None and asked.allowed.any() else None
    )
    numbers = NOTHING if must is None else printer.of(must.reports)
    verdict: Verdict = Counter()
    tried: Verdict = Counter()
    clean = whole
    for q in range(targets):
        mine = None if must is None else must.targets == q
        blocks = answer.blocks.get(q, [])
        right = NOTHING if mine is None else np.sort(numbers[mine])
        odd = question is None or any(block.shape[1] != question.wire_size for block in blocks if len(block))
        here = NOTHING if odd else _numbers(printer, blocks)
        if answer.clean:  # what came before was what must be there
            here = np.sort(np.concatenate((right, here)))
        same = not odd and np.array_equal(right, here)
        attempts = [rows for at, rows in answer.attempts if at == q]
        if (whole and not same) or attempts:
            rows = NOBODYS if must is None or mine is None else must.reports[mine]
            classify = _classifier(asked, key, people, closed, q, rows)
            must_be = _counter([rows])
            for attempt in attempts:
                classify(_counter(attempt) - must_be, Counter(), tried)
            if whole and not same:
                there = _counter(blocks) + (must_be if answer.clean else Counter())
                verdict["lost", q] += sum((must_be - there).values())
                classify(there - must_be, must_be, verdict)
        clean &= same
        answer.prints[q] = _numbers(printer, blocks) if odd else here
    if question is not None and question.summed_when_mixed:
        answer.summed = _summed(answer, question, must)
    if whole:
        verdict += answer.miscounted(asked)
    answer.verdict, answer.tried, answer.judged, answer.changed = +verdict, +tried, whole, False
    if clean:
        answer.clean, answer.blocks = True, {q: rows for q, rows in answer.blocks.items() if q >= targets}


NOBODYS: Reports = np.zeros((0, 1), np.uint8)


def _classifier(
    asked: AskedRound, key: Key, people: PeopleAtPartition, closed: PeriodValues, q: int, must: Reports
) -> Callable[[Counter[bytes], Counter[bytes], Verdict], None]:
    """What says of reports to a target that need not be there which kind each is."""
    refused: Counter[bytes] | None = None
    others: Counter[bytes] | None = None

    def classify(extra: Counter[bytes], there: Counter[bytes], verdict: Verdict) -> None:
        nonlocal refused, others
        if not extra:
            return
        if refused is None or others is None:
            refused, others = _refused(asked, key, people, closed, q), _others(asked, key, people, closed, q)
        for report, n in extra.items():
            over = min(n, refused[report])
            again = min(n - over, there[report])
            conflict = min(n - over - again, others[report])
            for kind, many in (("over_budget", over), ("twice", again), ("conflicting", conflict)):
                verdict[kind, q] += many
            verdict["foreign", q] += n - over - again - conflict

    return classify


def _refused(asked: AskedRound, key: Key, people: PeopleAtPartition, closed: PeriodValues, q: int) -> Counter[bytes]:
    """The reports that users would have sent whom some window did not allow to answer."""
    if asked.question is None or isinstance(asked.question, Node) or not asked.refused.any():
        return Counter()
    found = expected(asked, key, people, closed, asked.refused)
    return _counter([found.reports[found.targets == q]])


def _others(asked: AskedRound, key: Key, people: PeopleAtPartition, closed: PeriodValues, q: int) -> Counter[bytes]:
    """The reports that these users would have sent with every other value; for very large domains with the others that
    are known of them.
    """
    question = asked.question
    if question is None or isinstance(question, Node):
        return Counter()
    rows = population(people, closed, asked.allowed | asked.refused)
    rows = rows[targets_of(asked, key, people.users(rows)) == q]
    own, users = closed.values[rows], people.users(rows)
    of = layout(question.layout)
    try:
        every = list(of.enumerate())
    except ParameterError:
        every = []
    if not every or len(every) * len(rows) > MOST_OTHERS:
        known = [one.values[rows[rows < len(one.values)]] for one in people.closed.values()]
        tables = [table if len(table) == len(rows) else None for table in known]
        none = np.empty_like(own)
        none[:] = np.asarray(question.layout[1] - 1 if question.layout[0] == "code" else of.nothing or own[:1])
        tables.append(none)
    else:
        tables = []
        for value in every:
            table = np.empty_like(own)
            table[:] = np.asarray(value).astype(own.dtype)
            tables.append(table)
    found, seen = Counter[bytes](), set[tuple[int, bytes]]()
    for table in tables:
        if table is None:
            continue
        differs = (table != own) if own.ndim == 1 else (table != own).any(axis=1)
        at = np.flatnonzero(differs)
        if not every:
            fresh = [i for i in at.tolist() if (i, table[i].tobytes()) not in seen]
            seen.update((i, table[i].tobytes()) for i in fresh)
            at = np.array(fresh, np.int64)
        found += _counter([reports_of(question, key, users[at], table[at], asked.round.digest)])
    return found


def _counter(blocks: list[Reports]) -> Counter[bytes]:
    return Counter(row.tobytes() for block in blocks for row in block)


def _numbers(printer: Printer, blocks: list[Reports]) -> Prints:
    """The numbers of reports of any widths, sorted."""
    return np.sort(np.concatenate([NOTHING, *map(printer.of, blocks)]))


def _summed(answer: ContributorAnswer, question: Any, must: ExpectedReports | None) -> tuple[int, int, Any]:
    """How many came, how many are well-formed, and the support of those."""
    blocks = [block for rows in answer.blocks.values() for block in rows]
    if answer.clean and must is not None:
        blocks = [must.reports, *blocks]
    n, good, support = 0, 0, np.zeros(question.outcomes, np.int64)
    for block in blocks:
        n += len(block)
        if block.shape[1] == question.wire_size and len(block):
            fine = block[~question.malformed(block)]
            good, support = good + len(fine), support + question.support(fine)
    return n, good, support


def count_only(answer: ContributorAnswer, asked: AskedRound, printer: Printer) -> None:
    """Compare what came with what its `done` records say, where it is unknown who had to answer the round."""
    for q, blocks in answer.blocks.items():
        before = answer.prints.get(q, NOTHING)
        answer.prints[q] = np.sort(np.concatenate([before, _numbers(printer, blocks)]))
    answer.blocks, answer.judged, answer.changed = {}, True, False
    answer.verdict = +answer.miscounted(asked)
