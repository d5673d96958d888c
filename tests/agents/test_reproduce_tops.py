# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce tops` and `topl`: small forms run, the same seed prints the same, and what they are held to is
really judged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import topl, tops, tops_verdicts
from murmurate.agents.cli.reproductions.tops_verdicts import Rows, exact, excused, missed, orders
from murmurate.agents.simulate.central_comparison import BASE, END_TO_END, HIERARCHIES, THRESHOLDS, squared_error
from murmurate.agents.simulate.local_comparison import hybrid_numbers
from murmurate.aggregators.trees.smoothers import SMOOTHERS
from murmurate.randomizers import HM

SMALL = ("--runs", "1", "--events", "8192", "--processes", "1")


def run(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, list(words))


def test_all_tables_in_80_columns_and_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tops, "EPSILONS", tops.EPSILONS[1:2])
    np.save(tmp_path / "sizes.npy", np.random.default_rng(0).geometric(0.2, 3_000))
    words = ("tops", *SMALL, "--few", "1", "--streams", "baskets", "--data", str(tmp_path / "sizes.npy"))
    done = run(*words)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[2:6]] == list(HIERARCHIES)
    # A row in each of three tables, but two, of two sizes of blocks, in that of smoothers.
    assert [done.stdout.count(f"\n{name} ") for name in ("baskets", "sizes")] == [4, 4]
    assert lines[-1] == "streams of another length than the paper's (1,048,576 events) are not judged"
    assert run(*words, "--table", "end-to-end").stdout == run(*words, "--table", "end-to-end").stdout


def test_reports_find_thresholds_in_80_columns_and_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topl, "EPSILONS", topl.EPSILONS[-1:])
    done = run("topl", *SMALL, "--streams", "baskets,fares")
    assert done.exit_code == 0, done.output
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert [done.stdout.count(f"\n{name} ") for name in ("baskets", "fares")] == [1, 1]
    said = orjson.loads(run("topl", *SMALL, "--streams", "baskets", "--json").stdout)
    assert (said["ok"], said["missed"], len(said["rows"])) == (True, [], 1)
    assert set(said["rows"][0]["error"]) == {BASE, "SW", "SW-W"}


def test_json_of_tops_holds_every_row() -> None:
    said = orjson.loads(run("tops", *SMALL, "--streams", "clicks", "--table", "thresholds", "--json").stdout)
    assert [(row["table"], row["stream"], row["epsilon"]) for row in said["rows"]] == [
        ("thresholds", "clicks", epsilon) for epsilon in (0.01, 0.05, 0.1)
    ]
    assert set(said["rows"][0]["threshold"]) == {*THRESHOLDS, BASE}


@pytest.mark.parametrize("verb", ["tops", "topl"])
def test_streams_that_are_none_are_refused(verb: str, tmp_path: Path) -> None:
    assert "allowed: some of baskets" in str(run(verb, "--streams", "rivers").exception)
    (tmp_path / "notes.txt").write_text("no numbers")
    assert "notes.txt: found no stream" in str(run(verb, "--data", str(tmp_path / "notes.txt")).exception)
    np.save(tmp_path / "fares.npy", np.arange(9))
    assert "found two streams of one name" in str(run(verb, "--data", str(tmp_path / "fares.npy")).exception)


def rows(**changed: dict[str, Any]) -> Rows:
    """A row of each table as it should be, of 20 runs, but for what is changed."""
    good: dict[str, dict[str, Any]] = {
        "hierarchies": {"H2": 14_500, "H16": 3_150, "H16c": 1_180, "Chan": 1},
        "smoothers": {**dict.fromkeys(SMOOTHERS, 1e9), "H16c": 1e10, BASE: 1e13},
        "thresholds": {"NM-E": (60, 1e8), "S-PAK": (1e5, 1e16), "S-P": (1e4, 1e13), BASE: (0, 1e13)},
        "end-to-end": {**dict.fromkeys(END_TO_END, 1e9), "PAK": 1e18, BASE: 1e13},
    }
    return {(table, "baskets", 0.01, 3): [found | changed.get(table.replace("-", "_"), {})] * 20
            for table, found in good.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"hierarchies": {"H16c": 1_400}}, "hierarchies, H16c: 1,400, known 1,150; at most 15% apart"),
        ({"hierarchies": {"H2": 12_000}}, "hierarchies, H2: 12,000, known 15,010"),
        ({"smoothers": {"recent": 5e9}}, "smoothers, baskets, epsilon 0.01: Recent 2.0 times better than H16c"),
        ({"thresholds": {"S-PAK": (1e3, 9e11)}}, "S-PAK worse than NM-E by 10^4.0; at least 10^4"),
        ({"thresholds": {"S-P": (1e3, 1e11)}}, "S-P worse than NM-E by 10^3.0; at least 10^4"),
        ({"end_to_end": {"ToPS": 1e13}}, "PAK worse than ToPS by 10^5.0; at least 10^6"),
    ],
)
def test_each_table_is_judged(changed: dict[str, Any], text: str) -> None:
    assert list(missed(rows())) == []
    assert text in "\n".join(missed(rows(**changed)))


