# SPDX-License-Identifier: Apache-2.0
"""What queries refuse, one class per cause."""

from murmurate.errors import MurmurateError, UsageError


class QueryRefusedError(UsageError):
    """A question that is none, or about what releases do not say: one line with what was found, and what there is."""


class ReleaseFormatError(MurmurateError, ValueError):
    """A record among releases that is no release."""
