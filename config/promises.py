# SPDX-License-Identifier: Apache-2.0
"""The tables that say what is promised: [privacy] to users, [privacy.mixed] against all but the mixing zone, [curator].

Contract: numbers in their ranges; an epsilon in micro-nats is never more than was said.  Not here: what the tables of a
file owe each other (settings.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from murmurate.config.kinds import Flag, Number, WholeNumber
from murmurate.config.quantities import Duration, Epsilon, PrivacyWindow, WindowKind
from murmurate.config.streams import ConfigTable
from murmurate.randomizers.thresholds import micro_nats


class MixedTable(ConfigTable):
    """What users are promised against everybody but the mixing zone."""

    epsilon: Annotated[float, Epsilon()]
    """What anyone else can learn about one user in one window, in nats, but for a chance of delta."""


class PrivacyTable(ConfigTable):
    """The promise to one user, over all streams together."""

    epsilon: Annotated[float, Epsilon()]
    """What anyone can learn about one user in one window, in nats."""
    mixed: MixedTable | None = None
    """What everybody but the mixing zone can learn: devices then spend as much of epsilon as the smallest batch allows.
    """
    unprotected_locally: Annotated[bool, Flag()] = False
    """Whether reports of a stream may show their values to the mixing zone and the brokers: needed for mechanism = aue.
    """
    window: Annotated[PrivacyWindow, WindowKind()]
    """Any stretch of this length; or { periods = 20 }: the papers' w, exactly."""
    split: Literal["users", "budget"] = "users"
    """A user serves one stream with the whole epsilon, or all of them with a part of it each."""
    delta: Annotated[float, Number(0, 1e-3, with_low=False)] = 1e-8
    """The chance with which what the mixing adds may fail, in any one window."""
    min_batch: Annotated[int, WholeNumber(2, 1_000_000_000)] = 1000
    """The number of reports below which nothing is released."""
    fakes: Annotated[int, WholeNumber(0, 1_000_000_000)] = 0
    """Fake reports that the mixing zone adds to each round: they hide a user from whoever knows all other reports."""
    assumed_corrupt: Annotated[float, Number(0, 1)] = 0.1
    """The part of the reports of any single round that may come from whoever attacks: they hide nobody."""

    @property
    def epsilon_micro(self) -> int:
        """Epsilon in micro-nats, never more than was said."""
        return micro_nats(self.epsilon)


class CuratorTable(ConfigTable):
    """The promise of central streams: what the trusted edge releases with noise of its own. It is never added to the
    one of [privacy].
    """

    epsilon: Annotated[float, Epsilon()]
    """What anyone can learn about whether one event was there, or one user's events of any one window, in nats."""
    window: Annotated[int, Duration("1s", "400d")] | None = None
    """The window of users, where a stream protects them."""

    @property
    def epsilon_micro(self) -> int:
        """Epsilon in micro-nats, never more than was said."""
        return micro_nats(self.epsilon)
