# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a deployment file: each mistake as key, found, allowed, and the errors that carry them.

Contract: a mistake never shows a secret, a password, or what stands where a table should be.  Not here: how pydantic's
errors become mistakes (loader.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from murmurate.errors import MurmurateError, UsageError


@dataclass(frozen=True)
class Mistake:
    """One mistake, which is one line.

    >>> print(Mistake("privacy.epsilon", "-1", "a number from 0.000001 to 20", where="murmurate.toml", line=8))
    murmurate.toml, line 8: privacy.epsilon: found -1; allowed: a number from 0.000001 to 20
    """

    key: str
    """The dotted key, as in the file; empty where the file as a whole is meant."""
    found: str
    allowed: str
    where: str = ""
    """The file, or the environment."""
    line: int | None = None
    """The line of the file on which the key stands, or the table that lacks it; None where neither is written."""
    variable: str = ""
    """The variable that sets the key, and what of the key lies inside its value; empty for a key of the file."""
    near: str = ""
    """The right key, or the right variable, that an unknown one is like; empty where none is."""

    def below(self, *steps: str) -> Mistake:
        """The mistake, seen from the top of the file."""
        return replace(self, key=".".join((*steps, self.key) if self.key else steps))

    def __str__(self) -> str:
        place = f"{self.where}, line {self.line}" if self.line is not None else self.where
        meant = f"; did you mean {self.near}?" if self.near else ""
        parts = [part for part in (place, self.variable or self.key) if part]
        return ": ".join((*parts, f"found {self.found}; allowed: {self.allowed}{meant}"))


class ConfigError(UsageError, ValueError):
    """The deployment file, its environment or its secrets cannot be used. A line for each mistake, and one of advice
    where there is any.
    """

    def __init__(self, mistakes: Iterable[Mistake], advice: str = "") -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join((*map(str, self.mistakes), *filter(None, (advice,)))))


class InTheWayError(MurmurateError):
    """A file that would be written is there already; nothing was touched."""


class NotAllowedError(ValueError):
    """The mistake that a check finds in its part of the file; keys are relative to it. Never leaves the loader."""

    def __init__(self, *mistakes: Mistake) -> None:
        self.mistakes = mistakes
        super().__init__(f"{len(mistakes)} mistakes")
