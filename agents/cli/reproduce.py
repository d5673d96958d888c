# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce`: figures of the literature, and of our own, again, beside what they should be.

Contract: a subcommand's seed decides all of its chance: the same seed prints the same.  Exit 1 if a figure is not
reproduced.  Not here: what each of them computes (reproductions/).
"""

import click

from murmurate.agents.cli.reproductions.filter import command as filter_command
from murmurate.agents.cli.reproductions.hitters import command as hitters_command
from murmurate.agents.cli.reproductions.ldp_ids import command as ldp_ids_command
from murmurate.agents.cli.reproductions.post_processing import command as post_processing_command
from murmurate.agents.cli.reproductions.sao2 import command as sao2_command
from murmurate.agents.cli.reproductions.shuffle import command as shuffle_command
from murmurate.agents.cli.reproductions.topl import command as topl_command
from murmurate.agents.cli.reproductions.tops import command as tops_command
from murmurate.agents.cli.reproductions.vectors import command as vectors_command


@click.group("reproduce")
def command() -> None:
    """Compute figures of the literature again and compare. Exit 1: a figure is not reproduced."""


for subcommand in (
    ldp_ids_command, filter_command, post_processing_command, tops_command, topl_command, shuffle_command,
    vectors_command, sao2_command, hitters_command,
):  # fmt: skip
    command.add_command(subcommand)
