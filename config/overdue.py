# SPDX-License-Identifier: Apache-2.0
"""When a stream's newest release is overdue: the bound by which alert rules, `status` and `/readyz` go.

Contract: three periods and the lateness.  A release comes when its period has ended and late events have had their
time; two more periods are grace.  Not here: who looks.
"""

from __future__ import annotations

from typing import Final

from murmurate.config.plan import Plan
from murmurate.config.quantities import age

LATE_PERIODS: Final = 3
REPEATED: Final = 2
"""How often one round may be given up before that is worth a line."""


def allowed_ms(plan: Plan, stream: str) -> int:
    """How old the newest release of a stream may be."""
    return LATE_PERIODS * plan.any_stream(stream).every_ms + plan.lateness_ms


def overdue(plan: Plan, stream: str, age_ms: int) -> str:
    """A line for a stream that has released nothing for so long."""
    return f"{stream}: found no release for {age(age_ms)}; allowed: one in {age(allowed_ms(plan, stream))}"
