# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce filter`: a line a configuration, what it is held to is really judged, files are read by path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import filter as verb
from murmurate.agents.cli.reproductions import verdicts
from murmurate.agents.simulate.configurations import MADE_UP, MOST, Configuration
from murmurate.agents.simulate.filter_comparison import PEERS, Compared, added

PLAIN = Configuration("kind", "stream", 2)
GOOD = Compared(
    seeds=1, filtered=0.5, raw=2.0, peers=np.array([1.0, 0.8, 1.5, 2.0, 3.0]), counted=1_000, covered=950, shown=960,
    width=np.array([10.0, 30.0]), cells=np.array([100.0, 100.0]), told=np.array([[2.0, 6.0], [1.0, 9.0]]),
    readings=1_000, right=970,
)  # fmt: skip


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["filter", "--seeds", "1", "--processes", "1", *words])


def but(**changed: Any) -> Compared:
    return replace(GOOD, **changed)


def test_a_line_a_configuration_in_80_columns_and_what_of_a_folder_is_left_out(tmp_path: Path) -> None:
    np.save(tmp_path / "sizes.npy", np.random.default_rng(0).integers(0, 12, 5_000))
    (tmp_path / "notes.txt").write_text("no numbers")
    done = murmurate("--kinds", "lns,timetable,real", "--periods", "40", "--data", str(tmp_path))
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert [done.stdout.count(f"\n {name} ") for name in ("lns", "timetable", "sizes")] == [3, 2, 2]
    assert "made-up streams, 5 configurations: from, to, in the median" in done.stdout
    assert "real sequences, 2 configurations" in done.stdout
    assert "left out: notes.txt: found no sequence" in done.stderr
    assert (done.exit_code == 1) == ("MISSED" in done.stdout)


def test_figures_are_those_of_all_seeds_together() -> None:
    both = added([GOOD, but(filtered=1.5, covered=900, counted=1_000, peers=np.array([1.0, 2.0, 1.5, 2.0, 3.0]))])
    assert (both.over_raw, both.coverage, both.trusted) == (0.5, 0.925, 0.97)
    assert PEERS[GOOD.best] == "lp-rescuedp"
    assert GOOD.over_lpa == pytest.approx(0.5 / 3)
    assert PEERS[both.best] == "lsp"  # the smallest mean over the seeds
    assert both.over_best == 1.0
    # Told filters have rms errors of .1 and sqrt(.06) at best; bars are .1 and .3 wide: 40 / (100 (.1 + .245)).
    assert GOOD.wide == pytest.approx(0.4 / (0.1 + 0.06**0.5))
    assert added([GOOD, GOOD]).wide == pytest.approx(GOOD.wide)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"filtered": 0.81, "raw": 0.77}, "1.052 of raw LPU's error; at most 1.05"),
        ({"filtered": 0.9}, "1.125 of the error of lp-rescuedp; at most 1.1"),
        ({"covered": 879}, "87.9% within 2 standard errors; at least 88%"),
        ({"width": np.array([20.0, 30.0])}, "bars 1.45 times as wide as those of a told filter; at most 1.3"),
        ({"right": 929}, "92.9% of 1000 certain readings are right; 93% to 99.5%"),
        ({"right": 996}, "99.6% of 1000 certain readings are right; 93% to 99.5%"),
    ],
)
def test_each_configuration_is_judged(changed: dict[str, Any], text: str) -> None:
    assert list(verdicts.missed([(PLAIN, GOOD)])) == []
    assert list(verdicts.missed([(PLAIN, but(**changed))])) == [f"stream, n 200 k, d 2, epsilon 1, w 20: {text}"]


def test_readings_are_judged_from_500_on() -> None:
    assert not verdicts.marks(PLAIN, but(readings=499, right=300))
    assert verdicts.marks(PLAIN, but(readings=500, right=300)) == {"trusted"}


def test_coverage_is_as_usual_in_nine_of_ten() -> None:
    nine, low = [(PLAIN, GOOD)] * 9, (PLAIN, but(covered=915))
    assert list(verdicts.together([*nine, low])) == []
    assert "in 9 of 11 (target: 90%); not in stream" in next(verdicts.together([*nine, low, low]))
    high = but(covered=995)
    assert [verdicts.usual(replace(PLAIN, resting=rests), high) for rests in (False, True)] == [False, True]


def test_in_the_median_the_error_is_well_below_the_best_of_the_papers() -> None:
    even = (PLAIN, but(filtered=0.7))
    assert list(verdicts.together([(PLAIN, GOOD), even, (PLAIN, GOOD)])) == []
    assert "in the median 0.875 of the best one's error" in next(verdicts.together([(PLAIN, GOOD), even, even]))


def test_an_exception_is_printed_with_its_cause_and_is_no_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "EXCEPTIONS", {("lns", "coverage"): "a cause"})
    monkeypatch.setattr(verb, "compared", lambda *_: but(covered=800))
    done = murmurate("--kinds", "lns,sin", "--json")
    said = orjson.loads(done.output)
    assert said["exceptions"][0].endswith("80.0% within 2 standard errors; at least 88%: a cause")
    assert [text.partition(",")[0] for text in said["missed"]][:1] == ["sin"]
    assert done.exit_code == 1


def test_nothing_missed_is_exit_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "compared", lambda *_: GOOD)
    done = murmurate()
    assert done.exit_code == 0
    assert "nothing is missed" in done.output
    monkeypatch.setattr(verb, "compared", lambda *_: but(covered=500))
    assert murmurate("--json").exit_code == 1


def test_what_is_tried_is_of_many_kinds_and_at_most_48(tmp_path: Path) -> None:
    assert {one.d for one in MADE_UP} >= {2, 8, 64, 500}
    assert {one.users for one in MADE_UP} >= {2_000, 200_000}
    for i in range(6):
        np.save(tmp_path / f"{i}.npy", np.random.default_rng(i).integers(0, 12, 500))
    done = murmurate("--data", str(tmp_path))
    assert f"allowed: {MOST}, by fewer files or by --kinds" in str(done.exception)
    assert "allowed: some of papers, lns" in str(murmurate("--kinds", "sun").exception)
    (tmp_path / "notes.txt").write_text("no numbers")
    assert "notes.txt: found no sequence" in str(murmurate("--data", str(tmp_path / "notes.txt")).exception)
