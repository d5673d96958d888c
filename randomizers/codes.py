# SPDX-License-Identifier: Apache-2.0
"""What everything that takes codes below d checks: its domain, values, one user's value, and reports.

Contract: what passes fits the mechanism; what does not raises, and no message shows a value.  Not here: what a
mechanism makes of codes (mechanism.py, frequency/appended.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, ValueRefusedError, shown
from murmurate.randomizers.question import Reports, checked_reports
from murmurate.randomizers.randomness import Draw, DrawOne


class CodeChecks(ABC):
    """The checks of a mechanism of one code."""

    name: ClassVar[str]
    """The name that an error shows."""
    max_domain: ClassVar[int]
    """The largest `d` that it supports."""
    d: int
    """The size of the domain: a value is a whole number below it."""

    @property
    @abstractmethod
    def wire_size(self) -> int:
        """The number of bytes of a report, whatever the value."""

    @abstractmethod
    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which of uint8[n, wire_size] are reports that no value could have given: bool[n]."""

    def _domain(self, d: int) -> int:
        """The size of the domain, if it is one."""
        if isinstance(d, bool) or not isinstance(d, int) or not 2 <= d <= self.max_domain:
            raise ParameterError(
                f"{self.name}: d: found {shown(d)}; allowed: a whole number from 2 to {self.max_domain}"
            )
        return d

    def _values(self, values: NDArray[np.integer[Any]], draw: Draw) -> NDArray[np.integer[Any]]:
        """The values, if there is one for each user and every one lies in the domain."""
        if not isinstance(draw, Draw):
            raise ValueRefusedError(f"{self.name}: draw: found {type(draw).__name__}; allowed: a Draw from a Key")
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
            found = f"{values.dtype}{list(values.shape)}" if isinstance(values, np.ndarray) else type(values).__name__
            raise ValueRefusedError(f"{self.name}: values: found {found}; allowed: whole numbers in one dimension")
        if len(values) != len(draw):
            raise ValueRefusedError(
                f"{self.name}: values: found {len(values)} for {len(draw)} users; allowed: one for each"
            )
        if len(values) and not (values.min() >= 0 and values.max() < self.d):
            outside = np.flatnonzero((values < 0) | (values >= self.d))
            raise ValueRefusedError(
                f"{self.name}: values: found {len(outside)} outside the domain (the first in row {outside[0]}); "
                f"allowed: 0 to {self.d - 1}"
            )
        return values

    def checked(self, value: int) -> int:
        """The value, if it lies in the domain."""
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < self.d:
            raise ValueRefusedError(
                f"{self.name}: found a value outside the domain; allowed: a whole number from 0 to {self.d - 1}"
            )
        return int(value)

    def checked_one(self, value: int, draw: DrawOne) -> int:
        """The value of a single user, if it lies in the domain and comes with a draw of that user."""
        if not isinstance(draw, DrawOne):
            raise ValueRefusedError(f"{self.name}: draw: found {type(draw).__name__}; allowed: a DrawOne from a Key")
        return self.checked(value)

    def _reports(self, reports: Reports) -> Reports:
        """The reports, if they have the shape of this mechanism's."""
        return checked_reports(self.name, reports, self.wire_size)

    def _well_formed(self, reports: Reports) -> Reports:
        bad = np.flatnonzero(self.malformed(reports))
        if len(bad):
            raise ReportError(
                f"{self.name}: reports: found {len(bad)} that no value gives (the first in row {bad[0]}); "
                "allowed: drop what `malformed` marks"
            )
        return reports
