# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce hitters`, strings: what is drawn, what is printed, what is judged, and files."""

from __future__ import annotations

import gzip
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import hitters, hitters_strings, hitters_strings_verdicts
from murmurate.agents.cli.reproductions import hitters_strings_reference as reference
from murmurate.agents.cli.reproductions.hitters_strings import BY_EPSILON, BY_GROUPS, GROWING, Row, StringsToSearch
from murmurate.agents.simulate.drawn_levels import DrawnLevel, UsersLeft, local_hashing, usual_variance
from murmurate.agents.simulate.held_strings import Strings, exponential, strings_of
from murmurate.agents.simulate.string_searches import (
    METHODS,
    DrawnSegments,
    SearchScores,
    StringSearch,
    drawn_votes,
    searched,
)
from murmurate.aggregators.hitters.candidates import numbered, placed
from murmurate.aggregators.hitters.channels import ChannelPlan
from murmurate.aggregators.hitters.pem import PrefixPlan
from murmurate.aggregators.hitters.segment_pairs import SegmentPlan
from murmurate.randomizers.layouts import BitsLayout
from tests.cases import every

SMALL = Strings("small", np.array([3, 17, 200, 201], np.uint64), np.array([6_000, 3_000, 900, 100]), 8)


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["hitters", "--part", "strings", "--processes", "1", *words])


def as_known(job: StringsToSearch) -> SearchScores:
    """Scores as they should be."""
    part, _, search = job.row
    if part == GROWING and search.groups:
        growth = reference.GROWTH.index(60 // search.groups)
        return SearchScores(reference.F1_FOUND[search.epsilon][growth], 0.5, 5, 1e6)
    if part == BY_GROUPS and search.groups:
        return SearchScores(0.5, 0.5, round(reference.HITS[search.epsilon][search.groups - 1]), None)
    return SearchScores(0.95 if search.method == "PEM" else 0.2 if "split" in search.method else 0.75, 0.5, 5, None)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hitters_strings, "made", as_known)


# ---- what is drawn ----


def test_the_exponential_set_has_the_texts_shares() -> None:
    strings = exponential(5)
    counts = np.sort(strings.counts)[::-1]
    assert strings.n == 1_000_000
    assert abs(counts[15] - 23_037) <= 1  # the text: about .023
    assert counts[1:50] / counts[:49] == pytest.approx(np.full(49, np.exp(-0.05)), abs=1e-3)
    assert len(np.unique(strings.codes)) == len(strings.codes)
    assert not np.array_equal(strings.codes, exponential(6).codes)
    assert np.array_equal(strings.most_frequent(3), strings.codes[np.argsort(-strings.counts)[:3]])
    cut = strings.shortened(1)
    assert (cut.codes.tolist(), cut.n, cut.m) == ([0, 1], 1_000_000, 1)


@every("epsilon", [0.5, 1.0, 3.0])
def test_shares_of_a_level_have_the_mean_and_the_variance_that_are_said(epsilon: float) -> None:
    """Of 2 000 draws the mean is within 5 standard errors, and the variance within 15 %: it errs by 3.2 %."""
    layout, generator = BitsLayout(8, none=False), np.random.default_rng(1)
    level = DrawnLevel(layout, 8, lambda: SMALL, local_hashing(epsilon), generator)
    rows = placed(layout, np.array([3, 200, 77], np.uint64), 8)
    drawn = np.array([level.estimate(rows)[0] for _ in range(2_000)])
    variances = level.estimate(rows)[1]
    assert variances[2] == usual_variance(level.way, SMALL.n)
    errors = drawn.std(axis=0) / 2_000**0.5
    assert (np.abs(drawn.mean(axis=0) - [0.6, 0.09, 0]) < 5 * errors).all()
    assert drawn[:, 2].var() == pytest.approx(variances[2], rel=0.15)


def test_groups_are_equal_parts_of_all_users_and_nobody_is_in_two() -> None:
    """Each of four groups has a quarter of 10 000 users, within 5 standard deviations of 43."""
    left = UsersLeft(SMALL, np.random.default_rng(3))
    group = left.equal_groups(4)
    groups = [group() for _ in range(4)]
    assert np.array_equal(sum(one.counts for one in groups), SMALL.counts)
    assert all(abs(one.n - 2_500) < 5 * 43 for one in groups)
    assert left.strings.n == 0


