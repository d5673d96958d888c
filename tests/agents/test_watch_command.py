# SPDX-License-Identifier: Apache-2.0
"""`murmurate watch`, as far as no broker is needed: a release as one line of at most 80 columns."""

import json
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.cli import watch
from murmurate.agents.cli.remarks import Remarks
from murmurate.agents.cli.watch import heading, shaped
from murmurate.aggregators.measures.distribution import stretches
from murmurate.aggregators.measures.summed import CentralTotal
from murmurate.config.plan import CentralPlan, HoldoutPlan, StreamPlan
from murmurate.randomizers.trees import Tree
from murmurate.topics.codec import decode
from murmurate.topics.domains import Categories, Grid
from murmurate.topics.events import Fields
from murmurate.topics.release import Release
from tests.agents.commands import deploy, murmurate
from tests.agents.world import deployment, stream
from tests.topics.samples import RELEASES

SCREEN = stream("screen", every_ms=60_000, carry_ms=1000)  # home, basket, help, other, none
FARE = stream("fare", every_ms=300_000, measure="mean", domain=Grid(0, 120, 5, "points"), unit="EUR")
PUBLIC = {"unshuffled": "public measure"}
DISTANCE = stream("distance", every_ms=60_000, measure="distribution", domain=Grid(0, 30, 5, "stretches"), unit="km")


def line(release: Release, stream: StreamPlan, min_batch: int = 1000) -> str:
    return watch.line(release, stream, min_batch)


def release(estimate: dict[str, float], **changes: Any) -> Release:
    fields = json.loads(RELEASES[0]) | {
        "estimate": estimate, "unbiased": estimate, "stderr": dict.fromkeys(estimate, 0.014),
        "t": 101, "measured_t": 101, "start": "2026-11-18T09:01:00Z", "end": "2026-11-18T09:02:00Z",
    } | changes  # fmt: skip
    found = decode(json.dumps(fields).encode())
    assert isinstance(found, Release)
    return found


def test_a_monitored_statistic_says_its_side_and_never_more_than_it_is_sure_of() -> None:
    sides = {"home": {"threshold": 0.3, "side": "above", "confidence": 0.9999}}
    found = line(release({"home": 0.325, "help": 0.225}, decision="published", thresholds=sides), SCREEN)
    assert "home 32.5% ±1.4 > 30% (99% sure)  help 22.5% ±1.4" in found
    held = {"mean": {"threshold": 12.5, "side": "below", "confidence": 0.8}}
    fare = release({"mean": 11.0}, measure="mean", unit="EUR", decision="published", thresholds=held)
    assert "mean 11.00 ±0.014 EUR < 12.5 (80% sure)" in line(fare, FARE)


SPEED = stream("speed", every_ms=300_000, measure="mean", domain=Grid(0, 2000, 5, "points"), unit="kilometres/h")


def test_the_unit_goes_before_what_is_monitored_does() -> None:
    held = {"mean": {"threshold": 1234.5, "side": "above", "confidence": 0.991}}
    estimate = {"mean": 1300.5, "present": 0.312}
    found = line(fare(estimate=estimate, unbiased=estimate, unit="kilometres/h", thresholds=held), SPEED)
    assert "  mean 1300 ±1.9 > 1234.5 (99% sure)  +1 " in found
    assert len(found) == 80


def test_what_is_monitored_comes_first_and_is_never_the_one_left_out() -> None:
    shares = {"home": 0.325, "basket": 0.3, "z" * 23: 0.05, "help": 0.225, "none": 0.1}
    sides = {"z" * 23: {"threshold": 0.123, "side": "below", "confidence": 0.98}}
    found = line(release(shares, decision="published", thresholds=sides), SCREEN)
    assert f"  published    {'z' * 9}... 5.0% ±1.4 < 12.3% (98% sure)  +4 " in found
    sides = {name: {"threshold": 0.123, "side": "above", "confidence": 0.98} for name in ("help", "basket")}
    found = line(release(shares, decision="published", thresholds=sides), SCREEN)
    assert "  published    basket 30.0% ±1.4  help 22.5% ±1.4  +3 " in found  # both, without their thresholds


