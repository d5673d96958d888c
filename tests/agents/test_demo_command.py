# SPDX-License-Identifier: Apache-2.0
"""`murmurate demo` as a user meets it: the page's address, the page while it runs, the figures, Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.agents.commands import CLEAN, murmurate

RELEASES = 288


@contextmanager
def demo(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running demo, and its page's address as it says it."""
    running = subprocess.Popen(
        [sys.executable, "-m", "murmurate", "demo", "--port", "0", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert running.stdout
        said = running.stdout.readline()
        assert said == "  Replaying the bundled recording: 60 000 users, through every stage.\n"
        found = re.fullmatch(r"  Live page  (http://127\.0\.0\.1:\d+)   \((.+)\)\n", running.stdout.readline())
        assert found
        assert found[2] == ("ends by itself" if "--once" in words else "Ctrl-C stops")
        yield running, found[1]
    finally:
        running.kill()
        running.wait()


def requested(url: str, path: str) -> HTTPResponse:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("GET", path)
    return connection.getresponse()


def frames(url: str) -> Iterator[dict[str, Any]]:
    """What /v1/feed sends, as it comes."""
    answer = requested(url, "/v1/feed")
    assert answer.status == 200
    assert str(answer.getheader("Content-Type")).startswith("text/event-stream")
    while line := answer.readline():
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


def test_once_serves_its_page_while_it_runs_and_ends_by_itself_with_the_figures() -> None:
    with demo("--once") as (running, url):
        page = requested(url, "/")
        assert page.status == 200
        assert str(page.getheader("Content-Type")).startswith("text/html")
        assert b"<title>" in page.read()
        feed = frames(url)
        hello = next(feed)
        assert (hello["type"], hello["deployment"], hello["mode"]) == ("hello", "demo", "replay")
        assert [stream["name"] for stream in hello["streams"]] == ["screen"]
        release = next(frame for frame in feed if frame["type"] == "release")
        assert release["release"]["stream"] == "screen"
        assert release["truth"].keys() == release["release"]["estimate"].keys()
        assert running.poll() is None
        said, wrong = running.communicate(timeout=120)
    assert (running.returncode, wrong) == (0, "")
    first, second, third = said.splitlines()
    assert all(len(line) <= 80 for line in (first, second, third))
    counts = re.fullmatch(r"  released 288 \((\d+) published, (\d+) approximated\)   error \(MRE\) \d\.\d{3}", first)
    assert counts
    assert int(counts[1]) + int(counts[2]) == RELEASES
    errors = r"  rms error (\d\.\d\d) points as measured, (\d\.\d\d) as estimated   within 2 errors \d\d%"
    rms = re.fullmatch(errors, second)
    assert rms
    assert float(rms[2]) < float(rms[1])
    assert re.fullmatch(r"  bits per user and period \d\.\d\d   \d+\.\d M events/s   reports over budget: 0", third)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.audit)])
def test_ctrl_c_ends_the_endless_form_with_what_was_released_so_far(number: signal.Signals) -> None:
    with demo() as (running, url):
        assert any(frame["type"] == "release" for frame in frames(url))
        running.send_signal(number)
        said, wrong = running.communicate(timeout=10)
    assert (running.returncode, wrong) == (0, "")
    found = re.match(r"  released (\d+) \(", said)
    assert found
    assert 0 < int(found[1]) < RELEASES


def test_a_port_that_is_taken_is_one_line_and_exit_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = murmurate("demo", "--once", "--port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"murmurate: web: cannot listen on 127\.0\.0\.1:{port}: .*; allowed: .*\n", done.stderr)
