# SPDX-License-Identifier: Apache-2.0
"""A deployment with fake reports on a real broker: the releases of a replay, also where the mixing zone's worker dies.

The fakes of a round come from the key alone, so a successor of a killed worker draws the same ones.  Embedded crashes
at every point are in tests/agents/embedded/test_fakes.py, which costs less than a broker.
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment, recording
from tests.faults.zones import mixing_dies

FAKES = 15
DEPLOYMENT = deployment(method="lpu").replace("min_batch = 20\n", f"min_batch = 20\nfakes = {FAKES}\n")


@pytest.mark.faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [0, 3])
def test_releases_with_fakes_are_those_of_a_replay_also_after_kill_9_of_the_mixing_zones_worker(
    deployed: Deployed, kills: int, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=600, periods=16))
    wanted = deployed.expected(source)
    told = [orjson.loads(release) for release in wanted]
    measured = [one for one in told if one["privacy"]["shuffled"] is not None]
    assert len(measured) > 8
    assert all(one["mechanism"]["fakes"] == FAKES for one in measured)
    assert all("against_users" in one["privacy"]["shuffled"] for one in measured)
    mixing_dies(deployed, source, wanted, kills=kills, wait_s=180.0)
