# SPDX-License-Identifier: Apache-2.0
"""`murmurate keys`: files that only their owner reads, fingerprints and nothing else on the screen."""

import json
import re
import stat
from pathlib import Path

import pytest

from murmurate.agents.cli.fingerprints import listed
from murmurate.agents.cli.keys import ROTATION
from murmurate.config.loader import load
from murmurate.config.secrets import NAMES, fingerprints
from murmurate.config.secrets import load as load_secrets
from tests.agents.commands import deploy, murmurate


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    """A folder with a deployment that has no secrets yet."""
    return deploy(tmp_path)


def paste(folder: Path, printed: str) -> None:
    with (folder / "murmurate.toml").open("a") as file:
        file.write("\n" + printed[printed.index("[secrets]") :])


def test_new_secrets_are_files_of_their_own_and_the_printed_lines_are_all_it_takes(deployed: Path) -> None:
    done = murmurate("keys", "new", "secrets", cwd=deployed)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    folder = deployed / "secrets"
    assert {path.name for path in folder.iterdir()} == {*NAMES, "fingerprints"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in (folder / name for name in NAMES):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
        assert path.read_text().strip() not in done.stdout
    paste(deployed, done.stdout)
    said = murmurate("keys", "fingerprint", "--json", cwd=deployed)
    shown = json.loads(said.stdout)
    assert (said.returncode, shown["ok"], shown["unread"]) == (0, True, {})
    deployment = load(deployed / "murmurate.toml", {})
    inside = {name: (folder / name).read_text() for name in NAMES}
    assert shown["fingerprints"] == fingerprints(
        {name: bytes.fromhex(text) for name, text in inside.items()}, deployment.name
    )
    assert all(f"secrets/{name} " in done.stdout and shown["fingerprints"][name] in done.stdout for name in NAMES)
    assert not any(text.strip() in said.stdout for text in inside.values())
    assert murmurate("check", cwd=deployed).returncode == 0
    assert listed((folder / "fingerprints").read_text()) == shown["fingerprints"]
    assert listed(murmurate("keys", "fingerprint", cwd=deployed).stdout) == shown["fingerprints"]


def test_a_zone_gets_its_own_secrets_and_no_other(deployed: Path) -> None:
    done = murmurate("keys", "new", "mixing", "--zone", "mixing", cwd=deployed)
    assert {path.name for path in (deployed / "mixing").iterdir()} == {"shuffle", "fingerprints-mixing"}
    paste(deployed, done.stdout)
    said = murmurate("keys", "fingerprint", cwd=deployed)
    assert said.returncode == 0  # what can be read from here
    assert said.stdout.startswith("shuffle ")
    assert said.stderr.startswith("edge: secrets.pepper: found nothing; allowed: ")
    assert murmurate("keys", "fingerprint", "--zone", "mixing", cwd=deployed).stderr == ""
    assert murmurate("keys", "fingerprint", "--zone", "edge", cwd=deployed).returncode == 2
    assert murmurate("keys", "new", "none", "--zone", "analysis", cwd=deployed).returncode == 2


def test_nothing_is_overwritten_and_nothing_is_written_beside_what_is_in_the_way(deployed: Path) -> None:
    (deployed / "secrets").mkdir()
    (deployed / "secrets" / "shuffle").write_text("mine")
    done = murmurate("keys", "new", "secrets", cwd=deployed)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "murmurate: secrets/shuffle is in the way; nothing was written\n"
    assert [path.name for path in (deployed / "secrets").iterdir()] == ["shuffle"]
    (deployed / "secrets" / "shuffle").unlink()
    (deployed / "secrets" / "shuffle").symlink_to(deployed / "elsewhere")
    assert murmurate("keys", "new", "secrets", cwd=deployed).returncode == 1
    assert not (deployed / "elsewhere").exists()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"shuffle"}))
def test_a_secret_that_may_not_change_is_refused_with_the_reason(deployed: Path, name: str) -> None:
    paste(deployed, murmurate("keys", "new", "secrets", cwd=deployed).stdout)
    before = {path: path.read_bytes() for path in (deployed / "secrets").iterdir()}
    done = murmurate("keys", "rotate", name, cwd=deployed)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"murmurate: secrets.{name} ")
    assert ROTATION[name] in done.stderr  # type: ignore[index]
    assert {path: path.read_bytes() for path in (deployed / "secrets").iterdir()} == before


def test_the_shuffle_key_gets_a_successor_beside_it(deployed: Path) -> None:
    paste(deployed, murmurate("keys", "new", "secrets", cwd=deployed).stdout)
    old = (deployed / "secrets" / "shuffle").read_text()
    done = murmurate("keys", "rotate", "shuffle", cwd=deployed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "restart the mixing workers" in done.stdout
    successor = deployed / "secrets" / "shuffle.new"
    assert stat.S_IMODE(successor.stat().st_mode) == 0o600
    assert (deployed / "secrets" / "shuffle").read_text() == old != successor.read_text()
    assert successor.read_text().strip() not in done.stdout
    assert murmurate("keys", "rotate", "shuffle", cwd=deployed).returncode == 1  # it is in the way
    successor.replace(deployed / "secrets" / "shuffle")
    deployment = load(
        deployed / "murmurate.toml", {"MURMURATE__SECRETS__SHUFFLE__FILE": str(deployed / "secrets/shuffle")}
    )
    assert fingerprints(load_secrets(deployment, ["mixing"]), deployment.name)["shuffle"] in done.stdout


def test_a_place_that_holds_no_secret_is_not_repeated(deployed: Path) -> None:
    canary = "c4n4ry" * 4
    where = {"MURMURATE__SECRETS__SHUFFLE": f'{{"file": "{canary}"}}'}
    for words in (("rotate", "shuffle"), ("fingerprint",)):
        done = murmurate("keys", *words, cwd=deployed, **where)
        assert done.returncode == 2
        assert "secrets.shuffle: found no such file" in done.stderr
        assert canary not in done.stderr + done.stdout
    where = {"MURMURATE__SECRETS__SHUFFLE": '{"env": "SHUFFLE"}'}
    done = murmurate("keys", "rotate", "shuffle", cwd=deployed, **where)
    assert done.returncode == 1
    assert "found a place in the environment" in done.stderr
