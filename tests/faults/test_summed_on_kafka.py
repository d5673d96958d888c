# SPDX-License-Identifier: Apache-2.0
"""Reports that the mixing zone adds up, on a real broker: the releases of a replay, also where its worker dies.

The topic `batches` holds sums and seals alone, and the auditor counts them again.  Embedded crashes at every point are
in tests/agents/embedded/test_summed.py, which costs less than a broker.
"""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment, recording
from tests.faults.zones import mixing_dies

PRIVACY = "min_batch = 30\nunprotected_locally = true\nmixed = { epsilon = 2.0 }\ndelta = 9e-4\nassumed_corrupt = 0.0\n"
DEPLOYMENT = (
    deployment(method="lpu")
    .replace("epsilon = 1.0\n", "epsilon = 3.0\n")
    .replace("min_batch = 20\n", PRIVACY)
    .replace('measure = "frequency"\n', 'measure = "frequency"\nmechanism = "aue"\n')
)  # fmt: skip


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kills", [0, 3])
def test_releases_of_sums_are_those_of_a_replay_also_after_kill_9_of_the_mixing_zones_worker(
    deployed: Deployed, kills: int, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=600, periods=16))
    wanted = deployed.expected(source)
    told = [orjson.loads(release) for release in wanted]
    measured = [one for one in told if one["privacy"]["shuffled"] is not None]
    assert len(measured) > 8
    for one in measured:
        assert one["privacy"]["epsilon"] is None
        assert one["privacy"]["shuffled"]["bound"] == "counts"
        assert one["privacy"]["shuffled"]["epsilon"] <= 2
    mixing_dies(deployed, source, wanted, kills=kills, wait_s=500.0)
