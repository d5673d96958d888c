# SPDX-License-Identifier: Apache-2.0
"""Searches for strings on a real broker: the same bytes as embedded, however many workers there are and whenever one is
killed, between the phases of a search and between the blocks of its counts too.
"""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed, by_stream
from tests.faults.recordings import START_MS, promise

PERIODS, USERS = 12, 400
SEARCHES = ("pem", "pem_rounds", "tree_hist", "priv_trie")
DEPLOYMENT = promise(epsilon=6.0, periods=2, min_batch=2, partitions=2) + "".join(
    f"""
[streams.{method.replace("_", "-")}]
measure = "strings"
find = "strings"
bits = 16
top = 4
every = "1s"
share = 0.33
method = "{method}"
"""
    for method in SEARCHES
)


def recording(path: Path) -> Path:
    """Everybody says a string of each stream in every period, most of them "hi"; some say what is none."""
    draw = random.Random(7)
    with path.open("wb") as file:
        for t in range(PERIODS):
            for at, user in sorted((draw.randrange(1000), user) for user in range(USERS)):
                for method in SEARCHES:
                    value = draw.choice([*["hi"] * 7, "yo", "much too long", 7])
                    where = {
                        "stream": method.replace("_", "-"),
                        "user": f"user-{user}",
                        "time": START_MS + 1000 * t + at,
                    }
                    file.write(orjson.dumps({**where, "value": value}) + b"\n")
    return path


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("workers", "kills"), [(1, 2), (2, 3), (4, 6)])
def test_a_search_gives_the_same_bytes_as_embedded(
    deployed: Deployed, workers: int, kills: int, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "all.jsonl"))
    wanted = deployed.expected(source)
    found_names = {one["stream"]: list(one["estimate"]) for one in map(orjson.loads, wanted)}
    assert any("hi" in names for names in found_names.values())
    for _ in range(workers):
        deployed.worker()
    chaos = Chaos(deployed, seed=workers, pause_s=1.0)
    chaos.plan([chaos.kill] * kills)
    feed = deployed.feed(source, "--speed", "1x")
    found = deployed.releases(len(wanted), 420.0, chaos)
    assert by_stream(found) == by_stream(wanted), deployed.blame(by_stream(found), by_stream(wanted))
    chaos.finish()
    assert feed.wait() == 0
    audit = deployed.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
