# SPDX-License-Identifier: Apache-2.0
"""A deployment in a storm: nothing is lost, nothing doubled, no byte differs, and the auditor beside it sees all.

Both forms need three brokers and three workers, so they are runs of `make faults`: a minute of storm, and the whole one
of seven with 54 kills, six freezes of 2 to 20 s, and one, two and all three brokers lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.storm_run import SHORT, WHOLE, Size, StormRun

pytestmark = pytest.mark.faults


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(SHORT, id="a minute", marks=pytest.mark.timeout(600)),
        pytest.param(WHOLE, id="whole", marks=pytest.mark.timeout(1800)),
    ],
)
def test_a_storm_loses_nothing_doubles_nothing_changes_no_byte_and_the_auditor_sees_what_is_planted(
    size: Size, tmp_path: Path
) -> None:
    run = StormRun(tmp_path, size, seed=1)
    try:
        run.run()
    finally:
        print(run.report())
    assert run.storm.kills >= size.kills
    assert len(run.found_after) == 5
