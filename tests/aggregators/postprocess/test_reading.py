# SPDX-License-Identifier: Apache-2.0
"""Estimates as a deployment file shapes them, and as a reader does: by name in the file, by question in the hand."""

from __future__ import annotations

import orjson
import pytest

from murmurate.aggregators.postprocess.query import Query
from murmurate.aggregators.postprocess.reading import read_for
from murmurate.randomizers import ParameterError
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.replay.recorded import replayed_text
from tests.topics.samples import RELEASES

SHARES = {"home": 0.62, "help": 0.375, "search": 0.003, "basket": 0.002, "checkout": 0.0}


def release(**changes: object) -> Release:
    fields = orjson.loads(RELEASES[0]) | {
        "estimate": SHARES, "unbiased": SHARES | {"checkout": -0.02}, "stderr": dict.fromkeys(SHARES, 0.02),
    } | changes  # fmt: skip
    found = decode(orjson.dumps(fields))
    assert isinstance(found, Release)
    return found


def test_single_values_that_do_not_stand_out_of_the_noise_read_nothing() -> None:
    read = read_for("point", release())
    assert read.method == "base-cut"
    assert dict(read.values) == {"home": 0.62, "help": 0.375, "search": 0.0, "basket": 0.0, "checkout": 0.0}
    assert [name for name, value in read_for("point", release(), k=3).values.items() if value] == [
        "home",
        "help",
        "search",
    ]


def test_the_most_frequent_values_come_first_and_so_many_as_are_asked_for() -> None:
    read = read_for("top-k", release(), k=2)
    assert (read.method, list(read.values)) == ("norm", ["home", "help"])
    assert list(read_for("top-k", release()).values)[:2] == ["home", "help"]


def test_sums_and_differences_over_releases_take_the_raw_figures() -> None:
    read = read_for("arithmetic", release())
    assert (read.method, read.values["checkout"]) == ("unbiased", -0.02)


def test_totals_are_those_of_a_population() -> None:
    for query in ("subset", "range"):
        read = read_for(query, release())
        assert read.method in ("power-ns", "norm-sub")
        assert sum(value or 0 for value in read.values.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("query", "k", "measure", "said"),
    [
        ("best", None, "frequency", "query: found 'best'; allowed: point, top-k, subset, range, arithmetic"),
        ("top-k", 6, "frequency", "query: k: found 6 for top-k; allowed: 1 to 5, for point and top-k"),
        ("subset", 2, "frequency", "query: k: found 2 for subset"),
        ("point", None, "mean", "query: found a release of a mean; allowed: of a frequency"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(query: Query, k: int | None, measure: str, said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        read_for(query, release(measure=measure), k=k)
    assert str(refused.value).startswith(said)


STREAM = 'measure = "frequency"\nvalues = ["0", "1"]\nevery = "1m"\nmethod = "lpu"\n'


@pytest.mark.parametrize(
    "name",
    [
        "power-ns",
        "auto",
        *(
            pytest.param(name, marks=pytest.mark.audit)
            for name in ("base", "base-cut", "significant", "mle-apx", "norm-mul")
        ),
    ],
)
def test_a_file_shapes_estimates_and_nothing_else(name: str) -> None:
    plain = [orjson.loads(record) for record in replayed_text(STREAM, users=1_500)]
    shaped = [orjson.loads(record) for record in replayed_text(f'{STREAM}post = "{name}"\n', users=1_500)]
    assert len(plain) == len(shaped) > 3
    said = None if name == "auto" else name  # for two values and so many users that is the default
    for before, after in zip(plain, shaped, strict=True):
        assert after["method"].pop("post", None) == said
        before["estimate"], after["estimate"] = None, None
        assert before == after
