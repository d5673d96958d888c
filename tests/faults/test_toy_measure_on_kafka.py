# SPDX-License-Identifier: Apache-2.0
"""A measure from outside the package on a real broker: workers that know it release what the embedded runtime does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from murmurate.agents.cli import watch
from murmurate.agents.web.serving import frame
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests import toy
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.recordings import VALUES, promise, recording
from tests.toy import registered

PERIODS = 10
MOOD = f"""
[streams.screen]
measure = "lead"
values = {list(VALUES[:2])}
every = "1s"
method = {{ name = "lpa", revise = 2 }}
thresholds = {{ lead = 0.1 }}
"""


@pytest.fixture(name="leads")
def deployed_lead(broker: Broker, deployment_name: str, tmp_path: Path) -> Iterator[Deployed]:
    text = promise(epsilon=1.0, periods=4, min_batch=20, partitions=2) + MOOD
    with registered():
        found = Deployed(
            tmp_path, deployment_name, broker.bootstrap, text, run=[sys.executable, str(Path(toy.__file__))]
        )
        try:
            found.create(2)
            yield found
        finally:
            found.close()


def test_workers_that_know_a_measure_from_outside_release_it_and_watch_and_the_page_show_it(
    leads: Deployed, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=PERIODS))
    wanted = leads.expected(source)
    leads.worker()
    feed = leads.feed(source)
    found = leads.releases(len(wanted))
    assert found == wanted, leads.blame(found, wanted)
    assert feed.wait() == 0
    records = [orjson.loads(one) for one in found]
    assert {tuple(one["estimate"]) for one in records} == {("lead",)}
    assert any("thresholds" in one and one["revision"] == 2 for one in records)
    (stream,) = leads.plan.streams
    release = decode(found[-1])
    assert isinstance(release, Release)
    assert "lead " in watch.line(release, stream, 20)
    assert frame(release)["release"] == records[-1]
    assert CliRunner().invoke(watch.command, ["nobody", "-c", str(leads.file)]).exit_code != 0
