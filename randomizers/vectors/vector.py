# SPDX-License-Identifier: Apache-2.0
"""The common part of mechanisms for sparse vectors: few of many items, each with a sign or a number from -1 to 1.

Contract: that of every question (question.py), over values of an items or signed layout: sets, or items with numbers.
A mechanism sees entries (entries.py): at most s items, each +1 or -1, where s is `most`, or d where there are fewer
items.  It keeps epsilon for any two vectors with at most s entries; the device's domain cuts sets that are larger.  The
statistics are, for coordinates 0 to d - 1, the mean over all users of the number (0 for who does not hold the item; of
sets the share of holders), and then, where reports tell it (`tells_shares`), the share of holders.  The digest is that
of a mechanism (mechanism.py).
Source: ARCHITECTURE section 5.17.  Not here: oracles that count supports (sparse.py).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, ValueRefusedError, shown
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.layouts import ItemsLayout, SignedLayout
from murmurate.randomizers.layouts import layout as layout_of
from murmurate.randomizers.mechanism import MAX_LAW
from murmurate.randomizers.question import LayoutSpec, Question, Reports, Value, Values, checked_reports
from murmurate.randomizers.randomness import Draw, DrawOne, canonical_words, canonical_words_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, micro_nats
from murmurate.randomizers.vectors.entries import (
    Entries,
    Held,
    entries,
    entries_one,
    law_of_entries,
    words_of,
    words_of_entries,
)
from murmurate.randomizers.viewed import MAX_REPORT, checked_values
from murmurate.randomizers.views import canonical_json, checked_value, one_or_more

_LANE = 1 << 18  # words of users' values at a time: what is made of them stays in a core's second-level cache


class VectorQuestion(Question):
    """A mechanism for vectors of d coordinates of which at most s are not zero.

    A subclass sets its parameters, calls this constructor, and then derives its probabilities.
    """

    measure = "vector"
    version: ClassVar[int] = 1
    """The version of the way in which words become reports. Another version draws independent words."""
    tells_shares: bool = True
    """Whether the shares of holders can be told from its reports besides the means."""
    signs_are_drawn: ClassVar[bool] = True
    """Whether it serves numbers and signs; otherwise sets alone."""

    def __init__(self, layout: Any, epsilon: Epsilon) -> None:
        found = layout_of(layout)
        kinds = (ItemsLayout, SignedLayout) if self.signs_are_drawn else (ItemsLayout,)
        if not isinstance(found, (ItemsLayout, SignedLayout)) or not isinstance(found, kinds):
            allowed = " or ".join(kind.word for kind in kinds)
            raise ParameterError(f"{self.name}: layout: found {shown(layout)}; allowed: {allowed}")
        self.of = found
        """The layout of its values, decoded."""
        self.d, self.s = found.d, min(found.most, found.d)
        self.signed = isinstance(found, SignedLayout)
        """Whether values are numbers from -1 to 1; otherwise sets."""
        self.epsilon_micro = micro_nats(epsilon)
        named = b"murmurate/mechanism/%d\n" % self.version + canonical_json(self.spec())
        self.digest = hashlib.sha256(named).digest()

    @property
    def bound(self) -> Fraction:
        """The largest ratio that epsilon allows, rounded down."""
        return exp_floor(self.epsilon_micro)

    @property
    def layout(self) -> LayoutSpec:
        """The layout that it reads."""
        return self.of.spec()

    @property
    def words(self) -> int:
        """The number of words of a value."""
        return self.of.words

    def spec(self) -> dict[str, Any]:
        """The canonical description: name, layout, epsilon and the subclass's parameters."""
        return {
            "name": self.name, "layout": self.of.spec(), "epsilon_micro": self.epsilon_micro, **self.parameters(),
        }  # fmt: skip

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The fields of the spec besides name, layout and epsilon, as the constructor takes them."""

    def __repr__(self) -> str:
        own = "".join(f", {key}={value!r}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({list(self.layout)}, epsilon={self.epsilon}{own})"

    # ---- the device's half ----

    def perturb(self, values: Values, draw: Draw) -> Reports:
        """One report of each user's entries, a lane of users at a time: uint8[n, wire_size]. What it holds besides
        values and reports does not grow with n.
        """
        if not isinstance(draw, Draw) or not isinstance(values, np.ndarray) or len(values) != len(draw):
            checked_values(self.name, self.of, values, draw)  # which says what is wrong
        bound, step = self._bound_to(draw), max(1, _LANE // self.of.words)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            own = draw.of(part)
            try:
                checked_values(self.name, self.of, values[part], own)
            except ValueRefusedError:
                checked_values(self.name, self.of, values, draw)  # which names the row of the whole
                raise
            rows = self.of.rows(values[part])
            held, lanes = entries(self.of, rows, own, self.digest), own.open(self.digest, canonical_words(rows))
            held = Entries(held.items[:, : self.s], held.signs[:, : self.s])  # further places hold fillers
            reports[part] = bound._perturb(held, lanes)
        return reports

    def _bound_to(self, draw: Draw | DrawOne) -> Self:
        """The question with what it derives from the round of a draw: hash functions, say. Most derive nothing."""
        return self

    @abstractmethod
    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """The reports of these entries. lanes: the words of the report, from the whole value."""

    def perturb_one(self, value: Value, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        if not isinstance(draw, DrawOne):
            raise ValueRefusedError(f"{self.name}: draw: found {type(draw).__name__}; allowed: a DrawOne from a Key")
        value, bound = self.checked(value), self._bound_to(draw)
        held = entries_one(self.of, value, draw, self.digest)
        return bound._perturb_one(held, draw.open(self.digest, canonical_words_one(words_of(value))))

    @abstractmethod
    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """The report of one user's entries. words: a function (k, bits) that gives the first k words of that width."""

    def checked(self, value: Value) -> Value:
        """The value, if it is one of the layout."""
        return checked_value(self.name, self.of, value)

    # ---- the auditor's ----

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The law of a report: the laws of all roundings of the numbers to signs, times their probabilities."""
        if self.reports_possible > MAX_LAW:
            found = self.reports_possible if self.reports_possible < 1 << 64 else "over 2^64"
            raise ParameterError(f"{self.name}: law: found {found} reports to list; allowed: {MAX_LAW}")
        law: dict[bytes, Fraction] = {}
        for held, chance in law_of_entries(self.of, self.checked(value)):
            for report, likely in self._law(held).items():
                law[report] = law.get(report, Fraction(0)) + chance * likely
        return law

    @abstractmethod
    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """Every report that these entries can give, with its exact probability."""

    @property
    def extremes(self) -> tuple[Value, Value]:
        """Two vectors with s entries each: with opposite signs or, of sets, with as few common items as possible."""
        first = range(self.s)
        if self.signed:
            up, down = ((item, 1) for item in first), ((item, -1) for item in first)
            return self.value(tuple(up)), self.value(tuple(down))
        last = range(max(0, min(self.d - self.s, self.s)), min(self.d, 2 * self.s))
        return self.value(tuple((item, 1) for item in first)), self.value(tuple((item, 1) for item in last))

    def value(self, held: Held) -> Value:
        """The value of a user with these entries; of sets the signs are left out."""
        return one_or_more(words_of_entries(self.of, held))

    def held_by(self, value: Value) -> Held:
        """The entries of a value of signs: of a set, or of numbers -1 and 1."""
        ((held, _),) = law_of_entries(self.of, self.checked(value))
        return held

    # ---- the server's ----

    @property
    def statistics(self) -> int:
        """The number of coordinates; twice that where shares of holders are told besides means."""
        return self.d * (2 if self.signed and self.tells_shares else 1)

    def _well_formed(self, reports: Reports) -> Reports:
        """The reports, if every one could have been given."""
        bad = np.flatnonzero(self.malformed(reports))
        if len(bad):
            raise ReportError(
                f"{self.name}: reports: found {len(bad)} that no value gives (the first in row {bad[0]}); "
                "allowed: drop what `malformed` marks"
            )
        return reports

    def _reports(self, reports: Reports) -> Reports:
        """The reports, if they have the right shape and type."""
        return checked_reports(self.name, reports, self.wire_size)

    def _short_enough(self) -> None:
        """Refuse a mechanism whose reports are longer than a device sends; for the end of a constructor."""
        if self.wire_size > MAX_REPORT:
            raise ParameterError(f"{self.name}: found reports of {self.wire_size} bytes; allowed: {MAX_REPORT}")

    def is_mean(self) -> NDArray[np.bool_]:
        """Which statistics are means of signed numbers, from -1 to 1; the others are shares: bool[statistics]."""
        means = np.zeros(self.statistics, np.bool_)
        means[: self.d if self.signed else 0] = True
        return means
