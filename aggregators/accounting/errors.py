# SPDX-License-Identifier: Apache-2.0
"""What the accountant refuses."""

from murmurate.errors import MurmurateError, UsageError


class AccountingError(UsageError, ValueError):
    """No privacy of mixing can be worked out from such a number of reports, such a delta or such a share."""


class NotCertifiedError(MurmurateError):
    """A bound whose own inaccuracy is not small beside delta, so that another one has to do."""
