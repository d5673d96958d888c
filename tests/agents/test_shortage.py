# SPDX-License-Identifier: Apache-2.0
"""When it is said that a stream's rounds stay below min_batch: by releases and the plan, and seldom."""

from typing import Any

import orjson

from murmurate.agents.shortage import Shortages, lacking
from tests.agents.world import FIRST, SECOND, arrivals, crowd, deployment, played, stream

PLAN = deployment(min_batch=1000)


def release(counted: int = 0, *, name: str = "screen", small: bool = False, **more: int) -> dict[str, Any]:
    rejected = {"malformed": more.get("malformed", 0)} | ({"undersized": True} if small else {})
    received = counted + rejected["malformed"]
    reports = {"slots": more.get("slots", 32), "received": received, "counted": counted, "rejected": rejected}
    return {"stream": name, "revision": more.get("revision", 1), "reports": reports}


def short(**more: Any) -> dict[str, Any]:
    return release(small=True, **more)


def test_three_short_rounds_in_a_row_are_worth_saying_and_then_each_doubling() -> None:
    shortages = Shortages(PLAN)
    told = {row: said for row in range(1, 50) if (said := shortages.take(short())) is not None}
    assert list(told) == [3, 6, 12, 24, 48]
    assert told[6] == (
        "6 rounds in a row had fewer than the 1 000 reports that a release needs. "
        "Allow a smaller min_batch, longer periods or a shorter window."
    )
    assert (shortages.of["screen"].row, shortages.of["screen"].longest) == (49, 49)


def test_a_round_that_counts_ends_a_row_and_what_asked_nobody_or_comes_again_does_not() -> None:
    shortages = Shortages(PLAN)
    others = [release(slots=0), release(1200, revision=2), short(name="mood")]
    for one in (short(), others[0], short(), others[1], release(1200), short(), short()):
        assert shortages.take(one) is None
    assert shortages.take(others[2]) is None
    assert shortages.take(short()) is not None
    # Enough came, and none of it counts: it is not their number that is wrong.
    assert shortages.take(release(malformed=2000)) is None
    assert shortages.of["screen"].row == 0


def test_what_a_release_lacks_is_said_only_where_it_is_reports() -> None:
    assert lacking(short()["reports"], 1000) == "fewer than the 1 000 reports that a release needs"
    assert lacking(release(slots=0)["reports"], 1000) is None  # nobody was asked
    assert lacking(release(malformed=2000)["reports"], 1000) is None
    assert lacking(release(2000)["reports"], 1000) is None
    # A first round had enough, and the second one, which was to be published, did not.
    assert lacking(release(2000, small=True)["reports"], 1000) is None


def test_a_whole_run_with_too_few_users_is_named_and_one_with_enough_is_not() -> None:
    for min_batch, found in ((10_000, True), (8, False)):
        plan = deployment(stream("screen", "lpu"), min_batch=min_batch)
        runtime = played(plan, arrivals(crowd(plan), until=(FIRST + 14) * SECOND))
        shortages = Shortages(plan)
        said = [shortages.take(orjson.loads(record)) for record in runtime.releases()]
        assert any(said) == found
