# SPDX-License-Identifier: Apache-2.0
"""Views of rows: some attributes unchanged (a marginal), or every attribute at a coarser resolution (a level).

Contract: that of every view (views.py).  Cells are numbered in mixed radix, the first attribute most significant; none
is the last code.  Source: Wang 2021, chapters 6 and 7 (ARCHITECTURE section 5.13).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import NONE, RowLayout
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.question import Value, Values
from murmurate.randomizers.randomness import Draw
from murmurate.randomizers.views import Codes, View, of_kind, one_or_more, words_of


class Level(View):
    """A view of each attribute of a row at a coarser resolution: neighbouring codes form one cell."""

    name = "level"

    def __init__(self, layout: Any, widths: Sequence[int]) -> None:
        """widths: the number of neighbouring codes in a cell of each attribute, counted from the lowest code."""
        self.of = self._rows = of_kind(self.name, layout, RowLayout)
        sizes = self._rows.sizes
        if not isinstance(widths, (list, tuple)) or len(widths) != len(sizes):
            raise ParameterError(f"{self.name}: widths: found {shown(widths)}; allowed: one for each attribute")
        self.widths = tuple(whole(self.name, "width", w, 1, k) for w, k in zip(widths, sizes, strict=True))
        self.cells = tuple(-(-k // w) for k, w in zip(sizes, self.widths, strict=True))
        self.d = prod(self.cells) + self.of.none

    def parameters(self) -> dict[str, Any]:
        """The number of codes in a cell, for each attribute."""
        return {"widths": self.widths}

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The number of each row's cell."""
        return self.cells_of(values)

    def cells_of(self, values: Values) -> Codes:
        """The cells in mixed radix, the first attribute most significant; *none* has the last code."""
        rows = self.of.rows(values)
        codes = np.zeros(len(rows), np.int64)
        for attribute, (cells, width) in enumerate(zip(self.cells, self.widths, strict=True)):
            if cells > 1:
                digit = self._rows.digit(rows, attribute)
                codes *= cells
                codes += digit // np.uint32(width) if width > 1 else digit
        if self.of.none:
            codes[self.of.silent(rows)] = self.d - 1
        return codes

    def code(self, value: Value) -> int:
        """The cell of one row, in plain Python."""
        words = words_of(value)
        if words[0] == NONE:
            return self.d - 1
        code = 0
        for k, width, cells, (word, times) in zip(
            self._rows.sizes, self.widths, self.cells, self._rows.places, strict=True
        ):
            code = code * cells + words[word] // times % k // width
        return code

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The row with the lowest codes of all attributes, and the one with the highest."""
        low, high = (0,) * len(self.cells), tuple(size - 1 for size in self._rows.sizes)
        return one_or_more(self._rows.packed(low)), one_or_more(self._rows.packed(high))


class Marginal(Level):
    """A view of some attributes of a row, unchanged."""

    name = "marginal"

    def __init__(self, layout: Any, attributes: Sequence[int]) -> None:
        """attributes: the numbers of the attributes, rising."""
        of = of_kind(self.name, layout, RowLayout)
        if not isinstance(attributes, (list, tuple)) or not attributes:
            raise ParameterError(f"{self.name}: attributes: found {shown(attributes)}; allowed: one or more")
        self.attributes = tuple(whole(self.name, "attribute", number, 0, len(of.sizes) - 1) for number in attributes)
        if any(a >= b for a, b in pairwise(self.attributes)):
            raise ParameterError(f"{self.name}: attributes: found {shown(attributes)}; allowed: rising, each once")
        super().__init__(of.spec(), [1 if i in self.attributes else k for i, k in enumerate(of.sizes)])

    def parameters(self) -> dict[str, Any]:
        """The numbers of the attributes."""
        return {"attributes": self.attributes}
