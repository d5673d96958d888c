# SPDX-License-Identifier: Apache-2.0
"""The meaning of the words of a stream's values: integers only, so that devices and auditors need no domain names.

Contract: a layout is a tuple of words and whole numbers (`spec`), the same list in JSON, and `layout` reads it.

    ("code", d)                       one word below d; none, if any, is the last one
    ("bits", m, none)                 a 0, then m bits from the left, then zeros
    ("items", d, most, none)          rising items below d, then fillers
    ("signed", d, most, none)         pairs (item, number + 65536) by item, numbers from -65536 to 65536 but 0, then
                                      pairs (filler, 0)
    ("row", (k1, k2, ...), none)      attributes in mixed radix, the first most significant within its word; a word
                                      takes the next attribute while its product is at most 2^31
    ("measured", layout, levels)      the inner words, then a public number below `levels`

`none` is 1 where a user may have no value: a row that begins with NONE, the other words 0.  Every other value begins
with a word below 2^31.  Values of one word are int[n], of more uint32[n, words].  Source: ARCHITECTURE rule 23.  Not
here: how JSON becomes words (topics/domains), the codes that a question makes of them (views.py).
"""

from __future__ import annotations

from typing import Any

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts.layout import FILLER, NONE, REFUSED, UNIT, CodeLayout, Layout, Mask, Row
from murmurate.randomizers.layouts.rows import MeasuredLayout, RowLayout
from murmurate.randomizers.layouts.strings_and_sets import BitsLayout, ItemsLayout, SignedLayout

__all__ = [
    "FILLER",
    "NONE",
    "REFUSED",
    "UNIT",
    "BitsLayout",
    "CodeLayout",
    "ItemsLayout",
    "Layout",
    "Mask",
    "MeasuredLayout",
    "Row",
    "RowLayout",
    "SignedLayout",
    "layout",
]  # fmt: skip


def layout(spec: Any) -> Layout:
    """The layout that a tuple (or a list, from JSON) describes.

    >>> layout(["items", 100, 8, 0]).words
    8
    """
    name, *parts = spec if isinstance(spec, (list, tuple)) and spec else ("",)
    match name, parts:
        case "code", [d]:
            return CodeLayout(d)
        case "bits", [m, none]:
            return BitsLayout(m, none=_flag(none))
        case "items", [d, most, none]:
            return ItemsLayout(d, most, none=_flag(none))
        case "signed", [d, most, none]:
            return SignedLayout(d, most, none=_flag(none))
        case "row", [list() | tuple() as sizes, none]:
            return RowLayout(tuple(sizes), none=_flag(none))
        case "measured", [inner, levels]:
            if isinstance(inner, (list, tuple)) and inner[:1] in (["measured"], ("measured",)):
                raise ParameterError("layout: found a measured value in another; allowed: one number beside a value")
            return MeasuredLayout(layout(inner), levels)
    raise ParameterError(
        f"layout: found {shown(spec)}; allowed: code, bits, items, signed, row or measured with their numbers"
    )


def _flag(found: Any) -> bool:
    if found not in (0, 1) or isinstance(found, float):
        raise ParameterError(f"layout: none: found {shown(found)}; allowed: 0 or 1")
    return bool(found)
