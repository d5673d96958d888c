# SPDX-License-Identifier: Apache-2.0
"""Rows of attributes, each a declared text or a number of a declared range.

Contract: an event says an object with all the attributes and no other.  Attributes are packed in the declared order,
mixed radix: within a word the first is the most significant, and a word takes the next attribute while the product of
their sizes stays at most 2^31.  An attribute that is missing, extra or wrong makes the whole value wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.domains import tables
from murmurate.topics.domains.categories import Categories
from murmurate.topics.domains.domain import Codes, Domain, Layout, Values, Words, Wrong
from murmurate.topics.domains.grid import Grid
from murmurate.topics.errors import MappingError

MAX_ATTRIBUTES: Final = 64
FULL: Final = 1 << 31
"""Most values of a word."""


@dataclass(frozen=True)
class Row(Domain):
    """Rows. attributes: (name, domain) in order.

    >>> Row((("plan", Categories(("free", "pro"))), ("age", Grid(0, 100, 10, "stretches")))).codes()[
    ...     {"age": 33, "plan": "pro"}
    ... ]
    (13,)
    """

    attributes: tuple[tuple[str, Categories | Grid], ...]

    def __post_init__(self) -> None:
        found = self.attributes
        pairs = isinstance(found, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in found)
        if not pairs or not 1 <= len(found) <= MAX_ATTRIBUTES:
            raise MappingError(f"row: found no tuple of pairs; allowed: 1 to {MAX_ATTRIBUTES} names with domains")
        for name, domain in found:
            if not isinstance(name, str) or not isinstance(domain, Domain) or not domain.coded:
                raise MappingError("row: found an attribute of another kind; allowed: names with categories or grids")
        if len({name for name, _ in found}) < len(found):
            raise MappingError("row: found one name twice; allowed: each once")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(domain.none for _, domain in self.attributes)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """For each attribute, the word that holds it, and by what its code is multiplied there."""
        groups: list[list[int]] = [[]]
        product = 1
        for size in self.sizes:
            if product * size > FULL:
                groups.append([])
                product = 1
            groups[-1].append(size)
            product *= size
        found = []
        for word, group in enumerate(groups):
            weight = 1
            weights = []
            for size in reversed(group):
                weights.append(weight)
                weight *= size
            found += [(word, each) for each in reversed(weights)]
        return tuple(found)

    @property
    def words(self) -> int:
        """As few as hold it."""
        return self.places[-1][0] + 1

    def layout(self, none: bool) -> Layout:
        """Rows."""
        return ("row", self.sizes, int(none))

    @property
    def initial(self) -> Words:
        """The words of users who have had no valid value yet, in a stream whose values stand for ever: for each
        attribute "other" if that is declared, else its first value.
        """
        words = [0] * self.words
        for (_, domain), (word, weight) in zip(self.attributes, self.places, strict=True):
            words[word] += domain.initial[0] * weight
        return tuple(words)

    def codes(self, *, texts: bool = False) -> Codes:
        """Their codes. texts: objects stand in cells."""
        return _Packed(self, texts=texts)

    def value(self, row: Words, /) -> dict[str, str | float]:
        """The value of an event with these words."""
        pairs = zip(self.attributes, self.sizes, self.places, strict=True)
        return {name: domain.value(int(row[word]) // weight % size) for (name, domain), size, (word, weight) in pairs}

    def pack(self, codes: Iterable[NDArray[np.integer[Any]]]) -> Values:
        """The words of many rows, from each attribute's codes, int[n]: uint32[n, words]."""
        columns = [np.asarray(column) for column in codes]
        found = np.zeros((len(columns[0]), self.words), np.uint32)
        for column, (word, weight) in zip(columns, self.places, strict=True):
            found[:, word] += column.astype(np.uint32) * np.uint32(weight)
        return found


class _Packed(Codes):
    """The words of objects."""

    def __init__(self, row: Row, *, texts: bool) -> None:
        self._texts, self._words = texts, row.words
        pairs = zip(row.attributes, row.places, strict=True)
        self._attributes = [(name, domain.codes(texts=texts), *place) for (name, domain), place in pairs]

    def __getitem__(self, value: Any, /) -> Words:
        """The words of an object."""
        if self._texts:
            value = tables.members(value)
        if type(value) is not dict or len(value) != len(self._attributes):
            raise TypeError
        words = [0] * self._words
        for name, codes, word, weight in self._attributes:
            words[word] += codes[value[name]] * weight
        return tuple(words)

    def wrong(self, value: Any) -> Wrong | None:
        """No object; one that has not just these attributes; or what the first wrong attribute is."""
        try:
            found = tables.members(value) if self._texts else value
        except ValueError:
            return "type"
        if type(found) is not dict:
            return "type"
        if found.keys() != {name for name, *_ in self._attributes}:
            return "field"
        return next((wrong for name, codes, *_ in self._attributes if (wrong := codes.wrong(found[name]))), None)
