# SPDX-License-Identifier: Apache-2.0
"""The privacy budget that every slot of one stream has spent, in integers, and the one routine that decides.

Contract (ARCHITECTURE section 5.12: I1, I2, I3, I8): under budget division the charges in *every* w consecutive periods
stay within the limit; under population division two charges of a slot are at least w periods apart.  A t older than a
slot's newest charge is refused, so that looking back over one window is enough.  The round charged last may be repeated
free of charge, since it gets the same bytes again; any other round, for the same t too, is a new charge.  A bill may
cover several periods (population division): it is charged once, at least w periods after the last one of the bill
before, and its further rounds are answered without charge, each at most once and in the order of their periods.  The
ledger is a pure function of the rounds folded, the same for every user of a slot.  Not here: users, values and reports
(device.py).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import SnapshotError
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.terms import Division

NEVER = -(1 << 62)
MAX_T = 1 << 53

Mask = NDArray[np.bool_]


class Verdict(IntEnum):
    """The ledger's decision for one slot."""

    SILENT = 0
    """The slot is not asked."""
    CHARGED = 1
    """The slot pays and answers."""
    REPEATED = 2
    """The slot was charged for this very round before: it answers with the same bytes."""
    BUDGET = 3
    """The answer would overspend a window."""
    GAP = 4
    """The slot answered less than w periods ago."""
    CLOSED = 5
    """The period lies before the newest charge or answer, or in a time for which charges are closed."""
    CONTINUED = 6
    """The slot has paid for the bill of this round, and has not answered this round or a later one of it."""


ANSWERING: Final = (Verdict.CHARGED, Verdict.REPEATED, Verdict.CONTINUED)
"""The verdicts with which a slot answers."""
REASONS = {Verdict.BUDGET: "budget", Verdict.GAP: "gap", Verdict.CLOSED: "closed"}


