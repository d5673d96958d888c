# SPDX-License-Identifier: Apache-2.0
"""The house itself: packages listed, doctests run under the one import name, no module too long, every name
explained.
"""

import ast
import doctest
import graphlib
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import murmurate
from tests.cases import every

ROOT = Path(__file__).resolve().parent.parent
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


@cache
def parsed(path: Path) -> ast.Module:
    """A file's tree, read once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


FOLDERS: dict[str, str] = SETUP["package-dir"]


def packages() -> list[str]:
    return sorted(
        ".".join((name, *init.parent.relative_to(ROOT / folder).parts))
        for name, folder in FOLDERS.items()
        for init in (ROOT / folder).rglob("__init__.py")
    )


def modules() -> list[str]:
    names = [murmurate.__name__, "murmurate.errors"]
    for name in packages():
        path = importlib.import_module(name).__path__
        names += [name, *(f"{name}.{found.name}" for found in pkgutil.iter_modules(path) if found.name != "__main__")]
    return sorted(set(names))


def test_every_package_is_listed() -> None:
    assert packages() == sorted(SETUP["packages"])


def test_every_folder_of_the_design_is_there() -> None:
    for folder in (*FOLDERS.values(), "docker", "tests", "benchmarks", "docs"):
        assert any(path.is_file() for path in (ROOT / folder).rglob("*")), folder


def test_help_of_the_front_door_names_every_package_and_what_is_in_it() -> None:
    said = str(murmurate.__doc__)
    named = {line.split("`")[1] for line in said.splitlines() if line.startswith("`")}
    assert named == set(FOLDERS) - {murmurate.__name__}
    assert all(word in said for word in ("filter", "replay", "Kafka", "page", "metrics"))


@every("name", modules())
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@every("folder", sorted(FOLDERS.values()))
def test_no_module_is_too_long(folder: str) -> None:
    long = {p: n for p in (ROOT / folder).rglob("*.py") if (n := len(p.read_text().splitlines())) > 1 + 320}
    assert not long


LICENCE = "SPDX-License-Identifier: Apache-2.0"


def test_every_source_file_names_its_licence() -> None:
    git = shutil.which("git")
    assert git
    listed = subprocess.run(
        [git, "ls-files", "*.py", "*.js", "*.css", "*.sh"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split()]
    assert len(files) > 1000
    silent = [path for path in files if path.is_file() and LICENCE not in path.read_text(encoding="utf-8")[:100]]
    assert not silent


ONE_IDEA = {
    "Life": "where a Task stands: of the embedded runtime and of the one on Kafka",
    "StateRecord": "what a transaction says about a stage instance: of each of the two runtimes",
    "Task": "a stage instance with its inputs and its state: run by each of the two runtimes",
}
"""Names that two classes share, and what both are."""


def test_class_names_are_unique() -> None:
    found: dict[str, list[str]] = {}
    for folder in FOLDERS.values():
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: places for name, places in twice.items() if name not in ONE_IDEA} == {}
    assert set(ONE_IDEA) <= set(twice), "a name that only one class has needs no reason"


def test_no_module_imports_one_that_imports_it() -> None:
    known, imports = set(modules()), {}
    for name in known:
        tree = parsed(Path(str(importlib.import_module(name).__file__)))
        imports[name] = {
            inner if (inner := f"{node.module}.{alias.name}") in known else str(node.module)
            for node in tree.body  # as it is loaded: not inside functions, nor for types alone
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        } & (known - {name})
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(known)


BY_NAME = re.compile(r"measure (==|!=)|\.measure in|isinstance\(.*(Grid|Categories|ValueAndPresence)|measure ===")
"""Decisions by the name of what is measured, or by the class of what is declared or told."""


def test_only_a_measure_decides_by_what_is_measured() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{place}: {line.strip()}"
        for folder in FOLDERS.values()
        for path in sorted((ROOT / folder).rglob("*.*"))
        if path.suffix in (".py", ".js") and path.parent != ROOT / "aggregators" / "measures"
        for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BY_NAME.search(line)
    ]
    assert not found, "\n".join(found)


@every("name", modules())
def test_every_public_name_says_what_you_get(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} does not say what it is"
    silent = []
    for public, thing in vars(module).items():
        if public.startswith("_") or getattr(thing, "__module__", None) != name:
            continue
        if inspect.isclass(thing):
            silent += [
                f"{public}.{member}"
                for member, value in vars(thing).items()
                if not member.startswith("_")
                and (inspect.isfunction(value) or isinstance(value, (property, classmethod, staticmethod)))
                and not inspect.getdoc(getattr(thing, member))
            ]
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and not thing.__doc__:
            silent.append(public)
    assert not silent


WHOLE = re.compile(r'([A-Z0-9`"(+-]|[a-z]\w*[\[(^]).*[.!?][)"`]*', re.DOTALL)
"""Begins with a capital, a figure, code or a formula, and ends as a sentence does."""
GOES_ON = re.compile(r"(And|But|Or|So|Also|Of|The same|That|Those|It|Its|Their)\b")
"""Words that begin a docstring whose noun is to be found in the one above."""
LEANS = re.compile(r"(And|But|Or|So|Also|Of|The same)\b")
"""Those of them that a function's cannot begin with either: "its" and "that" are of the class, or of an argument."""


