# SPDX-License-Identifier: Apache-2.0
"""From a JSON topic to releases on a real broker: the same bytes as the embedded runtime, however many workers.

In `make test` three, and half of the periods; one and two have their bytes compared there by other tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.deployed import Deployed
from tests.faults.recordings import recording


@pytest.mark.parametrize(
    ("workers", "periods"), [(3, 12), *(pytest.param(many, 24, marks=pytest.mark.faults) for many in (1, 2, 4))]
)
def test_releases_are_the_same_bytes_as_embedded(
    deployed: Deployed, workers: int, periods: int, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=800, periods=periods))
    wanted = deployed.expected(source)
    assert len(wanted) >= periods
    for _ in range(workers):
        deployed.worker()
    feed = deployed.feed(source)
    assert deployed.releases(len(wanted)) == wanted
    assert feed.wait() == 0
    for worker in deployed.workers:
        worker.terminate()
    assert [worker.wait() for worker in deployed.workers] == [0] * workers
