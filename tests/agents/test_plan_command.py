"""`murmurate plan`: a table that fits a terminal, one line of JSON, one recommendation with its reason, and warnings.

Truths are short and methods few here: what the figures are worth is tests/agents/replay/test_prediction.py's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.agents.replay import prediction
from murmurate.config.streams import METHODS
from murmurate.randomizers.registry import serving
from tests.agents.commands import Done, deploy, murmurate

QUICK = ("--within", "1", "--processes", "1")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truths of 24 periods, and of each kind a method."""
    monkeypatch.setattr(prediction, "FEWEST_PERIODS", 24)
    monkeypatch.setattr(prediction, "METHODS", {name: METHODS[name] for name in ("lpu", "lsp", "lpa")})


def planned(folder: Path, *words: str) -> Done:
    return murmurate("plan", *words, *QUICK, cwd=folder)


def streams(folder: Path, *words: str) -> list[dict[str, Any]]:
    done = planned(folder, *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    found: list[dict[str, Any]] = json.loads(done.stdout)["streams"]
    return found


def named(stream: dict[str, Any], method: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in stream["prospects"] if one["method"] == method)
    return found


def test_every_method_and_every_mechanism_has_a_line_and_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "METHODS", METHODS)
    done = planned(deploy(tmp_path), "screen", "--users", "20000", "--presence", "0.7")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "screen: frequency of 7 values, 20 000 users, epsilon 2, w = 6"
    assert lines[1] == "  if it wanders by 0.002 a period, 70 % of the users with a value"
    assert all(len(line) <= 80 for line in lines)
    assert sorted(line.split()[0] for line in lines[4:19]) == sorted(METHODS)
    of_methods = [line for line in lines[4:19] if line.endswith("<-")]
    of_mechanisms = [line for line in lines[20:] if line.startswith("  with ")]
    assert sorted(line.split()[1] for line in of_mechanisms) == sorted(serving("frequency", says_none=True))
    taken = [line for line in of_mechanisms if line.endswith("<-")]
    said = " ".join(line.strip() for line in lines)
    assert f"Take {of_methods[0].split()[0]} with {taken[0].split()[1]}: " in said
    assert len(of_methods) == len(taken) == 1


def test_json_says_it_of_all_streams_and_the_same_every_time(tmp_path: Path) -> None:
    folder = deploy(tmp_path, "trips")
    fare, distance = (streams(folder, "--users", "40000")[i] for i in (1, 0))
    assert streams(folder, "fare", "--users", "40000") == [fare]
    assert (fare["stream"], fare["users"], fare["unit"], fare["w"]) == ("fare", 20_000, "EUR", 3)
    assert fare["truth"] == {"drift": 0.002, "presence": 1.0}
    assert {one["method"] for one in distance["prospects"]} == {"lpu", "lsp", "lpa"}
    for stream, mechanism in ((fare, "value_presence"), (distance, "sw_presence")):
        for one in stream["prospects"]:
            (expected,) = one["mechanisms"]
            assert expected["mechanism"] == mechanism
            assert expected["filtered"] > 0
            assert expected["series"] > 0
        assert stream["recommended"]["method"] in ("lpu", "lsp", "lpa")
    errors = {one["method"]: one["mechanisms"][0]["series"] for one in fare["prospects"]}
    assert 0.1 < errors["lsp"] < errors["lpu"] < 5  # in EUR
    assert fare["prospects"][0]["mechanisms"][0]["wire_bytes"] == 3


def test_more_drift_gives_what_stands_a_larger_error(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    slow, fast = (
        {
            one["method"]: one["mechanisms"][0]
            for one in streams(folder, "--users", "50000", "--drift", drift)[0]["prospects"]
        }
        for drift in ("0.0001", "0.02")
    )
    assert fast["lsp"]["series"] > 2 * slow["lsp"]["series"]
    assert fast["lpu"]["series"] == pytest.approx(slow["lpu"]["series"], rel=0.05)
    assert fast["lpu"]["filtered"] > slow["lpu"]["filtered"]


def test_a_truth_can_be_that_of_a_source(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    np.save(folder / "still.npy", np.tile(np.arange(100) % 5, (24, 1)))
    (stream,) = streams(folder, "--users", "50000", "--like", "still.npy")
    assert stream["truth"] == "still.npy"
    stands = named(stream, "lsp")
    assert stands["mechanisms"][0]["series_by"] == "closed form"
    assert stands["mechanisms"][0]["series"] < 0.4 * named(stream, "lpu")["mechanisms"][0]["series"]  # nothing moved
    said = planned(folder, "screen", "--users", "50000", "--like", "still.npy").stdout
    assert said.splitlines()[1] == "  if the truth is like still.npy"


def test_methods_that_would_starve_are_named_and_not_taken(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    (stream,) = streams(folder, "--users", "150")
    starving = {one["method"] for one in stream["prospects"] if one["starves"]}
    assert starving == {"lpu", "lpa"}
    assert stream["recommended"]["method"] == "lsp"
    said = " ".join(line.strip() for line in planned(folder, "--users", "150").stdout.splitlines())
    assert "warning: 150 users starve some methods" in said
    assert "below min_batch = 20. Enough for it are: lpu 320, lpa 669." in said
    (poor,) = streams(folder, "--users", "10")
    assert poor["recommended"] is None
    assert "No method is recommended" in planned(folder, "--users", "10").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scren", "--users", "9"), "STREAM: found 'scren'; allowed: screen"),
        (("--users", "9", "--like", "x.npy", "--drift", "0.1"), "--like: found with --drift or --presence"),
        (("--users", "9", "--like", "x.npy"), "x.npy: found no such file"),
    ],
)
def test_what_cannot_be_asked_is_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = planned(deploy(tmp_path), *words)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"murmurate: {said}")
    assert done.stderr.count("\n") == 1


def test_values_that_stand_for_ever_are_everybodys(tmp_path: Path) -> None:
    done = planned(deploy(tmp_path, "papers"), "--users", "90000", "--presence", "0.5")
    assert done.returncode == 2
    assert "allowed: 1, since values of bit stand for ever" in done.stderr


def test_a_file_with_mistakes_is_said_line_by_line(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    file = folder / "murmurate.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"5m"', '"5 m"'), encoding="utf-8")
    done = planned(folder, "--users", "9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("murmurate.toml: privacy.window: found '5 m'")