def test_a_monitored_stretch_is_shown_beside_the_highest_or_in_its_place() -> None:
    sides = {"[24, 30]": {"threshold": 0.1, "side": "below", "confidence": 0.98}}
    found = line(distance([0.1, 0.2, 0.16, 0.05, 0.0], thresholds=sides), DISTANCE)
    assert "  ▅█▇▃▁ [24, 30] 0.0% ±1.4 < 10% (98% sure) " in found
    found = line(distance([0.0, 0.0, 0.0, 0.0, 0.3], thresholds=sides), DISTANCE)
    assert "  ▁▁▁▁█ [24, 30] 30.0% ±1.4 < 10% (98% sure) " in found


def test_a_row_of_blocks_is_narrower_where_a_monitored_stretch_has_a_long_name() -> None:
    shares = [0.0] * 31 + [0.3] + [0.0] * 32
    assert "  ▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁ max 30.0% ±1.4  " in line(distance(shares), DISTANCE)
    sides = {"[29.53125, 30]": {"threshold": 0.1, "side": "below", "confidence": 0.98}}
    found = line(distance(shares, thresholds=sides), DISTANCE)
    assert "  ▁█▁▁ [29.53125, 30] 0.0% ±1.4 < 10% (98% sure)  " in found
    assert len(found) == 80
    daily = line(distance(shares, thresholds=sides), replace(DISTANCE, every_ms=86_400_000))
    assert "published         [29.53125... 0.0% ±1.4 < 10% (98% sure)  n " in daily


@pytest.mark.parametrize("every_ms", [1, 60_000, 86_400_000])
@pytest.mark.parametrize("monitored", [0, 1, 2, 40])
@pytest.mark.parametrize("number", [0.0, 0.5, 12345678.9, -1e300])
def test_a_line_of_80_columns_has_a_figure_and_it_is_one_that_is_monitored(
    every_ms: int, monitored: int, number: float
) -> None:
    share = min(1.0, abs(number))
    many = {"slots": 32, "received": 999_999_999, "counted": 999_999_999, "rejected": {"malformed": 0}}
    cut, letters = Grid(-1234567.5, 3, 64, "stretches"), tuple(f"{chr(97 + i)}{'x' * 60}" for i in range(26))
    for estimate, measure, domain in (
        ({"mean": number, "present": share}, "mean", Grid(-1e301, 1e301, 5, "points")),
        (dict.fromkeys(letters, share), "frequency", Categories(letters)),
        (dict.fromkeys(stretches(cut), share), "distribution", cut),
    ):
        names = list(estimate)[-monitored:] if monitored else list(estimate)
        sides = {name: {"threshold": 1234.56789, "side": "above", "confidence": 0.99} for name in names}
        changes = {"measure": measure, "unit": "u" * 64, "reports": many}
        error = {"stderr": {name: abs(number) if name == "mean" else 0.014 for name in estimate}}
        found = line(
            release(estimate, **error, **changes, **({"thresholds": sides} if monitored else {})),
            stream("x", every_ms=every_ms, measure=measure, domain=domain),
        )
        assert len(found) == 80
        said = re.search(r"(?:^|  )(?:[▁▂▃▄▅▆▇█]+ )?([^ ]+(?: [^ ]+)?) -?[0-9.e+]+%? ±[0-9.e+]+[^ ]*", found[20:])
        assert said is not None, found
        named = said[1].removesuffix("...")
        assert any(name.startswith(named) for name in names) or (named == "max" and not monitored), found


def test_an_older_period_that_comes_once_more_is_called_revised() -> None:
    found = line(release({"home": 0.325}, decision="approximated", measured_t=90, revision=2), SCREEN)
    assert found.startswith("  09:01  revised ")
    assert len(found) == 80


def test_a_published_release_is_one_line_in_the_order_of_the_deployment() -> None:
    found = line(release({"none": 0.253, "home": 0.325, "help": 0.225}, decision="published"), SCREEN)
    assert found.startswith("  09:01  published    home 32.5% ±1.4  help 22.5% ±1.4  none 25.3% ±1.4  n 4 063")
    assert len(found) == 80


