# SPDX-License-Identifier: Apache-2.0
"""How the command line ends: the exit code of whatever a verb does, is told or meets.

Contract: 0 fine, 1 failed, 2 config or usage, 3 broker, 4 an audit found something, 130 Ctrl-C, 141 nobody reads what
is printed any more, 143 SIGTERM.  SIGTERM does whatever Ctrl-C does at that moment, so that what a verb has done is
written; a reader who has left (`| head`) is no error and is told nothing.  Not here: what a verb does when it is
interrupted (each says so itself), and how workers stop (worker.py).
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import click

from murmurate.errors import MurmurateError, UsageError

FAILED, USAGE, BROKER = 1, 2, 3
INTERRUPTED: Final = 128 + signal.SIGINT
UNREAD: Final = 128 + 13
"""What a shell says of a program that SIGPIPE ended."""
TERMINATED: Final = 128 + signal.SIGTERM


class UnreadError(Exception):
    """Nobody reads what is printed: a BrokenPipeError under a name that click lets through (it would exit with 1)."""


@contextmanager
def unread_by_name() -> Iterator[None]:
    """Around whatever click runs."""
    try:
        yield
    except BrokenPipeError as error:
        raise UnreadError from error


def exit_code(work: Callable[[], object]) -> int:
    """Do it to the end, say what was wrong in a line, and give the exit code."""
    told: list[int] = []
    with _terminated_like_interrupted(told):
        try:
            code = _code(work)
            if sys.stdout is not None:  # it is where a shell closed it
                sys.stdout.flush()
        except (BrokenPipeError, UnreadError):
            if not _left_alone():
                raise
            return UNREAD
        except KeyboardInterrupt:
            code = INTERRUPTED
    return TERMINATED if told and code == INTERRUPTED else code


def _code(work: Callable[[], object]) -> int:
    """By how it ends."""
    try:
        given = work()
        return given if isinstance(given, int) else 0
    except SystemExit as end:
        if isinstance(end.code, str):
            click.echo(end.code, err=True)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except click.exceptions.Abort:  # what click makes of Ctrl-C and of an end of what is typed
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except MurmurateError as error:
        click.echo(f"murmurate: {error}", err=True)
        return _by_kind(error)


def _by_kind(error: MurmurateError) -> int:
    """The module that knows brokers is not loaded for verbs that do not."""
    if isinstance(error, UsageError):
        return USAGE
    errors = sys.modules.get("murmurate.agents.kafka.errors")
    return BROKER if errors is not None and isinstance(error, errors.BrokerError) else FAILED


@contextmanager
def _terminated_like_interrupted(told: list[int]) -> Iterator[None]:
    """SIGTERM is noted, and handed to whoever handles Ctrl-C by then."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        told.append(number)
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(number, frame)

    before = signal.signal(signal.SIGTERM, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _left_alone() -> bool:
    """Whether the reader of what we print has left; then nothing is printed any more, by Python's own end neither."""
    found = False
    for stream in (sys.stdout, sys.stderr):
        try:
            number = stream.fileno()
        except (OSError, ValueError):
            continue
        polled = select.poll()
        polled.register(number, select.POLLOUT)
        if any(events & (select.POLLERR | select.POLLHUP) for _, events in polled.poll(0)):
            found = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)
    return found
