# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce post-processing`: the dissertation's comparison again, in 80 columns, with a true exit code."""

import math
import re
from dataclasses import replace

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli.reproduce import command
from murmurate.agents.cli.reproductions import post_processing
from murmurate.agents.cli.reproductions import post_processing_reference as reference
from murmurate.agents.cli.reproductions.post_processing import (
    EXPECTED,
    METHODS_SHOWN,
    collected,
    compare,
    lines,
    named,
    zipf,
)

RUNS = 6


@pytest.fixture(scope="module")
def found() -> post_processing.Comparison:
    return compare(collected((0, 0, RUNS)))


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(command, ["post-processing", *words])


def test_six_runs_come_within_a_half_of_every_figure_that_has_no_single_sum_in_it(
    found: post_processing.Comparison,
) -> None:
    # The seed is fixed, so there is no false alarm. Totals of raw estimates have one sum of noise a run.
    ratio = found.ratio.copy()
    ratio[METHODS_SHOWN.index("base"), 2:4] = 1
    assert np.abs(np.log(ratio)).max() < math.log(1.5)
    assert not found.off.any(), named(found.off)


def test_the_errors_of_single_values_come_within_a_tenth(found: post_processing.Comparison) -> None:
    # 6 x 1024 squared errors: where no bias rules, their mean is off by 2 % of itself.
    np.testing.assert_allclose(found.ratio[:, 0], 1, atol=0.1)


def test_base_has_the_error_that_its_variance_says(found: post_processing.Comparison) -> None:
    # Mean of 6,144 squares of a normal: 4.9 standard errors are 4.9 sqrt(2 / 6144), so 1e-6 of false alarms.
    expected = 3.692845e-6  # q(1-q)/(n(p-q)^2) + (1-p-q)/(n d (p-q)), the reference's analytic figure
    assert found.mse[METHODS_SHOWN.index("base"), 0] == pytest.approx(expected, rel=4.9 * math.sqrt(2 / (RUNS * 1024)))


def test_what_is_known_exactly_is_what_comes_out_and_two_figures_of_the_reference_are_not(
    found: post_processing.Comparison,
) -> None:
    base, norm = METHODS_SHOWN.index("base"), METHODS_SHOWN.index("norm")
    assert not np.isnan(EXPECTED[[base, norm]]).any()
    np.testing.assert_allclose(
        EXPECTED[norm, 3] / EXPECTED[base, 3], 0.1, rtol=0.01
    )  # the total of all is known: a tenth is left
    np.testing.assert_allclose(found.mse[[base, norm], 0], EXPECTED[[base, norm], 0], rtol=0.09)  # as above
    far = np.abs(reference_ratio := EXPECTED / post_processing.REFERENCE - 1) > post_processing.NEAR
    assert named(far) == ["base, set 50%", "base, set 90%"], reference_ratio


def test_mle_apx_stays_as_near_to_norm_sub_as_the_reference_says(found: post_processing.Comparison) -> None:
    assert found.mle < reference.MLE_NEAR_NORM_SUB


def test_the_users_are_a_million_and_fall_by_rank() -> None:
    counts = zipf()
    assert counts.sum() == 1_000_000
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] / counts[3] == pytest.approx(8, rel=1e-4)


def test_the_table_fits_80_columns_and_shows_every_figure(found: post_processing.Comparison) -> None:
    table = list(lines(found))
    assert max(map(len, table)) <= 80
    text = "\n".join(table)
    for name in METHODS_SHOWN:
        assert text.count(f"\n{name:<8}") == 2, name
    assert len(re.findall(r"\d\.\d\de-\d", text)) == 2 * 54 + 1  # and what is known exactly


def test_a_figure_that_is_wrong_is_named_and_fails(
    found: post_processing.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    mse = found.mse.copy()
    mse[METHODS_SHOWN.index("norm"), 0] *= 2
    monkeypatch.setattr(post_processing, "compare", lambda squares: replace(found, mse=mse))
    done = murmurate("--runs", str(RUNS))
    assert done.exit_code == 1
    assert "NOT REPRODUCED: norm, full (!)" in done.output
    assert orjson.loads(murmurate("--runs", str(RUNS), "--json").output)["off"] == ["norm, full"]


def test_the_same_seed_prints_the_same_and_strict_counts_chance_too() -> None:
    once, again = murmurate("--runs", "6", "--seed", "5"), murmurate("--runs", "6", "--seed", "5")
    assert once.output == again.output
    assert once.exit_code == 0
    assert "~" in once.output
    assert murmurate("--runs", "6", "--seed", "5", "--strict").exit_code == 1


def test_fewer_runs_allow_more_errors_as_students_t_does(found: post_processing.Comparison) -> None:
    # Two-sided 6.3e-5: the quantiles of Student's t with 29 and with 9 degrees of freedom, from tables.
    assert replace(found, runs=1_000_000).allowed == pytest.approx(4, abs=1e-4)
    assert replace(found, runs=30).allowed == pytest.approx(4.670, abs=0.02)
    assert replace(found, runs=10).allowed == pytest.approx(6.999, abs=0.1)


def test_json_says_the_same(found: post_processing.Comparison) -> None:
    said = orjson.loads(murmurate("--runs", str(RUNS), "--json").output)
    assert said["ok"] is True
    assert said["mse"]["power-ns"] == found.mse[METHODS_SHOWN.index("power-ns")].tolist()
    assert said["far"] == named(found.far)
    assert said["off"] == []
