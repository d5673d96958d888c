# SPDX-License-Identifier: Apache-2.0
"""The configurations on which the filter is tested: a stream, its users, its domain, epsilon and w, of many kinds.

Contract: a configuration and a seed give the same truth; marks describe the stream, never a result.  `resting`:
its values stand still most of the time, so that bars may hold more.  Each file of real sequences adds configurations of
its own (real_sequences.py).  Source: ARCHITECTURE section 5.9.  Not here: what is measured (filter_comparison.py), the
required figures (agents/cli/reproductions/verdicts.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from murmurate.agents.simulate import real_sequences, stream_kinds
from murmurate.agents.simulate.stream_kinds import DAY
from murmurate.agents.simulate.synthetic_counts import BINARY, SEVERAL, USERS, Holders, stream
from murmurate.aggregators.chooser import choose
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.method import Setting
from murmurate.randomizers.thresholds import MICRO

PERIODS: Final = 400
SLOTS: Final = 4_000
FEW: Final = 2_000
MOST: Final = 48
"""The largest number of configurations compared."""


@dataclass(frozen=True)
class Configuration:
    """A stream to test the filter on, with its domain, users, epsilon and w."""

    kind: str
    """The kind of the stream, by which the lines of a table are grouped."""
    stream: str
    d: int
    epsilon: float = 1.0
    users: int = USERS
    w: int = 20
    season: int | None = None
    """The number of periods of a declared season, or None."""
    resting: bool = False
    path: Path | None = None
    """The path of a file of real sequences, or None for a synthetic stream."""

    @property
    def named(self) -> str:
        """The configuration in one line."""
        users = f"{self.users // 1000} k" if self.users % 1000 == 0 else str(self.users)
        season = f", season {self.season}" if self.season else ""
        return f"{self.stream}, n {users}, d {self.d}, epsilon {self.epsilon:g}, w {self.w}{season}"

    def holders(self, seed: int, periods: int) -> Holders:
        """The true counts of users: int64[periods, d]."""
        if self.path is not None:
            return real_sequences.holders(self.path, seed, d=self.d, users=self.users, periods=periods)
        if self.stream in (*BINARY, *SEVERAL):
            return stream(self.stream, seed, d=self.d, users=self.users, periods=periods).holders
        return stream_kinds.holders(self.stream, seed, d=self.d, users=self.users, periods=periods)

    def setting(self, seed: int) -> Setting:
        """The setting that methods get."""
        public = hashlib.sha256(b"murmurate filtered %d" % seed).digest()
        return Setting(
            Frequency.of_size(self.d, says_none=False),
            epsilon_micro=round(self.epsilon * MICRO), w=self.w, slots=SLOTS, first_t=1, seed=public,
            mechanism=choose(d=self.d, epsilon=self.epsilon, rule="paper").name, season=self.season,
        )  # fmt: skip


_C = Configuration
MADE_UP: Final[tuple[Configuration, ...]] = (
    *(_C("papers", name, 2) for name in BINARY[:3]),
    _C("papers", "lns", 2, epsilon=2.5),
    _C("papers", "step", 2, resting=True),
    *(_C("of 16", name, 16) for name in ("walks", "sines")),
    *(_C("of 16", name, 16, resting=True) for name in ("jumps", "swaps")),
    _C("still", "still", 8, resting=True),
    _C("fluctuation", "people-4000", 2),
    _C("fluctuation", "people-1000", 2),
    _C("fluctuation", "people-4000", 8, epsilon=2.5),
    _C("fluctuation", "wavering", 2),
    _C("fluctuation", "wavering", 64),
    _C("regimes", "levels", 2, resting=True),
    _C("regimes", "levels", 8, epsilon=0.5, w=50, resting=True),
    _C("regimes", "drifts", 2),
    _C("regimes", "volatility", 2, epsilon=2.5, w=50),
    _C("regimes", "volatility", 8),
    _C("heavy tails", "heavy", 2),
    _C("bursts", "bursts", 2, epsilon=0.5),
    _C("bursts", "bursts", 8),
    _C("white noise", "white", 2),
    _C("white noise", "white", 8),
    _C("days", "daily", 2),
    _C("days", "daily", 2, season=DAY),
    _C("days", "daily", 8, season=DAY),
    _C("days", "timetable", 8, epsilon=0.5),
    _C("days", "timetable", 8, epsilon=0.5, season=DAY),
    _C("near zero", "rare", 2),
    _C("near zero", "rare", 64),
    _C("near zero", "rare", 500),
    _C("few users", "step", 2, users=FEW, resting=True),
    _C("few users", "walking", 8, users=FEW),
    _C("few users", "rare", 64, users=FEW),
    _C("few users", "lns", 2, users=FEW, epsilon=2.5),
)


def of_files(paths: Sequence[Path]) -> list[Configuration]:
    """Configurations for each file that contains a sequence."""
    found = []
    for path in paths:
        form = real_sequences.form_of(path)
        for d, epsilon, w, season in form.tried:
            found.append(_C("real", path.stem, d, epsilon=epsilon, w=w, season=season, path=path))
    return found
