# SPDX-License-Identifier: Apache-2.0
"""What is allowed at a place of the deployment file, by the classes that describe it; the right key near a wrong one.

Contract: a place is its steps from the top, as pydantic names them: a stream's measure stands behind its name.  Not
here: the checks themselves (settings.py, streams.py), how a mistake is said (errors.py).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from murmurate.config.brokers import FILE_OR_ENV, Secret
from murmurate.config.kinds import Kind
from murmurate.config.measures.declared import DeclaredStream
from murmurate.config.measures.registry import TABLES
from murmurate.config.settings import Deployment

Steps = tuple[str, ...]


def measure_of(steps: Steps) -> type[DeclaredStream] | None:
    """The class of a stream's table: pydantic puts the measure behind the stream's name, where the file has none."""
    return TABLES.get(steps[2]) if len(steps) > 2 and steps[0] == "streams" else None


def keys(steps: Steps) -> list[str]:
    """The keys of a table; none where there is no table."""
    return list(_fields(steps))


def near(steps: Steps) -> Steps | None:
    """The place that was probably meant, where some of these steps are no keys; None where nothing is like them."""
    meant: Steps = ()
    for step in steps:
        known = [] if meant[:1] == ("streams",) and measure_of((*meant, "")) is None else keys(meant)
        like = [step] if step in known or not known else get_close_matches(step, known, n=1)
        if not like:
            return None
        meant += (like[0],)
    return meant if meant != steps else None


def allowed(steps: Steps) -> str:
    """What is allowed for a key, from the class that describes it."""
    field = _fields(steps[:-1]).get(steps[-1])
    if field is None:
        return table(steps)
    kind = next((item for item in field.metadata if isinstance(item, Kind)), None)
    if kind is not None:
        return kind.allowed
    choices = next((get_args(part) for part in _parts(field.annotation) if get_origin(part) is Literal), None)
    return ", ".join(map(str, choices)) if choices else table(steps)


def table(steps: Steps) -> str:
    """What is allowed where a table has to be."""
    return FILE_OR_ENV if _model(steps) is Secret else "a table"


def _fields(steps: Steps) -> dict[str, FieldInfo]:
    """The keys of a table as in the file, and what describes each."""
    model = _model(steps)
    return {field.alias or name: field for name, field in model.model_fields.items()} if model else {}


def _model(steps: Steps) -> type[BaseModel] | None:
    """The class that describes a table of the file."""
    model: type[BaseModel] | None = Deployment
    inside_table_of_tables = False
    measure = measure_of(steps)
    if measure is not None:
        model, steps = measure, steps[3:]
    for step in steps:
        if inside_table_of_tables:  # the step is a stream's own name
            inside_table_of_tables = False
            continue
        field = model.model_fields.get(step) if model else None
        parts = _parts(field.annotation) if field else []
        inside_table_of_tables = field is not None and get_origin(field.annotation) is dict
        model = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)
    return model


def _parts(annotation: Any) -> list[Any]:
    """Everything an annotation is made of, itself first."""
    parts, inner = [annotation], get_args(annotation) if get_origin(annotation) is not Literal else ()
    for part in inner:
        parts += _parts(part)
    return parts
