# SPDX-License-Identifier: Apache-2.0
"""`murmurate init`: what it writes works, and it overwrites nothing."""

from pathlib import Path

import orjson
import pytest

from murmurate.agents.cli.init import EVENTS, name_of
from murmurate.config import dashboards
from murmurate.config.samples import names
from tests.agents.commands import murmurate

WRITTEN = ("murmurate.toml", "compose.yaml", "dashboards/murmurate.json", "dashboards/alerts.yaml", EVENTS)


@pytest.mark.parametrize("example", names())
def test_what_init_writes_passes_check(tmp_path: Path, example: str) -> None:
    done = murmurate("init", "here", "--example", example, "--users", "40", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "  wrote " + "  ".join(f"here/{name}" for name in WRITTEN),
        "  next: cd here && murmurate check",
    ]
    checked = murmurate("check", "--users", "800", cwd=tmp_path / "here")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "warning" not in checked.stdout
    assert all(len(line) <= 80 for line in checked.stdout.splitlines())


def test_compose_file_and_dashboard_are_those_of_every_deployment(tmp_path: Path) -> None:
    assert murmurate("init", "--example", "papers", "--users", "5", cwd=tmp_path).returncode == 0
    assert (tmp_path / "compose.yaml").read_text() == dashboards.compose()
    assert (tmp_path / "dashboards" / "murmurate.json").read_text() == dashboards.dashboard()


def test_the_environment_does_not_change_what_is_written(tmp_path: Path) -> None:
    said = ("--users", "5", "--until", "2026-11-18T10:00:30Z")
    murmurate("init", "a/shop", *said, cwd=tmp_path)
    murmurate("init", "b/shop", *said, cwd=tmp_path, MURMURATE__STREAMS__SCREEN__VALUES='["x"]', MURMURATE__TYPO="1")
    for name in WRITTEN:
        assert (tmp_path / "a/shop" / name).read_bytes() == (tmp_path / "b/shop" / name).read_bytes()


def test_the_deployment_is_called_like_its_folder_and_its_events_are_those_of_the_last_hour(tmp_path: Path) -> None:
    (tmp_path / "Corner Shop").mkdir()
    murmurate("init", "--users", "200", "--until", "2026-11-18T10:00:30Z", cwd=tmp_path / "Corner Shop")
    text = (tmp_path / "Corner Shop" / "murmurate.toml").read_text()
    assert 'name = "corner-shop"  ' in text
    assert "corner-shop.releases" in text
    assert "the topic corner-shop.events" in text
    times = [orjson.loads(line)["time"] for line in (tmp_path / "Corner Shop" / EVENTS).read_text().splitlines()]
    assert times == sorted(times)
    assert times[0].startswith("2026-11-18T09:00:")
    assert times[-1].startswith("2026-11-18T09:59:")


def test_a_name_is_made_of_any_folder() -> None:
    found = [name_of(folder) for folder in ("shop", "My Shop 2", "2026-shop", "a_b", "x" * 40, "", "42", "\u5e97")]
    assert found == ["shop", "my-shop-2", "shop", "a-b", "x" * 32, None, None, None]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_in_the_way_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    done = murmurate("init", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"murmurate: {name} is in the way; nothing was written\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_is_a_file_and_an_unknown_example_are_refused(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("mine")
    assert murmurate("init", "here", cwd=tmp_path).returncode == 2
    assert murmurate("init", "there", "--example", "none", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "there").exists()
