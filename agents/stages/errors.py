"""What stops a stage. Nothing that a user sends does; what does means that state, logs and config do not belong
together.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from murmurate.errors import MurmurateError
from murmurate.randomizers import SnapshotError


class StageError(MurmurateError):
    """The logs contradict each other, which exactly-once delivery excludes: the process ends rather than guess."""


class StateError(MurmurateError):
    """The stored state cannot be taken over: torn, sealed with another key, or written under another configuration."""


@contextmanager
def named(instance: str) -> Iterator[None]:
    """What is no state of this form is an error of the instance that was to go on from it."""
    try:
        yield
    except SnapshotError as error:
        raise StateError(f"{instance}: {error}") from None
