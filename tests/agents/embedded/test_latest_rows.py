# SPDX-License-Identifier: Apache-2.0
"""Rows of the newest releases change no release, follow from them alone, and no crash loses one or adds one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.agents.stages.released import LATEST
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.topics.codec import decode
from murmurate.topics.latest import Latest, latest_rows
from murmurate.topics.release import Release
from tests.agents.world import Crashes, arrivals, crowd, deployment, played, stream

POINTS = ("before fold", "after fold", "in the transaction", "after the commit")
PLAN = deployment(
    stream("screen", "lsp", share_micro=600_000),
    stream("mood", "lb-fast", share_micro=400_000, method=MethodOptions("lb-fast", filter="adaptive", revise=2)),
)


@pytest.mark.parametrize("crash", [False, True])
def test_rows_change_no_release_and_are_those_of_each_newest_one(crash: bool) -> None:
    came = arrivals(crowd(PLAN, users=120, periods=6), until=110_000)
    usual, with_rows = played(PLAN, came), replace(PLAN, latest=True)
    crashes = Crashes({(point, "publish"): (2, 5) for point in POINTS} if crash else {})
    found = played(with_rows, came, faults=crashes)
    assert crashes.died == (2 * len(POINTS) if crash else 0)
    assert found.releases() == usual.releases()
    assert usual.logs.all(LATEST) == []
    releases = [decode(one) for one in found.releases()]
    newest: list[Latest] = []
    for one in releases:
        assert isinstance(one, Release)
        if one.revision == 1:  # of which no older period is told again
            newest += latest_rows(one)
    assert len(newest) < sum(len(latest_rows(one)) for one in releases if isinstance(one, Release))
    assert [decode(one) for one in found.logs.all(LATEST)] == newest
