# SPDX-License-Identifier: Apache-2.0
"""Error, bits and publications against numbers worked out by hand."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from murmurate.agents.replay.error_measures import report_bits
from murmurate.agents.replay.score import Score, StreamScore, claims, score, shortfalls, table
from murmurate.agents.replay.summary import summary
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.measures.mean import Mean
from murmurate.topics.domains import Bits, Grid
from tests.agents.replay.plans import plan, stream


def release(
    t: int,
    said: dict[str, float],
    received: int,
    *,
    published: bool = True,
    name: str = "bit",
    by: str = "grr",
    revision: int = 1,
    estimate: dict[str, float] | None = None,
    error: float = 0.02,
) -> dict[str, Any]:
    return {
        "stream": name, "t": t, "decision": "published" if published else "approximated", "unbiased": said,
        "estimate": estimate or said, "stderr": dict.fromkeys(said, error), "revision": revision,
        "reports": {"slots": 1, "received": received, "counted": received, "rejected": {"malformed": 0}},
        "mechanism": {"name": by},
    }  # fmt: skip


BIT = plan(stream("bit", ("0", "1"), carry_ms=None, w=4))
TRUTH = [TruePeriod("bit", 1, 100, np.array([0.8, 0.2])), TruePeriod("bit", 2, 100, np.array([1.0, 0.0]))]
RELEASES = [
    release(1, {"0": 0.85, "1": 0.15}, 25),
    release(2, {"0": 0.999, "1": 0.001}, 15, published=False),
    release(3, {"0": 1, "1": 0}, 0),
]


def test_the_relative_error_of_two_values_is_that_of_value_one() -> None:
    found = score(BIT, RELEASES, TRUTH)
    # period 1: .05 / .2; period 2: .001 / max(0, .001); period 3 has no truth
    assert found.mre == pytest.approx((0.25 + 1) / 2)
    assert found.mse == pytest.approx((0.05**2 + 0.001**2) / 2)


def test_of_the_estimate_there_is_an_error_and_how_often_its_own_holds() -> None:
    near = [
        release(1, {"0": 0, "1": 1}, 9, estimate={"0": 0.83, "1": 0.17}),  # .03 off: within .04
        release(2, {"0": 0, "1": 1}, 9, estimate={"0": 0.95, "1": 0.05}),  # .05 off: not
        release(1, {"0": 0, "1": 1}, 9, estimate={"0": 0.8, "1": 0.2}, revision=2),  # the first one counts
    ]
    found = score(BIT, near, TRUTH)
    assert found.estimate_mse == pytest.approx((0.03**2 + 0.05**2) / 2)
    assert (found.coverage, found.releases) == (0.5, 2)


def test_the_relative_error_of_more_values_is_their_mean() -> None:
    of = plan(stream())
    said = {"home": 0.5, "search": 0.25, "help": 0.25, "none": 0.0}
    true = TruePeriod("screen", 1, 10, np.array([0.4, 0.2, 0.2, 0.2]))
    found = score(of, [release(1, said, 5, name="screen")], [true])
    # .1 / .4, .05 / .2, .05 / .2, .2 / .2
    assert found.mre == pytest.approx((0.25 + 0.25 + 0.25 + 1) / 4)
    assert found.mse == pytest.approx((0.1**2 + 0.05**2 + 0.05**2 + 0.2**2) / 4)


def test_a_report_of_a_part_of_the_users_costs_its_bits_and_its_announcement() -> None:
    # (1 + 1) bits times 40 reports, over 100 users in 2 periods
    assert score(BIT, RELEASES, TRUTH).bits == pytest.approx(2 * 40 / 200)


def test_an_adaptive_method_over_the_budget_announces_the_rarer_decision() -> None:
    of = plan(stream("bit", ("0", "1"), carry_ms=None, method="lba"))
    both = [release(1, {"0": 1, "1": 0}, 200), release(2, {"0": 1, "1": 0}, 100, published=False)]
    assert score(of, both, TRUTH).bits == pytest.approx(300 / 200 + 0.5)


def test_everybody_answering_once_a_period_costs_one_bit_each() -> None:
    of = plan(stream("bit", ("0", "1"), carry_ms=None, method="lbu"))
    assert score(of, [release(t, {"0": 1, "1": 0}, 100) for t in (1, 2)], TRUTH).bits == 1


def test_a_bit_vector_costs_a_bit_a_value() -> None:
    assert [report_bits({"name": "grr"}, d) for d in (2, 3, 4, 5, 118)] == [1, 2, 2, 3, 7]
    assert report_bits({"name": "oue"}, 118) == 118


def test_publications_are_counted_per_window() -> None:
    found = score(BIT, RELEASES, TRUTH)
    assert (found.releases, found.published) == (3, 2)
    assert found.streams[0].published_per_window == pytest.approx(4 * 2 / 3)


def test_streams_weigh_by_their_periods_and_their_bits_add_up() -> None:
    of = plan(stream("bit", ("0", "1"), carry_ms=None), stream("coin", ("0", "1"), carry_ms=None))
    coin = [release(1, {"0": 0.5, "1": 0.5}, 50, name="coin")]
    found = score(of, RELEASES + coin, [*TRUTH, TruePeriod("coin", 1, 100, np.array([0.75, 0.25]))])
    assert found.mre == pytest.approx((0.25 + 1 + 1) / 3)
    assert found.bits == pytest.approx(0.4 + 1)


def unmeasured(t: int, name: str = "bit") -> dict[str, Any]:
    nulls = dict.fromkeys(("0", "1"))
    nothing = {"decision": "unmeasured", "unbiased": nulls, "estimate": nulls, "stderr": nulls}
    reports = {"slots": 1, "received": 0, "counted": 0, "rejected": {"malformed": 0, "undersized": True}}
    return release(t, {"0": 0, "1": 0}, 0, name=name) | nothing | {"reports": reports}


def test_what_was_not_measured_leaves_every_figure_alone_and_nobody_knows_what_it_cost() -> None:
    first = [unmeasured(0), *RELEASES]
    true = [TruePeriod("bit", 0, 100, np.array([0.5, 0.5])), *TRUTH]
    found, without = score(BIT, first, true), score(BIT, RELEASES, TRUTH)
    for figure in ("mre", "mse", "estimate_mse", "coverage", "bits"):
        assert getattr(found, figure) == getattr(without, figure)
    assert found.bits == pytest.approx(2 * 40 / 200)  # how many answered in the period before is said nowhere
    assert (found.releases, found.published, found.unmeasured) == (4, 2, 1)
    nothing = score(BIT, [unmeasured(t) for t in range(3)], true)
    assert (nothing.mre, nothing.mse, nothing.estimate_mse, nothing.coverage, nothing.bits) == (None,) * 5
    assert (nothing.streams[0].periods, nothing.streams[0].estimated, nothing.unmeasured) == (0, 0, 3)
    assert [line.split()[-5:-1] for line in shown(nothing) if line.startswith("bit")] == [["-"] * 4]


def test_an_estimate_counts_where_the_method_has_no_figure_of_its_own() -> None:
    early = release(1, {"0": 0.83, "1": 0.17}, 9, published=False) | {"unbiased": {"0": None, "1": None}}
    found = score(BIT, [early, release(2, {"0": 0.5, "1": 0.5}, 9)], TRUTH)
    assert found.mse == pytest.approx(0.5**2)
    assert found.estimate_mse == pytest.approx((0.03**2 + 0.5**2) / 2)
    assert found.coverage == 0.5


def test_a_mean_that_nobody_holds_or_is_known_to_hold_counts_in_nothing() -> None:
    of = plan(dataclasses.replace(stream("fare"), measure=Mean(Grid(0, 100, 5, "points"))))
    said = {"mean": 20.0, "present": 0.5}
    nobody = {"mean": None, "present": 0.0}
    releases = [
        release(1, said, 9, name="fare"), release(2, said, 9, name="fare"),
        release(3, said, 9, name="fare") | {"estimate": nobody, "stderr": nobody, "unbiased": nobody},
    ]  # fmt: skip
    held = ((21, 0.5), (np.nan, 0), (21, 0.1))
    true = [TruePeriod("fare", t, 10, np.array(figures)) for t, figures in enumerate(held, 1)]
    found = score(of, releases, true)
    assert (found.mse, found.estimate_mse) == (1, 1)
    assert found.mre == pytest.approx(1 / 21)
    assert (found.streams[0].periods, found.streams[0].estimated) == (1, 1)
    assert [period.record(("mean", "present"))["truth"] for period in true[1:2]] == [nobody]


def test_streams_weigh_by_the_periods_that_count() -> None:
    of = plan(stream("bit", ("0", "1"), carry_ms=None), stream("coin", ("0", "1"), carry_ms=None))
    coin = [unmeasured(1, "coin"), release(2, {"0": 0.5, "1": 0.5}, 50, name="coin")]
    held = [TruePeriod("coin", t, 100, np.array([0.75, 0.25])) for t in (1, 2)]
    assert score(of, RELEASES + coin, [*TRUTH, *held]).mre == pytest.approx((0.25 + 1 + 1) / 3)


def test_a_stream_with_too_few_reports_is_named_with_what_it_takes() -> None:
    of = plan(stream("bit", ("0", "1"), carry_ms=None, w=4), min_batch=1000)
    never = [unmeasured(t) for t in range(5)]
    (line,) = shortfalls(of, score(of, never, []), never, 100)
    assert line.startswith("bit: nothing was measured in 5 periods; fewer reports came than the 1 000 that a release")
    assert "100 users give a round about 6 reports, below min_batch = 1000: nothing will ever be released." in line
    later = [release(0, {"0": 1, "1": 0}, 2000), *never[1:3]]
    assert shortfalls(of, score(of, later, []), later, 10**6) == []
    (line,) = shortfalls(of, score(of, [*later, never[3]], []), [*later, never[3]], 10**6)
    assert line.startswith("bit: up to 3 rounds in a row were below min_batch; fewer reports came than the 1 000")


def test_a_search_that_has_not_come_to_its_end_is_not_said_to_lack_reports() -> None:
    strings = FoundStrings(Bits(16, "text"), says_none=True)
    of = plan(dataclasses.replace(stream("bit", ("0", "1"), w=4), measure=strings), min_batch=2)
    first, going = unmeasured(0), release(1, {}, 2000) | {"decision": "unmeasured", "names": "found"}
    assert shortfalls(of, score(of, [first, going], []), [first, going], 100) == [
        "bit: nothing was measured in 2 periods, in which its search came to no end: replay more of them."
    ]


def test_the_summary_has_the_figures_of_all_streams_of_each_and_no_others() -> None:
    found = summary(score(BIT, RELEASES, TRUTH), events=3_000, seconds=1.5, over_budget=0)
    (stream,) = found["streams"].values()
    assert stream.pop("scale") == "share"
    assert stream.items() <= found.items()
    assert len(stream) == 8
    assert found | {"streams": {}} == {
        "events": 3_000, "seconds": 1.5, "events_per_second": 2_000, "releases": 3, "published": 2, "unmeasured": 0,
        "mre": 0.625,
        "mse": 0.0012505, "estimate_mse": 0.0012505, "coverage": 0.5, "bits_per_user_per_period": 0.4, "over_budget": 0,
        "mixed": {}, "refused": {}, "streams": {},
    }  # fmt: skip


def test_the_largest_claim_of_each_stream_is_in_the_summary_and_in_a_line() -> None:
    claim = {"epsilon": 0.25, "delta": 1e-8, "n": 900, "bound": "clones"}
    privacy = [{"shuffled": claim | {"epsilon": epsilon}} for epsilon in (0.2, 0.25, 0.1)]
    told = [one | {"privacy": said} for one, said in zip(RELEASES, privacy, strict=True)]
    again = told[0] | {"revision": 2, "privacy": {"shuffled": claim | {"epsilon": 0.9}}}  # the first one counts
    found = score(BIT, [*told, again], TRUTH)
    (said,) = summary(found, events=3_000, seconds=1.5, over_budget=0)["mixed"].items()
    assert said == ("bit", {"shuffled": claim, "unshuffled": None, "unclaimed": 0})
    (line,) = claims(found)
    assert line.startswith("bit, after mixing: at most epsilon 0.25 but for a chance of 1e-08, against everybody but")
    assert claims(score(BIT, RELEASES, TRUTH)) == []  # releases of a version that said nothing


def test_without_truth_there_is_no_error_and_nothing_breaks() -> None:
    found = summary(score(BIT, RELEASES, []), events=0, seconds=0, over_budget=0)
    assert (found["mre"], found["mse"], found["bits_per_user_per_period"], found["events_per_second"]) == (None,) * 4
    assert summary(score(BIT, [], []), events=0, seconds=1, over_budget=0)["releases"] == 0


def shown(found: Score) -> list[str]:
    console = Console(width=80, record=True, force_terminal=False)
    with console.capture() as text:
        console.print(table(found))
    return text.get().splitlines()


WIDE = StreamScore(
    stream="checkout-screens-hourly", scale="share", periods=1440, estimated=1440, releases=1440, published=1440,
    unmeasured=0, published_per_window=144.0, mre=8.1234, mse=0.0033, estimate_mse=0.00057, coverage=1.0, bits=118.25,
    mixed=None,
)  # fmt: skip
FIGURES = ["1440", "1440", "(144.0)", "8.123", "3.3e-03", "5.7e-04", "100%", "118.2"]


@pytest.mark.parametrize("name", ["bit", "a" * 23])
def test_every_figure_of_the_table_is_readable_beside_a_name_of_23_characters(name: str) -> None:
    lines = shown(Score((dataclasses.replace(WIDE, stream=name), dataclasses.replace(WIDE, stream="fare")), {}))
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert [line.split() for line in lines if line.startswith((name, "fare"))] == [[name, *FIGURES], ["fare", *FIGURES]]
    words = " ".join(lines[:2]).split()
    assert all(word in words for word in ("stream", "releases", "published", "MRE", "MSE", "bits"))


@pytest.mark.parametrize("large", [1e4, 1e300])
def test_a_name_is_cut_before_a_figure_is(large: float) -> None:
    wide = dataclasses.replace(
        WIDE, stream="a" * 32, releases=10**7, published=10**7, published_per_window=1e5, mre=large, mse=large,
        estimate_mse=large, bits=4096.125,
    )  # fmt: skip
    lines = shown(Score((wide,), {}))
    assert max(map(len, lines)) <= 80
    (line,) = (line for line in lines if line.startswith("aaaa"))
    assert line.split()[1:3] == ["10000000", "10000000"]
    assert line.split()[0].endswith("…")
    assert line.count("…") == 1
    assert line.split()[-1] == "4096.1"


def test_the_table_fits_eighty_columns_and_names_what_was_refused() -> None:
    of = plan(stream("a" * 32, ("0", "1"), carry_ms=None))
    found = score(of, [release(1, {"0": 1, "1": 0}, 9, name="a" * 32)], [], {"late": 12_345, "json": 2, "value": 0})
    text = "\n".join(shown(found))
    assert max(map(len, text.splitlines())) <= 80
    assert "refused: json 2   late 12 345" in text
    assert "value" not in text


def test_squared_errors_of_different_units_have_no_common_mean() -> None:
    shares = score(BIT, RELEASES, TRUTH).streams[0]
    euros = dataclasses.replace(shares, stream="fare", scale="mean of EUR")
    assert Score((shares, shares), {}).mse == shares.mse
    assert Score((shares, euros), {}).mse is None
