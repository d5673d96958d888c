# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of the deployment file, from the class that reads it: for editors and other people's checks.

It says what types and ranges can say. What keys owe each other, such as shares that add up, only `murmurate check`
knows.
"""

import ast
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from murmurate.config.settings import Deployment
from murmurate.config.streams import ConfigTable
from murmurate.topics.schemas import DIALECT


def schema() -> dict[str, Any]:
    """The schema of a murmurate.toml, read as JSON."""
    Deployment.model_rebuild(force=True)  # with the kinds of measures that are registered by now
    found = Deployment.model_json_schema()
    tables = found["$defs"] | {Deployment.__name__: found}
    for table in _tables(ConfigTable):
        keys = tables.get(table.__name__, {}).get("properties", {})
        said = _docstrings(table)
        for name, field in table.model_fields.items():
            key = field.alias or name
            if name in said and key in keys:
                keys[key] = dict(sorted({**keys[key], "description": said[name]}.items()))
    return {"$schema": DIALECT, **_plain(found)}


def _tables(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """All kinds of tables."""
    for each in kind.__subclasses__():
        yield each
        yield from _tables(each)


def _docstrings(table: type[BaseModel]) -> dict[str, str]:
    """What the source says below each key. Read here alone: it takes as long as all else that a table's class needs."""
    said = dict[str, str]()
    for each in reversed(table.__mro__):
        if not issubclass(each, ConfigTable):
            continue
        (made,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(each))).body
        for key, below in itertools.pairwise(getattr(made, "body", [])):
            match key, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    said[name] = inspect.cleandoc(text)
                case ast.AnnAssign(target=ast.Name(id=name)), _:
                    said.pop(name, None)
    return said


def _plain(found: Any, named: bool = True) -> Any:
    """Without pydantic's invented titles and without null, which TOML does not have: such a key is left out."""
    if isinstance(found, list):
        return [_plain(item) for item in found]
    if not isinstance(found, dict):
        return found
    parts = found.get("anyOf", [])
    if named and {"type": "null"} in parts:
        rest = [part for part in parts if part != {"type": "null"}]
        one = rest[0] if len(rest) == 1 else {"anyOf": rest}
        found = {key: item for key, item in found.items() if key not in ("anyOf", "default")} | one
    plain = {
        key: _plain(item, key not in ("properties", "$defs"))
        for key, item in found.items()
        if not (named and (key == "title" or (key == "default" and isinstance(item, dict))))
    }
    return plain | {"additionalProperties": False} if "patternProperties" in plain else plain
