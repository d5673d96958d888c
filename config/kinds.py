# SPDX-License-Identifier: Apache-2.0
"""The kinds of values a key of the deployment file takes: what is allowed, in words, as a check and as JSON Schema.

Contract: `Annotated[int, WholeNumber(2, 10)]` reads a value or says what is allowed in one sentence; the same sentence
serves a missing key.  Numbers and flags may be texts, since the environment has only texts.  Not here: durations and
parts of the promise (quantities.py), what keys owe each other (streams.py, settings.py).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

import orjson
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.randomizers.errors import shown


class Kind(ABC):
    """A kind of value. `read` gives what the program uses; anything it raises as ValueError is a mistake."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, in words."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """What is allowed, as JSON Schema."""

    @abstractmethod
    def read(self, found: Any) -> Any:
        """The value, or ValueError."""

    def _checked(self, found: Any) -> Any:
        try:
            return self.read(found)
        except NotAllowedError:
            raise
        except ValueError:
            raise NotAllowedError(Mistake("", seen(found), self.allowed)) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, found: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return self.schema


def repeated(values: Iterable[str]) -> list[str]:
    """Those of the texts that stand there more than once, in their order."""
    return sorted(value for value, times in Counter(values).items() if times > 1)


def seen(found: object) -> str:
    """What was found, for a message: a single value as it is, anything larger by what it is."""
    if isinstance(found, Mapping):
        return "a table"
    if isinstance(found, (list, tuple)):
        return f"a list of {len(found)}"
    if isinstance(found, bool):
        return str(found).lower()
    if found is None:
        return "nothing"
    return shown(found) if isinstance(found, (str, int, float)) else str(found)  # TOML has dates and times, too


def written(default: Any) -> Any:
    """A default, as it would stand in the file."""
    return Field(default=default, validate_default=True)


def exactly(found: Any) -> Decimal:
    """A number exactly as it was written, or ValueError; booleans are none."""
    if isinstance(found, bool) or not isinstance(found, (int, float, str)):
        raise ValueError
    if isinstance(found, str) and not re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?", found):
        raise ValueError
    try:
        exact = Decimal(repr(found) if isinstance(found, float) else found)
    except InvalidOperation:
        raise ValueError from None
    if not exact.is_finite():
        raise ValueError
    return exact


@dataclass(frozen=True)
class WholeNumber(Kind):
    """A whole number from low to high."""

    low: int
    high: int

    @property
    def allowed(self) -> str:
        """Its range."""
        return f"a whole number from {self.low} to {self.high}"

    @property
    def schema(self) -> dict[str, Any]:
        """An integer in its range."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def read(self, found: Any) -> int:
        """The number; 3.0 is none."""
        exact = exactly(found)
        if isinstance(found, float) or exact.adjusted() > 30 or exact != int(exact):
            raise ValueError
        return between(int(exact), self.low, self.high)


def between(number: int, low: int, high: int) -> int:
    """The number, if it lies there."""
    if not low <= number <= high:
        raise ValueError
    return number


@dataclass(frozen=True)
class Number(Kind):
    """A number in a range that may leave out its ends."""

    low: float
    high: float
    with_low: bool = True

    @property
    def allowed(self) -> str:
        """Its range."""
        return f"a number {'from' if self.with_low else 'above'} {self.low:g}, below {self.high:g}"

    @property
    def schema(self) -> dict[str, Any]:
        """A number in its range."""
        return {
            "type": "number",
            "minimum" if self.with_low else "exclusiveMinimum": self.low,
            "exclusiveMaximum": self.high,
        }

    def read(self, found: Any) -> float:
        """The number."""
        number = float(exactly(found))
        if not (self.low < number or (self.with_low and number == self.low)) or not number < self.high:
            raise ValueError
        return number


@dataclass(frozen=True)
class AnyNumber(Kind):
    """A number; what else it must be depends on other keys."""

    @property
    def allowed(self) -> str:
        """That it is one."""
        return "a number"

    @property
    def schema(self) -> dict[str, Any]:
        """A number."""
        return {"type": "number"}

    def read(self, found: Any) -> float:
        """The number."""
        return float(exactly(found))


@dataclass(frozen=True)
class Text(Kind):
    """A text of a certain form."""

    pattern: str
    """The pattern that the text must match from end to end, in the common part of Python's and JSON Schema's patterns.
    """
    words: str
    """What the pattern allows, in words."""

    @property
    def allowed(self) -> str:
        """Its form in words."""
        return self.words

    @property
    def schema(self) -> dict[str, Any]:
        """A text of its form."""
        return {"type": "string", "pattern": self.pattern}

    def read(self, found: Any) -> str:
        """The text."""
        if not isinstance(found, str) or not re.fullmatch(self.pattern.removeprefix("^").removesuffix("$"), found):
            raise ValueError
        found.encode()  # half a surrogate pair is a ValueError, too
        return found


@dataclass(frozen=True)
class Texts(Kind):
    """A list of texts of one form."""

    item: Text
    low: int
    high: int

    @property
    def allowed(self) -> str:
        """How many, and of what form."""
        return f"a list of {self.low} to {self.high}, each {self.item.allowed}"

    @property
    def schema(self) -> dict[str, Any]:
        """An array of such texts."""
        return {"type": "array", "items": self.item.schema, "minItems": self.low, "maxItems": self.high}

    def read(self, found: Any) -> tuple[str, ...]:
        """The texts in order."""
        if not isinstance(found, (list, tuple)) or not self.low <= len(found) <= self.high:
            raise ValueError
        texts, mistakes = [], []
        for place, item in enumerate(found):
            try:
                texts.append(self.item.read(item))
            except ValueError:
                mistakes.append(Mistake(str(place), seen(item), self.item.allowed))
        if mistakes:
            raise NotAllowedError(*mistakes)
        return tuple(texts)


@dataclass(frozen=True)
class NumbersByName(Kind):
    """Numbers by name; from the environment as JSON."""

    @property
    def allowed(self) -> str:
        """What such a table looks like."""
        return "a table of numbers by name, such as { home = 0.2 }"

    @property
    def schema(self) -> dict[str, Any]:
        """An object of numbers."""
        return {"type": "object", "additionalProperties": {"type": "number"}}

    def read(self, found: Any) -> Mapping[str, float]:
        """The table."""
        table = orjson.loads(found) if isinstance(found, str) else found
        if not isinstance(table, Mapping):
            raise ValueError
        levels, mistakes = dict[str, float](), list[Mistake]()
        for name, level in table.items():
            try:
                levels[str(name)] = float(exactly(level))
            except ValueError:
                mistakes.append(Mistake(str(name), seen(level), "a number"))
        if mistakes:
            raise NotAllowedError(*mistakes)
        return MappingProxyType(levels)


@dataclass(frozen=True)
class Flag(Kind):
    """true or false."""

    @property
    def allowed(self) -> str:
        """Both of them."""
        return "true or false"

    @property
    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}

    def read(self, found: Any) -> bool:
        """The truth value."""
        if not isinstance(found, bool) and found not in ("true", "false"):
            raise ValueError
        return found is True or found == "true"
