# SPDX-License-Identifier: Apache-2.0
"""What every verb that talks to brokers begins with: the deployment, its plan, a client; and how such a verb ends."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from murmurate.config.errors import ConfigError
from murmurate.config.loader import FILE, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.config.settings import Deployment

if TYPE_CHECKING:
    from murmurate.agents.kafka.client import Client

MISTAKES = 2
_T = TypeVar("_T")
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Opened(NamedTuple):
    """A deployment that can be reached."""

    deployment: Deployment
    plan: Plan
    client: Client


def config_option(command: _Command) -> _Command:
    """The option -c/--config of a verb."""
    option = click.option(
        "-c", "--config", type=click.Path(path_type=Path), default=FILE, show_default=True, help="The deployment file."
    )
    return option(command)


def opened(config: Path) -> Opened:
    """The deployment of a file; exit 2 with a line for each mistake in it. Nobody is contacted yet."""
    from murmurate.agents.kafka.client import Client  # here, so that verbs without brokers load no Kafka
    from murmurate.agents.kafka.client.access import access

    try:
        deployment = load(config)
        return Opened(deployment, planned(deployment), Client(access(deployment)))
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end. Ctrl-C ends it with exit 130, also where a shell's background made this process ignore it.
    Failures are reported by our own error alone, since aiokafka's log would repeat them.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        sys.exit(130)