def test_an_approximated_one_says_of_which_period_it_speaks() -> None:
    found = line(release({"home": 0.325}, decision="approximated", measured_t=99), SCREEN)
    assert found.startswith("  09:01  as of 08:59  home 32.5% ±1.4 ")
    only = {"unbiased": {"home": None}, "decision": "approximated", "measured_t": None}
    assert line(release({"home": 0.2}, **only), SCREEN).startswith("  09:01  estimated    home 20.0% ±1.4 ")


def nothing(of: Release, slots: int, counted: int = 0, *, small: bool = False) -> Release:
    """The same period, with so many reports, or fewer than a release needs, and no answer to show."""
    nulls = {key: dict.fromkeys(of.estimate) for key in ("estimate", "stderr", "unbiased")}
    rejected = {"malformed": 0} | ({"undersized": True} if small else {})
    reports = {"slots": slots, "received": counted, "counted": counted, "rejected": rejected}
    fields = json.loads(of.canonical()) | nulls | {"decision": "unmeasured", "measured_t": None, "reports": reports}
    found = decode(json.dumps(fields).encode())
    assert isinstance(found, Release)
    return found


@pytest.mark.parametrize("of", ["frequency", "mean", "distribution"])
def test_before_the_first_answer_it_is_said_that_too_few_reports_came_and_no_figure(of: str) -> None:
    some = {"frequency": release({"home": 0.2}), "mean": fare(), "distribution": distance([0.1, 0.2])}[of]
    lack = "nothing yet: fewer than the 1 000 reports that a release needs"
    found = line(nothing(some, 256, small=True), SCREEN)
    assert found == f"  {some.start[11:16]}  {lack:<66}  n 0"
    assert len(found) == 80
    assert "%" not in found
    for release_ in (
        nothing(some, 0),
        nothing(some, 256, 1_200),
    ):  # nobody was asked; or enough came, to look
        assert line(release_, SCREEN).split()[1:3] == ["nothing", "yet"]
        assert "needs" not in line(release_, SCREEN)
    for every_ms in (1, 60_000, 86_400_000):
        for least in (1, 10**9):
            long = line(nothing(some, 256, small=True), replace(SCREEN, every_ms=every_ms), least)
            assert len(long) == 80
            assert "nothing yet: fewer than the " in long


@pytest.mark.parametrize("count", [1, 5, 40, 1000])
@pytest.mark.parametrize("length", [1, 12, 256])
def test_a_line_never_has_more_than_80_columns(count: int, length: int) -> None:
    names = {f"{i}{'x' * length}"[:256]: round(i / 10_000, 6) for i in range(count)}
    found = line(release(names), SCREEN)
    assert len(found) <= 80
    assert found.endswith("  n 4 063")


def test_the_smallest_are_left_out_and_counted() -> None:
    found = line(release({"home": 0.1, "basket": 0.4, "help": 0.3, "other": 0.15, "none": 0.05}), SCREEN)
    assert "basket 40.0% ±1.4  help 30.0% ±1.4  +3" in found


def fare(**changes: Any) -> Release:
    found = decode(json.dumps(json.loads(RELEASES[1]) | changes).encode())
    assert isinstance(found, Release)
    return found


def test_a_mean_is_said_in_its_unit_and_how_many_have_one_in_percent() -> None:
    found = line(fare(), FARE)
    assert found.startswith("  09:00  as of 08:50  mean 14.61 ±1.9 EUR  present 31.2% ±1.5 ")
    assert found.endswith("  n 9 602")
    assert len(found) == 80


@pytest.mark.parametrize(
    ("mean", "error", "said"),
    [
        (1_234_567.8, 1234.5, "mean 1234568 ±1234"), (-0.01234, 0.00056, "mean -0.01234 ±0.00056"),
        (0.0, 0.00001, "mean 0.000 ±0.000010"), (119.9, 60.0, "mean 119.9 ±60"),
    ],
)  # fmt: skip
def test_a_mean_has_the_digits_that_say_something_and_no_exponent(mean: float, error: float, said: str) -> None:
    found = line(fare(estimate={"mean": mean}, stderr={"mean": error}, unbiased={"mean": mean}, unit=None), FARE)
    assert said + "  " in found


