# SPDX-License-Identifier: Apache-2.0
"""Workers of a soak that come with a clock that is ahead, are refused, and leave again.

Contract: a visit is good if the worker said so in one line, was never ready, passed on no time, and left when it was
told to.  What it does besides (fold what it was given) is lawful.  Not here: what came of it (soak_checks.py).
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from tests.faults.deployed import Deployed, Process
from tests.faults.soak_checks import results
from tests.faults.test_observe import get, served

AHEAD_S: Final = (3.0, 60.0, 7200.0)
"""Beyond the bound of one second; the last one also beyond what brokers take from writers as a record's time."""
PATIENCE_S: Final = 300.0
NEAR_S: Final = 1.0
"""Of what it is ahead, no more than what is certain is told: less the time that an answer took."""
ROOT: Final = Path(__file__).parents[2]


class Visit(NamedTuple):
    """What a worker said whose clock is ahead, and what it counted."""

    ahead_s: float
    refused_s: float
    """After how long it was refused."""
    wrong: list[str]
    results: Counter[str]


def visit(deployed: Deployed, number: int, stay_s: float) -> Visit:
    """Start it, stay, and leave."""
    ahead = AHEAD_S[number % len(AHEAD_S)]
    command = [sys.executable, "-m", "tests.faults.skewed", str(ahead), "worker", "-c", str(deployed.file)]
    env = {
        "MURMURATE__WEB__LISTEN": "127.0.0.1:0", "MURMURATE__WEB__EDGE": "127.0.0.1:0",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    log = deployed.folder / f"ahead{number}.log"
    process = Process([*command, "--instance", f"ahead{number}"], log, env)
    deployed.others.append(process)
    began = time.monotonic()
    process.until('"serving"', PATIENCE_S)
    public, edge = served(process)
    ready = 0
    while "found this machine's clock" not in (answer := get(f"{public}/readyz")).text:
        ready += answer.status == 200
        if time.monotonic() - began > PATIENCE_S or not process.running:
            break
        time.sleep(0.2)  # another process answers
    refused_s = time.monotonic() - began
    while time.monotonic() - began < refused_s + stay_s and process.running:
        answer = get(f"{public}/readyz")
        ready += answer.status == 200
        time.sleep(1.0)  # it stays for a while
    counted = results(get(f"{edge}/metrics").text)
    process.terminate()
    code = process.wait(PATIENCE_S)
    said = [line["message"] for line in process.lines() if "found this machine's clock" in line["message"]]
    told = [float(one) for line in said for one in re.findall(r"(\S+) s ahead of the brokers'", line)]
    wrong = []
    if [abs(one - ahead) < NEAR_S for one in told] != [True]:
        wrong.append(f"found {len(said)} lines about its clock, {told} s ahead; allowed: one, of {ahead} s")
    if answer.status != 503 or "ahead of" not in answer.text or ready:
        wrong.append(f"/readyz answered {answer.status}, and {ready} times 200; allowed: 503 that names the clock")
    if code != 0:
        wrong.append(f"it ended with {code}; allowed: 0")
    deployed.others.remove(process)
    process.end()
    return Visit(ahead, refused_s, [f"visit {number}: {line}" for line in wrong], counted)
