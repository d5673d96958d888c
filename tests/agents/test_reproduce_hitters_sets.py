# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce hitters --part sets`: tables beside what is known, what is judged, and what chance excuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import hitters_sets, hitters_sets_verdicts
from murmurate.agents.cli.reproductions.hitters_sets import (
    EPSILONS,
    FOUND,
    ITEMS,
    MADE_UP,
    Row,
    Rows,
    SetsToSearch,
    planned,
)
from murmurate.agents.simulate.baskets import BasketShape, made_up_baskets
from murmurate.agents.simulate.set_searches import BasketSearch, SetScores


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["hitters", "--part", "sets", "--processes", "1", *words])


def as_known(job: SetsToSearch) -> SetScores:
    """What it should be, with seeds around it."""
    _, _, search = job.row
    known = FOUND.get(search.method, (0.7, 0.9, 0.95))[EPSILONS.index(search.epsilon)]
    return SetScores(known + (-0.01 if job.seed % 2 else 0.01), 20, 3e-3 if search.method == "LDPMiner" else 1e-5)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hitters_sets, "made", as_known)


@pytest.mark.usefixtures("quick")
def test_tables_of_eighty_columns_say_that_all_is_reproduced(tmp_path: Path) -> None:
    (tmp_path / "retail.dat").write_text("1 2\n3\n", encoding="ascii")
    done = murmurate("--runs", "2", "--few", "2", "--data", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert done.output.endswith("all of it is reproduced\n")
    assert max(map(len, done.output.splitlines())) <= 80
    for text in ("figure 5.2, synthetic", "figure 5.2, retail", "figure 5.6, retail", "(0.65)", "300 x"):
        assert text in done.output, text
    told = orjson.loads(murmurate("--runs", "2", "--json").output)
    assert told["ok"]
    assert {(row["part"], row["table"]) for row in told["rows"]} == {("sets", "items"), ("sets", "items and itemsets")}


def rows() -> dict[Row, list[SetScores]]:
    found: dict[Row, list[SetScores]] = {}
    for job in planned(4, 0, 0, None):
        found.setdefault(job.row, []).append(as_known(job))
    return found


def verdicts(of: Rows, *, strict: bool = False) -> tuple[list[str], list[str]]:
    return list(hitters_sets_verdicts.missed(of, strict=strict)), list(hitters_sets_verdicts.excused(of))


def test_what_is_not_reproduced_is_named_and_chance_excuses_what_differs_from_run_to_run() -> None:
    assert verdicts(rows()) == ([], [])
    miner, svim = (ITEMS, MADE_UP, BasketSearch("LDPMiner", 1.0, 32)), (ITEMS, MADE_UP, BasketSearch("SVIM", 2.0, 32))
    off = {**rows(), miner: [SetScores(0.38, 9, 3e-3)] * 4}
    assert verdicts(off)[0] == ["items, synthetic, LDPMiner at epsilon 1: NCR 0.380; known 0.30; at most 0.05 apart"]
    spread = {**rows(), miner: [SetScores(ncr, 9, 3e-3) for ncr in (0.28, 0.48, 0.3, 0.46)]}
    missed, excused = verdicts(spread)
    assert not missed
    assert "from 3 runs, which differ by 0.105 each" in excused[0]
    assert verdicts(spread, strict=True)[0]
    worse = {**rows(), svim: [replace(one, squared_error=3e-4) for one in rows()[svim]]}
    assert "10 times smaller; known 275 to 320" in verdicts(worse)[0][0]
    less = {**rows(), svim: [SetScores(0.55, 9, 1e-5)] * 4}
    told = "\n".join(verdicts(less)[0])
    assert "more than LDPMiner" in told
    assert "more by a larger one" in told


def test_a_search_is_made_in_the_baskets_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    small = made_up_baskets(BasketShape(3_000, 300, 3.0, 1.1))
    monkeypatch.setattr(hitters_sets, "_baskets", lambda path: small)
    hitters_sets._truth.cache_clear()
    jobs = {job.row[2].method: job for job in planned(1, 0, 0, None)}
    for job in jobs.values():
        found = hitters_sets.made(job)
        assert found == hitters_sets.made(job)
        assert 0 <= found.ncr <= 1
    hitters_sets._truth.cache_clear()


def test_no_hit_is_no_error() -> None:
    assert hitters_sets.typical_error([SetScores(0, 0, None)] * 2) != hitters_sets.typical_error([])  # both are nan
    assert hitters_sets.typical_error([SetScores(0, 0, None), SetScores(0.1, 1, 0.5)]) == 0.5


@pytest.mark.audit
@pytest.mark.timeout(1800)
def test_many_searches_find_what_is_known() -> None:
    """Forty searches of each kind from two seeds: SVIM within 5 points, LDPMiner, of three runs each, within 10."""
    for seed in (0, 1000):
        found: dict[Row, list[SetScores]] = {}
        for job in planned(40, 0, seed, None):
            if job.row[2].k == hitters_sets.K:
                found.setdefault(job.row, []).append(hitters_sets.made(job))
        assert verdicts(found)[0] == []
        for method, known in FOUND.items():
            for epsilon, ncr in zip(EPSILONS, known, strict=True):
                mean = hitters_sets.mean(found[ITEMS, MADE_UP, BasketSearch(method, epsilon, 32)])
                assert abs(mean - ncr) < (0.05 if method == "SVIM" else 0.1), (method, epsilon, mean)