class Ledger:
    """The spending of `rows` slots. Population division keeps one number a slot, budget division a window of charges
    beside it.
    """

    def __init__(self, rows: int, *, w: int, limit_micro: int, division: Division) -> None:
        self.w, self.limit_micro, self.division = w, limit_micro, division
        self._last = np.zeros(rows, np.int32)  # per slot: which of the rounds below it answered last
        self._t = np.array([NEVER], np.int64)  # of these, the last period of the bill; row 0 stands for never
        self._digests = np.zeros((1, 32), np.uint8)  # the bill's digest, the round's own where it has none,
        self._told = np.array([NEVER], np.int64)  # and the period of the round
        self._spent = np.zeros((w if division == "budget" else 0, rows), np.int32)  # charge at t in row t mod w
        self._open_from = 0  # no t before this is ever charged
        self.most_spent_micro = 0
        """The largest sum of charges in a window of any slot that this instance has booked, for monitoring; never above
        the limit.
        """

    def __len__(self) -> int:
        return len(self._last)

    def verdicts(
        self, t: int, charge_micro: int, digest: bytes, asked: Mask, covers: tuple[int, int] | None = None
    ) -> NDArray[np.uint8]:
        """The verdict for each slot, without booking: uint8[rows] of Verdict.

        digest: the bill's, which is the round's own unless it `covers` the periods from a first to a last one.
        """
        first, last = covers or (t, t)
        newest = self._t[self._last]
        verdicts = np.full(len(self), Verdict.CHARGED, np.uint8)
        if self.division == "budget":
            verdicts[self._window(t, newest)[0] + charge_micro > self.limit_micro] = Verdict.BUDGET
        else:
            verdicts[first - newest < self.w] = Verdict.GAP
        if charge_micro > self.limit_micro or (covers and self.division == "budget"):
            verdicts[:] = Verdict.BUDGET
        verdicts[newest > t] = Verdict.CLOSED
        if first < self._open_from or not first <= t <= last:
            verdicts[:] = Verdict.CLOSED
        same = self.on_bill(digest) & (newest == last)
        if covers is None:
            verdicts[same] = Verdict.REPEATED
        else:
            verdicts[same] = Verdict.CLOSED
            if first >= self._open_from and first <= t <= last:
                verdicts[same & (self._told[self._last] < t)] = Verdict.CONTINUED
        verdicts[~asked] = Verdict.SILENT
        return verdicts

    def charge(
        self, t: int, charge_micro: int, digest: bytes, asked: Mask, covers: tuple[int, int] | None = None
    ) -> NDArray[np.uint8]:
        """The verdicts of `verdicts`, with the charges booked."""
        verdicts = self.verdicts(t, charge_micro, digest, asked, covers)
        paying = (verdicts == Verdict.CHARGED) | (verdicts == Verdict.CONTINUED)
        if not paying.any():
            return verdicts
        if self.division == "budget":
            alive = self._window(t, self._t[self._last])[1]
            self._spent *= alive | ~paying
            self._spent[t % self.w] += charge_micro * paying.astype(np.int32)
        self._t = np.append(self._t, covers[1] if covers else t)
        self._told = np.append(self._told, t)
        self._digests = np.concatenate((self._digests, np.frombuffer(digest, np.uint8)[None]))
        self._last[paying] = len(self._t) - 1
        window = int(self.spent_micro(t)[paying].max()) if self.division == "budget" else charge_micro
        self.most_spent_micro = max(self.most_spent_micro, window)
        if len(self._t) > 2 * len(self) + 64:
            self._prune()
        return verdicts

    def spent_micro(self, t: int) -> NDArray[np.int64]:
        """The charges of each slot in the w periods that end with t (budget division): int64[rows]."""
        return self._window(t, self._t[self._last])[0]

    def newest(self) -> NDArray[np.int64]:
        """The last period of each slot's newest bill, NEVER before the first: int64[rows]."""
        return self._t[self._last]

    def on_bill(self, digest: bytes) -> Mask:
        """The slots whose newest bill has this digest: bool[rows]."""
        return np.asarray((self._digests == np.frombuffer(digest, np.uint8)).all(axis=1)[self._last])

    def close_until(self, t: int) -> None:
        """Refuse charges for periods before t, as after a changed frozen fact or a lost history."""
        self._open_from = max(self._open_from, t)

    def forget_answers(self) -> None:
        """Make a repeated round cost again, since its bytes would no longer be the same."""
        self._digests[:] = 0

    def arrays(self) -> Arrays:
        """The whole state, for a snapshot."""
        self._prune()
        return {
            "last": self._last,
            "t": self._t,
            "told": self._told,
            "digests": self._digests,
            "spent": self._spent,
            "open_from": np.array([self._open_from], np.int64),
        }

    def load(self, arrays: Arrays) -> None:
        """Take over the state of a snapshot."""
        mine = self.arrays()
        for name in ("last", "spent", "open_from"):
            if arrays[name].shape != mine[name].shape or arrays[name].dtype != mine[name].dtype:
                raise SnapshotError(
                    f"ledger: {name}: found {arrays[name].dtype}{list(arrays[name].shape)}; "
                    f"allowed: {mine[name].dtype}{list(mine[name].shape)}"
                )
        rounds = len(arrays["t"])
        of_each = arrays["told"].shape == (rounds,) and arrays["digests"].shape == (rounds, 32)
        if not of_each or not 0 <= arrays["last"].min() <= arrays["last"].max() < rounds:
            raise SnapshotError(f"ledger: found slots that point past the {rounds} rounds of the snapshot")
        self._last, self._t, self._told, self._digests, self._spent = (
            arrays[name].copy() for name in ("last", "t", "told", "digests", "spent")
        )
        self._open_from = int(arrays["open_from"][0])

    def _window(self, t: int, newest: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
        """The charges in the window that ends with t, and which cells of `_spent` still count in it.

        Cell c holds the charge at the newest time of its slot that is c mod w; it counts while that time is after t -
        w. Slots that march in step, as they do when everybody answers, share one column of times.
        """
        if len(newest) and (newest == newest[0]).all():
            newest = newest[:1]
        age = (newest - np.arange(self.w)[:, None]) % self.w
        alive = age < self.w - (t - newest)
        return np.where(alive, self._spent, 0).sum(axis=0, dtype=np.int64), alive

    def _prune(self) -> None:
        """Forget the rounds that are no slot's newest any more."""
        used, last = np.unique(np.append(self._last, 0), return_inverse=True)
        self._last = last[:-1].astype(np.int32)
        self._t, self._told, self._digests = self._t[used], self._told[used], self._digests[used]
