# SPDX-License-Identifier: Apache-2.0
"""Options that reproductions over streams of events share: which streams, how long, by how many processes.

Contract: each decorator adds its options in the order in which the help shows them.  Not here: which runs are made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from murmurate.agents.simulate.value_streams import KINDS, RANGE

Command = TypeVar("Command", bound=Callable[..., Any])


def of_streams(command: Command) -> Command:
    """Made-up streams by name, and streams of files."""
    data = click.option(
        "--data", type=click.Path(path_type=Path, exists=True, dir_okay=False), multiple=True,
        help="A stream to compare on, too: whole numbers as .npy, a basket a line, or NAME_cdf.npy beside "
        "NAME_bin.npy.",
    )  # fmt: skip
    named = f"Only these made-up streams, of {','.join(KINDS)}; or none."
    return click.option("--streams", default=None, help=named)(data(command))


def of_runs(command: Command) -> Command:
    """The first seed, the length of a stream, processes, and the form of what is printed."""
    options = (
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them."),
        click.option(
            "--events", type=click.IntRange(256), default=RANGE, show_default=True,
            help="Events that are summed, after those that are held out.",
        ),
        click.option(
            "--processes", type=click.IntRange(1), default=2, show_default=True,
            help="How many processes make the runs.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one line of JSON."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command
