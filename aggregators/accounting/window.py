"""What a stream's shuffled rounds are worth in its newest w periods: what its releases claim.

Contract: the claim holds for every user and every window of w periods that ends with the newest one.  Where a method
divides its users, each answers in one round of a window at most: the worst of the rounds holds for all.  Where it
divides the budget, the same users answer in every round, and rounds compose: each stands with the fewest reports that
any round of its question had, so that a claim is computed once for many windows.  A round below the smallest batch
shows nothing and is none.  Reports whose rounds claim nothing leave the window without a claim, and the reason is said.
The state is small: under divided users only rounds that no later one exceeds are kept.  Not here: one round (claim.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from murmurate.aggregators.accounting.claim import MixedClaim, mixed_claim, unclaimed, window_claim
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.randomizers import question
from murmurate.randomizers.question import Question
from murmurate.randomizers.terms import Division

NoClaim = Literal["nothing was counted", "public measure", "lasting reports"]
"""Why a window has no claim: no round of it had enough reports; its reports carry a public number; or they outlive
their round.
"""
NOTHING: Final[NoClaim] = "nothing was counted"


class WindowRounds:
    """The counted rounds of one stream's newest periods."""

    def __init__(self, w: int, division: Division, delta: float, corrupt: float) -> None:
        self._w, self._division, self._delta, self._corrupt = w, division, delta, corrupt
        self._rounds: list[tuple[int, Question, int]] = []

    def take(self, t: int, asked: Question, counted: int) -> None:
        """Take a round of period t of which so many reports were counted. Periods come in order."""
        self._rounds = [one for one in self._rounds if one[0] > t - self._w]
        if not counted:
            return
        if self._division == "population" and unclaimed(asked) is None:
            mine = self._alone(asked, counted).epsilon
            while self._rounds and self._covered(self._rounds[-1], mine):
                self._rounds.pop()
        self._rounds.append((t, asked, counted))

    def claim(self, t: int) -> MixedClaim | NoClaim:
        """What holds for the w periods up to t, or why nothing is claimed."""
        rounds = [one for one in self._rounds if one[0] > t - self._w]
        if not rounds:
            return NOTHING
        reasons: list[NoClaim] = [reason for _, asked, _ in rounds if (reason := unclaimed(asked)) is not None]
        if reasons:
            return reasons[0]
        if self._division == "population":
            return max((self._alone(asked, n) for _, asked, n in rounds), key=lambda claim: claim.epsilon)
        return self._together(rounds)

    def _covered(self, before: tuple[int, Question, int], epsilon: float) -> bool:
        """Whether an earlier round claims no more than this epsilon: it is over before a later one is."""
        _, asked, counted = before
        return unclaimed(asked) is None and self._alone(asked, counted).epsilon <= epsilon

    def _alone(self, asked: Question, counted: int) -> MixedClaim:
        try:
            return mixed_claim(asked, counted, self._delta, self._corrupt)
        except AccountingError:  # a report has nobody to hide it
            return MixedClaim(asked.epsilon, 0.0, "local", 1)

    def _together(self, rounds: Sequence[tuple[int, Question, int]]) -> MixedClaim:
        alike: dict[bytes, tuple[Question, int, int]] = {}
        for _, asked, n in rounds:
            known, fewest, times = alike.get(asked.digest, (asked, n, 0))
            alike[asked.digest] = known, min(fewest, n), times + 1
        return window_claim(list(alike.values()), self._delta, self._corrupt)

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
