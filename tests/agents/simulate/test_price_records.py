# SPDX-License-Identifier: Apache-2.0
"""Records of prices: what a day tells, files, and errors without a tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.simulate.price_records import DAYS, direct_errors, made_up_prices, read_prices, told_steps
from murmurate.errors import UsageError


def test_a_record_tells_six_changes_at_most_since_the_last_one_told() -> None:
    rising = np.asarray(1.03 ** np.arange(DAYS), np.float64)
    told = told_steps(np.array([rising, 1 / rising, np.full(DAYS, 5.0)], np.float64))
    assert told[:2, :8].tolist() == [[0, *[1] * 6, 0], [0, *[-1] * 6, 0]]
    assert np.abs(told).sum(axis=1).tolist() == [6, 6, 0]


def test_slow_drift_is_told_once_it_adds_up() -> None:
    told = told_steps(np.array([1.011 ** np.arange(DAYS)], np.float64))
    assert told[0, :6].tolist() == [0, 0, 1, 0, 1, 0]


def test_files_are_cut_into_runs_of_their_years(tmp_path: Path) -> None:
    days = [f"2013-12-31,{1},0", *(f"2014-01-01,{price},0" for price in range(10, 10 + 2 * DAYS + 3)), "2018-01-02,3,0"]
    (tmp_path / "a.us.txt").write_text("\n".join(["Date,Close,Volume", *days]), encoding="utf-8")
    (tmp_path / "notes.md").write_text("not a stock", encoding="utf-8")
    prices = read_prices(tmp_path)
    assert prices.shape == (2, DAYS)
    assert prices[:, 0].tolist() == [10, 10 + DAYS]
    assert (read_prices(tmp_path / "a.us.txt") == prices).all()


def test_files_without_prices_are_refused_and_no_price_is_named(tmp_path: Path) -> None:
    for text, said in (("Date,Close\n2014-01-01,4.5\n", "no record"), ("Date,Close\n2014-01-01,x4.5\n", "line 2")):
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=said) as told:
            read_prices(tmp_path / "a.csv")
        assert "4.5" not in str(told.value)


def test_drawn_errors_are_the_expected_ones() -> None:
    told = told_steps(made_up_prices(0, 50))
    for name in ("ExSub", "DDRM", "PCKV-AGRR"):
        errors = direct_errors(told, name, 1.0, 40, 0)
        assert errors.total == pytest.approx(errors.expected, rel=0.15)  # 5 * .76 / sqrt(32 * 40) is .11
        assert errors.largest < errors.total
