# SPDX-License-Identifier: Apache-2.0
"""Nested values of whole numbers, text, bytes and arrays as facts and named arrays, and back.

Contract: what comes back is equal, lists, tuples and keys of every kind included; arrays are the reader's own.  Not
here: their bytes (randomizers/state.py), files (checkpoint.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def pack(value: Any) -> tuple[Any, Arrays]:
    """A value as JSON can hold it, and the arrays that it names."""
    arrays: Arrays = {}
    return _packed(value, arrays), arrays


def unpack(packed: Any, arrays: Arrays) -> Any:
    """The value."""
    if not isinstance(packed, list):
        return packed
    kind, *inner = packed
    match kind:
        case "array":
            found = arrays[inner[0]]
            return found.view(np.bool_) if inner[1] else found
        case "bytes":
            return arrays[inner[0]].tobytes()
        case "list":
            return [unpack(one, arrays) for one in inner]
        case "tuple":
            return tuple(unpack(one, arrays) for one in inner)
        case _:
            return {unpack(name, arrays): unpack(one, arrays) for name, one in zip(*inner, strict=True)}


def _packed(value: Any, arrays: Arrays) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.integer):
        return int(value)
    name = str(len(arrays))
    if isinstance(value, np.ndarray):
        truth = value.dtype == np.bool_
        arrays[name] = np.ascontiguousarray(value).view(np.uint8) if truth else value
        return ["array", name, truth]
    if isinstance(value, bytes):
        arrays[name] = np.frombuffer(value, np.uint8)
        return ["bytes", name]
    if isinstance(value, list | tuple):
        return ["tuple" if isinstance(value, tuple) else "list", *(_packed(one, arrays) for one in value)]
    if isinstance(value, dict):
        return ["dict", [_packed(one, arrays) for one in value], [_packed(one, arrays) for one in value.values()]]
    raise TypeError(f"found {type(value).__name__}; allowed: numbers, text, bytes, arrays, lists and tables of them")
