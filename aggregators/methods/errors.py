# SPDX-License-Identifier: Apache-2.0
"""What methods refuse beyond parameters: calls that come in the wrong order."""

from murmurate.errors import MurmurateError


class TurnError(MurmurateError):
    """A method was asked for a period that is over, or given an answer to a question that is not open."""
