# SPDX-License-Identifier: Apache-2.0
"""The kinds of measures that a deployment file may name: the one place where a kind is added.

Contract: `register` takes the class of a table, which knows its measure: from then on `measure = "NAME"` is read by it,
and a release of that name is known to whoever has only the word.  Not here: what a kind is (aggregators/measures), what
its table says (stream.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import BeforeValidator, Discriminator, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from murmurate.aggregators.measures.registry import KINDS
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import seen
from murmurate.config.measures.central import CentralStream, CentralTotalStream, EventCountStream
from murmurate.config.measures.declared import LOCAL, DeclaredStream
from murmurate.config.measures.distribution import DistributionStream
from murmurate.config.measures.found_items import FoundItemsStream
from murmurate.config.measures.frequency import FrequencyStream
from murmurate.config.measures.items import ItemsStream
from murmurate.config.measures.marginals import MarginalsStream
from murmurate.config.measures.mean import MeanStream
from murmurate.config.measures.strings import StringsStream
from murmurate.config.measures.total import TotalStream
from murmurate.config.measures.vector import VectorStream

TABLES: Final[dict[str, type[DeclaredStream]]] = {}
"""Every table by the name of its measure; that of a central stream, where there is a local one of the measure too, by
"NAME.central", and that of a stream that has to say what to find by "NAME.found".
"""
Registered = TypeVar("Registered", bound=type[DeclaredStream])
CENTRAL: Final = "central"
FOUND: Final = "found"


def register(table: Registered) -> Registered:
    """Add a kind of measure, by the class of its table."""
    name, kind, second = table.measured.name, table.measured, _second(table)
    TABLES[f"{name}.{second}" if second else name] = table
    KINDS[name] = KINDS.get(name, kind) if second else kind
    return table


def _second(table: type[DeclaredStream]) -> str:
    """The word behind the measure's name in the key of a table, where the measure has several."""
    if issubclass(table, CentralStream):
        return CENTRAL
    found = table.model_fields.get("find")
    return FOUND if found is not None and found.is_required() else ""


for _table in (
    FrequencyStream, MeanStream, TotalStream, DistributionStream, ItemsStream, MarginalsStream, StringsStream,
    VectorStream, CentralTotalStream, EventCountStream, FoundItemsStream,
):  # fmt: skip
    register(_table)


def key_of(found: Mapping[str, Any]) -> str:
    """The key in TABLES of the table that reads a stream: by its measure, and by whether it is central, or says what
    to find. Of a measure that is central alone it is that table, so that a stream without `model` is told to say it.
    """
    name = str(found.get("measure"))
    central = f"{name}.{CENTRAL}"
    if "find" in found and f"{name}.{FOUND}" in TABLES:
        return f"{name}.{FOUND}"
    return central if central in TABLES and (found.get("model") == CENTRAL or name not in TABLES) else name


class _Registered:
    """A stream's table is read by the class that its measure names, as they are when a file is read."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = None
        annotated: Any = Annotated  # of a class that is known when it runs
        for key, table in TABLES.items():
            one = annotated[table, Tag(key)]
            union = one if union is None else union | one
        return handler.generate_schema(Annotated[union, Discriminator(_read_by), BeforeValidator(_known)])


def _read_by(found: Any) -> str | None:
    """The key of the table that reads a stream, or has read it."""
    if isinstance(found, DeclaredStream):
        return next((key for key, table in TABLES.items() if type(found) is table), None)
    return key_of(found) if isinstance(found, Mapping) else None


def _known(found: Any) -> Any:
    """A stream of a known measure, and of a model that it has: of any other, no key is worth a word."""
    names = list(dict.fromkeys(key.partition(".")[0] for key in TABLES))
    if isinstance(found, Mapping) and found.get("measure") not in names:
        raise NotAllowedError(Mistake("measure", seen(found.get("measure")), ", ".join(names)))
    if not isinstance(found, (Mapping, DeclaredStream)):
        raise NotAllowedError(Mistake("", "a list" if isinstance(found, list) else "a single value", "a table"))
    if isinstance(found, Mapping):
        model, tables = found.get("model"), [one for one in TABLES.values() if one.measured.name == found["measure"]]
        models = [table.of_model for table in tables if "model" in table.model_fields]
        if models and (LOCAL if model is None else model) not in models:
            raise NotAllowedError(Mistake("model", seen(model), ", ".join(models)))
    return found


AnyStream = Annotated[DeclaredStream, _Registered()]