def test_nobody_has_a_mean() -> None:
    unknown = {"mean": None, "present": 0.0}
    nobody = line(fare(estimate=unknown, stderr={"mean": None, "present": 0.0147}, unbiased=unknown), FARE)
    assert "mean" not in nobody
    assert "present 0.0% ±1.5 " in nobody


def distance(shares: list[float], none: float | None = 0.5, **changes: Any) -> Release:
    estimate = dict(zip(stretches(Grid(0, 30, len(shares), "stretches")), shares, strict=True))
    if none is not None:
        estimate["none"] = none
    return release(estimate, measure="distribution", unit="km", range=[0, 30], decision="published", **changes)


def test_a_distribution_is_a_row_of_blocks_in_the_order_of_the_range() -> None:
    found = line(distance([0.1, 0.2, 0.16, 0.05, 0.0]), DISTANCE)
    assert found.startswith("  09:01  published    ▅█▇▃▁ max 20.0% ±1.4  none 50.0% ±1.4  ")
    assert len(found) == 80
    assert "▁▁▁▁ max 0.0% ±1.4  none 100.0% ±1.4" in line(distance([0.0] * 4, 1.0), DISTANCE)


def test_a_block_of_many_stretches_is_as_high_as_the_highest_of_them() -> None:
    shares = [0.0] * 64
    shares[5], shares[63] = 0.1, 0.2
    assert "▁▅▁▁▁▁▁▁▁▁▁▁▁▁▁█ max 20.0% ±1.4  none 70.0% ±1.4" in line(distance(shares, 0.7), DISTANCE)


@pytest.mark.parametrize("count", [2, 16, 17, 4095])
@pytest.mark.parametrize("every_ms", [1, 300_000, 86_400_000])
@pytest.mark.parametrize("none", [None, 1.0])
def test_a_line_of_numbers_never_has_more_than_80_columns(count: int, every_ms: int, none: float | None) -> None:
    cut = Grid(0, 30, count, "stretches")
    of = stream("distance", every_ms=every_ms, measure="distribution", domain=cut)
    found = line(distance([1.0] * count, none), of)
    assert len(found) <= 80
    assert "█" in found
    wide = {"estimate": {"mean": -12345678.9, "present": 1.0}, "stderr": {"mean": 12345678.9, "present": 1.0}}
    found = line(fare(**wide, unbiased=wide["estimate"], unit="u" * 64), replace(FARE, every_ms=every_ms))
    assert len(found) <= 80


def test_the_heading_says_what_follows() -> None:
    assert heading(SCREEN) == "screen: frequency of 5 values; the estimate and its standard error"
    assert heading(FARE) == "fare: mean of numbers from 0 to 120 EUR; the estimate and its standard error"
    assert heading(DISTANCE) == (
        "distance: distribution of numbers from 0 to 30 km in 5 stretches; their shape,\n"
        "  the highest and its standard error"
    )
    long = stream("n" * 64, measure="mean", domain=Grid(0, 120, 5, "points"), unit="u" * 64)
    assert all(len(part) <= 80 for part in heading(long).splitlines())


def test_under_a_release_stands_what_the_mixing_is_worth_when_it_is_new_and_never_of_a_central_stream() -> None:
    remarks, record = Remarks(deployment(SCREEN)), json.loads(RELEASES[0])
    assert list(remarks.take(record)) == [
        "  after mixing: epsilon 0.1932 but for a chance of 1e-08, against everybody but",
        "  the mixing zone",
    ]
    assert list(remarks.take(record | {"t": record["t"] + 1})) == []
    none = record | {"t": record["t"] + 2, "privacy": record["privacy"] | {"shuffled": None} | PUBLIC}
    found = list(remarks.take(none))
    assert found[0].startswith("  after mixing: nothing is claimed: reports carry a public number")
    assert all(len(each) <= 80 for each in found)
    assert list(Remarks(deployment(SCREEN)).take(json.loads(RELEASES[2]))) == []


