# SPDX-License-Identifier: Apache-2.0
"""Values as vectors of zeros and ones, so that a change of value is a few coordinates with a sign each.

Contract: a public function of the value alone.  *None* is the vector of zeros.  The change between two values is -1, 0
or +1 at each coordinate, and at most `most_changes` coordinates are not 0.

    category   one coordinate a value: a change of value is -1 and +1, coming and going is one of them
    count      thermometer bits of a whole number: bit j says that the number is above j; a step of k costs k.  Where
               users may have no number, one bit before all others says that there is one
    items      one coordinate an item: coming or going costs one

Source: ARCHITECTURE section 5.18.  Not here: which changes are told (protocol.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import FILLER, CodeLayout, ItemsLayout
from murmurate.randomizers.question import LayoutSpec, Value, Values

Changes = NDArray[np.int8]
"""int8[n, d]: -1, 0 or +1 at each coordinate."""
MAX_COORDINATES = 1 << 12
"""The most coordinates of a session."""


class Ones(ABC):
    """A public function from values to vectors of zeros and ones."""

    kind: ClassVar[str]
    d: int
    """The number of coordinates."""

    @property
    @abstractmethod
    def layout(self) -> LayoutSpec:
        """The layout of the values that it reads."""

    @property
    @abstractmethod
    def most_changes(self) -> int:
        """The most coordinates in which two values differ."""

    @abstractmethod
    def vectors(self, values: Values) -> Changes:
        """The vector of each value: int8[n, d] of 0 and 1."""

    def changes(self, before: Values, after: Values) -> Changes:
        """What has changed at each coordinate: int8[n, d]."""
        return self.vectors(after) - self.vectors(before)

    @property
    @abstractmethod
    def nothing(self) -> Value:
        """A value whose vector is zero, for users of whom nothing has been read yet; of no layout's."""

    def spec(self) -> dict[str, Any]:
        """The canonical description."""
        return {"kind": self.kind, "layout": self.layout}


@dataclass(frozen=True)
class _OfCodes(Ones):
    """Ones of codes below `codes`, of which the last means *none* where users may have no value."""

    codes: int
    none: bool

    def __post_init__(self) -> None:
        CodeLayout(self.codes)
        if self.d < 1 or self.d > MAX_COORDINATES:
            raise ParameterError(f"{self.kind}: found {self.d} coordinates; allowed: 1 to {MAX_COORDINATES}")

    @property
    def layout(self) -> LayoutSpec:
        """Codes."""
        return CodeLayout(self.codes).spec()

    def spec(self) -> dict[str, Any]:
        """The canonical description, with whether the last code means *none*."""
        return {**super().spec(), "none": int(self.none)}

    @property
    def nothing(self) -> Value:
        """A code below all others."""
        return -1


class Category(_OfCodes):
    """One coordinate for each value."""

    kind: ClassVar[str] = "category"

    @property
    def d(self) -> int:  # type: ignore[override]
        """The number of values, without none."""
        return self.codes - self.none

    @property
    def most_changes(self) -> int:
        """Two: from one value to another."""
        return min(2, self.d)

    def vectors(self, values: Values) -> Changes:
        """A one at the value's own coordinate."""
        return np.asarray(values.reshape(-1, 1) == np.arange(self.d), np.int8)


class Count(_OfCodes):
    """Thermometer bits of a whole number from 0 to codes - 1 (codes - 2 beside none)."""

    kind: ClassVar[str] = "count"

    @property
    def d(self) -> int:  # type: ignore[override]
        """The number of steps of the number; one more where its presence is told."""
        return self.codes - 1

    @property
    def most_changes(self) -> int:
        """All of them: from the smallest number, or none, to the largest."""
        return self.d

    def vectors(self, values: Values) -> Changes:
        """Ones below the number."""
        codes = values.reshape(-1, 1)
        above = codes > np.arange(self.d) if not self.none else codes >= np.arange(self.d)
        if self.none:
            above &= codes < self.codes - 1
        return np.asarray(above, np.int8)


@dataclass(frozen=True)
class Holding(Ones):
    """One coordinate for each item."""

    kind: ClassVar[str] = "items"
    of: ItemsLayout

    def __post_init__(self) -> None:
        if self.d > MAX_COORDINATES:
            raise ParameterError(f"items: found {self.d} items; allowed: 1 to {MAX_COORDINATES}")

    @property
    def d(self) -> int:  # type: ignore[override]
        """The number of items."""
        return self.of.d

    @property
    def layout(self) -> LayoutSpec:
        """Sets of items."""
        return self.of.spec()

    @property
    def most_changes(self) -> int:
        """One set gone and another one here."""
        return min(2 * self.of.most, self.of.d)

    def vectors(self, values: Values) -> Changes:
        """Ones at the items of the set."""
        rows = self.of.rows(values)
        found = np.zeros((len(rows), self.d), np.int8)
        user, place = np.nonzero(rows < self.d)
        if self.of.none:
            silent = self.of.silent(rows)[user]
            user, place = user[~silent], place[~silent]
        found[user, rows[user, place]] = 1
        return found

    @property
    def nothing(self) -> Value:
        """The empty set."""
        return (FILLER,) * self.of.most if self.of.most > 1 else FILLER


def ones(spec: Mapping[str, Any]) -> Ones:
    """The function that a spec describes."""
    found = dict(spec) if isinstance(spec, Mapping) else {}
    described, none = found.get("layout"), found.get("none", 0)
    layout = tuple(described) if isinstance(described, (list, tuple)) else ()
    match found.get("kind"), layout:
        case ("category" | "count") as kind, ("code", codes) if none in (0, 1) and len(found) == 3:
            return (Category if kind == "category" else Count)(codes, bool(none))
        case "items", ("items", d, most, silent) if len(found) == 2:
            return Holding(ItemsLayout(d, most, bool(silent)))
    raise ParameterError(f"ones: found {shown(found)}; allowed: a kind (category, count, items), its layout, and none")
