"""Every mechanism that serves a stream does so on Kafka too, with a worker killed: the same bytes as embedded."""

from __future__ import annotations

import random
from pathlib import Path

import orjson

from murmurate.randomizers.registry import STREAMED
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed
from tests.faults.recordings import START_MS

PERIODS, USERS = 8, 1600
VALUES = ("home", "search", "basket")
ALWAYS = 'missing = { carry = "always" }'


def _stream(name: str) -> str:
    kind = STREAMED[name]
    what = {
        "frequency": f"values = {list(VALUES)}",
        "mean": "range = [0, 100]",
        "distribution": "range = [0, 100]\ncells = 8",
    }[kind.measure]
    missing = ALWAYS if kind.says_none is False else ""
    return f"""
[streams.{name}]
measure = "{kind.measure}"
{what}
mechanism = "{name}"
every = "1s"
share = 0.0625
method = "lpu"
{missing}
"""


DEPLOYMENT = f"""
[privacy]
epsilon = 2.0
window = {{ periods = 4 }}
min_batch = 2

[population]
partitions = 2
forget_after = "1h"

[time]
clock = "feed"
lateness = "500ms"
patience = "60s"

{"".join(_stream(name) for name in sorted(STREAMED))}
"""


def recording(path: Path) -> Path:
    """Each user speaks about every stream, in about half of the periods."""
    draw = random.Random(7)
    with path.open("wb") as file:
        for t in range(PERIODS):
            moments = sorted((draw.randrange(1000), user) for user in range(USERS) if draw.random() < 0.5 or not t)
            for at, user in moments:
                name = sorted(STREAMED)[draw.randrange(len(STREAMED))]
                numbers = STREAMED[name].measure != "frequency"
                value = round(draw.gauss(40 + t, 20), 2) if numbers else draw.choice(VALUES)
                event = {"stream": name, "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": value}
                file.write(orjson.dumps(event) + b"\n")
    return path


def in_order(releases: list[bytes]) -> list[bytes]:
    """By stream, then by period: how streams take turns is nobody's concern."""
    return sorted(releases, key=lambda text: (orjson.loads(text)["stream"], orjson.loads(text)["t"]))


def test_every_mechanism_releases_the_same_bytes_as_embedded(deployed: Deployed, tmp_path: Path) -> None:
    source = str(recording(tmp_path / "all.jsonl"))
    wanted = deployed.expected(source)
    told = [orjson.loads(text) for text in wanted]
    assert {release["mechanism"]["name"] for release in told if release["reports"]["counted"]} == set(STREAMED)
    for _ in range(2):
        deployed.worker()
    chaos = Chaos(deployed, seed=5, pause_s=2.0)
    chaos.plan([chaos.kill])
    feed = deployed.feed(source, "--speed", "1x")
    assert in_order(deployed.releases(len(wanted), 120.0, chaos)) == in_order(wanted)
    chaos.finish()
    assert feed.wait() == 0
    audit = deployed.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
