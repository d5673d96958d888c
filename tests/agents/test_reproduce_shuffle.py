"""`murmurate reproduce shuffle`: printed figures beside ours, what is judged, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import shuffle, shuffle_blankets, shuffle_reference, shuffle_verdicts
from murmurate.agents.cli.reproductions.shuffle_ways import METHODS, rare_variance, ways
from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.mixed_histograms import (
    SHAPES,
    Histogram,
    HistogramMethod,
    expected_error,
    made_up,
    of_file,
    squared_error,
)
from murmurate.errors import UsageError
from tests.aggregators.accounting.given import GOLDEN
from tests.cases import every

SMALL = Histogram("small", np.array([500, 300, 150, 50, 0]))


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["shuffle", "--processes", "1", *words])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilons as they should be, without working them out, and errors at their means: what is judged by others."""

    def made(job: shuffle.ErrorToMeasure | shuffle.EpsilonToFind) -> float:
        if isinstance(job, shuffle.ErrorToMeasure):
            return expected_error(job.histogram, job.way)
        return known.get((job.blanket, job.n), 0.01)

    known = {
        (blanket, n): value
        for name, (blanket, _) in shuffle_blankets.named().items()
        for (n, _), value in zip(shuffle_reference.AT, shuffle_reference.AMPLIFIED[name], strict=True)
    }
    signs = shuffle_blankets.named()["ExSub(1000, 20), m = 2"][0]
    known[signs, 5_000] = shuffle_reference.FIGURE_2["blanket"][1]
    monkeypatch.setattr(shuffle, "made", made)


@pytest.mark.usefixtures("quick")
def test_tables_of_eighty_columns_say_that_all_is_reproduced() -> None:
    done = murmurate("--runs", "1")
    assert done.exit_code == 0, done.output
    assert done.output.endswith("all of it is reproduced\n")
    assert max(map(len, done.output.splitlines())) <= 80
    assert "1.22e-08    1.22e-08" in done.output  # as it is printed
    assert "misprint" in done.output


@pytest.mark.usefixtures("quick")
def test_what_is_not_reproduced_is_named_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = shuffle_reference.TABLE | {"RAP_R": (7.92e-9, 1.92e-9, 8.53e-10, 4.78e-10)}
    monkeypatch.setattr(shuffle_reference, "TABLE", changed)
    monkeypatch.setattr(shuffle_reference, "CELLS", (44, 177, 397, 705))
    done = murmurate("--json")
    assert done.exit_code == 1
    assert orjson.loads(done.output)["missed"] == [
        "table 9.2, cells at 0.2: 45; printed: 44",
        "table 9.2, RAP_R at 0.2: 7.825e-09; 7.92e-09 within 1.00%",
    ]


@pytest.mark.usefixtures("quick")
def test_a_folder_of_files_is_compared_on_too(tmp_path: Path) -> None:
    (tmp_path / "census.txt").write_text("".join(f"{n}\n" for n in [3] * 500 + [7] * 400 + [9] * 100))
    done = murmurate("--data", str(tmp_path))
    assert "figure 9.3: census, n = 1000, d = 3" in done.output
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = murmurate("--data", str(empty)).exception
    assert isinstance(refused, UsageError)
    assert "found none of census.txt" in str(refused)


def test_the_numbers_of_other_code_stand_here_as_they_were_handed_in() -> None:
    """In the order in which the tests of the engines have them."""
    ours = sorted(shuffle_reference.AMPLIFIED.values())
    assert ours == sorted(map(tuple, GOLDEN["amplified"].values()))
    for row in GOLDEN["kosarak"]:
        found = ways(row["eps_c"], 990_002, 42_178)
        for name, key in (("SOLH", "SOLH_var"), ("RAP", "RAP_var"), ("RAP_R", "RAP_R_var"), ("AUE", "AUE_var")):
            assert rare_variance(found[name], 990_002) == pytest.approx(row[key], rel=1e-7), (row, name)


def test_an_epsilon_is_worked_out_and_an_error_drawn() -> None:
    binary = shuffle_blankets.named()["binary, EFMRTT"][0]
    expected = shuffle_reference.AMPLIFIED["binary, EFMRTT"][0]
    assert shuffle.made(shuffle.EpsilonToFind(binary, 1_000, 1e-5, 1)) == pytest.approx(expected, rel=1.5e-4)
    job = shuffle.ErrorToMeasure(SMALL, HistogramMethod("noise", 2.0), 3, 5)
    assert shuffle.made(job) == shuffle.made(job) == squared_error(SMALL, HistogramMethod("noise", 2.0), 5, 3)


@every(
    "way",
    [
        HistogramMethod("reports", 0.6, 0.2),
        HistogramMethod("added", 0.3),
        HistogramMethod("noise", 4.0),
        HistogramMethod("uniform"),
    ],
)
def test_drawn_errors_have_the_mean_that_is_said(way: HistogramMethod) -> None:
    """Twenty thousand squares of nearly normal errors: a mean within 6 %, which chance leaves once in a million."""
    assert squared_error(SMALL, way, 4_000, 1) == pytest.approx(expected_error(SMALL, way), rel=0.06)


def test_orders_and_thresholds_of_the_text_are_judged() -> None:
    cities = made_up("cities")
    found: dict[tuple[Any, ...], float] = {("worth", "cities", 0.5): 0.6}
    for name, way in ways(0.5, cities.n, cities.d).items():
        found["figure 9.3", "cities", 0.5, name] = expected_error(cities, way) * (1.2 if name == "RAP" else 1)
    texts = list(shuffle_verdicts._of_figure(found, cities, 20))
    assert [text[:36] for text in texts] == [
        "figure 9.3, cities at 0.5, RAP, meas", "figure 9.3, cities at 0.5: SOLH's ch",
    ]  # fmt: skip
    assert list(shuffle_verdicts._of_figure(found, cities, 1)) == texts[1:]  # too few to judge an error


def test_made_up_histograms_have_the_sizes_of_the_dissertations_data() -> None:
    for name, shape in SHAPES.items():
        made = made_up(name)
        assert (made.n, made.d) == (shape.n, shape.d)
        assert made.counts.min() >= 1 or name == "pages"
    assert list(ways(0.1, 602_325, 915)) == list(METHODS)
    assert "RAP" not in ways(0.1, 10_000, 915)  # too few users for its closed form


def test_of_a_users_items_one_is_drawn_with_equal_chances(tmp_path: Path) -> None:
    """Nine thousand draws of three items: each within five standard deviations of a third."""
    file = tmp_path / "kosarak.dat"
    file.write_text("5 7 900\n" * 9_000 + "\n")
    drawn = of_file(file, 0)
    assert (drawn.n, drawn.d, drawn.name) == (9_000, 3, "kosarak")
    assert (np.abs(drawn.counts - 3_000) < 5 * np.sqrt(2_000)).all()
    assert np.array_equal(of_file(file, 0).counts, drawn.counts)
    for text in ("1 two 3\n4\n", "1\n", ""):
        file.write_text(text)
        with pytest.raises(SourceError, match=r"kosarak\.dat: found no users; allowed: a line of whole numbers"):
            of_file(file, 0)
