# SPDX-License-Identifier: Apache-2.0
"""The plan as it holds for a period, and whether the own file knows what holds for it.

Contract: values of a period follow from the file alone, and from the period's beginning; a config record of `rounds`
decides only whether to go on: where it says another value from an instant on, which the file does not have, a stage
raises OutdatedError before it judges a period that begins later.  Not here: what a record is compared with
(config/switch.py), a worker that stops by its clock (kafka/agreement_watch.py).
"""

from __future__ import annotations

from murmurate.agents.stages.errors import OutdatedError
from murmurate.config.agreement import follows
from murmurate.config.plan import Plan
from murmurate.config.switch import until_of
from murmurate.topics.messages import Config
from murmurate.topics.times import instant


class PlanByTime:
    """A plan, and the config record in force at this point of the log. `agreed`: the one that was compared."""

    def __init__(self, plan: Plan, agreed: Config | None = None) -> None:
        self._plan, self._agreed = plan, agreed

    def fold(self, found: Config) -> None:
        """Take a config record; one whose number does not follow changes nothing."""
        if follows(self._agreed, found):
            self._agreed = found

    @property
    def ends_ms(self) -> int | None:
        """The instant from which the file does not say what holds; None if there is none."""
        until = None if self._agreed is None else self._agreed.until
        return None if until is None or until == until_of(self._plan) else until.time

    def known(self, time_ms: int) -> bool:
        """Whether the file says what holds for a period that begins then."""
        return self.ends_ms is None or time_ms < self.ends_ms

    def at(self, time_ms: int) -> Plan:
        """The plan for a period that begins then."""
        if not self.known(time_ms):
            assert self._agreed is not None  # noqa: S101 - else all is known
            raise OutdatedError(outdated(self._agreed))
        return self._plan.at(time_ms)


def outdated(record: Config) -> str:
    """The line with which whoever has the old file stops."""
    since = "" if record.until is None else f" from {instant(record.until.time)} on"
    return (
        f"config {record.number}{since}: found a file with the values before it; allowed: the file that `murmurate "
        "config apply` wrote, with the new values and the table [until]"
    )
