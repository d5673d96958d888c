# SPDX-License-Identifier: Apache-2.0
"""A method: the schedule of LPU in every other period; the periods between repeat the last release."""

from __future__ import annotations

from murmurate.aggregators.methods.method import Decision, Request
from murmurate.aggregators.methods.uniform import LPU


class EveryOther(LPU):
    """Asks a w-th of the users in the first period, the third, and so on."""

    name = "every_other"
    simplicity = 20

    def later(self, t: int) -> Request | None:
        return super().later(t) if (t - self.setting.first_t) % 2 == 0 else None

    def _begin(self) -> Request | Decision:
        return super()._begin() if self.step % 2 else self._last_release()