def test_an_exception_is_said_with_its_cause_and_is_no_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tops_verdicts, "EXCEPTIONS", {("end-to-end", "baskets"): "a cause"})
    bad = rows(end_to_end={"ToPS": 1e13}, smoothers={"recent": 5e9})
    assert [text.partition(",")[0] for text in missed(bad)] == ["smoothers"]
    assert [text.partition("10^5.0")[2] for text in excused(bad)] == ["; at least 10^6: a cause"]


def test_few_runs_judge_no_tree_and_no_threshold() -> None:
    few = {row: runs[:19] for row, runs in rows(hierarchies={"H2": 1}, thresholds={"S-P": (1, 1.0)}).items()}
    assert list(missed(few)) == []


def test_a_miss_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {"ToPS": 1.0, "PAK": 1.0}
    monkeypatch.setattr(tops, "made", lambda job: {name: bad.get(name, 1.0) for name in (*END_TO_END, BASE)})
    done = run("tops", "--table", "end-to-end", "--streams", "clicks", "--few", "1", "--processes", "1")
    assert done.exit_code == 1
    assert "NOT REPRODUCED: end-to-end, clicks, epsilon 0.01: PAK worse than ToPS by 10^0.0" in done.output
    monkeypatch.setattr(topl, "made", lambda job: {BASE: (0.0, 1.0), "SW": (1.0, 1.0), "SW-W": (1.0, 2.0)})
    done = run("topl", "--streams", "clicks", "--runs", "1", "--processes", "1")
    assert done.exit_code == 1
    assert "SW-W better than Base by 10^-0.3" in done.output
    assert "SW-W better than SW in 0 of 5 rows" in done.output


def test_exact_errors_are_those_of_the_variances() -> None:
    """The mean over stretches: 18.0 nodes of 800 in H2, 63.7 of 50 in H16, 24.0 in H16c."""
    assert (exact("H2") / 800, exact("H16") / 50, exact("H16c") / 50) == pytest.approx((18.0, 63.7, 24.0), rel=0.01)
    assert exact("Chan") > exact("H2")


def test_orders_are_of_means_and_an_error_is_that_of_stretches() -> None:
    assert orders([{"one": 100.0, "other": 1.0}, {"one": 1900.0, "other": 19.0}], "one", "other") == pytest.approx(2)
    values, ends = np.array([1, 2, 3]), np.array([[0, 3], [1, 2]])
    assert squared_error(None, values, ends) == (36 + 4) / 2
    assert squared_error(np.array([1.0, 2.0, 4.0]), values, ends) == 0.5


def test_hybrid_numbers_are_unbiased_and_have_the_mechanism_s_variance() -> None:
    """The mean of 200 000 within 5 standard errors (a false alarm in 6e-7), their variance within 2 % (below 1e-9)."""
    values = np.full(200_000, 7)
    found = hybrid_numbers(values, 20, seed=1)
    variance = 100 * float(HM(d=21, epsilon=1).variance(1, 0.3))  # 7 of 0..20 is -.3 of -1..1, times theta / 2
    assert abs(found.mean() - 7) < 5 * (variance / len(values)) ** 0.5
    assert found.var() == pytest.approx(variance, rel=0.02)
    assert hybrid_numbers(np.full(9, 99), 20, seed=1).tolist() == hybrid_numbers(np.full(9, 20), 20, seed=1).tolist()
