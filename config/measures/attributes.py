# SPDX-License-Identifier: Apache-2.0
"""How a deployment file declares attributes of users: texts, whole numbers, numbers in intervals; and tables of them.

Contract: an attribute is read or every mistake in it is reported in a line.  Not here: how tables and attributes have
to match (marginals.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from murmurate.aggregators.measures.attributes import Attribute
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import Flag, Kind, Text, Texts, WholeNumber, seen
from murmurate.config.measures.frequency import VALUE
from murmurate.config.quantities import Range
from murmurate.topics.release_parts import BETWEEN, MAX_NAMES

MAX_ATTRIBUTES: Final = 64
MAX_TABLES: Final = 16
MAX_TOGETHER: Final = 8
"""Attributes of one table."""
NAME: Final = Text(r"^[^\u0000-\u001f\u007f=]{1,64}$", 'a text of 1 to 64 printable characters without "="')
FORMS: Final = (
    'a list of values, { values = ["f", "m"], other = true }, { whole = [0, 99], cells = 10 } or '
    "{ range = [0, 1e5], cells = 20 }"
)
_WHOLE: Final = WholeNumber(-(10**9), 10**9)
_CELLS: Final = WholeNumber(2, MAX_NAMES)
_VALUES: Final = Texts(VALUE, 1, MAX_NAMES)
_KEYS: Final = {"values": ("values", "other"), "whole": ("whole", "cells"), "range": ("range", "cells")}


@dataclass(frozen=True)
class AttributesKind(Kind):
    """Attributes by name, in their order."""

    @property
    def allowed(self) -> str:
        """What such a table looks like."""
        return f"a table of 1 to {MAX_ATTRIBUTES} attributes, each {FORMS}"

    @property
    def schema(self) -> dict[str, Any]:
        """An object of lists and objects."""
        whole = {"type": "array", "items": _WHOLE.schema, "minItems": 2, "maxItems": 2}
        forms = (
            ({"values": _VALUES.schema, "other": Flag().schema}, ["values"]),
            ({"whole": whole, "cells": _CELLS.schema}, ["whole"]),
            ({"range": Range().schema, "cells": _CELLS.schema}, ["range", "cells"]),
        )
        objects = [
            {"type": "object", "properties": keys, "required": must, "additionalProperties": False}
            for keys, must in forms
        ]
        return {
            "type": "object", "propertyNames": NAME.schema, "minProperties": 1, "maxProperties": MAX_ATTRIBUTES,
            "additionalProperties": {"anyOf": [_VALUES.schema, *objects]},
        }  # fmt: skip

    def read(self, found: Any) -> tuple[Attribute, ...]:
        """The attributes."""
        table = orjson.loads(found) if isinstance(found, str) else found
        if not isinstance(table, Mapping) or not 1 <= len(table) <= MAX_ATTRIBUTES:
            raise ValueError
        attributes, mistakes = list[Attribute](), list[Mistake]()
        for name, declared in table.items():
            try:
                attributes.append(_attribute(str(name), declared))
            except NotAllowedError as error:
                mistakes += [mistake.below(str(name)) for mistake in error.mistakes]
        if mistakes:
            raise NotAllowedError(*mistakes)
        return tuple(attributes)


@dataclass(frozen=True)
class TablesKind(Kind):
    """Lists of attributes' names."""

    @property
    def allowed(self) -> str:
        """What they look like."""
        return (
            f"a list of 1 to {MAX_TABLES} tables, each a list of 1 to {MAX_TOGETHER} attributes, such as "
            '[["age", "sex"], ["plan"]]'
        )

    @property
    def schema(self) -> dict[str, Any]:
        """An array of arrays of texts."""
        table = {"type": "array", "items": NAME.schema, "minItems": 1, "maxItems": MAX_TOGETHER, "uniqueItems": True}
        return {"type": "array", "items": table, "minItems": 1, "maxItems": MAX_TABLES}

    def read(self, found: Any) -> tuple[tuple[str, ...], ...]:
        """The tables."""
        if not _listed(found, MAX_TABLES):
            raise ValueError
        for table in found:
            if not _listed(table, MAX_TOGETHER) or not all(isinstance(name, str) for name in table):
                raise ValueError
        return tuple(map(tuple, found))


