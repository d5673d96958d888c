"""`murmurate schema`: JSON Schema of the deployment file and of everything in JSON that travels."""

from typing import Any

import click
import orjson

from murmurate.config import schema as deployment_file
from murmurate.topics import schemas

CONFIG = "config"


@click.command("schema")
@click.argument("name", type=click.Choice((CONFIG, *schemas.NAMES)))
def command(name: str) -> None:
    """Print the JSON Schema of the deployment file (config), an event, a release, a round, or another message."""
    found: dict[str, Any] = deployment_file.schema() if name == CONFIG else schemas.schema(name)
    click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
