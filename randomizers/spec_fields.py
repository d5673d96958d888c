# SPDX-License-Identifier: Apache-2.0
"""The reading of specs: the fields of a table, and lists, before anything is built of them.

Contract: what does not fit is a ParameterError of one line.  Not here: what fields mean (registry.py,
sessions/specs.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from murmurate.randomizers.errors import ParameterError, shown


def fields(name: str, spec: Any, *needed: str) -> Mapping[str, Any]:
    """The fields of a spec, if it is a table with these keys besides its name and no others."""
    if not isinstance(spec, Mapping):
        raise ParameterError(f"{name}: found {shown(spec)}; allowed: a table with a name and {', '.join(needed)}")
    if spec.keys() != {"name", *needed}:
        found = ", ".join(map(shown, sorted(map(str, spec.keys() - {"name"}))))
        raise ParameterError(f"{name}: found {shown(found)}; allowed: {', '.join(needed)}")
    return spec


def listed(where: str, found: Any) -> Sequence[Any]:
    """The entries of a list."""
    if not isinstance(found, (list, tuple)):
        raise ParameterError(f"{where}: found {shown(found)}; allowed: a list")
    return found
