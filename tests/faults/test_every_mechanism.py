# SPDX-License-Identifier: Apache-2.0
"""Every mechanism that serves a stream does so on Kafka too, with a worker killed: the same bytes as embedded. So does
a stream of so many values that the state of its filter is too large for one record, and its counts for a message, and
whose periods are revised; and one that finds first where to clip its numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from murmurate.randomizers.registry import STREAMED
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos
from tests.faults.deployed import Deployed
from tests.faults.recordings import START_MS, promise

PERIODS, USERS = 6, 1000
VALUES = ("home", "search", "basket")
WIDE = tuple(f"value-{i}" for i in range(998))
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
share = 0.05
method = "lpu"
{missing}
"""


WIDE_STREAM = f"""
[streams.wide]
measure = "frequency"
values = {list(WIDE)}
mechanism = "she"
every = "1s"
share = 0.05
method = {{ name = "lpu", revise = 2 }}
thresholds = {{ value-7 = 0.01 }}
"""
FOUND_STREAM = """
[streams.found]
measure = "mean"
range = [0, 1000]
clip = "found"
every = "1s"
share = 0.05
method = "lba"
"""
SOME = ("grr", "olh", "sw_presence", "value_presence")
"""One of each kind.  Both forms are in `make faults`: the bytes of all are in the record of replays, and those of a
killed worker are compared by test_shares_on_kafka.py and test_wide_values_on_kafka.py.
"""


@pytest.fixture(params=[SOME, tuple(sorted(STREAMED))], ids=["some", "all"])
def mechanisms(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Those that have a stream."""
    return tuple(request.param)


@pytest.fixture
def deployed(mechanisms: tuple[str, ...], broker: Broker, deployment_name: str, tmp_path: Path) -> Iterator[Deployed]:
    """A deployment with a stream of each of these mechanisms, a wide one and one that is clipped."""
    text = promise(epsilon=2.0, periods=4, min_batch=2, partitions=2) + "".join(map(_stream, mechanisms))
    found = Deployed(tmp_path, deployment_name, broker.bootstrap, text + WIDE_STREAM + FOUND_STREAM)
    found.create()
    yield found
    found.close()


def recording(path: Path, mechanisms: tuple[str, ...]) -> Path:
    """Each user speaks about every stream, in about half of the periods."""
    names = (*mechanisms, "found", "wide")
    draw = random.Random(7)
    with path.open("wb") as file:
        for t in range(PERIODS):
            moments = sorted((draw.randrange(1000), user) for user in range(USERS) if draw.random() < 0.5 or not t)
            for at, user in moments:
                name = names[draw.randrange(len(names))]
                numbers = name == "found" or (name in STREAMED and STREAMED[name].measure != "frequency")
                values = WIDE if name == "wide" else VALUES
                value = round(draw.gauss(40 + t, 20), 2) if numbers else draw.choice(values)
                event = {"stream": name, "user": f"user-{user}", "time": START_MS + 1000 * t + at, "value": value}
                file.write(orjson.dumps(event) + b"\n")
    return path


def in_order(releases: list[bytes]) -> list[bytes]:
    """By stream, then by period: how streams take turns is nobody's concern."""
    told = [(orjson.loads(text), text) for text in releases]
    return [text for _, text in sorted(told, key=lambda one: (one[0]["stream"], one[0]["t"], one[0]["revision"]))]


@pytest.mark.faults
def test_every_mechanism_releases_the_same_bytes_as_embedded(
    mechanisms: tuple[str, ...], deployed: Deployed, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "all.jsonl", mechanisms))
    wanted = deployed.expected(source)
    told = [orjson.loads(text) for text in wanted]
    assert {release["mechanism"]["name"] for release in told if release["reports"]["counted"]} == {
        *mechanisms,
        "she",
        "recoded",
    }
    assert any(release["stream"] == "wide" and release["revision"] == 2 for release in told)
    for _ in range(2):
        deployed.worker()
    chaos = Chaos(deployed, seed=5, pause_s=2.0)
    chaos.plan([chaos.kill])
    feed = deployed.feed(source, "--speed", "1x")
    assert in_order(deployed.releases(len(wanted), 120.0, chaos)) == in_order(wanted)
    chaos.finish()
    assert feed.wait() == 0
    assert any(got.value and b"tally_in_blocks" in got.value for got in deployed.everything("tallies"))
    audit = deployed.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
