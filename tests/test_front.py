# SPDX-License-Identifier: Apache-2.0
"""The front door: what is public is named, found by editors and type checkers, and loaded when it is used."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import murmurate as mm

HEAVY = ("aiokafka", "faust", "aiohttp", "pyarrow", "pandas", "polars", "numpy", "pydantic", "click", "rich")
PACKAGES = ("murmurate", "murmurate.agents", "murmurate.aggregators", "murmurate.config")


def loaded(code: str) -> set[str]:
    """Which of the heavy packages a program has loaded at its end."""
    program = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ended.stdout.split())


def test_the_import_loads_nothing_that_is_not_used() -> None:
    assert loaded("import murmurate; dir(murmurate); from murmurate import agents, aggregators, config") == set()


def test_who_replays_needs_neither_kafka_nor_the_web_nor_tables() -> None:
    found = loaded("import murmurate as mm; mm.replay; mm.table; mm.query; mm.subscribe; mm.Release; mm.__version__")
    assert found & {"aiokafka", "faust", "aiohttp", "pyarrow", "pandas", "polars"} == set()


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there_is_listed_and_is_known_to_type_checkers(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) <= set(dir(module))
    for public in module.__all__:
        assert getattr(module, public) is not None
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    known = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    known |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert set(module.__all__) <= known
    inner = {found.name for found in pkgutil.iter_modules(module.__path__)}
    taken = {one for one in module.__all__ if one in inner and not inspect.ismodule(getattr(module, one))}
    assert taken == set(), "an import of that module would put it in the place of the name"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def test_a_name_is_the_one_that_its_module_has() -> None:
    from murmurate.agents.library.replayed import replay
    from murmurate.agents.queries import query

    assert mm.replay is replay
    assert mm.query is query is importlib.import_module("murmurate.agents").query
    assert mm.__version__.count(".") == 2
