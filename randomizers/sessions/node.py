# SPDX-License-Identifier: Apache-2.0
"""The question of one node: what the users of a level have changed since it began.

Contract: a question like all others for whoever counts: reports of a constant length, additive support, unbiased
estimates of the mean change at each coordinate.  For devices it is answered within a session alone: a report depends on
secret counters and on what was told before (sessions.py), and its bill is the whole level's.  Its digest is the SHA-256
of b"murmurate/node/1", a line feed, and the spec as JSON with sorted keys and no spaces.
Source: ARCHITECTURE section 5.18.  Not here: what users do (protocol.py), whole transcripts' audit (tests/audit).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.bill import Bill
from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.layouts import Layout
from murmurate.randomizers.layouts import layout as layout_of
from murmurate.randomizers.question import (
    Blanket,
    Counts,
    Floats,
    LayoutSpec,
    Question,
    Reports,
    Value,
    Values,
    checked_reports,
)
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.sessions.horizon import Horizon
from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.views import canonical_json, checked_value


class Node(Question):
    """The node of this number of a level of a horizon."""

    name = "node"
    measure = "session"

    def __init__(self, horizon: Horizon, level: int, node: int) -> None:
        if not horizon.tree.tells(level, node):
            raise ParameterError(f"node: found node {shown(node)} of level {shown(level)}; allowed: those told")
        self.horizon, self.level, self.node = horizon, level, node
        self.protocol: Protocol = horizon.protocols[level]
        self.epsilon_micro = horizon.epsilon_micro
        self._of: Layout = layout_of(horizon.ones.layout)
        self.digest = hashlib.sha256(b"murmurate/node/1\n" + canonical_json(self.spec())).digest()

    def spec(self) -> dict[str, Any]:
        """The canonical description: the horizon, and which node it is."""
        return {"name": self.name, "horizon": self.horizon.spec(), "level": self.level, "node": self.node}

    def __repr__(self) -> str:
        return f"Node({self.protocol.name}, level={self.level}, node={self.node}, epsilon={self.epsilon})"

    # ---- where it stands in its horizon ----

    @property
    def step(self) -> int:
        """The step at which it ends, from 1."""
        return self.horizon.step_of(self.level, self.node)

    @property
    def begins(self) -> int:
        """The step at which it begins, from 0."""
        return self.horizon.step_of(self.level, self.node - 1)

    @property
    def opens(self) -> bool:
        """Whether it is the first node of all, whose round opens the horizon."""
        return self.step == 1

    def first_t(self, t: int) -> int:
        """The first period of the horizon in which this node ends with period t."""
        return t - self.step + 1

    def bill(self, t: int) -> Bill:
        """The bill of the whole level."""
        return self.horizon.bill(self.first_t(t), self.level)

    def claimed_as(self) -> Node:
        """The level's first node: a claim is about all of them."""
        return Node(self.horizon, self.level, self.horizon.tree.nodes(self.level)[0])

    # ---- the device's side ----

    @property
    def answered_by(self) -> str:
        """The name of the protocol."""
        return self.protocol.name

    @property
    def layout(self) -> LayoutSpec:
        """The layout of the values whose changes are told."""
        return self._of.spec()

    @property
    def words(self) -> int:
        """The number of words of a value."""
        return self._of.words

    @property
    def wire_size(self) -> int:
        """The number of bytes of a report."""
        return self.protocol.wire_size

    def perturb(self, values: Values, draw: Draw) -> NoReturn:
        """Refuse: a report needs what the user told before."""
        raise ParameterError("node: found asked by itself; allowed: within the session of a device")

    def perturb_one(self, value: Value, draw: DrawOne) -> NoReturn:
        """Refuse, as `perturb` does."""
        self.perturb(np.zeros(0, np.int64), None)  # type: ignore[arg-type]

    def checked(self, value: Value) -> Value:
        """The value, if it is one of the layout."""
        return checked_value(self.name, self._of, value)

    # ---- the server's side ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports nobody could have given."""
        return self.protocol.malformed(checked_reports(self.name, reports, self.wire_size))

    @property
    def outcomes(self) -> int:
        """The length of the support: two counts for each coordinate."""
        return 2 * self.protocol.d

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1."""
        return self.protocol.support(checked_reports(self.name, reports, self.wire_size))

    @property
    def gap(self) -> float:
        """The probability of supporting the sign of a change, less that of supporting its opposite."""
        return float(self.protocol.supports.own - self.protocol.supports.opposite)

    @property
    def statistics(self) -> int:
        """The number of coordinates."""
        return self.protocol.d

    def estimate(self, support: Counts, n: int) -> Floats:
        """The mean change at each coordinate: unbiased, raw."""
        support = np.asarray(support)
        self.check(support, n)
        if n < 1:
            raise ReportError(f"node: found n = {shown(n)}; allowed: n >= 1")
        return np.asarray((support[: self.statistics] - support[self.statistics :]) / (n * self.gap), np.float64)

    def moments(self) -> tuple[float, float]:
        """The variance of one user's part of an estimate where nothing has changed, and where something has."""
        own, opposite, absent = self.protocol.supports
        squared = (own - opposite) ** 2
        return float(2 * absent / squared), float((own + opposite) / squared - 1)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of a mean change, from n reports of users of whom this share has changed."""
        absent, changed = self.moments()
        return np.asarray((absent + np.asarray(frequency) * (changed - absent)) / n, np.float64)

    def plug_in(self, support: Counts, n: int) -> Floats:
        """The variance of the estimates as the reports themselves show it, sampling of users included."""
        up, down = support[: self.statistics] / n, support[self.statistics :] / n
        return np.asarray(((up + down) - (up - down) ** 2) / (n * self.gap**2), np.float64)

    def plausible(self, profile: Floats) -> Floats:
        """The nearest mean changes that there can be."""
        return np.clip(profile, -1, 1)

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report at each coordinate, if no more users than needed have changed."""
        absent, changed = self.moments()
        return np.asarray(absent + np.abs(np.clip(profile, -1, 1)) * (changed - absent), np.float64)

    def sampling(self, profile: Floats) -> Floats:
        """The variance of a change among users, at its smallest."""
        size = np.abs(np.clip(profile, -1, 1))
        return np.asarray(size * (1 - size), np.float64)

    # ---- the auditor's side: of a first node alone, since others depend on what was told before ----

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The law of a level's first report from a user with this value, who had nothing at the beginning."""
        changes = tuple(self.horizon.ones.vectors(self._of.array([value]))[0].tolist())
        law: dict[bytes, Fraction] = {}
        for counters, chance in self.protocol.law_begin().items():
            for (report, _), likely in self.protocol.law_tell(counters, changes).items():
                law[report] = law.get(report, Fraction(0)) + chance * likely
        return law

    @property
    def realised(self) -> Fraction:
        """The largest ratio of probabilities of a whole transcript."""
        return self.protocol.realised

    @property
    def reports_possible(self) -> int:
        """An upper bound: a sign, or none, at every coordinate."""
        return int(3**self.protocol.d)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """Refuse: what distinguishes users best is a transcript."""
        raise ParameterError("node: found asked for extremes; allowed: whole transcripts are audited")

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Refuse, as `extremes` does."""
        raise ParameterError("node: found asked for evidence; allowed: whole transcripts are audited")

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """Refuse, as `extremes` does."""
        raise ParameterError("node: found asked for telling; allowed: whole transcripts are audited")

    def blanket(self) -> Blanket | None:
        """The blanket of the whole transcript."""
        return self.protocol.blanket()
