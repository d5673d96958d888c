# SPDX-License-Identifier: Apache-2.0
"""docs/TUTORIAL.md, typed: its commands in order in one shell, its programs under their names, on a real broker."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.faults.broker import Broker
from tests.faults.test_operating import free_port
from tests.page_blocks import blocks


def script() -> str:
    """The whole page as one program of a shell."""
    found = ["set -e"]
    for block in blocks("docs/TUTORIAL.md"):
        if block.kind == "python":
            (name,) = block.words
            found.append(f"cat > {name} <<'END_OF_PROGRAM'\n{block.text}END_OF_PROGRAM")
        elif block.kind == "console":
            found += block.commands
    return "\n".join(found)


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_a_stranger_comes_from_nothing_to_a_subscriber(broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    port = free_port()
    text = script().replace("127.0.0.1:8000", f"127.0.0.1:{port}").replace("localhost:9092", broker.bootstrap)
    text = re.sub(r"\bshop(?=\.(events|releases)|-subscribers)", deployment_name, text)
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MURMURATE__NAME": deployment_name,
        "MURMURATE__KAFKA__BROKERS": orjson.dumps(broker.bootstrap.split(",")).decode(),
        "MURMURATE__WEB__LISTEN": f"127.0.0.1:{port}",
        "MURMURATE__WEB__EDGE": "127.0.0.1:0",
    }
    shell = subprocess.Popen(
        ["/bin/bash", "-c", text], cwd=tmp_path, env=env, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = shell.communicate(timeout=540)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)  # the shell and the worker it started
    assert shell.returncode == 0, said[-4000:] + "".join(log.read_text()[-1500:] for log in tmp_path.rglob("*.log"))
    heard = re.findall(r"basket \d+\.\d% \+- \d+\.\d%", said)
    assert len(heard) == 10
    assert "holds" in said
