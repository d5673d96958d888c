# SPDX-License-Identifier: Apache-2.0
"""`murmurate plan`: a table that fits a terminal, one line of JSON, one recommendation with its reason, and warnings.

Truths are short and methods few here: what the figures are worth is tests/agents/simulate/test_prediction.py's.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.agents.cli.plan import why
from murmurate.agents.replay.source import Source
from murmurate.agents.simulate import prediction, simulate_method
from murmurate.agents.simulate.prediction import Expected, Outlook, Prospect
from murmurate.agents.simulate.synthetic_counts import Holders
from murmurate.agents.simulate.trial_truths import Recorded, recorded
from murmurate.aggregators.methods.registry import METHODS
from murmurate.config.plan import Plan
from murmurate.randomizers.registry import serving
from tests.agents.commands import Done, deploy, murmurate

QUICK = ("--within", "1", "--processes", "1")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truths of 24 periods, and of each kind a method."""
    monkeypatch.setattr(prediction, "FEWEST_PERIODS", 24)
    monkeypatch.setattr(prediction, "METHODS", {name: METHODS[name] for name in ("lpu", "lsp", "lpa")})


def planned(folder: Path, *words: str) -> Done:
    return murmurate("plan", *QUICK, *words, cwd=folder)


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
    assert lines[1] == "  assumed: each share moves by 0.002 a period, 70 % of the users with a value"
    assert all(len(line) <= 80 for line in lines)
    assert sorted(line.split()[0] for line in lines[4:19]) == sorted(METHODS)
    of_methods = [line for line in lines[4:19] if line.endswith("<-")]
    of_mechanisms = [line for line in lines[20:] if line.startswith("  with ")]
    assert sorted(line.split()[1] for line in of_mechanisms) == sorted(serving("frequency", says_none=True))
    taken = [line for line in of_mechanisms if line.endswith("<-")]
    said = " ".join(line.strip() for line in lines)
    assert f"Take {of_methods[0].split()[0]} with {taken[0].split()[1]}: " in said
    assert len(of_methods) == len(taken) == 1


def test_of_a_total_it_says_that_the_numbers_move_and_who_has_one_does_not(tmp_path: Path) -> None:
    done = planned(deploy(tmp_path, "totals"), "spent", "--users", "2000", "--presence", "0.5")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(" ".join(lines[1:4]).split()).startswith(
        "assumed: the mean of those with a value moves by 0.002 of the range a period, 50 % of the users with a value"
    )


def test_of_a_central_stream_it_lists_trees_and_whole_methods_and_marks_what_no_stream_may_have(tmp_path: Path) -> None:
    folder = deploy(tmp_path, "central")
    for words, assumed in (((), "assumed: 26.7 events a period"), (("--like", "events.sample.jsonl"), "recorded: ")):
        done = planned(folder, *words)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert all(len(line) <= 80 for line in lines)
        table = [line[2:36].strip() for line in lines if line.startswith("  ") and line[36:].strip()[:1].isdigit()]
        ours = table.index("this file, threshold found")
        assert table[ours - 4].startswith("this file: ")
        assert table[ours + 1 : ours + 5] == [
            "S-P, then this tree *", "S-PAK, then this tree *", "PAK: S-PAK, then H2 *", "Base: zeros, without noise",
        ]  # fmt: skip
        said = " ".join(line.strip() for line in lines)
        assert assumed in said
        assert "* to compare with, and no method of a stream:" in said
        assert "noise alone" in said
    (orders, revenue) = streams(folder, "--like", "events.sample.jsonl")
    assert [one["what"] for one in orders["with_events"]["ways"]] == ["this file", "Base: zeros, without noise"]
    assert revenue["with_events"]["like"] == "events.sample.jsonl"
    assert [one["offered"] for one in revenue["with_events"]["ways"]] == [True, False, False, False, True]
    assert streams(folder, "orders")[0]["with_events"] is None


def test_of_blocks_it_says_how_far_predictions_are_off_or_what_that_takes(tmp_path: Path) -> None:
    folder = deploy(tmp_path, "central")
    file = folder / "murmurate.toml"
    text = file.read_text(encoding="utf-8").replace("levels = 4 }", "levels = 4, block = 1 }")
    file.write_text(text.replace('threshold = "found"', "threshold = 120").replace("holdout =", "# "), encoding="utf-8")
    blind, told = (planned(folder, "revenue", *words) for words in ((), ("--like", "events.sample.jsonl")))
    assert (blind.stderr, told.stderr) == ("", "")
    assert "What clipping takes is not in them." in blind.stdout
    assert "this file, with clipping" in told.stdout
    assert "A period within a block is predicted by recent, and off by" in told.stdout


