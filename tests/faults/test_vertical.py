"""From a JSON topic to releases on a real broker: the same bytes as the embedded runtime, however many workers.

In `make test` four; one and two have their bytes compared there by test_bad_records.py and test_kills.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.deployed import Deployed
from tests.faults.recordings import recording

PERIODS = 24


@pytest.mark.parametrize("workers", [4, *(pytest.param(few, marks=pytest.mark.faults) for few in (1, 2))])
def test_releases_are_the_same_bytes_as_embedded(deployed: Deployed, workers: int, tmp_path: Path) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=800, periods=PERIODS))
    wanted = deployed.expected(source)
    assert len(wanted) >= PERIODS
    for _ in range(workers):
        deployed.worker()
    feed = deployed.feed(source)
    assert deployed.releases(len(wanted)) == wanted
    assert feed.wait() == 0
    for worker in deployed.workers:
        worker.terminate()
    assert [worker.wait() for worker in deployed.workers] == [0] * workers
