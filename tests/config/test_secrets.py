# SPDX-License-Identifier: Apache-2.0
"""Secrets: from files and variables, never shown, and each zone gets its own."""

import traceback
from pathlib import Path

import pytest

from murmurate.config import secrets
from murmurate.config.errors import ConfigError
from murmurate.config.loader import build
from murmurate.config.settings import Deployment
from murmurate.randomizers import Key
from tests.config.deployments import small

HEX: dict[str, str] = {name: (bytes([40 + i]) + bytes(range(31))).hex() for i, name in enumerate(secrets.NAMES)}


def deployment(folder: Path, **files: bytes) -> Deployment:
    """All secrets in files of this folder, as they should be but for `files`."""
    for name in secrets.NAMES:
        (folder / name).write_bytes(files.get(name, HEX[name].encode() + b"\n"))
    return build(small(secrets={name: {"file": str(folder / name)} for name in secrets.NAMES}))


def refused(found: Deployment, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        secrets.load(found, environ=environ or {})
    shown = "".join(traceback.format_exception(caught.value))
    assert not [name for name in HEX if HEX[name][:20] in shown]
    return str(caught.value).splitlines()


def test_all_zones_together_hold_every_secret(tmp_path: Path) -> None:
    found = secrets.load(deployment(tmp_path), environ={})
    assert found == {name: bytes.fromhex(HEX[name]) for name in secrets.NAMES}


def test_a_zone_gets_its_own_secrets_and_no_other(tmp_path: Path) -> None:
    everything = deployment(tmp_path)
    assert set(secrets.load(everything, ["edge"])) == {"pepper", "randomness", "slots", "split", "state"}
    assert set(secrets.load(everything, ["mixing"])) == {"shuffle"}
    assert secrets.load(everything, ["analysis"]) == {}


def test_a_zone_does_not_read_what_it_does_not_need(tmp_path: Path) -> None:
    everything = deployment(tmp_path, pepper=b"broken")
    (tmp_path / "state").unlink()
    assert set(secrets.load(everything, ["mixing"], {})) == {"shuffle"}


def test_a_secret_can_come_from_the_environment() -> None:
    named = build(small(secrets__shuffle={"env": "SHUFFLE"}))
    assert secrets.load(named, ["mixing"], {"SHUFFLE": HEX["shuffle"].upper()}) == {
        "shuffle": bytes.fromhex(HEX["shuffle"])
    }


FORM = "allowed: 64 hexadecimal digits and a line end, as `openssl rand -hex 32` prints them"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", f"secrets.slots: found an empty secret; {FORM}"),
        (b"\n", f"secrets.slots: found an empty secret; {FORM}"),
        (HEX["slots"][:63].encode(), f"secrets.slots: found 63 hexadecimal digits; {FORM}"),
        (HEX["slots"].encode() * 2, f"secrets.slots: found 128 hexadecimal digits; {FORM}"),
        (bytes(range(32)), f"secrets.slots: found 32 bytes that are not hexadecimal digits alone; {FORM}"),
        (b"x" * 43 + b"=", f"secrets.slots: found 44 bytes that are not hexadecimal digits alone; {FORM}"),
        (b" " + HEX["slots"].encode(), f"secrets.slots: found 65 bytes that are not hexadecimal digits alone; {FORM}"),
        (b"a" * 5000, f"secrets.slots: found a file of more than 4096 bytes; {FORM}"),
        (b"0" * 64, "secrets.slots: found a secret of a few different bytes; allowed: random bytes"),
        (HEX["pepper"].encode(),
         "secrets.slots: found the same secret as secrets.pepper; allowed: a secret of its own"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_secret_is_refused_without_showing_it(tmp_path: Path, content: bytes, line: str) -> None:
    assert refused(deployment(tmp_path, slots=content)) == [line]


def test_a_missing_file_a_directory_and_a_missing_variable_are_refused_by_key(tmp_path: Path) -> None:
    places = {name: {"file": str(tmp_path / name)} for name in secrets.NAMES}
    deployment(tmp_path)
    (tmp_path / "pepper").unlink()
    (tmp_path / "state").unlink()
    (tmp_path / "state").mkdir()
    mixed = build(small(secrets={**places, "shuffle": {"env": HEX["shuffle"]}, "split": {"file": HEX["split"]}}))
    found = refused(mixed)
    assert found.pop().startswith("`murmurate keys new secrets/` makes secrets")
    assert [line.split("; ")[0] for line in found] == [
        "secrets.pepper: found no such file",
        "secrets.split: found no such file",
        "secrets.state: found a directory",
        "secrets.shuffle: found no such environment variable",
    ]
    assert str(tmp_path) not in "".join(found)


def test_a_secret_that_is_not_named_is_asked_for() -> None:
    assert refused(build(small()))[0] == (
        'secrets.pepper: found nothing; allowed: { file = "PATH" } or { env = "VARIABLE" }'
    )


def test_generated_secrets_are_good_keys_and_never_the_same() -> None:
    one, two = secrets.generate(), secrets.generate(["pepper"])
    assert set(one) == set(secrets.NAMES)
    assert len({*one.values(), *two.values()}) == 7
    assert all(len(secret) == 32 and Key(secret, deployment="x") for secret in one.values())


def test_fingerprints_tell_secrets_apart_and_show_nothing_of_them(tmp_path: Path) -> None:
    found = secrets.load(deployment(tmp_path), environ={})
    prints = secrets.fingerprints(found, "shop")
    assert len(set(prints.values())) == 6
    assert prints["pepper"] == Key(found["pepper"], deployment="shop").fingerprint
    assert not [name for name in prints if prints[name] in HEX[name]]
