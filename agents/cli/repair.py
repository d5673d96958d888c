# SPDX-License-Identifier: Apache-2.0
"""`murmurate repair`: what to do where a deployment cannot go on by itself.

Contract: each verb says what is lost before anything is done, and does it only when told to.  Not here: the verbs
(repair_clock.py, repair_lost.py).
"""

import click

from murmurate.agents.cli.repair_clock import command as clock
from murmurate.agents.cli.repair_lost import command as skip_lost


@click.group("repair")
def command() -> None:
    """Let a deployment go on that cannot by itself."""


command.add_command(clock)
command.add_command(skip_lost)
