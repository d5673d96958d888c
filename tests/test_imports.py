# SPDX-License-Identifier: Apache-2.0
"""What an import loads: the package nothing, the command line's front only click, the library neither Kafka nor web."""

import subprocess
import sys

import pytest

KAFKA, WEB = {"aiokafka", "faust", "mode"}, {"aiohttp", "aiohttp_sse", "prometheus_client"}
TABLES = {"pyarrow", "pandas", "polars", "IPython"}
LIBRARY = ("aggregators", "config", "randomizers", "topics")
OURS = {"numpy", "pydantic", "cryptography", "click", "rich", "orjson", "uvloop"}
WITHOUT_KAFKA = ("account", "audit", "check", "init", "keys", "mechanisms", "plan", "replay", "schema", "trees")


def loaded(*statements: str) -> set[str]:
    """The names in sys.modules of a fresh process that did this."""
    code = "\n".join(("import sys", *statements, "print('\\n' + ' '.join(sys.modules))"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_that_takes_time() -> None:
    found = loaded("import murmurate")
    assert not found & (KAFKA | WEB | TABLES | OURS | {"importlib.metadata", "asyncio", "email"})
    assert {name for name in found if name.startswith("murmurate")} <= {"murmurate", "murmurate.errors"}


def test_its_version_is_the_installed_one() -> None:
    assert "importlib.metadata" in loaded("import murmurate", "assert murmurate.__version__[0].isdigit()")


def test_help_and_completion_load_click_and_no_verb() -> None:
    run = "sys.argv = ['murmurate', '--help']", "from murmurate.agents.cli import main"
    found = loaded(*run, "try: main.main()\nexcept SystemExit: pass")
    assert not found & (KAFKA | WEB | TABLES | OURS - {"click"})
    assert "murmurate.agents.cli.check" not in found


@pytest.mark.parametrize("what", [*(f"murmurate.{name}" for name in LIBRARY), "murmurate.agents.queries"])
def test_the_library_needs_neither_kafka_nor_the_web_nor_tables(what: str) -> None:
    assert not loaded(f"import {what}") & (KAFKA | WEB | TABLES | {"click", "rich"})


def test_verbs_without_brokers_load_no_kafka() -> None:
    verbs = [f"import murmurate.agents.cli.{name}" for name in WITHOUT_KAFKA]
    assert not loaded(*verbs) & (KAFKA | WEB | TABLES)
    assert not loaded("import murmurate.agents.cli.demo", "import murmurate.agents.cli.query") & (KAFKA | TABLES)


def test_a_worker_loads_no_tables() -> None:
    assert not loaded("import murmurate.agents.cli.worker") & TABLES
