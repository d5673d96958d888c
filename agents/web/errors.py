# SPDX-License-Identifier: Apache-2.0
"""What the page's server refuses, one class per cause."""

from murmurate.errors import MurmurateError, UsageError


class FrameError(MurmurateError, ValueError):
    """A frame that a feed does not take: of no known type, out of order, or with a truth in a live deployment."""


class ListenError(UsageError):
    """The address to listen on is taken, not allowed or not of this machine."""


class QueryError(MurmurateError, ValueError):
    """A request that asks for something that there is not."""


class RecordedError(UsageError):
    """A recorded run that cannot be shown: a file is missing, or holds something else than it should."""
