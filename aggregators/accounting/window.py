# SPDX-License-Identifier: Apache-2.0
"""What a stream's shuffled rounds are worth in its newest w periods: what its releases claim.

Contract: the claim holds for every user and every window of w periods that ends with the newest one.  Where a method
divides its users, each answers in one round of a window at most: the worst of the rounds holds for all.  Where it
divides the budget, the same users answer in every round: all that its method may ask in a window composes, whatever it
did ask, each round with the fewest reports that any round of the window had (`worst_window`); so a claim is computed
once for many windows.  A round below the smallest batch shows nothing and is none.  Reports whose rounds claim nothing
leave the window without a claim, and the reason is said.  Rounds of one bill are claimed as one, with the blanket of
the whole transcript, until w periods after the last of them.  Fake reports count beside the users where these are
divided; over rounds that compose they are left out of the claim, which holds all the more.  Whoever knows all other
users' reports has the fakes alone against them, and there they compose, too.  The state is small: only rounds that no
later one exceeds are kept.  Not here: one round (claim.py), schedules (worst.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from murmurate.aggregators.accounting.claim import MixedClaim, mixed_claim, unclaimed
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.fakes import FakesClaim, claim_with_fakes, window_against_users
from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.accounting.worst import worst_window
from murmurate.randomizers import Faked, question
from murmurate.randomizers.question import Question
from murmurate.randomizers.terms import Division
from murmurate.randomizers.thresholds import MICRO

NoClaim = Literal["nothing was counted", "public measure", "lasting reports", "too few reports"]
"""Why a window has no claim: no round of it had enough reports; its reports carry a public number; or they outlive
their round; or they are protected by their sum alone, which too few of them have.
"""
NOTHING: Final[NoClaim] = "nothing was counted"


def _smallest(rounds: list[tuple[int, Question, int]]) -> Iterator[tuple[Question, int]]:
    """Each question with the fewest reports that any of its rounds had: what holds for them holds for more."""
    fewest: dict[bytes, tuple[Question, int]] = {}
    for _, asked, n in rounds:
        if asked.digest not in fewest or n < fewest[asked.digest][1]:
            fewest[asked.digest] = asked, n
    yield from fewest.values()


class MixedWindow:
    """The counted rounds of one stream's newest periods."""

    def __init__(
        self, w: int, division: Division, delta: float, corrupt: float, known: tuple[int, MixedClaim] | None = None
    ) -> None:
        """known: what is claimed for rounds that compose, from so many reports in each on: no more is ever claimed."""
        self._w, self._division, self._delta, self._corrupt = w, division, delta, corrupt
        self._known = known
        self._rounds: list[tuple[int, Question, int]] = []

    def take(self, t: int, asked: Question, counted: int, *, whole: bool = True) -> None:
        """Take a round of period t of which so many reports were counted. Periods come in order. whole: whether every
        contributor counted.
        """
        self._rounds = [one for one in self._rounds if one[0] > t - self._w]
        if not counted:
            return
        if (bill := asked.bill(t)).digest is not None:
            self._take_part(bill.last, asked.claimed_as(), counted if whole else 1)
            return
        asked = asked.claimed_as()
        while self._rounds and self._covered(self._rounds[-1], asked, counted):
            self._rounds.pop()
        self._rounds.append((t, asked, counted))

    def _take_part(self, last: int, asked: Question, counted: int) -> None:
        """Take a round of a bill that ends with this period. What is shown is the whole transcript of those who counted
        in each of its rounds, at most as many as in any. Where a contributor was closed out nothing is known of them.
        """
        for place, (t, of, fewest) in enumerate(self._rounds):
            if (t, of) == (last, asked):
                self._rounds[place] = t, of, min(fewest, counted)
                return
        self._rounds.append((last, asked, counted))

    def claim(self, t: int, most: WindowRounds) -> MixedClaim | FakesClaim | NoClaim:
        """What holds for the w periods up to t, or why nothing is claimed. most: all that may be asked in them."""
        rounds = [one for one in self._rounds if one[0] > t - self._w]
        if not rounds:
            return NOTHING
        reasons: list[NoClaim] = [reason for _, asked, _ in rounds if (reason := unclaimed(asked)) is not None]
        if reasons:
            return reasons[0]
        if any(asked.unprotected for _, asked, _ in rounds):
            return self._of_sums(rounds, most)
        if self._division == "population":
            return max((self._alone(*one) for one in _smallest(rounds)), key=lambda claim: claim.epsilon)
        try:
            return self._together(most, min(n for _, _, n in rounds))
        except AccountingError:  # a report has nobody to hide it
            return MixedClaim(most.total / MICRO, 0.0, "local", 1)

    def against_users(self, t: int, most: WindowRounds) -> FakesClaim | None:
        """What holds for these periods against whoever knows all other users' reports; None where a round may have no
        fakes, so that there is only what reports have by themselves.
        """
        asked = [(of, 1) for at, of, _ in self._rounds if at > t - self._w]
        if asked and self._division == "budget":
            asked = [(most.question(amount), times) for amount, times in most.often]
        rounds = [(of.inner, of.fakes, times) for of, times in asked if isinstance(of, Faked)]
        if not rounds or len(rounds) < len(asked) or most.publications is not None:
            return None
        if self._division == "budget":
            return window_against_users(rounds, self._delta)
        return max((window_against_users([one], self._delta) for one in rounds), key=lambda claim: claim.epsilon)

    def _of_sums(self, rounds: list[tuple[int, Question, int]], most: WindowRounds) -> MixedClaim | NoClaim:
        """The claim of reports that have no epsilon by themselves, where there is one."""
        try:
            if self._division == "budget":
                return worst_window(most, min(n for _, _, n in rounds), self._delta, self._corrupt)
            claims = [mixed_claim(of, n, self._delta, self._corrupt) for of, n in _smallest(rounds)]
        except AccountingError:
            return "too few reports"
        return max(claims, key=lambda claim: claim.epsilon)

    def _together(self, most: WindowRounds, fewest: int) -> MixedClaim:
        found = worst_window(most, fewest, self._delta, self._corrupt, quick=True)
        if self._known is None or fewest < self._known[0] or found.epsilon <= self._known[1].epsilon:
            return found
        return self._known[1]

    def _covered(self, before: tuple[int, Question, int], asked: Question, counted: int) -> bool:
        """Whether a round adds nothing to a later one of no more reports: under divided users, if it asks the same; it
        leaves the window first.
        """
        alike = before[1] == asked or (self._division == "budget" and unclaimed(before[1]) == unclaimed(asked))
        return alike and before[2] >= counted

    def _alone(self, asked: Question, counted: int) -> MixedClaim | FakesClaim:
        try:
            if isinstance(asked, Faked):  # malformed reports may leave fewer than there are fakes
                fakes = min(asked.fakes, counted)
                return claim_with_fakes(asked.inner, counted, fakes, self._delta, self._corrupt)
            return mixed_claim(asked, counted, self._delta, self._corrupt)
        except AccountingError:  # a report has nobody to hide it
            return MixedClaim(asked.epsilon, 0.0, "local", 1)

    # ---- state ----

    def kept(self) -> dict[str, Any]:
        """The rounds, as a part of a state: each question once."""
        specs: dict[bytes, int] = {}
        rounds = [[t, specs.setdefault(asked.digest, len(specs)), n] for t, asked, n in self._rounds]
        by_digest = {asked.digest: asked for _, asked, _ in self._rounds}
        return {"questions": [by_digest[digest].spec() for digest in specs], "rounds": rounds}

    def load(self, kept: Mapping[str, Any]) -> None:
        """Take over the rounds that `kept` gave."""
        asked = [question(spec) for spec in kept["questions"]]
        self._rounds = [(t, asked[i], n) for t, i, n in kept["rounds"]]