def _listed(found: Any, most: int) -> bool:
    return isinstance(found, (list, tuple)) and 1 <= len(found) <= most


def _attribute(name: str, declared: Any) -> Attribute:
    """One attribute, or NotAllowedError with keys below its name."""
    try:
        NAME.read(name)
    except ValueError:
        raise NotAllowedError(Mistake("", f"the name {seen(name)}", NAME.allowed)) from None
    if BETWEEN in f" {name} ":
        raise NotAllowedError(Mistake("", f"the name {seen(name)}", _NO_BAR))
    if isinstance(declared, (list, tuple)):
        return _of_texts(name, declared, other=False, key="")
    form = next((form for form in _KEYS if isinstance(declared, Mapping) and form in declared), None)
    if form is None:
        raise NotAllowedError(Mistake("", seen(declared), FORMS))
    known = _KEYS[form]
    strange = [Mistake(str(key), "an unknown key", ", ".join(known)) for key in declared if key not in known]
    if strange:
        raise NotAllowedError(*strange)
    if form == "values":
        return _of_texts(
            name, declared["values"], other=_read("other", Flag(), declared.get("other", False)), key="values"
        )
    return _of_whole(name, declared) if form == "whole" else _of_range(name, declared)


def _read(key: str, kind: Kind, found: Any) -> Any:
    """What a kind makes of the value of a key."""
    try:
        return kind.read(found)
    except NotAllowedError as error:
        raise NotAllowedError(*(mistake.below(key) if key else mistake for mistake in error.mistakes)) from None
    except ValueError:
        raise NotAllowedError(Mistake(key, seen(found), kind.allowed)) from None


_NO_BAR: Final = f'texts without "{BETWEEN}", which stands between attributes in the name of a cell'


def _of_texts(name: str, found: Any, *, other: bool, key: str) -> Attribute:
    values = _read(key, _VALUES, found)
    mistakes = [*_wrong_texts(values, key, other=other)]
    if mistakes:
        raise NotAllowedError(*mistakes)
    return Attribute.of_texts(name, values, other=other)


def _wrong_texts(values: tuple[str, ...], key: str, *, other: bool) -> Iterator[Mistake]:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        yield Mistake(key, f"{', '.join(map(seen, twice))} more than once", "each value once")
    if other and "other" in values:
        yield Mistake(key, seen("other"), "other words: other = true adds this one")
    for value in values:
        if BETWEEN in f"{value} ":  # also at its end, where the next attribute follows
            yield Mistake(key, seen(value), _NO_BAR)
    if len(values) + other < 2:
        yield Mistake(key, f"{len(values)} value", "2 or more, other included")


def _of_whole(name: str, declared: Mapping[str, Any]) -> Attribute:
    ends = declared["whole"]
    if not isinstance(ends, (list, tuple)) or len(ends) != 2:
        raise NotAllowedError(Mistake("whole", seen(ends), "two whole numbers, the lower one first, such as [0, 99]"))
    low, high = (_read("whole", _WHOLE, end) for end in ends)
    if not low < high:
        raise NotAllowedError(Mistake("whole", f"[{low}, {high}]", "two whole numbers, the lower one first"))
    count = high - low + 1
    if "cells" not in declared and count > MAX_NAMES:
        raise NotAllowedError(Mistake("cells", "nothing", f"{_CELLS.allowed} that divides {count}, how many there are"))
    cells = _read("cells", _CELLS, declared.get("cells", count))
    if count % cells:
        allowed = f"a divisor of {count}, how many whole numbers there are from {low} to {high}"
        raise NotAllowedError(Mistake("cells", seen(cells), allowed))
    return Attribute.of_whole(name, low, high, cells)


def _of_range(name: str, declared: Mapping[str, Any]) -> Attribute:
    low, high = _read("range", Range(), declared["range"])
    if "cells" not in declared:
        raise NotAllowedError(Mistake("cells", "nothing", _CELLS.allowed))
    return Attribute.of_range(name, low, high, _read("cells", _CELLS, declared["cells"]))
