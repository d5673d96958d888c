# SPDX-License-Identifier: Apache-2.0
"""What `watch` says under a release, where it is worth a line: what the mixing is worth, and that rounds are too small.

Contract: lines of at most 80 columns, a function of the releases so far.  Not here: when something is worth saying
(agents/mixed_claims.py, agents/shortage.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from murmurate.agents.mixed_claims import MixedClaims
from murmurate.agents.shortage import Shortages
from murmurate.config.plan import Plan

COLUMNS, GAP = 80, "  "


class Remarks:
    """Follows the releases of one stream."""

    def __init__(self, plan: Plan) -> None:
        self._claims, self._shortages = MixedClaims(), Shortages(plan)

    def take(self, release: Mapping[str, Any]) -> Iterator[str]:
        """Take a release; the lines to write under it, mostly none."""
        for said in (self._claims.take(release), self._shortages.take(release)):
            if said is not None:
                yield from textwrap.wrap(said, COLUMNS, initial_indent=GAP, subsequent_indent=GAP)
