# SPDX-License-Identifier: Apache-2.0
"""Programs of the docs, of notebooks and of pages, run here as a reader would run them: one after the other, in one
process, `await` at the top included.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def cells(notebook: Path) -> list[str]:
    """The code of a notebook's cells."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def run(programs: Sequence[str], name: str) -> list[Any]:
    """What the last line of each program says, as a notebook shows it; None where it is no expression."""
    return asyncio.run(_run(programs, name))


async def _run(programs: Sequence[str], name: str) -> list[Any]:
    space: dict[str, Any] = {"__name__": "__main__"}
    return [await _one(program, f"{name}, cell {number}", space) for number, program in enumerate(programs, 1)]


async def _one(program: str, name: str, space: dict[str, Any]) -> Any:
    tree, shown = ast.parse(program, name), None
    if isinstance(tree.body[-1], ast.Expr):
        shown = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    await _done(compile(tree, name, "exec", flags=FLAGS), space)
    return None if shown is None else await _done(compile(shown, name, "eval", flags=FLAGS), space)


async def _done(code: CodeType, space: dict[str, Any]) -> Any:
    found = eval(code, space)  # noqa: S307 - what we publish
    return await found if inspect.iscoroutine(found) else found
