# SPDX-License-Identifier: Apache-2.0
"""Mechanisms, views, methods and measures of other packages, found by their entry points.

    [project.entry-points."murmurate.mechanisms"]      class of a Question, such as a Mechanism
    [project.entry-points."murmurate.views"]           class of a View
    [project.entry-points."murmurate.methods"]         class of a MethodBase
    [project.entry-points."murmurate.measures"]        class of a stream's table, which knows its measure

Contract: the name of the entry point is the name in a deployment file.  No code of a package runs before a file names
something of it, or somebody asks for all; then the whole package is loaded, audited (plugin_checks.py) and made known,
or refused with one line.  Murmurate's own names are never given away, and of two packages with the same name neither
gets it.  Not here: what each class has to have (docs/PLUGINS.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from murmurate.aggregators.methods.registry import add_method, names
from murmurate.config.errors import Mistake
from murmurate.config.measures.registry import TABLES, register
from murmurate.config.plan import AnyStreamPlan, StreamPlan
from murmurate.config.plugin_checks import fault_of
from murmurate.randomizers.errors import shown
from murmurate.randomizers.registry import VIEWS, add_question, add_view, taken_names

KINDS: Final = ("mechanism", "view", "method", "measure")
"""The kinds of things that a package may add, in the order in which they are loaded."""


@dataclass(frozen=True)
class Plugin:
    """One thing that another package adds."""

    kind: str
    name: str
    package: str
    version: str
    entry: EntryPoint = field(repr=False, compare=False)

    @property
    def origin(self) -> str:
        """The package with its version."""
        return f"{self.package} {self.version}"


_FAULTS: Final[dict[Plugin, str | None]] = {}
"""Every plugin that was tried, with the reason why it is refused, or None where it is in use."""


_ADD: Final[Mapping[str, Callable[[Any], object]]] = {
    "mechanism": add_question, "view": add_view, "method": add_method, "measure": register,
}  # fmt: skip


@cache
def installed() -> tuple[Plugin, ...]:
    """Everything that the packages of this environment add, without running any of it."""
    return tuple(
        Plugin(
            kind, entry.name, entry.dist.name if entry.dist else "?", entry.dist.version if entry.dist else "?", entry
        )
        for kind in KINDS
        for entry in sorted(entry_points(group=f"murmurate.{kind}s"), key=lambda one: (one.name, one.value))
    )


def use_name(kind: str, name: str) -> None:
    """Load the packages that add something of this kind and name, if there are any and nothing of ours has it."""
    for plugin in installed():
        if (plugin.kind, plugin.name) == (kind, name):
            use(plugin.package)


def use_named(file: Mapping[str, Any]) -> Iterator[Mistake]:
    """Load the packages of which the values of a deployment file name something; a mistake for each name that cannot
    be used, with the keys of the file.
    """
    if not installed():
        return
    for stream, kind, name in _named(file):
        if name in _own(kind):
            continue
        use_name(kind, name)
        refused = [one for one, fault in _FAULTS.items() if fault and (one.kind, one.name) == (kind, name)]
        for plugin in refused[:1]:
            found = f"{shown(name)} of {plugin.origin}, which is refused: it {_FAULTS[plugin]}"
            yield Mistake(f"streams.{stream}.{kind}", found, f"a {kind} that can be used")


def use(package: str | None = None) -> Mapping[Plugin, str | None]:
    """Load a package's plugins, or those of all packages: each with the reason why it is refused, or None."""
    for plugin in installed():
        if plugin not in _FAULTS and package in (None, plugin.package):
            _FAULTS[plugin] = _load(plugin)
    return {plugin: _FAULTS[plugin] for plugin in installed() if plugin in _FAULTS}


def origin(kind: str, name: str) -> str | None:
    """The package with its version, of something that another package added and that is in use."""
    return next(
        (one.origin for one, fault in _FAULTS.items() if fault is None and (one.kind, one.name) == (kind, name)), None
    )


def foreign_parts(stream: AnyStreamPlan) -> list[tuple[str, str, str]]:
    """What of a stream another package added: kind, name, and the package with its version."""
    named = {"measure": stream.measure.name}
    if isinstance(stream, StreamPlan):
        named |= {"mechanism": stream.mechanism, "method": stream.method.name}
    return [(kind, name, of) for kind, name in named.items() if (of := origin(kind, name)) is not None]


def _load(plugin: Plugin) -> str | None:
    """Make it known, or say why not."""
    if plugin.name in _own(plugin.kind):
        return f"has the name of a {plugin.kind} that Murmurate has"
    rivals = {one.package for one in installed() if (one.kind, one.name) == (plugin.kind, plugin.name)} - {
        plugin.package
    }
    if rivals:
        return f"has the name of a {plugin.kind} of {', '.join(sorted(rivals))}"
    try:
        found = plugin.entry.load()
    except (Exception, SystemExit) as error:
        return f"raises {type(error).__name__} when it is imported: {shown(str(error))}"
    fault = fault_of(plugin.kind, plugin.name, found)
    if fault is None:
        _ADD[plugin.kind](found)
    return fault


def _own(kind: str) -> frozenset[str]:
    """The names of a kind that were here before any package came."""
    every = {
        "mechanism": {*taken_names(), "auto"}, "view": VIEWS, "method": names(),
        "measure": {key.partition(".")[0] for key in TABLES},
    }[kind]  # fmt: skip
    return frozenset(every) - {one.name for one, fault in _FAULTS.items() if fault is None and one.kind == kind}


def _named(file: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Stream, kind and name of everything that a file's streams name."""
    streams = file.get("streams")
    for stream, table in streams.items() if isinstance(streams, Mapping) else ():
        for kind in ("mechanism", "method", "measure") if isinstance(table, Mapping) else ():
            found = table.get(kind)
            found = found.get("name") if isinstance(found, Mapping) else found
            if isinstance(found, str):
                yield str(stream), kind, found
