# SPDX-License-Identifier: Apache-2.0
"""What the library refuses besides what its parts refuse, one class per cause."""

from murmurate.errors import MurmurateError, UsageError


class MissingExtraError(UsageError, ImportError):
    """A package that only an extra of the installation brings; the message says which command installs it."""


class SubscriptionError(MurmurateError):
    """Where releases should come from nobody answers, or somebody else does."""
