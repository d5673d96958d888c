"""`murmurate init`: what it writes works, and it overwrites nothing."""

from pathlib import Path

import pytest

from murmurate.config.samples import names
from tests.agents.test_check_command import murmurate


@pytest.mark.parametrize("example", names())
def test_what_init_writes_passes_check(tmp_path: Path, example: str) -> None:
    done = murmurate("init", "here", "--example", example, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "  wrote here/murmurate.toml  here/events.sample.jsonl",
        "  next: cd here && murmurate check",
    ]
    checked = murmurate("check", "--users", "800", cwd=tmp_path / "here")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "warning" not in checked.stdout
    assert all(len(line) <= 80 for line in checked.stdout.splitlines())


def test_the_environment_does_not_change_what_is_written(tmp_path: Path) -> None:
    murmurate("init", "one", cwd=tmp_path)
    murmurate("init", "two", cwd=tmp_path, MURMURATE__STREAMS__SCREEN__VALUES='["x"]', MURMURATE__TYPO="1")
    for name in ("murmurate.toml", "events.sample.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("name", ["murmurate.toml", "events.sample.jsonl"])
def test_a_file_in_the_way_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    done = murmurate("init", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"murmurate: {name} is in the way; nothing was written\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_is_a_file_and_an_unknown_example_are_refused(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("mine")
    assert murmurate("init", "here", cwd=tmp_path).returncode == 2
    assert murmurate("init", "there", "--example", "none", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "there").exists()
