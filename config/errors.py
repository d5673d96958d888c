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

    >>> print(Mistake("privacy.epsilon", "-1", "a number from 0.000001 to 20", where="murmurate.toml"))
    murmurate.toml: privacy.epsilon: found -1; allowed: a number from 0.000001 to 20
    """

    key: str
    """The dotted key, as in the file; empty where the file as a whole is meant."""
    found: str
    allowed: str
    where: str = ""
    """The file, or the environment."""

    def below(self, *steps: str, where: str) -> Mistake:
        """The mistake, seen from the top of the file."""
        return replace(self, key=".".join((*steps, self.key) if self.key else steps), where=where)

    def __str__(self) -> str:
        place = [part for part in (self.where, self.key) if part]
        return ": ".join((*place, f"found {self.found}; allowed: {self.allowed}"))


class ConfigError(UsageError, ValueError):
    """The deployment file, its environment or its secrets cannot be used. A line for each mistake."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class InTheWayError(MurmurateError):
    """A file that would be written is there already; nothing was touched."""


class NotAllowedError(ValueError):
    """The mistake that a check finds in its part of the file; keys are relative to it. Never leaves the loader."""

    def __init__(self, *mistakes: Mistake) -> None:
        self.mistakes = mistakes
        super().__init__(f"{len(mistakes)} mistakes")