def test_a_stream_that_there_is_not_is_exit_2_and_no_broker_is_exit_3(tmp_path: Path) -> None:
    deploy(tmp_path)
    done = murmurate("watch", "screeen", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("murmurate: watch: found stream 'screeen'; allowed: screen")
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        brokers = json.dumps([f"127.0.0.1:{taken.getsockname()[1]}"])
        done = murmurate("watch", "screen", cwd=tmp_path, MURMURATE__KAFKA__BROKERS=brokers)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_for_a_question_has_the_figures_that_answer_it() -> None:
    shares = {"home": 0.62, "help": 0.34, "basket": 0.03, "other": 0.004, "none": 0.006}
    found = line(shaped(release(shares, decision="published"), "top-k", 2), SCREEN)
    assert "home 62.0% ±1.4  help 34.0% ±1.4  " in found
    assert "basket" not in found
    assert "+" not in found
    said = shaped(release(shares, decision="published"), "point", 2).estimate
    assert said == {"home": 0.62, "help": 0.34, "basket": 0.0, "other": 0.0, "none": 0.0}
    assert heading(SCREEN, "top-k") == (
        "screen: frequency of 5 values; the most frequent ones, and the standard error\n  before it was shaped"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--for", "top-k", "--json"), "watch: --for: found --json; allowed: lines of a frequency"),
        (("--k", "3"), "watch: --k: found alone; allowed: with --for top-k or --for point"),
        (("--for", "range", "--k", "3"), "watch: --k: found alone; allowed: with --for top-k or --for point"),
    ],
)
def test_a_question_that_cannot_be_asked_is_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = murmurate("watch", "screen", *words, cwd=deploy(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"murmurate: {said}\n")


REVENUE = CentralPlan(
    "revenue", CentralTotal(Grid(0, 500, 50_001, "points"), unit="EUR", finds=True, counts=True), 10_000, 2_000_000,
    Tree(4, 4), 1, "shop.events", Fields(stream="/stream"), "1" * 16, holdout=HoldoutPlan(60, 1600),
)  # fmt: skip


def summed(figures: dict[str, float] | None, **changes: Any) -> Release:
    names = ("total", "count")
    unknown = dict.fromkeys(names)
    fields = json.loads(RELEASES[0]) | {
        "measure": "total", "unit": "EUR", "range": [0, 500], "estimate": figures or unknown,
        "unbiased": figures or unknown, "stderr": {"total": 1208.25, "count": 5.1} if figures else unknown,
        "decision": "published" if figures else "unmeasured", "t": 101, "measured_t": 101 if figures else None,
        "start": "2026-11-18T09:01:00Z", "end": "2026-11-18T09:01:10Z", "central": {"unit": "event", "epsilon": 2.0},
    } | changes  # fmt: skip
    for local in ("privacy", "reports", "stderr_unbiased", "model", "thresholds"):
        fields.pop(local, None)
    found = decode(json.dumps(fields).encode())
    assert isinstance(found, Release)
    return found


def test_a_central_stream_shows_sums_in_their_unit_and_its_epsilon_in_place_of_reports() -> None:
    tree = {"fanout": 4, "levels": 4, "first_t": 0, "node": {"total": 1358.97, "count": 5.6}}
    found = watch.line(summed({"total": 1_234_567.0, "count": 49.5}, noise=tree), REVENUE, 1000)
    assert found.startswith("  09:01:00  published")
    assert "total 1234567 ±1208 EUR" in found
    assert "count 49.50 ±5.1  " in found
    assert found.endswith("eps 2")
    assert len(found) == 80
    assert "revenue: total of numbers from 0 to 500 EUR; the sum" in heading(REVENUE)


def test_a_hold_out_says_how_far_it_is() -> None:
    found = watch.line(summed(None, holdout={"period": 12, "periods": 60}), REVENUE, 1000)
    assert found.startswith("  09:01:00  hold-out: period 12 of 60")
    assert len(found) == 80