def test_json_says_it_of_all_streams_and_the_same_every_time(tmp_path: Path) -> None:
    folder = deploy(tmp_path, "trips")
    distance, fare, *_ = streams(folder, "--users", "40000")
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
    assert said.splitlines()[1] == "  assumed: a truth like still.npy"


def test_a_recordings_truth_is_that_of_the_users_who_serve_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truths = list[Holders]()

    def watched(plan: Plan, source: Source, name: str, users: int) -> Recorded:
        found = recorded(plan, source, name, users)
        truths.append(found.holders)
        return found

    monkeypatch.setattr(import_module("murmurate.agents.cli.plan"), "recorded", watched)
    folder = deploy(tmp_path, "trips")  # half of the riders serve each stream
    np.save(folder / "fares.npy", np.tile(np.linspace(5, 50, 100), (24, 1)))
    streams(folder, "fare", "--users", "40000", "--like", "fares.npy")
    assert {int(users) for users in truths[0].sum(axis=1)} == {20_000}


def test_a_recording_of_hardly_anybody_is_refused(tmp_path: Path) -> None:
    folder = deploy(tmp_path, "trips")
    fares = np.full((24, 100), np.nan)
    fares[0, 0] = 12.5
    np.save(folder / "one.npy", fares)
    done = planned(folder, "fare", "--users", "100", "--like", "one.npy")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("murmurate: --like: found less than one user of fare with a value a period")


def test_methods_that_would_starve_are_named_and_not_taken(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    (stream,) = streams(folder, "--users", "150")
    starving = {one["method"] for one in stream["prospects"] if one["starves"]}
    assert starving == {"lpu", "lpa"}
    assert stream["recommended"]["method"] == "lsp"
    lines = planned(folder, "--users", "150").stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[4:7]] in (["lsp", "lpu", "lpa"], ["lsp", "lpa", "lpu"])
    for line in lines[5:7]:
        assert line.split()[2:4] == ["-", "-"]
        assert line.endswith(" starves")
    said = " ".join(line.strip() for line in lines)
    assert "The file names lpu, which starves." in said
    assert "warning: 150 users starve some methods" in said
    assert "below min_batch = 20. Enough for it are: lpu 320, lpa 669." in said
    (poor,) = streams(folder, "--users", "10")
    assert poor["recommended"] is None
    assert "No method is recommended" in planned(folder, "--users", "10").stdout


