# SPDX-License-Identifier: Apache-2.0
"""What the library refuses, one class per thing a caller would handle differently. No message holds a user or a
value.
"""

from fractions import Fraction

from murmurate.errors import MurmurateError, UsageError


class ParameterError(UsageError, ValueError):
    """A mechanism, a threshold or the terms of a ledger cannot be built from these parameters."""


class ValueRefusedError(MurmurateError, ValueError):
    """Values to perturb have the wrong type or shape, or lie outside the declared domain."""


class ReportError(MurmurateError, ValueError):
    """Reports, or counts of reports, are not what this mechanism sends."""


class UnprotectedError(MurmurateError, TypeError):
    """A mechanism whose single reports show their value was asked for what only local privacy has."""


class RandomnessError(MurmurateError):
    """No key, an unusable key, or a cipher that failed: nothing was drawn and nothing may be sent."""


class SnapshotError(MurmurateError, ValueError):
    """Bytes that should restore a ledger are torn, corrupt or of another version."""


class FrozenFactsError(MurmurateError):
    """The state was written under other terms. Going on as if nothing had changed would hand users a fresh budget."""


def shown(found: object) -> str:
    """What was found, short enough for a message whatever it is. For parameters only, never for a user's value."""
    try:
        text = str(found) if isinstance(found, Fraction) else repr(found)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."
