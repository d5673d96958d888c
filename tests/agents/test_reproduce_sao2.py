# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce sao2`: printed figures beside ours, what is judged, pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import sao2, sao2_reference
from murmurate.agents.cli.reproductions.vectors import PartToCompute
from murmurate.agents.simulate.price_records import made_up_prices
from murmurate.agents.simulate.residue_errors import HorizonErrors

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
TOTALS = {"printed": 3.0, "needed": 2.0, "every": 1.0}


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["sao2", "--processes", "1", *words])


def as_expected(job: PartToCompute) -> Any:
    """What takes long as it should be: printed and handed-in errors, and squares that are their variances."""
    part, name, *of = job.key
    if part == "told":
        return 1.0, 1.0
    *form, r, epsilon = of
    known = sao2_reference.TABLE_3 if part == "horizon" else sao2_reference.HANDED_IN
    row = known.get((name, epsilon), (1.0,) * len(sao2_reference.FANOUTS))
    return HorizonErrors(row[sao2_reference.FANOUTS.index(r)], TOTALS[form[0]] if form else 1.0, 0.0)


@cache
def formulas() -> dict[tuple[Any, ...], Any]:
    return dict(sao2.formulas())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sao2, "made", as_expected)
    monkeypatch.setattr(sao2, "made_up_prices", lambda seed: made_up_prices(seed, 20))
    formulas()
    monkeypatch.setattr(sao2, "formulas", lambda: formulas().items())


def test_tables_of_eighty_columns_say_that_all_that_is_judged_is_reproduced() -> None:
    done = murmurate()
    assert done.exit_code == 0, done.output
    assert done.output.endswith("all that is judged is reproduced\n")
    assert max(map(len, done.output.splitlines())) <= 80
    for text in ("SaO2, table 3", "other code", "smallest: 11.13 at m = 105", "EFMRTT", "FutureRand, printed",
                 "its row is the same at epsilon 0.1 and 1", "murmurate reproduce vectors", "620 records"):  # fmt: skip
        assert text in done.output, text


def test_a_wrong_expectation_is_named_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = sao2_reference.EPSILONS
    handed = {**sao2_reference.HANDED_IN, ("DDRM", low): (10.5, 9.7, 10.3, 11.4)}
    table = {**sao2_reference.TABLE_3, ("ExSub", high): (0.44, 0.43, 0.6, 0.45)}
    uniform = sao2_reference.PORTIONS[0]._replace(figures={("uniform", False): (1.12, 1.3, 1.30)})
    was = {job: as_expected(PartToCompute(job, 1, 0)) for job in sao2.planned()}
    monkeypatch.setattr(sao2, "made", lambda job: was[job.key])
    monkeypatch.setattr(sao2_reference, "HANDED_IN", handed)
    monkeypatch.setattr(sao2_reference, "TABLE_3", table)
    monkeypatch.setattr(sao2_reference, "BEST_LENGTH", (104, 11.13))
    monkeypatch.setattr(sao2_reference, "PORTIONS", (uniform, sao2_reference.PORTIONS[1]))
    done = murmurate("--json")
    assert done.exit_code == 1
    found = orjson.loads(done.output)
    assert not found["ok"]
    assert [text.partition(":")[0] for text in found["missed"]] == [
        "table 3, ExSub, epsilon 1, r = 8",
        "DDRM without changes, r = 16",
        "figure 1",
        "portions, T = 32, uniform, root False",
    ]


def test_errors_that_are_not_their_variances_or_the_smallest_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    low = sao2_reference.EPSILONS[0]
    wrong: dict[tuple[Any, ...], Any] = {
        ("horizon", "DDRM", "needed", 4, low): HorizonErrors(1.0, 2.0, 0.06),
        ("horizon", "EFMRTT", "every", 2, low): HorizonErrors(1.0, 2.5, 0.0),
        ("told", "FutureRand"): (1.0, 1.3),
    }
    monkeypatch.setattr(sao2, "made", lambda job: wrong.get(job.key) or as_expected(job))
    done = murmurate("--json")
    assert done.exit_code == 1
    assert [text.partition(":")[0] for text in orjson.loads(done.output)["missed"]] == [
        "EFMRTT, every tree, r = 2, epsilon 0.1",
        "DDRM, needed tree, r = 4, epsilon 0.1",
        "told by FutureRand",
    ]


def test_stocks_of_files_take_the_place_of_made_up_ones(tmp_path: Path) -> None:
    prices = made_up_prices(1, 20).reshape(20, -1)
    for at, row in enumerate(prices):
        lines = [f"2015-01-01,{price}" for price in row]
        (tmp_path / f"{at}.us.txt").write_text("\n".join(["Date,Close", *lines]), encoding="utf-8")
    done = murmurate("--json", "--stocks", str(tmp_path))
    assert done.exit_code == 0, done.output
    (tmp_path / "wrong.csv").write_text("Day,Close\n", encoding="utf-8")
    assert murmurate("--json", "--stocks", str(tmp_path / "wrong.csv")).exit_code != 0


def test_pictures_have_a_curve_for_each_tree_and_protocol(tmp_path: Path) -> None:
    murmurate("--json", "--out", str(tmp_path))
    curves = {}
    for path in sorted(tmp_path.iterdir()):
        tree = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - our own
        curves[path.name] = sum(node.tag.endswith("polyline") for node in tree.iter())
        assert (IMAGES / path.name).is_file()
    assert curves == {"sao2-stocks.svg": 6, "sao2-table-3.svg": 6}


def test_what_stands_under_a_key_is_what_its_part_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    low = sao2_reference.EPSILONS[0]
    moving = sao2.made(PartToCompute(("horizon", "ExSub", "printed", 16, low), 400, 0))
    still = sao2.made(PartToCompute(("still", "ExSub", 16, low), 400, 0))
    assert still.largest == pytest.approx(5.48, rel=0.05)
    assert moving.largest > still.largest
    assert sao2.made(PartToCompute(("told", "DDRM"), 2, 0)) == pytest.approx((1, 1), abs=0.6)


@pytest.mark.audit
def test_all_that_is_judged_is_reproduced_with_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    done = murmurate("--json", "--seed", "7")
    assert done.exit_code == 0, orjson.loads(done.output)["missed"]
    assert np.isfinite([row["value"][0] for row in orjson.loads(done.output)["rows"] if row["part"] == "told"]).all()
