"""The kinds of measures that a deployment file may name: the one place where a kind is added.

Contract: `register` takes the class of a table, which knows its measure: from then on `measure = "NAME"` is read by it,
and a release of that name is known to whoever has only the word.  A measure may have a table for each model: the key
`model` says which one reads it, and left out it is "local".  Not here: what a kind is (aggregators/measures), what its
table says (stream.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import BeforeValidator, Discriminator, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from murmurate.aggregators.measures.registry import KINDS
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import seen
from murmurate.config.measures.distribution import DistributionStream
from murmurate.config.measures.frequency import FrequencyStream
from murmurate.config.measures.items import ItemsStream
from murmurate.config.measures.marginals import MarginalsStream
from murmurate.config.measures.mean import MeanStream
from murmurate.config.measures.stream import LOCAL, StreamTable
from murmurate.config.measures.strings import StringsStream
from murmurate.config.measures.total import TotalStream

TABLES: Final[dict[str, type[StreamTable]]] = {}
"""Every table by what it is called: the name of its measure, and after a dot its model where that is not "local"."""
Registered = TypeVar("Registered", bound=type[StreamTable])


def register(table: Registered) -> Registered:
    """Add a kind of measure, by the class of its table."""
    TABLES[called(table.measured.name, table.of_model)] = table
    if table.of_model == LOCAL:
        KINDS[table.measured.name] = table.measured
    else:
        KINDS.setdefault(table.measured.name, table.measured)
    return table


def called(measure: str, model: str) -> str:
    """What the table of this measure and model is called."""
    return measure if model == LOCAL else f"{measure}.{model}"


for _table in (
    FrequencyStream,
    MeanStream,
    TotalStream,
    DistributionStream,
    ItemsStream,
    MarginalsStream,
    StringsStream,
):
    register(_table)


class _Registered:
    """A stream's table is read by the class that its measure and model name, as they are when a file is read."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = None
        table: Any
        for name, table in TABLES.items():
            tagged = Annotated[table, Tag(name)]
            union = tagged if union is None else union | tagged
        return handler.generate_schema(Annotated[union, Discriminator(_reader), BeforeValidator(_known)])


def _known(found: Any) -> Any:
    """A stream of a known measure, and of a model that it has: of any other, no key is worth a word."""
    if isinstance(found, StreamTable):
        return found
    if not isinstance(found, Mapping):
        raise NotAllowedError(Mistake("", "a list" if isinstance(found, list) else "a single value", "a table"))
    measure, model = found.get("measure"), found.get("model")
    tables = [table for table in TABLES.values() if table.measured.name == measure]
    if not tables:
        names = dict.fromkeys(table.measured.name for table in TABLES.values())
        raise NotAllowedError(Mistake("measure", seen(measure), ", ".join(names)))
    models = [table.of_model for table in tables if "model" in table.model_fields]
    if models and (LOCAL if model is None else model) not in models:
        raise NotAllowedError(Mistake("model", seen(model), ", ".join(models)))
    return found


def _reader(found: Any) -> str | None:
    """What the table is called that reads a stream, or has read it: of a measure of one model, that one."""
    if isinstance(found, StreamTable):
        return called(found.measured.name, found.of_model)
    if not isinstance(found, Mapping):
        return None
    name = called(str(found.get("measure")), str(found.get("model", LOCAL)))
    return name if name in TABLES else str(found.get("measure"))


AnyStream = Annotated[StreamTable, _Registered()]
