# SPDX-License-Identifier: Apache-2.0
"""`murmurate audit plugins`: everything that other packages add, audited.

Contract: every installed package is loaded; each thing that it adds is in use and holds, or is refused or broken with
one line that says why.  Exit 0: all hold, also where there are none; 4: one does not.  Not here: the checks
(config/plugin_checks.py, replay/plugin_runs.py).
"""

from __future__ import annotations

import secrets
import sys
import textwrap
from typing import Any

import click
import orjson

from murmurate.config import plugins
from murmurate.randomizers import Key

FOUND_SOMETHING = 4
COLUMNS = 80


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(as_json: bool) -> None:
    """Audit the mechanisms, views, methods and measures of other packages that are installed here. Exit 4: one is
    refused, or does not hold.
    """
    found = [_tried(plugin, refused) for plugin, refused in plugins.use().items()]
    if as_json:
        click.echo(orjson.dumps({"ok": all(one["fault"] is None for one in found), "plugins": found}))
    elif not found:
        click.echo("No other package adds anything here.")
    for one in () if as_json else found:
        click.echo(f"{one['kind']} {one['name']}   of {one['package']}, not Murmurate's own")
        for said in filter(None, (one["compared"], None if one["fault"] is None else f"REFUSED: it {one['fault']}")):
            for line in textwrap.wrap(said, COLUMNS, initial_indent="  ", subsequent_indent="    "):
                click.echo(line)
        if one["fault"] is None:
            click.echo("  holds")
    sys.exit(0 if all(one["fault"] is None for one in found) else FOUND_SOMETHING)


def _tried(plugin: plugins.Plugin, refused: str | None) -> dict[str, Any]:
    """What is said of one: that it is refused, or what its trial found."""
    # Imported here: the other audits need no replay.
    from murmurate.agents.cli.replay import known_secrets
    from murmurate.agents.replay.plugin_runs import fault_in
    from murmurate.agents.replay.run import keys

    fault, compared = refused, ""
    if refused is None:
        try:
            made = keys(known_secrets("plugins"), "plugins")
            fault, compared = fault_in(
                plugin.kind, plugin.entry.load(), made, Key(secrets.token_bytes(32), deployment="audit")
            )
        except Exception as error:
            fault = f"raises {type(error).__name__} when it is tried: {error}"
    return {"kind": plugin.kind, "name": plugin.name, "package": plugin.origin, "compared": compared, "fault": fault}
