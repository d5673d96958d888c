# SPDX-License-Identifier: Apache-2.0
"""Whether rounds of a stream stay below min_batch, by the counts in its releases: for the log, `watch` and `replay`.

Contract: a function of releases and the plan, so that it reveals nothing about raw data (ARCHITECTURE rule 9).  A
period is short if its round stayed below min_batch; how many reports came is said nowhere (ARCHITECTURE rule 28).  A
period in which nobody was asked changes nothing.  The first few may be short while users are only becoming known: a
warning is given when three in a row were, and again whenever their number has doubled.  Not here: how many users are
enough (config/enough.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmurate.config.enough import REMEDY, spaced
from murmurate.config.plan import Plan

WORTH_SAYING: Final = 3
"""How many short periods in a row are worth a line."""


@dataclass
class Shortage:
    """What is known of one stream."""

    row: int = 0
    """Short periods in a row, up to the newest."""
    longest: int = 0


class Shortages:
    """Follows the releases of a plan's streams."""

    def __init__(self, plan: Plan) -> None:
        self._min_batch = plan.min_batch
        self._revisions = {stream.name: stream.revision for stream in plan.streams}
        self.of = {stream.name: Shortage() for stream in plan.streams}

    def take(self, release: Mapping[str, Any]) -> str | None:
        """Take a release, decoded from JSON, in the order of its stream's periods; gives a warning, if one is due."""
        stream, reports = release["stream"], release.get("reports")
        if reports is None or release["revision"] != self._revisions.get(stream) or not reports["slots"]:
            return None  # of a central stream, an older period once more, or one that asked nobody
        known = self.of[stream]
        if not short(reports):
            known.row = 0
            return None
        known.row += 1
        known.longest = max(known.longest, known.row)
        times, rest = divmod(known.row, WORTH_SAYING)
        if rest or times & (times - 1):
            return None
        return f"{known.row} rounds in a row had {lacking(reports, self._min_batch)}. {REMEDY}"


def short(reports: Mapping[str, Any]) -> bool:
    """Whether a period was below min_batch: by the `reports` of its release."""
    return not reports["counted"] and bool(reports["rejected"].get("undersized"))


def lacking(reports: Mapping[str, Any], min_batch: int) -> str | None:
    """That fewer reports came than a release needs; None where it is not their number that it lacks.

    >>> lacking({"slots": 256, "counted": 0, "rejected": {"malformed": 0, "undersized": True}}, 1000)
    'fewer than the 1 000 reports that a release needs'
    """
    return f"fewer than the {spaced(min_batch)} reports that a release needs" if short(reports) else None
