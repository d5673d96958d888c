"""When it is said that a stream's rounds stay below min_batch: by releases and the plan, and seldom."""

from typing import Any

import orjson

from murmurate.agents.shortage import Shortages, lacking
from tests.agents.world import FIRST, SECOND, arrivals, crowd, deployment, played, stream

PLAN = deployment(min_batch=1000)


def release(received: int, *, name: str = "screen", counted: int = 0, **more: int) -> dict[str, Any]:
    reports = {"slots": more.get("slots", 32), "received": received, "counted": counted}
    return {"stream": name, "revision": more.get("revision", 1), "reports": reports}


def test_three_short_rounds_in_a_row_are_worth_saying_and_then_each_doubling() -> None:
    shortages = Shortages(PLAN)
    told = {row: said for row in range(1, 50) if (said := shortages.take(release(60 + row))) is not None}
    assert list(told) == [3, 6, 12, 24, 48]
    assert told[6] == (
        "6 rounds in a row below min_batch: 66 of 1 000 reports came to the newest. "
        "Allow a smaller min_batch, longer periods or a shorter window."
    )
    assert (shortages.of["screen"].longest, shortages.of["screen"].most) == (49, 109)


def test_a_round_that_counts_ends_a_row_and_what_asked_nobody_or_comes_again_does_not() -> None:
    shortages = Shortages(PLAN)
    others = [release(0, slots=0), release(1200, counted=1200, revision=2), release(5, name="mood")]
    for one in (release(60), others[0], release(60), others[1], release(1200, counted=1200), release(60), release(60)):
        assert shortages.take(one) is None
    assert shortages.take(others[2]) is None
    assert shortages.take(release(0)) is not None  # nobody answered a round that asked somebody
    # Enough came, and none of it counts: it is not their number that is wrong.
    assert shortages.take(release(2000)) is None
    assert shortages.of["screen"].row == 0


def test_what_a_release_lacks_is_said_only_where_it_is_reports() -> None:
    reports = release(67)["reports"]
    assert lacking(reports, 1000) == "67 of 1 000 reports that a release needs"
    assert lacking(reports, 67) is None
    assert lacking(reports | {"slots": 0, "received": 0}, 1000) is None
    assert lacking(reports | {"received": 2000, "counted": 2000}, 1000) is None


def test_a_whole_run_with_too_few_users_is_named_and_one_with_enough_is_not() -> None:
    for min_batch, found in ((10_000, True), (8, False)):
        plan = deployment(stream("screen", "lpu"), min_batch=min_batch)
        runtime = played(plan, arrivals(crowd(plan), until=(FIRST + 14) * SECOND))
        shortages = Shortages(plan)
        said = [shortages.take(orjson.loads(record)) for record in runtime.releases()]
        assert any(said) == found
