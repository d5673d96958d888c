# SPDX-License-Identifier: Apache-2.0
"""From murmurate.toml and the environment to a checked Deployment, or to a line a mistake: where, key, found, allowed.

Contract: MURMURATE__TABLE__KEY overrides a key of the file (lists and tables as JSON); a mistake names the line of the
file or the variable that is wrong, and never shows what stands under `secrets`, a password or a token.  Not here: what
is allowed (settings.py, streams.py; allowed.py finds it), which key stands on which line (lines.py), secrets
(secrets.py).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from murmurate.config.allowed import Steps, allowed, keys, measure_of, near, table
from murmurate.config.brokers import HIDDEN_KEYS
from murmurate.config.errors import ConfigError, Mistake, NotAllowedError
from murmurate.config.kinds import seen
from murmurate.config.lines import KeyLines, unfinished
from murmurate.config.plugins import use_named
from murmurate.config.settings import Deployment

FILE: Final = "murmurate.toml"
"""Where a deployment is described unless another file is named."""
PREFIX: Final = "MURMURATE__"
ENVIRONMENT: Final = "environment"
_TABLES: Final = frozenset({"model_type", "model_attributes_type", "dict_type"})
UNKNOWN: Final = "an unknown key"
_A_FILE: Final = "a file that `murmurate init` writes"
_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


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
    mistake = Mistake("", "", "TOML in UTF-8", where=str(path))
    content, text = b"", ""
    try:
        content = path.read_bytes()
        text = content.decode()
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        mistake = _no_toml(mistake, str(error), text)
    except UnicodeDecodeError as error:
        found = f"bytes that are not UTF-8 (byte {error.start})"
        mistake = replace(mistake, found=found, line=1 + content.count(b"\n", 0, error.start))
    except (ValueError, RecursionError):  # whole numbers of thousands of digits, thousands of brackets
        mistake = replace(mistake, found="more digits or brackets than can be read")
    except OSError as error:
        mistake = replace(mistake, found=f"a file that cannot be read ({error.strerror})")
    else:
        return _built(values, overrides, str(path), text)
    raise ConfigError([mistake])


def _no_toml(mistake: Mistake, said: str, text: str) -> Mistake:
    """What tomllib says, with the line where lines stand; of what never ends, the line on which it begins."""
    at = _AT_LINE.search(said)
    reason = _AT_LINE.sub("", said).rstrip(".")
    if at is None or at[1] is None:
        return replace(mistake, found=f"no TOML ({reason}, up to the end)", line=unfinished(text))
    return replace(mistake, found=f"no TOML ({reason}, column {at[2]})", line=int(at[1]))


def build(values: Mapping[str, Any], where: str = "deployment") -> Deployment:
    """The deployment that these values describe, spelled as in the file: for embedded runs and tests."""
    return _built(values, _Overrides({}), where)


class _Overrides:
    """The settings of the environment as a nested table, and the variables that set them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.values: dict[str, Any] = {}
        self._variables: dict[Steps, str] = {}
        mistakes = []
        for variable in sorted(environ):  # a table before the keys inside it
            if not variable.startswith(PREFIX):
                continue
            steps = tuple(variable.removeprefix(PREFIX).lower().split("__"))
            try:
                self._put(steps, _value(environ[variable]))
                self._variables[steps] = variable
            except ValueError as error:
                mistakes.append(
                    Mistake(
                        ".".join(steps), str(error), "a text, or JSON for a list or a table", ENVIRONMENT,
                        variable=variable,
                    )
                )  # fmt: skip
        if mistakes:
            raise ConfigError(mistakes)

    def _put(self, steps: Steps, value: Any) -> None:
        table = self.values
        for step in steps[:-1]:
            table = table.setdefault(step, {})
            if not isinstance(table, dict):
                raise ValueError("a key inside another variable's value")
        table[steps[-1]] = value

    def setting(self, steps: Steps) -> tuple[str, Steps] | None:
        """The variable that sets a key or what holds it, and the steps that it names."""
        found = [steps[:n] for n in range(len(steps), 0, -1) if steps[:n] in self._variables]
        return (self._variables[found[0]], found[0]) if found else None

    def inside(self, steps: Steps) -> list[tuple[str, Steps]]:
        """The variables that set keys inside a table."""
        return [(name, path) for path, name in self._variables.items() if path[: len(steps)] == steps]


