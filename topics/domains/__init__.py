# SPDX-License-Identifier: Apache-2.0
"""What an event may say, and the words of it, a class for each kind; `Domain` is what they have in common.

`Categories`, `Grid`      one code: declared texts, or numbers of a declared range
`Bits`                    strings: texts of at most m bits, or hexadecimal digits of exactly m
`Items`, `Signed`         sets of items; items with a number from -1 to 1 for each
`Row`                     attributes, each categories or a grid
`Measured`                any of them, with a public number beside it
`AnyValue`                nothing but that there was an event
"""

from murmurate.topics.domains.bits import Bits
from murmurate.topics.domains.categories import Categories
from murmurate.topics.domains.domain import Codes, Domain, Layout, Ranks, Values, Words, Wrong
from murmurate.topics.domains.grid import Grid
from murmurate.topics.domains.items import Items
from murmurate.topics.domains.measured import Measured
from murmurate.topics.domains.presence import AnyValue
from murmurate.topics.domains.row import Row
from murmurate.topics.domains.signed import Signed

Coded = Categories | Grid
"""Domains whose values are single codes."""

__all__ = [
    "AnyValue", "Bits", "Categories", "Coded", "Codes", "Domain", "Grid", "Items", "Layout", "Measured", "Ranks", "Row",
    "Signed", "Values", "Words", "Wrong",
]  # fmt: skip
