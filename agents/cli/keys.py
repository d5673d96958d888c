# SPDX-License-Identifier: Apache-2.0
"""`murmurate keys`: make a deployment's secrets, show their fingerprints, and say which of them may be rotated.

Contract: a secret goes to a file that only its owner reads, and nowhere else; fingerprints are all that is printed, and
a list of them stands beside the secrets, for whoever makes topics and may not read those.
Nothing is overwritten: if one file is in the way, none is written.  Which may change and which not, and why, is
`ROTATION`.  Not here: reading secrets (config/secrets.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click
import orjson

from murmurate.agents.cli.deployment import MISTAKES, config_option
from murmurate.config.brokers import Secret
from murmurate.config.errors import ConfigError, InTheWayError
from murmurate.config.loader import load as load_deployment
from murmurate.config.secrets import FROZEN, NAMES, ZONE_SECRETS, fingerprints, generate, load
from murmurate.config.settings import Deployment, SecretName
from murmurate.topics.names import ZONES, Zone

FAILED: Final = 1
HOLDING: Final[tuple[Zone, ...]] = tuple(zone for zone in ZONES if ZONE_SECRETS[zone])
"""Zones that hold secrets."""
ROTATED: Final = "shuffle"
_LEDGER: Final = "is frozen for the life of the deployment: what users have spent is booked under it"
ROTATION: Final[Mapping[SecretName, str]] = {
    "pepper": f"{_LEDGER}. Under another pepper every user would be a new one, with a fresh budget",
    "slots": f"{_LEDGER}. Under another key users would be in other slots, which were asked at other times",
    "split": f"{_LEDGER}. Under another key users would serve other streams, with a fresh budget there",
    "randomness": (
        "cannot be rotated while the deployment lives. What a crash cut off is sent again, and its first sending can "
        "still be read from the brokers: under another key those would be two independent reports, which cost twice. "
        "The state of perturb holds the key's fingerprint, and workers refuse another one"
    ),
    "state": (
        "cannot be rotated while the deployment lives. The snapshots of perturb are sealed with it, and nothing seals "
        "them anew"
    ),
    "shuffle": "may be rotated at any time: it orders reports that nobody orders twice",
}
"""What may become of each secret, and why."""


@click.group("keys")
def command() -> None:
    """Make a deployment's secrets, show their fingerprints, say which may be rotated."""


@command.command("new")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--zone", "zones", type=click.Choice(HOLDING), multiple=True, help="Only this zone's; all by default.")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def new(folder: Path, zones: Sequence[Zone], config: Path, as_json: bool) -> None:
    """Write a secret a file into DIR, and print their fingerprints and the lines for the deployment file."""
    deployment = _deployment(config)
    names = _names(zones)
    secrets = generate(names)
    paths = {name: folder / name for name in secrets}
    shown = fingerprints(secrets, deployment.name)
    listed = "".join(f"{name} {digits}\n" for name, digits in shown.items())
    _write(
        {paths[name]: f"{secret.hex()}\n" for name, secret in secrets.items()}
        | {folder / "-".join(("fingerprints", *dict.fromkeys(zones))): listed}
    )
    if as_json:
        files = {name: str(path) for name, path in paths.items()}
        click.echo(orjson.dumps({"ok": True, "files": files, "fingerprints": shown}))
        return
    wide = max(len(str(path)) for path in paths.values())
    for name, path in paths.items():
        click.echo(f"  {path!s:<{wide}}  {shown[name]}")
    click.echo(f"for {config}:\n\n[secrets]")
    for name, path in paths.items():
        click.echo(f"{name} = {{ file = {orjson.dumps(str(path)).decode()} }}")


@command.command("fingerprint")
@click.option("--zone", "zones", type=click.Choice(HOLDING), multiple=True, help="Only this zone's; all by default.")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def fingerprint(zones: Sequence[Zone], config: Path, as_json: bool) -> None:
    """Print the fingerprints of the secrets that can be read from here. Exit 2: those of a named zone cannot."""
    deployment = _deployment(config)
    found: dict[str, str] = {}
    unusable: dict[Zone, list[str]] = {}
    wanted: list[Zone] = [zone for zone in HOLDING if zone in zones or not zones]
    for zone in wanted:
        try:
            found |= fingerprints(load(deployment, [zone]), deployment.name)
        except ConfigError as error:
            unusable[zone] = str(error).splitlines()
    unread = bool(unusable) if zones else not found
    if as_json:
        click.echo(orjson.dumps({"ok": not unread, "fingerprints": found, "unread": unusable}))
    else:
        for name, shown in found.items():
            frozen = "  frozen for the life of the deployment" if name in FROZEN else ""
            click.echo(f"{name:<10}  {shown}{frozen}")
        for zone, lines in unusable.items():
            for line in lines:
                click.echo(f"{zone}: {line}", err=True)
    sys.exit(MISTAKES if unread else 0)


@command.command("rotate")
@click.argument("name", type=click.Choice(NAMES))
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def rotate(name: SecretName, config: Path, as_json: bool) -> None:
    """Write a new secret beside the old one, where it may change; say why it may not, and exit 1, where not."""
    deployment = _deployment(config)
    if name != ROTATED:
        _refuse(f"secrets.{name} {ROTATION[name]}. Allowed: a deployment of another name, with keys of its own")
    place: Secret | None = getattr(deployment.secrets, name)
    if place is not None and place.file is None:
        _refuse(
            f"secrets.{name}: found a place in the environment; allowed: a file, beside which a new one is written. Or "
            "set the variable to what `openssl rand -hex 32` prints, and restart the mixing workers"
        )
    old = _loaded(deployment, "mixing")[name]
    assert place is not None  # noqa: S101 - it was loaded from there
    path = Path(f"{place.file}.new")
    secret = generate([name])
    _write({path: f"{secret[name].hex()}\n"})
    new = fingerprints(secret, deployment.name)[name]
    if as_json:
        click.echo(orjson.dumps({"ok": True, "file": str(path), "fingerprint": new, "was": old}))
        return
    click.echo(f"  {path}  {new}, was {old}")
    click.echo(f"next: mv {path} {place.file}, then `murmurate topics create` where it can be read (elsewhere with")
    click.echo("--fingerprints), so that all workers compare the new one; then restart the mixing workers")


def _deployment(config: Path) -> Deployment:
    try:
        return load_deployment(config)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)


def _loaded(deployment: Deployment, zone: Zone) -> dict[str, str]:
    """Fingerprints of a zone's secrets: whatever else a place names stays unsaid."""
    try:
        return fingerprints(load(deployment, [zone]), deployment.name)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)


def _names(zones: Sequence[Zone]) -> list[SecretName]:
    return [name for zone in ZONES for name in ZONE_SECRETS[zone] if zone in zones or not zones]


def _refuse(reason: str) -> NoReturn:
    click.echo(f"murmurate: {reason}", err=True)
    sys.exit(FAILED)


def _write(texts: Mapping[Path, str]) -> None:
    """All of them, or none where one is in the way."""
    for path in texts:
        if path.exists() or path.is_symlink():
            raise InTheWayError(f"{path} is in the way; nothing was written")
    try:
        for path, text in texts.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text)
    except OSError as error:
        raise InTheWayError(f"{error.filename}: {error.strerror}") from None
