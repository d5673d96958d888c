# SPDX-License-Identifier: Apache-2.0
"""The command line in scripts: JSON as docs/COMMANDS.md says, exit codes, signals, readers that leave, completion."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from murmurate.agents.cli.ending import INTERRUPTED, TERMINATED, UNREAD, UnreadError, exit_code, unread_by_name
from murmurate.agents.cli.main import VERBS
from murmurate.agents.cli.main import command as front
from murmurate.agents.cli.replay import TooFew
from murmurate.agents.replay.run import Frame
from tests.agents.commands import CLEAN, deploy, murmurate
from tests.agents.test_replay_command import EVENTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
JSON = {"check": (), "mechanisms": ("--epsilon", "1"), "trees": ("--fanout", "16"),
        "topics acl": (), "keys fingerprint": (), "keys new": ("keys",)}  # fmt: skip
"""Verbs that need no broker, and what they are asked here."""


def leaves(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def test_the_page_lists_the_verbs_that_have_json_and_no_other() -> None:
    listed = re.findall(r"^\| `murmurate ([a-z -]+)` \|", PAGE, re.MULTILINE)
    having = [name for name, command in leaves(front) if any("--json" in one.opts for one in command.params)]
    assert sorted(listed) == sorted({"reproduce" if name.startswith("reproduce ") else name for name in having})
    without = {name.split()[0] for name, _ in leaves(front)} - {name.split()[0] for name in having}
    assert without == {"demo", "init", "schema", "worker"} | ({"serve"} & set(VERBS))


@pytest.mark.parametrize("verb", JSON)
def test_json_is_lines_of_json_alone(verb: str, tmp_path: Path) -> None:
    deploy(tmp_path)
    done = murmurate(*verb.split(), *JSON[verb], "--json", cwd=tmp_path)
    assert done.returncode == (2 if verb == "keys fingerprint" else 0), done.stderr
    lines = done.stdout.splitlines()
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert len(lines) == 1 or verb in ("mechanisms", "trees")


def test_the_summary_of_a_replay_has_the_figures_of_each_stream(tmp_path: Path) -> None:
    done = murmurate("replay", EVENTS, "--json", cwd=deploy(tmp_path))
    found = json.loads(done.stdout)
    (stream,) = found["streams"].values()
    for key in ("releases", "published", "mre", "mse", "estimate_mse", "coverage", "bits_per_user_per_period"):
        assert stream[key] == found[key]
    assert found["refused"] == {}


def test_mistakes_in_json_name_line_variable_and_what_was_meant(tmp_path: Path) -> None:
    deploy(tmp_path)
    done = murmurate("check", "--json", cwd=tmp_path, MURMURATE__PRIVCY__EPSILON="1")
    (mistake,) = json.loads(done.stdout)["mistakes"]
    assert (mistake["variable"], mistake["near"], mistake["line"]) == (
        "MURMURATE__PRIVCY__EPSILON", "MURMURATE__PRIVACY__EPSILON", None,
    )  # fmt: skip
    file = tmp_path / "murmurate.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("epsilon = 2.0", "epsilon = -2"), encoding="utf-8")
    (mistake,) = json.loads(murmurate("check", "--json", cwd=tmp_path).stdout)["mistakes"]
    assert text.splitlines()[mistake["line"] - 1].startswith("epsilon = 2.0")


def test_missing_secrets_name_the_command_that_makes_them(tmp_path: Path) -> None:
    done = murmurate("worker", cwd=deploy(tmp_path))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("`murmurate keys new secrets/` makes secrets")


# ---- how it ends ----


def interrupted() -> None:
    raise KeyboardInterrupt


def test_ctrl_c_and_sigterm_end_with_their_codes_and_sigterm_does_what_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert exit_code(interrupted) == INTERRUPTED == 130
    told: list[int] = []
    interrupt = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    try:
        assert exit_code(lambda: os.kill(os.getpid(), signal.SIGTERM)) == 0  # whoever handles Ctrl-C decides
    finally:
        signal.signal(signal.SIGINT, interrupt)
    assert told == [signal.SIGTERM]
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a shell
    try:
        assert exit_code(lambda: os.kill(os.getpid(), signal.SIGTERM)) == TERMINATED == 143
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_broken_pipe_that_is_not_what_we_print_is_no_reader_who_left() -> None:
    def lost() -> None:
        with unread_by_name():
            raise BrokenPipeError

    with pytest.raises(UnreadError):
        exit_code(lost)


def test_sigterm_ends_a_replay_with_what_is_done_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow, seen = TooFew.now, list[Frame]()

    def told(self: TooFew, frame: Frame) -> str | None:
        if frame["type"] == "release" and not seen:
            seen.append(frame)
            os.kill(os.getpid(), signal.SIGTERM)
        return follow(self, frame)

    monkeypatch.setattr(TooFew, "now", told)
    done = murmurate("replay", "synthetic:lns,n=500,periods=50", "--out", "run", cwd=deploy(tmp_path))
    assert done.returncode == TERMINATED
    assert "interrupted: this is what was done so far" in done.stdout
    releases = (tmp_path / "run" / "releases.jsonl").read_bytes().splitlines()
    assert 1 <= len(releases) < 50
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("words", [("trees", "--fanout", "16"), ("check", "-c", "nowhere.toml"), ("--help",)])
def test_a_reader_who_has_left_is_told_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    deploy(tmp_path)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        running = subprocess.run(
            [sys.executable, "-m", "murmurate", *words],
            cwd=tmp_path, env=CLEAN, stdout=nobody.fileno(), stderr=subprocess.PIPE, check=False, timeout=100,
        )  # fmt: skip
    mistaken = words[-1] == "nowhere.toml"  # it goes to standard error, which somebody reads
    assert running.returncode == (2 if mistaken else UNREAD)
    assert (running.stderr == b"") == (not mistaken)


# ---- completion ----


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_for_a_shell_are_made(shell: str) -> None:
    assert f"_MURMURATE_COMPLETE={shell}_source murmurate" in PAGE
    done = murmurate(_MURMURATE_COMPLETE=f"{shell}_source")
    assert done.returncode == 0
    assert f"_MURMURATE_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("re", ["replay", "repair", "reproduce"]), ("watch screen --la", ["--last"]), ("topics ", ["acl"]),
        ("mechanisms --measure m", ["mean"]), ("init --example tri", ["trips"]), ("xyzzy", []),
    ],
)  # fmt: skip
def test_verbs_options_and_choices_are_completed(typed: str, offered: list[str]) -> None:
    words = f"murmurate {typed}"
    done = murmurate(_MURMURATE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split(" ")) - 1))
    found = [line.partition(",")[2] for line in done.stdout.splitlines() if line]
    assert found[: len(offered)] == offered
    assert bool(found) == bool(offered)


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    deploy(tmp_path)
    (block,) = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines():
        words = shlex.split(line.removeprefix("$ ").partition(" | ")[0])
        assert murmurate(*words[1:], cwd=tmp_path).returncode == 0, line


def test_the_messages_of_the_page_are_those_that_come(tmp_path: Path) -> None:
    deploy(tmp_path)
    done = murmurate("check", cwd=tmp_path, MURMURATE__TIME__LATNESS="1s")
    assert done.stderr in PAGE