def test_the_error_of_what_the_file_names_is_that_of_its_mechanism(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    file = folder / "murmurate.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('mechanism = "auto"', 'mechanism = "she"'), encoding="utf-8")
    (stream,) = streams(folder, "--users", "20000")
    assert (stream["method"], stream["mechanism"]) == ("lpu", "she")
    noisy = next(one for one in named(stream, "lpu")["mechanisms"] if one["mechanism"] == "she")
    said = " ".join(line.strip() for line in planned(folder, "--users", "20000").stdout.splitlines())
    assert f"The file names lpu with she: {noisy['filtered']:#.3g}." in said


def expected(mechanism: str, filtered: float) -> Expected:
    return Expected(mechanism, filtered, "simulated", filtered, "simulated", 0.1, 1)


def reason(*prospects: Prospect, method: str = "lpu", mechanism: str = "auto") -> str:
    said = Outlook("screen", 9_000, 1.0, 4, method, mechanism, None, prospects, ())
    taken = said.recommended
    assert taken is not None
    return why(said, *taken)


def test_how_far_an_error_is_above_the_smallest_one_is_said_as_it_is() -> None:
    least = Prospect("lp-pegasus", 4.0, 0.02, False, 9, (expected("grr", 0.1),))
    for error, gap in ((0.1049, "4.9 % above"), (0.1004, "0.4 % above")):
        simple = Prospect("lpu", 4.0, 0.02, False, 9, (expected("grr", error),))
        assert reason(least, simple).startswith(f"its error with the filter, {error:#.3g}, is {gap} the smallest one")


def test_within_5_per_cent_means_5_per_cent_whatever_simulation_can_tell() -> None:
    least = Prospect("lp-pegasus", 4.0, 0.03, False, 9, (expected("grr", 0.1),))
    for error, taken in ((0.1049, "lpu"), (0.1051, "lp-pegasus"), (0.1079, "lp-pegasus")):
        simple = Prospect("lpu", 4.0, 0.03, False, 9, (expected("grr", error),))
        said = Outlook("screen", 9_000, 1.0, 4, "lpu", "auto", None, (least, simple), ())
        assert said.recommended is not None
        assert said.recommended[0].method == taken
    both = Prospect("lpu", 4.0, 0.03, False, 9, (expected("subset", 0.104), expected("grr", 0.108)))
    said = Outlook("screen", 9_000, 1.0, 4, "lpu", "auto", None, (least, both), ())
    assert said.recommended is not None  # 5 % of the smallest error of all, not of this method's
    assert (said.recommended[0].method, said.recommended[1].mechanism) == ("lpu", "subset")


def test_a_mechanism_better_than_the_one_simulated_is_taken_for_its_error() -> None:
    lpu = Prospect("lpu", 4.0, 0.02, False, 9, (expected("hr", 0.12), expected("oue", 0.1)))
    assert reason(lpu) == "the smallest error with the filter, 0.100"
    near = Prospect("lpu", 4.0, 0.02, False, 9, (expected("subset", 0.1), expected("grr", 0.102)))
    assert "is 2 % above the smallest one (subset, 0.100), for as few bits, and simpler" in reason(near)
    assert reason(near, mechanism="subset").endswith(". The file names lpu with subset: 0.100")


def test_where_the_filter_would_not_help_that_is_said_and_no_error_of_it_is_promised() -> None:
    worse = Expected("grr", 0.1, "simulated", 0.12, "simulated", 0.1, 1)
    moving = Prospect("lpu", 4.0, 0.02, False, 9, (worse,))
    steady = Prospect("lsp", 4.0, 0.02, False, 9, (expected("grr", 0.11),))
    said = reason(moving, steady)
    assert said.startswith("the smallest error of its own series, 0.100. The filter would not help it: say filter = ")


def test_a_distribution_is_planned_in_few_runs_and_how_well_it_is_known_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate_method, "MOST_OF_COSTLY", 3)
    folder = deploy(tmp_path, "trips")
    done = murmurate("plan", "distance", "--users", "40000", "--within", "0.01", "--processes", "1", cwd=folder)
    said = " ".join(line.strip() for line in done.stdout.splitlines())
    assert "warning: not known within 1 %, but within: lpu" in said or "within: lsp" in said or "within: lpa" in said


def test_as_many_users_as_samples_can_be_drawn_of_are_planned_for_and_no_more(tmp_path: Path) -> None:
    folder = deploy(tmp_path)
    assert planned(folder, "--users", "999999999").returncode == 0
    more = planned(folder, "--users", "1000000000")
    assert (more.returncode, more.stdout) == (2, "")
    assert "1000000000 is not in the range 1<=x<=999999999" in more.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--users: found nothing; allowed: a number, here or as population.users in the file"),
        (("--users", "9", "--drift", "nan"), "--drift: found nan; allowed: a number from 0 to 0.5"),
        (("--users", "9", "--presence", "nan"), "--presence: found nan; allowed: a number above 0, up to 1"),
        (("--users", "9", "--within", "nan"), "--within: found nan; allowed: a number from 0.01 to 1"),
        (("--users", "9", "--presence", "1e-9"), "--presence: found 1e-09; allowed: 1 / 9 or more"),
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
    assert re.match(r"murmurate\.toml, line \d+: privacy\.window: found '5 m'", done.stderr)


def test_under_a_central_target_each_method_has_a_question_of_its_own_and_both_promises_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "METHODS", {name: METHODS[name] for name in ("lpu", "lsp", "lbd")})
    text = (
        'schema = 1\nname = "t"\n[privacy]\nepsilon = 4.0\nmixed = { epsilon = 0.5 }\ndelta = 1e-6\nmin_batch = 1000\n'
        'window = { periods = 4 }\n[streams.bit]\nmeasure = "frequency"\nvalues = ["0", "1"]\nevery = "1m"\n'
    )
    (tmp_path / "murmurate.toml").write_text(text, encoding="utf-8")
    (bit,) = streams(tmp_path, "bit", "--users", "20000")
    assert bit["impossible"] == ["lbd: asks more than the one question of privacy.mixed"]
    assert {one["method"]: len(one["mechanisms"]) for one in bit["prospects"]} == {"lpu": 1, "lsp": 1}
    assert (bit["mixed"]["target"], bit["mixed"]["honest"]) == (0.5, 900)
    said = " ".join(planned(tmp_path, "bit", "--users", "20000").stdout.split())
    assert "Everybody but the mixing zone learns at most epsilon 0.5 about one user in a window" in said
    assert "If the mixing and the analysis zone work together" in said
    assert "devices answer no other question" in said