def _value(text: str) -> Any:
    """A table or a list from its JSON; anything else stays a text, which every kind of value can read."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        raise ValueError("brackets that are no JSON") from None


def _built(values: Mapping[str, Any], overrides: _Overrides, where: str, text: str = "") -> Deployment:
    merged, places = _merged(values, overrides.values), _KeyPlaces(values, overrides, where, text)
    if refused := list(use_named(merged)):
        steps = [tuple(one.key.split(".")) for one in refused]
        raise ConfigError(placed for one, at in zip(refused, steps, strict=True) for placed in places.placed(one, at))
    Deployment.model_rebuild(force=True)  # with the measures that are registered by now, in less than a millisecond
    try:
        return Deployment.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_mistakes(error, places)) from None


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables, key by key where both have one; else what stands above holds."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


class _KeyPlaces:
    """Where each key was set: on a line of the file, or by a variable."""

    def __init__(self, values: Mapping[str, Any], overrides: _Overrides, where: str, text: str) -> None:
        self._values, self._overrides, self._where, self._lines = values, overrides, where, KeyLines(text)

    def placed(self, mistake: Mistake, place: Steps, steps: Steps = ()) -> list[Mistake]:
        """The mistake with its line or its variable; of a table that the environment alone has, with each of them.

        place: the key as in the file.  steps: as pydantic names it, of an unknown key.
        """
        setting = self._overrides.setting(place)
        if setting is not None:
            return [self._by_variable(mistake, place, steps, *setting)]
        if mistake.found == UNKNOWN and not self._in_file(place):
            return [self._by_variable(mistake, place, steps, *inside) for inside in self._overrides.inside(place)]
        meant = self._near(mistake, steps)
        return [replace(mistake, where=self._where, line=self._lines.of(place), near=".".join(meant))]

    def _by_variable(self, mistake: Mistake, place: Steps, steps: Steps, name: str, path: Steps) -> Mistake:
        meant = self._near(mistake, (*steps, *path[len(place) :]))
        right = ".".join((PREFIX + "__".join(meant[: len(path)]).upper(), *meant[len(path) :])) if meant else ""
        variable = ".".join((name, *place[len(path) :]))
        return replace(mistake, where=ENVIRONMENT, variable=variable, near=right)

    def _near(self, mistake: Mistake, steps: Steps) -> Steps:
        """The right key near an unknown one, as in the file; none if none is."""
        return _written((mistake.found == UNKNOWN and near(steps)) or ())

    def _in_file(self, place: Steps) -> bool:
        table: Any = self._values
        for step in place:
            if not isinstance(table, Mapping) or step not in table:
                return False
            table = table[step]
        return True


def _mistakes(error: ValidationError, places: _KeyPlaces) -> list[Mistake]:
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
            lines = [Mistake("", UNKNOWN, ", ".join(keys(steps[:-1]) or ["none"]))]
        elif kind == "missing":
            lines = [Mistake("", "nothing", allowed(steps))]
        elif kind in _TABLES:
            lines = [Mistake("", _sort(value), table(steps))]
        elif kind == "literal_error":
            lines = [Mistake("", seen(value), allowed(steps))]
        else:
            lines = [Mistake("", seen(value), detail["msg"])]
        written = _written(steps)
        for line in lines:
            place = (*written, *(line.key.split(".") if line.key else ()))
            shown = replace(line, found="(hidden)") if hidden and not _harmless(line) else line
            found += places.placed(shown.below(*written), place, steps)
    return list(dict.fromkeys(found))


def _written(steps: Steps) -> Steps:
    """A place as in the file, where no measure stands behind a stream's name."""
    return steps if measure_of(steps) is None else (*steps[:2], *steps[3:])


def _harmless(line: Mistake) -> bool:
    """Whether what was found is said in words of our own."""
    return line.found in (UNKNOWN, "nothing", "neither file nor env", "both file and env")


def _sort(value: object) -> str:
    """What stands where a table should be, without saying it: it might be a secret."""
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a single value"
