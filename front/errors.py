# SPDX-License-Identifier: Apache-2.0
"""The root of every error that Murmurate raises. The one module that every folder may import.

Each folder has an `errors.py` with a class per thing that a caller would handle differently. A message says what was
found, where, and what is allowed; never a user, a pseudonym or a user's value.
"""


class MurmurateError(Exception):
    """Anything Murmurate refuses or cannot do; catch this one to catch them all."""


class UsageError(MurmurateError):
    """What was asked for cannot be: a parameter, an option or a line of the deployment file is not one that is
    allowed.
    """
