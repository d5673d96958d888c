# SPDX-License-Identifier: Apache-2.0
"""The command line's front: a group whose verbs are imported only when they are asked for."""

import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from murmurate.agents.cli.ending import exit_code, unread_by_name

VERBS = {
    "demo": "watch a recorded day being released privately, with a live page",
    "init": "write a deployment file that works, and events that fit it",
    "check": "say in words what a deployment promises",
    "plan": "predict errors by method and mechanism, and recommend one",
    "replay": "a recorded or synthetic stream through every stage, no broker needed",
    "serve": "show a recorded run on the live page",
    "worker": "run the stages of a zone on Kafka",
    "feed": "write a recording to a source topic, with its own clock",
    "keys": "make secrets, show their fingerprints, say what may be rotated",
    "topics": "make the deployment's topics, describe them, print who may do what",
    "config": "change values of a deployment that runs, from an instant on",
    "watch": "show the releases of a stream as they come",
    "query": "sums, means, shares and counts over any stretch of time, with errors",
    "status": "show workers, lags, open rounds and last releases",
    "repair": "let a deployment go on that cannot by itself",
    "dead": "list what could not be read; give it a second chance",
    "state": "look at the state topics, restore a state that was overwritten",
    "peek": "show what kinds of records a topic holds, never a row",
    "audit": "check that what is claimed holds, exactly and by measurement",
    "mechanisms": "every oracle there is: bytes of a report, exact variance",
    "trees": "errors of sums over time with central noise, by the tree's shape",
    "account": "what shuffling is worth for a mechanism, by every bound",
    "reproduce": "compute figures of the literature again and compare",
    "schema": "print the JSON Schema of the deployment file, an event, a release, a round",
}


class Verbs(click.Group):
    """Finds a verb in the file of its name; an expected error is one line and exit 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order in which one meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command, from agents/cli/NAME.py."""
        if cmd_name not in VERBS:
            return None
        command = import_module(f"murmurate.agents.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"murmurate.agents.cli.{cmd_name}: `command` is no click command")
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """What is asked for; `--help` and `--version` print here."""
        with unread_by_name():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with unread_by_name():
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin so, without importing any of them; then the options."""
        verbs = [CompletionItem(name, help=said) for name, said in VERBS.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line a verb, without importing any of them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="murmurate", prog_name="murmurate")
def command() -> None:
    """Live statistics from Kafka streams, private by construction."""


def main() -> None:
    """Run a verb. Exit: 0 fine, 1 failed, 2 config or usage, 3 broker, 4 an audit found something; ending.py has the
    others.
    """
    sys.exit(exit_code(lambda: command.main(prog_name="murmurate", standalone_mode=False)))
