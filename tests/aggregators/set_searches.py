# SPDX-License-Identifier: Apache-2.0
"""Users with sets of items in slots, who really randomize their answers, and a search among them, period by period."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.found_items import FoundItems
from murmurate.aggregators.methods.method import Answer, Decision, FoundValues, Request, Setting
from murmurate.aggregators.methods.set_methods import SVIM, SVSM, LDPMiner, SetMethod
from murmurate.randomizers import Key
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import FILLER, NONE

KEY = Key(hashlib.sha256(b"reports of users with sets").digest(), deployment="test")
METHODS: dict[str, type[SetMethod]] = {kind.name: kind for kind in (SVIM, LDPMiner, SVSM)}
Rows = NDArray[np.uint32]


def sets_of(shares: NDArray[np.float64], users: int, most: int, seed: int) -> Rows:
    """Sets in which each item is held with its share, apart from each other; of more than `most` the first ones."""
    held = np.random.default_rng(seed).random((users, len(shares))) < shares
    rows = np.full((users, most), FILLER, np.uint32)
    user, item = np.nonzero(held)
    place = np.arange(len(user)) - np.searchsorted(user, user)
    rows[user[place < most], place[place < most]] = item[place < most]
    return rows


def nobody(users: int, most: int) -> Rows:
    """Users without a value."""
    rows = np.zeros((users, most), np.uint32)
    rows[:, 0] = NONE
    return rows


def setting(name: str, d: int, *, most: int = 4, epsilon: float = 3.0, w: int = 2, slots: int = 80,
            says_none: bool = True, seed: int = 0, **measure: Any) -> Setting:  # fmt: skip
    """A stream's facts, in which a method of this name finds what it finds."""
    found = FoundItems(Items(d, most), says_none, find=METHODS[name].finds, **measure)  # type: ignore[arg-type]
    public = hashlib.sha256(f"slots {seed}".encode()).digest()
    return Setting(found, round(epsilon * 1e6), w, slots, 1, public)


@dataclass
class Searched:
    """A search, and all that it asked."""

    setting: Setting
    name: str
    rows: Rows
    seed: int = 0
    asked: list[tuple[int, Request]] = field(default_factory=list)
    states: list[bytes] = field(default_factory=list)
    """The state before each answer and after each period."""
    stops: bool = False
    """Whether a new instance goes on from each state."""
    lost: Callable[[int, int], bool] = lambda t, phase: False
    """Whether the answer to a phase of a period does not count."""
    other: Callable[[int, int, NDArray[np.bool_]], Rows] | None = None
    """The rows of all users in a phase of a period, in place of `rows`, by who is asked."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.slots = rng.integers(0, self.setting.slots, len(self.rows))
        self.users = rng.integers(0, 256, (len(self.rows), 16), np.uint8)
        self.method: SetMethod = METHODS[self.name](self.setting)

    def periods(self, count: int, first: int = 1) -> Iterator[Decision]:
        """So many periods."""
        for t in range(first, first + count):
            step, phase = self.method.open(t), 0
            while isinstance(step, Request):
                self._keep()
                self.asked.append((t, step))
                step, phase = self.method.tally(self._answer(t, phase, step)), phase + 1
            self._keep()
            yield step

    def _keep(self) -> None:
        self.states.append(self.method.state())
        if self.stops:
            self.method = METHODS[self.name](self.setting)
            self.method.load(self.states[-1])

    def _answer(self, t: int, phase: int, request: Request) -> Answer:
        assert request.asked is not None
        mine = request.asked[self.slots]
        rows = self.rows if self.other is None else self.other(t, phase, mine)
        digest = hashlib.sha256(f"{self.seed} {t} {phase}".encode()).digest()
        question = request.question.of_round(digest)
        if self.lost(t, phase):
            return Answer(np.zeros(question.outcomes, np.int64), 0, digest)
        reports = question.perturb(rows[mine], KEY.draw(self.users[mine], round=digest))
        return Answer(question.support(reports), int(mine.sum()), digest)


def found(decision: Decision) -> FoundValues:
    """What a decision found."""
    assert isinstance(decision.outcome, FoundValues)
    assert decision.outcome.finding is not None
    return decision.outcome


def names(search: Searched, decision: Decision) -> tuple[str, ...]:
    """The names of what it found."""
    assert isinstance(search.setting.measure, FoundItems)
    return search.setting.measure.names_of(found(decision).values)
