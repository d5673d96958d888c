# SPDX-License-Identifier: Apache-2.0
"""What the wire refuses, one class per cause. No message holds a user, a pseudonym or a value."""

from murmurate.errors import MurmurateError


class WireError(MurmurateError, ValueError):
    """Something that does not belong on the wire; catch this one to catch every cause below."""


class TornError(WireError):
    """A record ends too early or too late: its length is not what its header says."""


class CorruptError(WireError):
    """A record's checksum does not match its bytes."""


class TooLargeError(WireError):
    """A record is, or would become, larger than its topic carries."""


class NewerError(WireError):
    """A record of a version to come: written by a newer Murmurate, to be read by one."""


class UnknownError(WireError):
    """Neither a block nor a message of ours, or one of a kind nobody has defined."""


class MessageError(WireError):
    """A JSON message that does not fit its schema."""


class ColumnError(WireError):
    """Arrays that do not make a block: a wrong type, shape or length, or an identity out of range."""


class TopicError(WireError):
    """A name that no deployment, stream or topic can have."""


class MappingError(WireError):
    """A JSON pointer, a list of categories or a mapping from events to columns that cannot be built."""