def test_pairs_of_segments_are_estimated_without_bias() -> None:
    """The mean of 400 draws within 5 standard errors: of held pairs, of halves of held ones, of nobody's."""
    plan, generator = SegmentPlan(8, 4, 2), np.random.default_rng(4)
    first, second = np.array([0, 12, 1], np.uint64), np.array([3, 8, 9], np.uint64)
    drawn, alone = [], []
    for _ in range(400):
        told = DrawnSegments(SMALL, plan, local_hashing(2.0), generator)
        drawn.append(told.pair((0, 1), first, second))
        alone.append(told.segment(0, np.arange(16, dtype=np.uint64))[[0, 12]])
    truth = np.array([[0.6, 0, 0], [0, 0.09, 0.01], [0, 0, 0]])  # 3, 200 and 201; 17 is 1 and 1
    assert (np.abs(np.mean(drawn, axis=0) - truth) < 5 * np.std(drawn, axis=0) / 20).all()
    assert (np.abs(np.mean(alone, axis=0) - [0.6, 0.1]) < 5 * np.std(alone, axis=0) / 20).all()


def test_votes_are_those_of_the_strings_of_a_channel() -> None:
    """One channel: each bit's votes within 5 standard deviations (at most 36, of 1 250 users) of its expected ones."""
    votes = drawn_votes(SMALL, ChannelPlan(8, 4, 1), 3.0, np.random.default_rng(5))
    bits = SMALL.codes[:, np.newaxis] >> np.arange(7, -1, -1, dtype=np.uint64) & np.uint64(1)
    kept = 1 - 2 / (np.exp(3.0) + 1)
    expected = kept * (SMALL.counts @ (2.0 * bits - 1)) / 8
    assert (np.abs(votes[0] - expected) < 5 * 60).all()


def test_each_method_finds_what_hardly_any_noise_hides() -> None:
    for method in METHODS:
        n, m, epsilon = (20_000, 16, 3.0) if method == "PrivTrie" else (200_000, 32, 8.0)
        few = exponential(1, n=n, m=m, scale=0.7)
        found = searched(few, StringSearch(method, epsilon, 3), 2)
        assert found.hits >= (2 if "HASH" in method else 3), method  # two of three strings may share one of 6 channels
        assert found == searched(few, StringSearch(method, epsilon, 3), 2)
        assert found.squared_error is not None
        assert found.squared_error < (0.02 * n) ** 2
    few = exponential(1, n=20_000, m=16, scale=0.7)
    one = searched(few, StringSearch("PEM", 8.0, 3, groups=1), 2)
    assert (one.f1, one.ncr, one.hits) == (1, 1, 3)


def test_of_strings_that_nobody_holds_chance_takes_the_places_that_are_left() -> None:
    single = Strings("single", np.array([5], np.uint64), np.array([50_000]), 32)
    found = searched(single, StringSearch("PEM", 1.0, 4, groups=1), 1)
    assert found.hits == 1
    assert found.f1 == pytest.approx(2 / 5)


def test_a_string_that_nobody_holds_is_named_once_in_twenty_searches() -> None:
    """Of 300 searches 15 name one on average; 35 or more would be 5 standard deviations more. The held one is named in
    all of them.
    """
    single = Strings("single", np.array([0x616263], np.uint64), np.array([20_000]), 24)
    layout, plan, generator = BitsLayout(24, none=False), PrefixPlan(24, 4, 3), np.random.default_rng(6)
    others = 0
    for _ in range(300):
        users = UsersLeft(single, generator).equal_groups(3)
        told = [DrawnLevel(layout, bits, users, local_hashing(1.0), generator) for bits in plan.bits]
        found = numbered(layout, plan.found(layout, told).rows, 24).tolist()
        assert 0x616263 in found
        others += len(found) - 1
    assert 0 < others < 35


# ---- what is judged ----


@pytest.mark.usefixtures("quick")
def test_tables_of_eighty_columns_say_that_all_is_reproduced() -> None:
    done = murmurate("--runs", "2", "--few", "1")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "all of it is reproduced"
    assert sum(line.startswith(("1, ", "2, ")) for line in lines) == 8
    said = orjson.loads(murmurate("--runs", "2", "--json").output)
    assert said["ok"]
    assert {row["table"] for row in said["rows"]} == {GROWING, BY_EPSILON, hitters_strings.BY_K}


