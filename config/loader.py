# SPDX-License-Identifier: Apache-2.0
"""From murmurate.toml and the environment to a checked Deployment, or to one line a mistake: key, found, allowed.

Contract: MURMURATE__TABLE__KEY overrides a key of the file (lists and tables as JSON); a mistake never shows what
stands under `secrets`, a password or a token.  Not here: what is allowed (settings.py, streams.py), secrets
(secrets.py).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import orjson
from pydantic import BaseModel, ValidationError

from murmurate.config.brokers import FILE_OR_ENV, HIDDEN_KEYS, Secret
from murmurate.config.errors import ConfigError, Mistake, NotAllowedError
from murmurate.config.kinds import Kind, seen
from murmurate.config.measures.declared import DeclaredStream
from murmurate.config.measures.registry import TABLES
from murmurate.config.plugins import use_named
from murmurate.config.settings import Deployment

FILE: Final = "murmurate.toml"
"""Where a deployment is described unless another file is named."""
PREFIX: Final = "MURMURATE__"
ENVIRONMENT: Final = "environment"
_TABLES: Final = frozenset({"model_type", "model_attributes_type", "dict_type"})
_A_FILE: Final = "a file that `murmurate init` writes"

Steps = tuple[str, ...]


def load(path: Path | str = FILE, environ: Mapping[str, str] | None = None) -> Deployment:
    """The deployment that a file and the environment describe.

    The file may be absent where the environment names the deployment.
    """
    path = Path(path)
    environment = os.environ if environ is None else environ
    overrides = _Overrides(environment)
    if not path.exists() and "name" in overrides.values:
        return _built({}, overrides, str(path))
    if not path.is_file():
        found = "something that is no file" if path.exists() else "no such file"
        raise ConfigError([Mistake("", found, _A_FILE, where=str(path))])
    try:
        values = tomllib.loads(path.read_bytes().decode())
    except tomllib.TOMLDecodeError as error:
        found = f"no TOML ({str(error).rstrip('.')})"
    except UnicodeDecodeError as error:
        found = f"bytes that are not UTF-8 (byte {error.start})"
    except (ValueError, RecursionError):  # whole numbers of thousands of digits, thousands of brackets
        found = "more digits or brackets than can be read"
    except OSError as error:
        found = f"a file that cannot be read ({error.strerror})"
    else:
        return _built(values, overrides, str(path))
    raise ConfigError([Mistake("", found, "TOML in UTF-8", where=str(path))])


def build(values: Mapping[str, Any], where: str = "deployment") -> Deployment:
    """The deployment that these values describe, spelled as in the file: for embedded runs and tests."""
    return _built(values, _Overrides({}), where)


class _Overrides:
    """The settings of the environment as a nested table, and the keys that it sets."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.values: dict[str, Any] = {}
        self.paths: set[Steps] = set()
        mistakes = []
        for variable in sorted(environ):  # a table before the keys inside it
            if not variable.startswith(PREFIX):
                continue
            steps = tuple(variable.removeprefix(PREFIX).lower().split("__"))
            try:
                self._put(steps, _value(environ[variable]))
            except ValueError as error:
                mistakes.append(Mistake(variable, str(error), "a text, or JSON for a list or a table", ENVIRONMENT))
        if mistakes:
            raise ConfigError(mistakes)

    def _put(self, steps: Steps, value: Any) -> None:
        table = self.values
        for step in steps[:-1]:
            table = table.setdefault(step, {})
            if not isinstance(table, dict):
                raise ValueError("a key inside another variable's value")
        table[steps[-1]] = value
        self.paths.add(steps)

    def where(self, steps: Steps, otherwise: str) -> str:
        """Whether a key came from the environment."""
        return ENVIRONMENT if any(steps[: len(path)] == path for path in self.paths) else otherwise


def _value(text: str) -> Any:
    """A table or a list from its JSON; anything else stays a text, which every kind of value can read."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        raise ValueError("brackets that are no JSON") from None


def _built(values: Mapping[str, Any], overrides: _Overrides, where: str) -> Deployment:
    merged = _merged(values, overrides.values)
    if refused := list(use_named(merged)):
        raise ConfigError(one.below(where=overrides.where(tuple(one.key.split(".")), where)) for one in refused)
    Deployment.model_rebuild(force=True)  # with the measures that are registered by now, in less than a millisecond
    try:
        return Deployment.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_mistakes(error, overrides, where)) from None


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables, key by key where both have one; else what stands above holds."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


def _mistakes(error: ValidationError, overrides: _Overrides, where: str) -> list[Mistake]:
    """Pydantic's errors as lines, in its order; each line once."""
    found: list[Mistake] = []
    for detail in error.errors(include_url=False):
        # "[key]" marks an error about a table's name
        steps = tuple(str(step) for step in detail["loc"] if step != "[key]")
        hidden = "secrets" in steps or not HIDDEN_KEYS.isdisjoint(steps)
        kind, value, ctx = detail["type"], detail["input"], detail.get("ctx", {})
        cause = ctx.get("error")
        if isinstance(cause, NotAllowedError):
            lines = list(cause.mistakes)
        elif kind == "extra_forbidden":
            lines = [Mistake("", "an unknown key", ", ".join(_keys(steps[:-1])))]
        elif kind == "missing":
            lines = [Mistake("", "nothing", _allowed(steps))]
        elif kind in _TABLES:
            lines = [Mistake("", _sort(value), _table(steps))]
        elif kind == "literal_error":
            lines = [Mistake("", seen(value), _allowed(steps))]
        else:
            lines = [Mistake("", seen(value), detail["msg"])]
        written = steps if _measure(steps) is None else (*steps[:2], *steps[3:])
        for line in lines:
            place = (*written, *(line.key.split(".") if line.key else ()))
            shown = Mistake(line.key, "(hidden)" if hidden and not _harmless(line) else line.found, line.allowed)
            found.append(shown.below(*written, where=overrides.where(place, where)))
    return list(dict.fromkeys(found))


def _measure(steps: Steps) -> type[DeclaredStream] | None:
    """The class of a stream's table: pydantic puts the measure behind the stream's name, where the file has none."""
    return TABLES.get(steps[2]) if len(steps) > 2 and steps[0] == "streams" else None


def _harmless(line: Mistake) -> bool:
    """Whether what was found is said in words of our own."""
    return line.found in ("an unknown key", "nothing", "neither file nor env", "both file and env")


def _sort(value: object) -> str:
    """What stands where a table should be, without saying it: it might be a secret."""
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a single value"


def _keys(steps: Steps) -> list[str]:
    model = _model(steps)
    return [field.alias or name for name, field in model.model_fields.items()] if model else ["none"]


def _allowed(steps: Steps) -> str:
    """What is allowed for a key, from the class that describes it."""
    model = _model(steps[:-1])
    fields = {field.alias or name: field for name, field in model.model_fields.items()} if model else {}
    field = fields.get(steps[-1])
    if field is None:
        return _table(steps)
    kind = next((item for item in field.metadata if isinstance(item, Kind)), None)
    if kind is not None:
        return kind.allowed
    choices = next((get_args(part) for part in _parts(field.annotation) if get_origin(part) is Literal), None)
    return ", ".join(map(str, choices)) if choices else _table(steps)


def _table(steps: Steps) -> str:
    return FILE_OR_ENV if _model(steps) is Secret else "a table"


def _model(steps: Steps) -> type[BaseModel] | None:
    """The class that describes a table of the file."""
    model: type[BaseModel] | None = Deployment
    inside_table_of_tables = False
    measure = _measure(steps)
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