def explained(node: ast.AST, of: str = "") -> Iterator[tuple[str, int, str]]:
    """Every string that stands below an assignment, in classes, in functions and in modules: what an editor shows."""
    for part in ("body", "orelse", "finalbody"):
        body = getattr(node, part, None)
        for above, below in pairwise(body) if isinstance(body, list) else ():
            assigned = isinstance(above, ast.Assign | ast.AnnAssign)
            if assigned and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                yield of, below.lineno, str(below.value.value)
        for inner in body if isinstance(body, list) else ():
            yield from explained(inner, getattr(inner, "name", of))


@every("folder", sorted(FOLDERS.values()))
def test_what_explains_a_field_stands_by_itself(folder: str) -> None:
    """An editor shows one such string at a time, so none may go on where another one ends."""
    trees = {path: parsed(path) for path in sorted((ROOT / folder).rglob("*.py"))}
    found = [
        f"{path.relative_to(ROOT)}:{line} {of}: {text}"
        for path, tree in trees.items()
        for of, line, text in explained(tree)
        if not WHOLE.fullmatch(text.strip()) or GOES_ON.match(text)
    ]
    assert not found, f"{len(found)} of them do not:\n" + "\n".join(found)


@every("name", modules())
def test_what_explains_a_function_stands_by_itself(name: str) -> None:
    """An editor shows it where the function is called, not below the one before."""
    tree = parsed(Path(str(importlib.import_module(name).__file__)))
    each = [
        (node, ast.get_docstring(node) or "")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    found = [f"{name}:{node.lineno} {node.name}: {text}" for node, text in each if LEANS.match(text)]
    assert not found, "\n".join(found)


STEPS = re.compile(r"\b1\. .*\b2\. ", re.DOTALL)
"""A docstring that numbers its steps."""


@every("folder", sorted(FOLDERS.values()))
def test_a_function_of_more_than_forty_lines_numbers_its_steps(folder: str) -> None:
    trees = {path: parsed(path) for path in sorted((ROOT / folder).rglob("*.py"))}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 40
        and not STEPS.search(ast.get_docstring(node) or "")
    ]
    assert not found


def test_the_constraints_name_every_dependency_and_no_index() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in text.splitlines() if "==" in line}
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra if not one.startswith("murmurate["))]
    names = {line.replace("[", ">").split(">")[0].split(";")[0].strip().lower() for line in wanted}
    assert names <= pinned
    assert "://" not in text
    assert "--" not in text.replace("pip install --constraint", "")


def test_no_tracked_file_names_a_path_of_this_machine() -> None:
    # `git grep` knows what is tracked; -I leaves binary files out.
    git = shutil.which("git")
    assert git
    found = subprocess.run(
        [git, "grep", "-nIF", "-e", str(ROOT) + "/", "-e", str(Path.home()) + "/"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stdout


def test_what_a_methods_options_are_is_asked_by_their_names() -> None:
    """No code reads options out of a mapping: who adds one is told by the type checker where it is used."""
    wanted = re.compile(r"\bmethod(\.get\(|\[)|\bspec\[")
    sources = [path for folder in FOLDERS.values() for path in (ROOT / folder).rglob("*.py")]
    lines = [(path.name, line) for path in sources for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(name, line) for name, line in lines if wanted.search(line)] == []
