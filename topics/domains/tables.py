# SPDX-License-Identifier: Apache-2.0
"""How lists and objects stand in a cell of a table (CSV), where everything is text.

Contract: a cell that begins with [ or { is the JSON of the value.  Else a list is its items with | between them
(`home|help`), an object its members with | between them, each a name, = and what it says (`age=3|plan=pro`); a public
number stands at the end, behind @ (`age=3|plan=pro@12.5`).  Spaces around any of them are no part of it.  What needs |,
=, @ or an empty list is written as JSON (`[]`).  Not here: what an item or a member may say.
"""

from __future__ import annotations

from typing import Any

import orjson


def listed(cell: Any) -> Any:
    """The list in a cell. What is no text is left alone."""
    if type(cell) is not str:
        return cell
    if cell.startswith("["):
        return orjson.loads(cell)
    return [item.strip() for item in cell.split("|")]


def members(cell: Any, *, name_last: bool = False) -> Any:
    """The object in a cell; ValueError if it has a name twice. name_last: the name ends at the last =, not the first.
    What is no text is left alone.
    """
    if type(cell) is not str:
        return cell
    if cell.startswith("{"):
        return orjson.loads(cell)
    found: dict[str, str] = {}
    for member in cell.split("|"):
        name, equals, content = member.rpartition("=") if name_last else member.partition("=")
        if not equals or name.strip() in found:
            raise ValueError
        found[name.strip()] = content.strip()
    return found


def beside(cell: Any, value: str, number: str) -> Any:
    """The value and its public number in a cell, under these names. What is no text is left alone."""
    if type(cell) is not str:
        return cell
    if cell.startswith("{"):
        return orjson.loads(cell)
    first, at, last = cell.rpartition("@")
    if not at:
        raise ValueError
    return {value: first.strip(), number: last.strip()}
