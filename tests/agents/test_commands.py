# SPDX-License-Identifier: Apache-2.0
"""Tests run commands in their own process: a process of its own says the same, and nothing is left behind."""

import json
import logging
import os
import signal
import socket
import warnings
from pathlib import Path

import pytest

from tests.agents.commands import deploy, murmurate, process

COMMANDS = {
    "a promise in words": (0, ("check",)),
    "a list of verbs": (0, ("--help",)),
    "an error of ours": (1, ("replay", "nowhere.jsonl")),
    "a word that there is not": (2, ("audit", "mechanism", "grrr", "--d", "2", "--epsilon", "1")),
    "a broker that nobody is": (3, ("topics", "describe")),
}


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    return deploy(tmp_path)


@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_says_here_what_it_says_in_a_process_of_its_own(deployed: Path, what: str) -> None:
    code, words = COMMANDS[what]
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        brokers = {"MURMURATE__KAFKA__BROKERS": json.dumps([f"127.0.0.1:{taken.getsockname()[1]}"])}
        here, there = (run(*words, cwd=deployed, **brokers) for run in (murmurate, process))
    assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert here.returncode == code
    assert "Traceback" not in here.stderr


def test_a_command_leaves_nothing_behind(deployed: Path) -> None:
    def state() -> tuple[object, ...]:
        loggers = [logging.getLogger(name) for name in (None, "aiokafka")]
        return (
            Path.cwd(), dict(os.environ), signal.getsignal(signal.SIGINT), warnings.filters[:],
            [(log.level, log.handlers[:]) for log in loggers],
        )  # fmt: skip

    before = state()
    done = murmurate("watch", "screen", cwd=deployed, MURMURATE__KAFKA__BROKERS='["127.0.0.1:1"]')
    assert done.returncode == 3
    assert state() == before


def test_an_error_that_nobody_expected_is_a_traceback_and_exit_1(
    deployed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dict[str, object]()
    monkeypatch.setattr("murmurate.agents.cli.check.load", lambda path: found["nothing"])
    done = murmurate("check", cwd=deployed)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "KeyError: 'nothing'"
