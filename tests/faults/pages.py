# SPDX-License-Identifier: Apache-2.0
"""The blocks of a page in docs/, and its Python run against a broker and a deployment of a test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, kind: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(block: str, deployed: Deployed, broker: Broker) -> str:
    """A Python block as a program of its own, on this broker and deployment; what it prints."""
    text = block.replace("localhost:9092", broker.bootstrap).replace("shop", deployed.plan.name)
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
