# SPDX-License-Identifier: Apache-2.0
"""`murmurate schema`: JSON Schema of the deployment file and of everything in JSON that travels."""

from typing import Any

import click
import orjson

from murmurate.config import schema as deployment_file
from murmurate.topics import schemas

CONFIG, CONFIG_RECORD = "config", "config-record"
"""The deployment file, and the record of `rounds` that is called config too."""


@click.command("schema")
@click.argument("name", type=click.Choice((CONFIG, *(CONFIG_RECORD if n == CONFIG else n for n in schemas.NAMES))))
def command(name: str) -> None:
    """Print the JSON Schema of the deployment file (config), an event, a release, a round, or another message."""
    message = CONFIG if name == CONFIG_RECORD else name
    found: dict[str, Any] = deployment_file.schema() if name == CONFIG else schemas.schema(message)
    click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
