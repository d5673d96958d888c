"""`murmurate watch`, as far as no broker is needed: a release as one line of at most 80 columns."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.cli.watch import heading, line
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.test_check_command import murmurate
from tests.agents.world import stream
from tests.topics.samples import RELEASES

SCREEN = stream("screen", every_ms=60_000, carry_ms=1000)  # home, basket, help, other, none


def release(estimate: dict[str, float], **changes: Any) -> Release:
    fields = json.loads(RELEASES[0]) | {
        "estimate": estimate, "unbiased": estimate, "stderr": dict.fromkeys(estimate, 0.014),
        "t": 101, "measured_t": 101, "start": "2026-11-18T09:01:00Z", "end": "2026-11-18T09:02:00Z",
    } | changes  # fmt: skip
    found = decode(json.dumps(fields).encode())
    assert isinstance(found, Release)
    return found


def test_a_published_release_is_one_line_in_the_order_of_the_deployment() -> None:
    found = line(release({"none": 0.253, "home": 0.325, "help": 0.225}, decision="published"), SCREEN)
    assert found.startswith("  09:01  published    home 32.5% ±1.4  help 22.5% ±1.4  none 25.3% ±1.4  n 4 063")
    assert len(found) == 80


def test_an_approximated_one_says_of_which_period_it_speaks() -> None:
    found = line(release({"home": 0.325}, decision="approximated", measured_t=99), SCREEN)
    assert found.startswith("  09:01  as of 08:59  home 32.5% ±1.4 ")
    assert "nothing yet" in line(release({"home": 0.2}, decision="approximated", measured_t=None), SCREEN)


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


def test_a_mean_is_said_in_its_unit() -> None:
    fare = decode(RELEASES[1])
    assert isinstance(fare, Release)
    found = line(fare, stream("fare", every_ms=300_000))
    assert found.startswith("  09:00  as of 08:50  mean 14.61 ±1.9 EUR  present 0.3124 ±0.015 EUR ")


def test_the_heading_says_what_follows() -> None:
    assert heading(SCREEN) == "screen: frequency of 5 values; the estimate and its standard error"


def test_a_stream_that_there_is_not_is_exit_2_and_no_broker_is_exit_3(tmp_path: Path) -> None:
    murmurate("init", cwd=tmp_path)
    done = murmurate("watch", "screeen", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("murmurate: watch: found stream 'screeen'; allowed: screen")
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        brokers = json.dumps([f"127.0.0.1:{taken.getsockname()[1]}"])
        done = murmurate("watch", "screen", cwd=tmp_path, MURMURATE__KAFKA__BROKERS=brokers)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
