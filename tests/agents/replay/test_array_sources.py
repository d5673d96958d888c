# SPDX-License-Identifier: Apache-2.0
"""Arrays, synthetic streams and the bundled recording."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from murmurate.agents.replay.arrays import ORIGIN, RECORDING, RECORDING_CONFIG
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.agents.replay.synthetic import Synthetic, probabilities
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.agents.replay.truth import true_periods
from murmurate.config.loader import load
from murmurate.config.planning import plan as planned
from tests.agents.replay.plans import MINUTE, counts, plan, stream

BITS = plan(stream("bit", ("0", "1"), carry_ms=None))
ROOT = Path(__file__).resolve().parents[3]


def npy(folder: Path, array: object) -> str:
    np.save(folder / "a.npy", np.asarray(array), allow_pickle=True)
    return str(folder / "a.npy")


def test_sin_and_log_are_the_papers_curves() -> None:
    sin, log = probabilities("sin", 800, 1), probabilities("log", 800, 1)
    assert sin[0] == pytest.approx(0.05 * np.sin(0.01) + 0.075)
    assert sin.max() == pytest.approx(0.125, abs=1e-6)
    assert sin.min() == pytest.approx(0.025, abs=1e-5)
    assert log[0] == pytest.approx(0.25 / (1 + np.exp(-0.01)))
    assert log[-1] == pytest.approx(0.25 / (1 + np.exp(-8)))


def test_lns_takes_steps_of_the_papers_size_and_stays_a_probability() -> None:
    paths = np.array([probabilities("lns", 800, seed) for seed in range(40)])
    assert paths.min() >= 0
    assert paths.max() <= 1
    steps = np.diff(paths, axis=1)[paths[:, 1:] > 0.02]  # far from where it is reflected
    assert steps.std() == pytest.approx(0.0025, rel=0.05)  # more than 6 sigma at over 20 000 steps
    assert abs(paths[:, 0] - 0.05).max() < 0.0025 * 6


def test_every_period_has_exactly_its_share_of_ones_and_new_people() -> None:
    source = open_source("synthetic:log,n=5000,periods=6,seed=3", BITS)
    assert isinstance(source, Synthetic)
    values = list(source.values())
    assert [int(v.sum()) for v in values] == [round(p * 5_000) for p in source.p]
    # of the 625 ones about an eighth are ones again: 78, sigma below 9
    assert abs(int((values[0] * values[1]).sum()) - 78) < 6 * 9


def test_the_same_seed_gives_the_same_stream_and_a_longer_one_begins_alike() -> None:
    short = list(open_source("synthetic:lns,n=300,periods=4,seed=9", BITS).batches())
    long = list(open_source("synthetic:lns,n=300,periods=9,seed=9", BITS).batches())
    other = list(open_source("synthetic:lns,n=300,periods=4,seed=8", BITS).batches())
    pairs = list(zip(short, long, strict=False))
    assert all(np.array_equal(a.codes, b.codes) and a.clock == b.clock for a, b in pairs)
    assert any(not np.array_equal(a.codes, b.codes) for a, b in zip(short, other, strict=True))


def test_a_synthetic_stream_enrols_everybody_and_tells_the_truth_of_every_period() -> None:
    source = open_source("synthetic:sin,n=1000,periods=30", BITS)
    assert source.enrolled
    assert (source.users(), source.total_rows) == (1_000, 30_000)
    assert source.names(np.array([0, 999])) == [b"0", b"999"]
    truth = list(true_periods(BITS, source))
    assert isinstance(source, Synthetic)
    assert [period.t for period in truth] == [source.first_t("bit") + i for i in range(30)]
    assert [counts(period)[1] for period in truth] == [round(p * 1_000) for p in source.p]
    assert all(period.users == 1_000 for period in truth)


def test_no_batch_of_a_synthetic_stream_is_late_or_from_the_future() -> None:
    for every in (1_000, MINUTE, 3_600_000):
        source = open_source("synthetic:log,n=2000,periods=5", plan(stream("bit", ("0", "1"), every_ms=every)))
        for batch in source.batches():
            assert batch.times.min() == batch.clock
            assert batch.times.max() <= batch.clock + 300_000


def test_an_array_is_periods_by_users_and_minus_one_is_no_event(tmp_path: Path) -> None:
    source = open_source(npy(tmp_path, np.array([[0, 1, -1], [2, -1, -1]], np.int8)), plan())
    events = [
        (time // MINUTE - ORIGIN // MINUTE, user, code)
        for batch in source.batches()
        if batch.ids is not None
        for time, user, code in zip(batch.times.tolist(), batch.ids.tolist(), batch.codes.tolist(), strict=True)
    ]
    assert events == [(0, 0, 0), (0, 1, 1), (1, 0, 2)]
    assert source.first_t("screen") == ORIGIN // MINUTE
    assert source.end_clock == ORIGIN + 2 * MINUTE + 10_000


def test_a_flat_array_is_one_period(tmp_path: Path) -> None:
    (truth,) = true_periods(plan(), open_source(npy(tmp_path, [0, 1, 1, 2]), plan()))
    assert counts(truth) == [1, 2, 1, 0]


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.zeros((2, 3)), "found float64"),
        (np.zeros((2, 3, 4), int), "found int64"),
        (np.zeros(0, int), "found int64"),
        (np.array(["home"]), "found <U4"),
        (np.array([{}]), "no NumPy array of numbers"),
        (np.array([[0, 1], [0, 3]]), "row 1: found a number that is no category; allowed: 0 to 2"),
        (np.array([[0, -2]]), "row 0: found a number"),
    ],
)
def test_an_array_that_holds_no_codes_is_refused(tmp_path: Path, array: object, found: str) -> None:
    with pytest.raises(SourceError, match=found):
        open_source(npy(tmp_path, array), plan())


def test_a_broken_array_file_is_refused(tmp_path: Path) -> None:
    for name in ("a.npy", "a.npz"):
        (tmp_path / name).write_bytes(b"\x93NUMPY nothing else")
        with pytest.raises(SourceError, match="found no"):
            open_source(str(tmp_path / name), plan())


# ---- the bundled recording ----


@pytest.fixture(scope="module")
def day() -> list[TruePeriod]:
    demo = planned(load(RECORDING_CONFIG, {}))
    return list(true_periods(demo, open_source(str(RECORDING), demo)))


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("make_recording", ROOT / "tools" / "make_recording.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_recording"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["make_recording"]


def test_the_recording_is_small_and_a_day_long(day: list[TruePeriod]) -> None:
    assert RECORDING.stat().st_size <= 1_000_000
    assert len(day) == 288
    assert {period.users for period in day} == {60_000}


def test_the_sale_at_noon_is_visible(day: list[TruePeriod]) -> None:
    names = ("home", "search", "basket", "checkout", "help", "none")
    before, sale, after = (dict(zip(names, day[t].figures, strict=True)) for t in (140, 155, 185))
    for screen in ("search", "basket", "checkout"):
        assert sale[screen] > 2 * before[screen]
        assert sale[screen] > 1.7 * after[screen]
        assert sale[screen] > 0.07
    assert sale["none"] < before["none"] - 0.2


def test_the_day_has_its_rhythm(day: list[TruePeriod]) -> None:
    night, evening = 1 - day[45].figures[-1], 1 - day[240].figures[-1]
    assert night < 0.1
    assert evening > 4 * night


def test_the_recordings_unit_exceeds_min_batch_by_five_sigma() -> None:
    demo = planned(load(RECORDING_CONFIG, {}))
    (screen,) = demo.streams
    assert screen.w == 16
    assert 60_000 / (2 * screen.w) >= demo.min_batch + 5 * demo.min_batch**0.5


def test_the_script_makes_this_recording_again(script: ModuleType) -> None:
    with np.load(RECORDING, allow_pickle=False) as file:
        bundled = {name: file[name] for name in file.files}
    assert script.digest(script.recording()) == script.digest(bundled)


def test_a_recording_that_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    with np.load(RECORDING, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    np.savez(tmp_path / "cut.npz", **(held | {"moves": held["moves"][:-1]}))
    with pytest.raises(SourceError, match="do not fit together"):
        open_source(str(tmp_path / "cut.npz"), plan())
