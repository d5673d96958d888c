# SPDX-License-Identifier: Apache-2.0
"""Streams of events for ToPS and ToPL: made-up ones with about the paper's percentiles, and files read by path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.value_streams import KINDS, ValueStream, made_up, of_file, reflected
from tests.cases import every

TABLE_1 = {"baskets": (13, 21, 39, 7.5), "fares": (440, 1036, 2037, 279.9), "clicks": (10, 28, 133, 8.1),
           "queries": (63, 85, 135, 37.9)}  # fmt: skip
"""The 85th, 95th and 99.5th percentiles of the paper's data sets, and their means."""


@every("kind", sorted(KINDS))
def test_made_up_streams_have_about_the_published_percentiles(kind: str) -> None:
    stream = made_up(kind, 0, 60_000)
    *percentiles, mean = TABLE_1[kind]
    assert np.percentile(stream.values, [85, 95, 99.5]) == pytest.approx(percentiles, rel=0.3)
    assert stream.values.mean() == pytest.approx(mean, rel=0.3)
    assert stream.values.min() >= 1
    assert stream.values.max() < stream.top


def test_the_same_seed_makes_the_same_stream_and_another_one_another() -> None:
    one, same, other = (made_up("queries", seed, 1_000).values for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_a_short_file_goes_on_backwards_and_forwards() -> None:
    assert reflected(np.array([4, 5, 6, 7]), 11).tolist() == [4, 5, 6, 7, 6, 5, 4, 5, 6, 7, 6]
    assert reflected(np.array([4, 5]), 1).tolist() == [4]


def test_files_are_numbers_baskets_or_a_population(tmp_path: Path) -> None:
    np.save(tmp_path / "numbers.npy", np.array([3, 1, 9], np.int32))
    stream = of_file(tmp_path / "numbers.npy", 0, 5)
    assert (stream.name, stream.values.tolist(), stream.top) == ("numbers", [3, 1, 9, 1, 3], 90)
    np.save(tmp_path / "google_1k.npy", np.array([3, 1, 9]))
    assert of_file(tmp_path / "google_1k.npy", 0, 5).top == 500
    (tmp_path / "baskets.dat").write_text("1 2 3\n7\n\n10 11\n")
    assert of_file(tmp_path / "baskets.dat", 0, 3).values.tolist() == [3, 1, 2]
    np.save(tmp_path / "fares_cdf.npy", np.array([0.5, 0.9, 1.0]))
    np.save(tmp_path / "fares_bin.npy", np.array([0.0, 100.0, 200.0, 400.0]))
    fares = of_file(tmp_path / "fares_cdf.npy", 0, 20_000)
    assert fares.name == "fares"
    assert np.mean(fares.values <= 100) == pytest.approx(0.5, abs=0.03)
    assert 300 < fares.values.max() <= 400


def test_what_is_no_stream_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "square.npy", np.ones((3, 3), np.int64))
    np.save(tmp_path / "parts.npy", np.array([0.1, 0.9, 0.2]))
    np.save(tmp_path / "alone_cdf.npy", np.array([0.1, 0.9, 1.0]))
    np.save(tmp_path / "below.npy", np.array([-1, 2]))
    (tmp_path / "words.dat").write_text("milk bread\n")
    (tmp_path / "empty.dat").write_text("")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(SourceError, match=rf"{path.name}: found no stream of numbers; allowed: \.npy"):
            of_file(path, 0, 100)
    with pytest.raises(SourceError, match="mine: found numbers outside 0 to 3"):
        ValueStream("mine", np.array([1, 4]), 3)
