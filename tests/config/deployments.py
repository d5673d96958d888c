# SPDX-License-Identifier: Apache-2.0
"""Deployments for tests: the shared example, and small ones as values."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from murmurate.config.errors import ConfigError
from murmurate.config.loader import build, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan

SHOP = Path(__file__).resolve().parent.parent / "data" / "shop.toml"
SMALL: dict[str, Any] = {
    "name": "shop",
    "privacy": {"epsilon": 2.0, "window": "1h"},
    "streams": {"screen": {"measure": "frequency", "values": ["home", "help"], "every": "1m"}},
}


def small(**changes: Any) -> dict[str, Any]:
    """SMALL with dotted keys changed, `__` for the dot; None removes a key. `screen__every` is the stream's."""
    values = copy.deepcopy(SMALL)
    for key, value in changes.items():
        *path, last = key.replace("screen__", "streams__screen__").split("__")
        table = values
        for step in path:
            table = table.setdefault(step, {})
        if value is None:
            del table[last]
        else:
            table[last] = value
    return values


def lines(**changes: Any) -> list[str]:
    """The mistakes in SMALL after these changes."""
    try:
        build(small(**changes), where="t")
    except ConfigError as error:
        return str(error).splitlines()
    return []


def shop(environ: dict[str, str] | None = None) -> Plan:
    """The shared example's plan."""
    return plan(load(SHOP, environ or {}))


def planned(**changes: Any) -> Plan:
    """The plan of SMALL after these changes."""
    return plan(build(small(**changes)))
