# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce shuffle`: printed figures beside ours, what is judged, and files."""

from __future__ import annotations

import gzip
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import (
    shuffle,
    shuffle_blankets,
    shuffle_choices,
    shuffle_reference,
    shuffle_strings,
    shuffle_verdicts,
)
from murmurate.agents.cli.reproductions.shuffle_ways import METHODS, rare_variance, ways
from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.heavy_strings import share_found
from murmurate.agents.simulate.held_strings import Strings, made_up_strings, strings_of
from murmurate.agents.simulate.mixed_histograms import (
    SHAPES,
    STRINGS,
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

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "shuffle-9.3.svg"
BIG = Strings("big", np.arange(40, dtype=np.uint64), np.full(40, 20_000))
SMALL = Histogram("small", np.array([500, 300, 150, 50, 0]))


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["shuffle", "--processes", "1", *words])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilons as they should be, without working them out, and errors at their means: what is judged by others."""

    def made(job: shuffle.Job) -> float | shuffle_choices.ExactChoice:
        if isinstance(job, shuffle_choices.ChoiceToMake):
            return shuffle_choices.ExactChoice("grr", 8.0, 1e-12)
        if isinstance(job, shuffle_strings.StringsToFind):
            return {"SH": 0.0, "OLH": 0.1, "Had": 0.1}.get(job.name, 0.5)
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
def test_figure_9_3_is_a_picture_with_a_curve_for_each_method(tmp_path: Path) -> None:
    """Errors at their means, so that the picture is the page's; its curves: nine methods on two histograms."""
    murmurate("--json", "--runs", "1", "--out", str(tmp_path))
    text = (tmp_path / "shuffle-9.3.svg").read_text(encoding="utf-8")
    tree = ET.fromstring(text)  # noqa: S314 - our own
    assert sum(node.tag.endswith("polyline") for node in tree.iter()) == 2 * len(METHODS)
    assert text == PICTURE.read_text(encoding="utf-8")
    (tmp_path / "file").touch()
    assert isinstance(murmurate("--out", str(tmp_path / "file" / "pictures")).exception, UsageError)


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


def test_choices_and_strings_that_fall_behind_are_named() -> None:
    choices = {("cities", 0.5): shuffle_choices.ExactChoice("olh, g = 50", 4.0, 1e-3)}
    (text,) = shuffle_choices.missed(choices, [made_up("cities")])
    assert text.startswith("choice at 0.5, cities: 1.00e-03; at most the rule's ")
    found = {
        key: 0.2 if job.name in ("RAP", "OLH", "Had", "SH") else 0.3 for key, job in shuffle_strings.planned(BIG, 1, 0)
    }
    texts = list(shuffle_strings.missed(found, BIG))
    assert texts == ["figure 9.4, big: RAP finds 0.200; more than local methods, 0.200"]


def test_strings_are_found_where_nothing_hides_them_and_lost_where_everything_does() -> None:
    """Forty strings of unlike numbers of users: all of the most frequent ones, or as many as chance has."""
    codes = np.arange(40, dtype=np.uint64) * np.uint64(1_234_567_891)
    few = Strings("few", codes, 100 * np.arange(40, 0, -1))
    assert share_found(few, HistogramMethod("reports", 0.999, 0.001), 2, 3, divided=False) > 0.95
    assert share_found(few, HistogramMethod("reports", 0.501, 0.5), 2, 3, divided=False) < 0.3
    assert share_found(few, HistogramMethod("added", 0.001), 1, 3, divided=False) > 0.9
    divided = share_found(few, HistogramMethod("reports", 0.999, 0.001), 4, 3, divided=True)
    assert 0.5 < divided < 1  # each round asks a sixth


def test_strings_are_read_from_a_file_and_made_up_alike(tmp_path: Path) -> None:
    file = tmp_path / shuffle.STRINGS
    lines = "".join(f"query{letter}\t{90 - at}\n" for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789"))
    file.write_bytes(gzip.compress(lines.encode()))
    found = strings_of(file)
    assert (found.name, len(found.codes), found.n) == ("aol_query_6bytes_sorted", 36, sum(range(55, 91)))
    assert (np.diff(found.codes) > 0).all()
    assert shuffle.read(tmp_path, 0)[1][0].n == found.n
    file.write_bytes(b"no gzip")
    with pytest.raises(SourceError, match="found no strings; allowed: a string, a tab and a number of users a line"):
        strings_of(file)
    made = made_up_strings()
    assert (made.n, len(np.unique(made.codes))) == (STRINGS.n, STRINGS.d)


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
