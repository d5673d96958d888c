"""The kinds of measures that a deployment file may name: the one place where a kind is added.

Contract: `register` takes the class of a table, which knows its measure: from then on `measure = "NAME"` is read by it,
and a release of that name is known to whoever has only the word.  Not here: what a kind is (aggregators/measures), what
its table says (stream.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from murmurate.aggregators.measures.registry import KINDS
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import seen
from murmurate.config.measures.distribution import DistributionStream
from murmurate.config.measures.frequency import FrequencyStream
from murmurate.config.measures.items import ItemsStream
from murmurate.config.measures.marginals import MarginalsStream
from murmurate.config.measures.mean import MeanStream
from murmurate.config.measures.stream import StreamTable
from murmurate.config.measures.strings import StringsStream

TABLES: Final[dict[str, type[StreamTable]]] = {}
"""Every table by the name of its measure."""
Registered = TypeVar("Registered", bound=type[StreamTable])


def register(table: Registered) -> Registered:
    """Add a kind of measure, by the class of its table."""
    name = table.measured.name
    TABLES[name] = table
    KINDS[name] = table.measured
    return table


for _table in (FrequencyStream, MeanStream, DistributionStream, ItemsStream, MarginalsStream, StringsStream):
    register(_table)


class _Registered:
    """A stream's table is read by the class that its measure names, as they are when a file is read."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = None
        for table in TABLES.values():
            union = table if union is None else union | table
        return handler.generate_schema(Annotated[union, Field(discriminator="measure"), BeforeValidator(_known)])


def _known(found: Any) -> Any:
    """A stream of a known measure: of any other, no key is worth a word."""
    if isinstance(found, Mapping) and found.get("measure") not in TABLES:
        raise NotAllowedError(Mistake("measure", seen(found.get("measure")), ", ".join(TABLES)))
    return found


AnyStream = Annotated[StreamTable, _Registered()]
