# SPDX-License-Identifier: Apache-2.0
"""One statistic of one release as a row of a long table.

Contract: null stays null; the instant is in UTC.  Not here: tables of many releases (agents/library/tables.py).
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class ReleaseRow(NamedTuple):
    """What a release says of one name."""

    stream: str
    t: int
    start: datetime
    name: str
    estimate: float | None
    stderr: float | None
    unbiased: float | None
    revision: int
    decision: str
