# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce vectors`: printed figures beside ours, what is judged, pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import vectors, vectors_mixed, vectors_reference, vectors_verdicts
from murmurate.agents.cli.reproductions.vectors_pictures import by_buckets, by_epsilon
from murmurate.agents.simulate.sparse_errors import drawn

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["vectors", "--processes", "1", *words])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long as it should be: errors at their means, central epsilons as handed in, learning by name."""

    def made(job: vectors.PartToCompute) -> Any:
        part, *of = job.key
        if part in ("drawn", "reported"):
            number, name, epsilon = of
            return vectors_verdicts.of_normal(name, vectors_reference.TABLES[number], epsilon)
        if part == "amplified":
            return of[2] / 30, of[2] / 30
        if part == "central":
            m = int(of[0].rpartition(" ")[2]) if "m = " in of[0] else 1
            local, error = vectors_reference.CENTRAL[of[1]][m]
            return local, m, error
        return 0.9 if of[0] == "no noise" else 0.5 + 0.1 * of[1]

    monkeypatch.setattr(vectors, "made", made)


@pytest.mark.usefixtures("quick")
def test_tables_of_eighty_columns_say_that_all_is_reproduced() -> None:
    done = murmurate("--runs", "1")
    assert done.exit_code == 0, done.output
    assert done.output.endswith("all of it is reproduced\n")
    assert max(map(len, done.output.splitlines())) <= 80
    for text in ("SaO2, table 2", "SaO2, table 4", "FutureRand", "reports: one collection", "0.900 without noise",
                 "clipping takes a part", "512  32    5"):  # fmt: skip
        assert text in done.output, text


@pytest.mark.usefixtures("quick")
def test_what_is_not_reproduced_is_named_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_reference, "EXCUSED", {})
    monkeypatch.setattr(vectors_reference, "REDUCED", {"PCKV-UE": (-0.5, -0.47)})
    done = murmurate("--json")
    assert done.exit_code == 1
    found = orjson.loads(done.output)
    assert not found["ok"]
    assert [text.partition(":")[0] for text in found["missed"]] == [
        "table 4, SUCCINCT, total error at 1",
        "table 4, SUCCINCT, largest error at 1",
        "Collision's items, of PCKV-UE's",
    ]


@pytest.mark.usefixtures("quick")
def test_pictures_have_a_curve_for_each_mechanism(tmp_path: Path) -> None:
    murmurate("--json", "--out", str(tmp_path))
    names = ["vectors-buckets.svg", "vectors-errors.svg", "vectors-learning.svg", "vectors-mixed.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    curves = {}
    for name in names:
        tree = ET.fromstring((tmp_path / name).read_text(encoding="utf-8"))  # noqa: S314 - our own
        curves[name] = sum(node.tag.endswith("polyline") for node in tree.iter())
        assert (IMAGES / name).is_file()
    assert curves == dict(zip(names, (4, 18, 8, 8), strict=True))


def test_pictures_of_exact_errors_are_the_pages() -> None:
    assert by_epsilon() == (IMAGES / "vectors-errors.svg").read_text(encoding="utf-8")
    assert by_buckets() == (IMAGES / "vectors-buckets.svg").read_text(encoding="utf-8")


def test_what_stands_under_a_key_is_what_its_part_computes() -> None:
    part = vectors.PartToCompute(("drawn", "2", "ExSub", 1.0), 2, 5)
    assert vectors.made(part) == drawn("ExSub", 128, 8, 1.0, 50_000, 2, 5)
    certified, lower = vectors.made(vectors.PartToCompute(("amplified", 4, 10_000, 1.0), 1, 0))
    assert lower < certified < 1.001 * lower
    made = vectors.PartToCompute(("learned", "ExSub", 4.0), 1, 0)
    assert 0.7 < vectors.made(made) < 1


def test_a_parameter_is_fixed_or_the_papers_or_the_best() -> None:
    found = {way: vectors_mixed.parameter_of(way, 128, 8, 1.0) for way in vectors_mixed.CENTRAL_WAYS}
    assert found == {
        "ExSub, m = 1": 1, "ExSub, m = 2": 2, "ExSub, m = 9": 9, "ExSub": 9, "ExSub's rule": 5, "Collision": 39,
        "Collision's rule": 36, "CoCo": 32, "CoCo's rule": 32,
    }  # fmt: skip


@pytest.mark.audit
def test_a_central_target_is_kept_at_other_codes_local_epsilon() -> None:
    for target, rows in vectors_reference.CENTRAL.items():
        for m, (local, error) in rows.items():
            found = vectors_mixed.at_target(f"ExSub, m = {m}", 128, 8, target, 10_000, 1e-6)
            assert (found[0], found[2]) == pytest.approx((local, error), rel=2e-4)
