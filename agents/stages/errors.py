"""What stops a stage. Nothing that a user sends does; what does means that state, logs and config do not belong
together.
"""

from murmurate.errors import MurmurateError


class StageError(MurmurateError):
    """The logs contradict each other, which exactly-once delivery excludes: the process ends rather than guess."""


class StateError(MurmurateError):
    """The stored state cannot be taken over: torn, sealed with another key, or written under another configuration."""