def test_what_is_off_is_said_and_the_command_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(job: StringsToSearch) -> SearchScores:
        found = as_known(job)
        spoilt = job.row[2] in (StringSearch("PEM", 2.0, 16, 10), StringSearch("PEM", 1.2))
        return replace(found, f1=found.f1 * 0.7) if spoilt else found

    monkeypatch.setattr(hitters_strings, "made", worse)
    done = murmurate("--runs", "2", "--few", "0", "--json")
    assert done.exit_code == 1
    missed = orjson.loads(done.output)["missed"]
    assert any(text.startswith("growth, exponential at epsilon 2, 10 groups: 0.650; known 0.928") for text in missed)
    assert any("SPM finds 0.750; no more than PEM, 0.665" in text for text in missed)
    assert len(missed) >= 3


def scores(values: list[float]) -> list[SearchScores]:
    return [SearchScores(value, value, round(16 * value), None) for value in values]


def test_few_runs_are_excused_by_chance_and_strict_excuses_nothing() -> None:
    spread, narrow = scores([0.1, 0.3] * 10), scores([0.24, 0.25] * 10)
    far = hitters_strings_verdicts.far
    assert not far(spread, 0.26, 20, "f1", strict=False)
    assert far(spread, 0.26, 20, "f1", strict=True)
    assert far(narrow, 0.20, 20, "f1", strict=False)
    assert not far(narrow, 0.22, 20, "f1", strict=True)


def test_what_the_text_says_otherwise_is_told_with_its_cause() -> None:
    rows: dict[Row, Any] = defaultdict(list)
    for method, value in (("HASH", 0.3), ("PrivTrie", 0.95), ("PEM", 0.9)):
        rows[BY_EPSILON, "exponential", StringSearch(method, 1.2)] = scores([value])
    texts = list(hitters_strings_verdicts.excused(rows))
    assert [text[:37] for text in texts] == [
        "figure 4.5, HASH at epsilon 1.2: 0.30",
        "figure 4.2, PrivTrie at epsilon 1.2: ",
    ]
    rows[BY_EPSILON, "exponential", StringSearch("SPM, split", 1.2)] = scores([0.5])
    rows[BY_EPSILON, "exponential", StringSearch("SPM", 1.2)] = scores([0.4])
    assert "SPM with split epsilon finds 0.500" in next(hitters_strings_verdicts.missed(rows, strict=False))


@pytest.mark.usefixtures("quick")
def test_strings_of_a_file_have_tables_of_their_own(tmp_path: Path) -> None:
    lines = "".join(f"query{letter}\t{90 - at}\n" for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789"))
    (tmp_path / hitters_strings.FILE).write_bytes(gzip.compress(lines.encode()))
    done = murmurate("--runs", "2", "--few", "0", "--data", str(tmp_path))
    assert "table 4.2, aol: how many of the 16 most frequent strings of 32 bits are found" in done.output
    assert "figure 4.2, aol: F1, NCR" in done.output
    cut = hitters_strings.of_file(tmp_path / hitters_strings.FILE, True)
    assert (cut.m, len(cut.codes), cut.n) == (32, 1, strings_of(tmp_path / hitters_strings.FILE).n)
    assert all(job.path is None for job in hitters_strings.planned(1, 0, 0, tmp_path / "none"))


def test_one_real_search_is_that_of_its_seed() -> None:
    job = next(hitters_strings.planned(1, 0, 9, None))
    assert hitters.made(("strings", job)) == searched(exponential(9), job.row[2], 9)


@pytest.mark.audit
@pytest.mark.parametrize("seed", [0, 20_061_111])
def test_two_hundred_runs_lie_within_fifteen_percent_of_other_codes_figures(seed: int) -> None:
    """From the seed of the command, and from one that nobody looked at before."""
    rows: dict[Row, list[SearchScores]] = defaultdict(list)
    for job in hitters_strings.planned(200, 0, seed, None):
        if job.row[0] == GROWING:
            rows[job.row].append(hitters_strings.made(job))
    assert list(hitters_strings_verdicts.missed(rows, strict=True)) == []
