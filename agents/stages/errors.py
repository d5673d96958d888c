# SPDX-License-Identifier: Apache-2.0
"""The errors that stop a stage: state, logs and config do not belong together. Nothing that a user sends raises one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from murmurate.errors import MurmurateError, UsageError
from murmurate.randomizers import SnapshotError

WAY_ON: Final = (
    "allowed: the file and keys as they were, or a deployment of another name (see `murmurate check --against`)"
)
"""What is said wherever a state was written under another config."""


class StageError(MurmurateError):
    """The logs contradict each other, which exactly-once delivery excludes: the process ends rather than guess."""


class OutdatedError(UsageError):
    """The file does not say what holds for this period, while other workers' files do."""


class StateError(MurmurateError):
    """The stored state cannot be taken over: torn, sealed with another key, or written under another configuration."""


@contextmanager
def named(instance: str) -> Iterator[None]:
    """Report a state of another form as a StateError that names the instance."""
    try:
        yield
    except SnapshotError as error:
        raise StateError(f"{instance}: {error}") from None
