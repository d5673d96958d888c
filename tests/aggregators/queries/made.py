# SPDX-License-Identifier: Apache-2.0
"""Releases made up for questions about them: of local streams, and of central ones with the noise of real trees.

Contract: records as JSON has them, which `Release` takes; a central stream's noise is that of the library's trees, a
tree after the other, each with a digest of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from murmurate.aggregators.trees import LeafNoise, leaf_variance
from murmurate.randomizers import Key
from murmurate.randomizers.central import DiscreteLaplace, NodeNoise
from murmurate.randomizers.trees import Tree
from murmurate.topics.times import instant

EVERY_MS = 60_000
START_T = 29_390_000  # 2025-11-17T17:20Z
GAMMA = Fraction(1, 40)
LAW = DiscreteLaplace(GAMMA)
PROMISE = {"unit": "event", "epsilon": 1.0}
REPORTS = {
    "slots": 1, "received": 40, "counted": 40,
    "rejected": {"malformed": 0},
}  # fmt: skip
PRIVACY = {"unit": "user", "epsilon": 1.0, "window": "5m", "w": 6, "shuffled": None}


def head(stream: str, t: int, measure: str, unit: str | None = None, revision: int = 1) -> dict[str, Any]:
    """What every release says."""
    found = {
        "schema": "murmurate/release/2", "deployment": "shop", "stream": stream, "revision": revision, "t": t,
        "start": instant(t * EVERY_MS), "end": instant((t + 1) * EVERY_MS), "measure": measure,
        "mechanism": {"name": "grr", "epsilon": 1.0, "digest": "0" * 16},
    }  # fmt: skip
    return found | ({} if unit is None else {"unit": unit})


def local(
    t: int, unbiased: Mapping[str, float | None], errors: Mapping[str, float | None] | None, *,
    measured: int | None = -1, stream: str = "screen", measure: str = "frequency", revision: int = 1,
    method: str = "lpu",
) -> dict[str, Any]:  # fmt: skip
    """A release of a local stream; `measured` -1: its own period's reports."""
    of = t if measured == -1 else measured
    known = of is not None
    said = {"stderr_unbiased": errors, "model": "local"} if errors is not None else {}
    return head(stream, t, measure, revision=revision) | said | {
        "decision": "unmeasured" if not known else "published" if of == t else "approximated", "measured_t": of,
        "estimate": unbiased, "stderr": dict.fromkeys(unbiased, 0.1 if known else None), "unbiased": unbiased,
        "reports": REPORTS, "privacy": PRIVACY, "method": {"name": method},
    }  # fmt: skip


class MadeStream:
    """A central stream: exact sums of periods with the noise of trees in a row, or several runs of them."""

    def __init__(
        self, key: int = 0, *, fanout: int = 4, levels: int = 3, block: int = 1, names: Sequence[str] = ("total",),
        measure: str = "total", stream: str = "revenue", first_t: int = START_T,
    ) -> None:  # fmt: skip
        self.tree, self.block, self.names, self.t = Tree(fanout, levels), block, tuple(names), first_t
        self.measure, self.stream, self._key = (
            measure,
            stream,
            Key(hashlib.sha256(bytes([key])).digest(), deployment="shop"),
        )
        self.records: list[dict[str, Any]] = []
        self.exact: dict[int, list[int]] = {}
        self._planted = first_t
        self._noises: list[LeafNoise] = []

    def hold_out(self, periods: int) -> MadeStream:
        """So many periods without a tree; the next one begins a tree."""
        for _ in range(periods):
            self._say(dict.fromkeys(self.names), dict.fromkeys(self.names), "unmeasured", None, {})
        self._planted, self._noises = self.t, []
        return self

    def run(self, sums: np.ndarray) -> MadeStream:
        """Periods with these exact sums: int[periods, names]; trees follow each other."""
        last: dict[str, float] | None = None
        leaf_error = sqrt(leaf_variance(self.tree) * LAW.variance)
        kept = np.zeros(len(self.names), np.int64)
        for row in np.asarray(sums).reshape(-1, len(self.names)).tolist():
            self.exact[self.t] = row
            kept += row
            leaf, rest = divmod(self.t - self._planted, self.block)
            if leaf == self.tree.leaves:
                self._planted, self._noises, leaf = self.t, [], 0
            noise = {"fanout": self.tree.fanout, "levels": self.tree.levels, "first_t": self._planted}
            said: dict[str, Any] = {"noise": noise | {"node": dict.fromkeys(self.names, round(sqrt(LAW.variance), 6))}}
            if self.block > 1:
                said["noise"]["block"] = self.block
            errors = dict.fromkeys(self.names, round(leaf_error / self.block, 6))
            if rest == self.block - 1:
                noisy = [int(total) + self._noise(place, leaf) for place, total in enumerate(kept.tolist())]
                totals = {name: round(float(value), 6) for name, value in zip(self.names, noisy, strict=True)}
                kept[:] = 0
                if self.block > 1:
                    said["block"] = {"first_t": self.t - self.block + 1, "total": totals}
                last = {name: round(value / self.block, 6) for name, value in totals.items()}
                self._say(last, errors, "published", self.t, said)
            elif last is None:
                self._say(dict.fromkeys(self.names), dict.fromkeys(self.names), "unmeasured", None, said)
            else:
                self._say(last, errors, "approximated", self.t - rest - 1, said)
        return self

    def _noise(self, place: int, leaf: int) -> Fraction:
        if not self._noises:
            digest = hashlib.sha256(f"{self.stream} {self._planted}".encode()).digest()
            self._noises = [LeafNoise(self.tree, NodeNoise(self._key, digest, LAW, c)) for c in range(len(self.names))]
        return Fraction(self._noises[place].numerator(leaf), self.tree.denominator)

    def _say(self, figures: Any, errors: Any, decision: str, measured: int | None, said: dict[str, Any]) -> None:
        unit = "EUR" if self.measure == "total" else None
        record = head(self.stream, self.t, self.measure, unit) | said | {
            "decision": decision, "measured_t": measured, "estimate": figures, "stderr": errors, "unbiased": figures,
            "central": PROMISE, "method": {"name": "tops"},
        }  # fmt: skip
        if self.measure == "total":
            record |= {"range": [0.0, 120.0]}
            if "noise" in said:
                record["method"] = {"name": "tops", "threshold": 60.0}
        self.records.append(record)
        self.t += 1
