# SPDX-License-Identifier: Apache-2.0
"""A view: of two neighbouring codes the same is told, so that half as many are left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from murmurate.randomizers.layouts import CodeLayout
from murmurate.randomizers.views import Codes, View, of_kind


class InPairs(View):
    """Codes 0 and 1 become 0, codes 2 and 3 become 1, and so on."""

    name = "in_pairs"

    def __init__(self, layout: Any) -> None:
        self.of = of = of_kind(self.name, layout, CodeLayout)
        self.d = (of.d + 1) // 2

    @classmethod
    def examples(cls) -> Iterator[InPairs]:
        """What the audit enumerates."""
        yield cls(["code", 5])
        yield cls(["code", 6])

    def parameters(self) -> dict[str, Any]:
        return {}

    def codes(self, values: Any, draw: Any) -> Codes:
        return np.asarray(values) // 2

    def code(self, value: Any) -> int:
        return int(value) // 2

    @property
    def extremes(self) -> tuple[int, int]:
        return 0, 2 * self.d - 2
