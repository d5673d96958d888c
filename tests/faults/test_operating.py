# SPDX-License-Identifier: Apache-2.0
"""docs/OPERATING.md, run: the commands of the page, in order, in one shell, against a real broker.  `make test` ends
where the first worker does; kills, new keys and changes of the file follow in `make faults`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.faults.broker import Broker

PAGE = Path(__file__).parents[2] / "docs/OPERATING.md"


def commands(page: Path) -> list[str]:
    """What follows "$ " in the page's console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("part", ["day", pytest.param("whole", marks=pytest.mark.faults)])
def test_every_command_of_the_operating_guide_works(
    broker: Broker, deployment_name: str, tmp_path: Path, part: str
) -> None:
    found = commands(PAGE)
    assert len(found) > 50
    if part == "day":
        found = found[: found.index("wait $one") + 1]
        assert len(found) > 25
    ports = {port: str(free_port()) for port in ("8000", "8001", "8002")}
    script = "set -e\n" + "\n".join(found)
    for written, used in ports.items():
        script = script.replace(f"127.0.0.1:{written}", f"127.0.0.1:{used}")
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MURMURATE__NAME": deployment_name,
        "MURMURATE__KAFKA__BROKERS": orjson.dumps(broker.bootstrap.split(",")).decode(),
        "MURMURATE__POPULATION__PARTITIONS": "2",
        "MURMURATE__WEB__LISTEN": f"127.0.0.1:{ports['8000']}",
        "MURMURATE__WEB__EDGE": f"127.0.0.1:{ports['8001']}",
    }
    shell = subprocess.Popen(
        ["/bin/bash", "-x", "-c", script], cwd=tmp_path, env=env, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = shell.communicate(timeout=240)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)  # the shell and the workers it started
    logs = "".join(f"--- {log.name}\n{log.read_text()[-1500:]}" for log in sorted(tmp_path.rglob("*.log")))
    assert shell.returncode == 0, said[-4000:] + logs
    assert part == "day" or ("refused" in said and '"recovered"' in said)
