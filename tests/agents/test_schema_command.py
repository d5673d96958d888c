# SPDX-License-Identifier: Apache-2.0
"""`murmurate schema`: JSON Schema of the deployment file and of what travels."""

import json
from pathlib import Path

import pytest

from tests.agents.commands import murmurate

COMMITTED = Path(__file__).resolve().parent.parent.parent / "topics" / "schema"


@pytest.mark.parametrize("name", ["event", "release", "round"])
def test_messages_have_the_schema_that_is_committed(name: str) -> None:
    done = murmurate("schema", name)
    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads((COMMITTED / f"{name}.schema.json").read_text(encoding="utf-8"))


def test_the_record_that_is_called_as_the_file_is_has_one_too() -> None:
    found = json.loads(murmurate("schema", "config-record").stdout)
    assert found == json.loads((COMMITTED / "config.schema.json").read_text(encoding="utf-8"))


def test_the_deployment_file_has_one() -> None:
    found = json.loads(murmurate("schema", "config").stdout)
    assert found["$schema"].startswith("https://json-schema.org/")
    assert found["properties"]["name"]["pattern"] == "^[a-z][a-z0-9-]{0,31}$"


def test_an_unknown_name_says_what_there_is() -> None:
    done = murmurate("schema", "nothing")
    assert done.returncode == 2
    assert "config" in done.stderr
