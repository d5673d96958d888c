# SPDX-License-Identifier: Apache-2.0
"""What a page has to know of releases whose deployment file is not at hand: the header, from the records alone.

Contract: says nothing that the releases do not show, so that it has no promise, no `min_batch` and no warning.  Names
are in the order of their tables or of the range where there is one, else as they are first met.  Not here: the header
of a deployment (agents/page_header.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from murmurate.aggregators.measures.figure_kinds import figure_kind, page_question
from murmurate.aggregators.measures.registry import KINDS
from murmurate.topics.release_parts import Table

PROMISE = "These releases were recorded. What each of them promises stands below its figures."


def recorded_header(releases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first frame of a page of these releases."""
    newest = {str(release["stream"]): release for release in releases}
    names: dict[str, dict[str, None]] = {stream: {} for stream in newest}
    for release in releases:
        names[release["stream"]] |= dict.fromkeys(release["estimate"])
    return {
        "type": "hello", "deployment": next(iter(newest.values()))["deployment"], "promise": [PROMISE], "curator": [],
        "mode": "replay", "serve_all": False,
        "streams": [_spec(release, list(names[stream])) for stream, release in newest.items()],
    }  # fmt: skip


def _spec(release: Mapping[str, Any], found: list[str]) -> dict[str, Any]:
    """A stream as its newest release shows it."""
    central, measure, unit = "central" in release, str(release["measure"]), release.get("unit")
    kind = KINDS.get(measure)
    ordered = kind is not None and kind.ordered and release.get("range") is not None
    names, tables = _in_order(release, found, ordered=ordered)
    question = page_question(measure, names, central=central)
    names.sort(key=lambda name: name != question["main"])  # the others keep their order
    if tables is None and not central:
        names, tables = _by_kind(measure, names)
    numbers = [name for name in names if figure_kind(measure, name, central=central) != "share"]
    one, many = ("Stretch", "Stretches") if ordered else ("Name", "Names")
    behind = f" in {unit}" if ordered and unit else ""
    said = {
        "name": release["stream"], "names": [] if release.get("names") == "found" else names,
        "every_ms": _milliseconds(release["end"]) - _milliseconds(release["start"]), "periods": None,
        "measure": measure, "of": f"{len(names)} figures", "one": one + behind, "many": many + behind,
        "ordered": ordered, "ranked": bool(kind and kind.ranked) or (central and not unit), "shaped": False,
        "numbers": numbers, "unit": unit, "range": release.get("range"), "thresholds": _thresholds(release),
        "min_batch": 0, "warning": None, "method": release["method"]["name"],
        **question,
    }  # fmt: skip
    if tables is not None:
        said["tables"] = tables
    if central:
        kinds = {name: figure_kind(measure, name, central=True) for name in names}
        units = {name: unit or "" if kind == "total" else "" for name, kind in kinds.items()}
        return said | {"central": True, "range": None, "epsilon": release["central"]["epsilon"], "units": units}
    return said | {"w": release["privacy"]["w"], "epsilon": release["privacy"]["epsilon"]}


def _in_order(
    release: Mapping[str, Any], found: list[str], *, ordered: bool
) -> tuple[list[str], list[dict[str, Any]] | None]:
    """The names in the order in which a page shows them, and the tables that they make."""
    if "tables" in release:
        shapes = [Table.model_validate(table, strict=False) for table in release["tables"]]
        names = [name for table in shapes for name in table.names]
        return names, [{"title": " | ".join(table.of), "cells": len(table.names)} for table in shapes]
    return (sorted(found, key=_beginning) if ordered else found), None


def _by_kind(measure: str, names: list[str]) -> tuple[list[str], list[dict[str, Any]] | None]:
    """Where several numbers stand beside several shares: a table of each kind, since they have no axis in common."""
    shares = [name for name in names if figure_kind(measure, name, central=False) == "share"]
    numbers = [name for name in names if name not in set(shares)]
    if min(len(shares), len(numbers)) < 2:
        return names, None
    return numbers + shares, [
        {"title": title, "cells": len(of)} for title, of in (("Numbers", numbers), ("Shares", shares))
    ]


def _beginning(name: str) -> float:
    """Where a stretch begins; what is no stretch comes last.

    >>> sorted(["none", "[10, 20)", "[2, 10)"], key=_beginning)
    ['[2, 10)', '[10, 20)', 'none']
    """
    try:
        return float(name.lstrip("[").partition(",")[0])
    except ValueError:
        return float("inf")


def _thresholds(release: Mapping[str, Any]) -> dict[str, float]:
    return {name: told["threshold"] for name, told in release.get("thresholds", {}).items()}


def _milliseconds(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)
