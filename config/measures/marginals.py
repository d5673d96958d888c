# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures marginals: attributes, and which of them make tables."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Annotated, Any, Literal

from murmurate.aggregators.measures.attributes import Attribute
from murmurate.aggregators.measures.marginals import Marginals
from murmurate.aggregators.measures.measure import AUTO
from murmurate.config.errors import Mistake
from murmurate.config.kinds import seen
from murmurate.config.measures.attributes import AttributesKind, TablesKind
from murmurate.config.measures.wide import WideStream
from murmurate.config.streams import OneOf
from murmurate.randomizers.registry import oracles
from murmurate.topics.release_parts import MAX_NAME, MAX_NAMES, cell_names


class MarginalsStream(WideStream):
    """How several attributes of users go together: tables of shares, each from a part of the answers."""

    measured = Marginals
    measure: Literal["marginals"]
    """What is measured."""
    tables: Annotated[tuple[tuple[str, ...], ...], TablesKind()]
    """Each table by its attributes, in the order in which its cells are named."""
    attributes: Annotated[tuple[Attribute, ...], AttributesKind()]
    """What an event says, all of it: by name a list of values, { values = [...], other = true }, { whole = [0, 99],
    cells = 10 } or { range = [0, 1e5], cells = 20 }.
    """
    mechanism: Annotated[str, OneOf(AUTO, oracles)] = AUTO
    """What is asked of each table's cells; "auto": for each table the one with the smallest exact variance."""

    def statistic(self) -> Marginals:
        """Shares of its tables' cells."""
        return Marginals.of(self.attributes, self.tables, says_none=self.says_none)

    def meaning(self) -> dict[str, Any]:
        """Its attributes in their order, and its tables."""
        return {"attributes": [one.meaning() for one in self.attributes], "tables": self.tables}

    def _mistakes(self) -> Iterator[Mistake]:
        own = list(self._declared())
        yield from own
        if not own:  # else there is no measure to ask more
            yield from super()._mistakes()

    def _declared(self) -> Iterator[Mistake]:
        known = {one.name: one for one in self.attributes}
        before = dict[frozenset[str], int]()
        sizes = list[int]()
        for place, table in enumerate(self.tables):
            key = f"tables.{place}"
            strange = [name for name in table if name not in known]
            if strange:
                yield Mistake(key, seen(strange[0]), f"attributes that are declared: {_some(list(known))}")
                continue
            twice = [name for name in table if table.count(name) > 1]
            if twice:
                yield Mistake(key, f"{seen(twice[0])} more than once", "an attribute at most once a table")
                continue
            if (same := before.setdefault(frozenset(table), place)) != place:
                yield Mistake(key, f"the attributes of table {same}", "no table twice, in whatever order")
            yield from self._sized(key, [known[name] for name in table])
            sizes.append(prod(len(known[name].values) for name in table))
        if sum(sizes) > MAX_NAMES >= max(sizes):
            yield Mistake("tables", f"{sum(sizes)} cells in all tables", f"at most {MAX_NAMES}, as a release carries")
        used = {name for table in self.tables for name in table}
        for name in (name for name in known if name not in used):
            yield Mistake(f"attributes.{name}", "an attribute that no table names", "those of tables alone")

    def _sized(self, key: str, of: list[Attribute]) -> Iterator[Mistake]:
        cells = prod(len(one.values) for one in of)
        if cells > MAX_NAMES:
            sizes = " x ".join(str(len(one.values)) for one in of)
            yield Mistake(key, f"{sizes} = {cells} cells", f"at most {MAX_NAMES}, as a release carries")
            return
        longest = [[max(one.values, key=len)] for one in of]
        (name,) = cell_names([one.name for one in of], longest)
        if len(name) > MAX_NAME:
            yield Mistake(key, f"the name of a cell with {len(name)} characters", f"at most {MAX_NAME}")


def _some(names: list[str]) -> str:
    return ", ".join([*names[:8], *(["..."] if len(names) > 8 else [])])
