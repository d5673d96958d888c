# SPDX-License-Identifier: Apache-2.0
"""Every method by its name, through all stages: a release for each period when it is over, and nobody over budget."""

from __future__ import annotations

import dataclasses

import numpy as np
import orjson
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.aggregators.methods.registry import METHODS
from tests.agents.replay.plans import plan, stream

USERS, PERIODS = 4000, 16


SOME = ("lbu", "lbd", "lba", "lpu", "lpa", "lsp", "lp-fast", "lb-pegasus", "lp-rescuedp")
"""Those of the short form; the bytes of all are in the record of replays (test_recorded.py)."""


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.audit) for name in METHODS]
)
def test_a_method_by_its_name_releases_every_period_within_its_errors(name: str) -> None:
    one = stream(method=name, values=("0", "1"), w=4, carry_ms=None)
    one = dataclasses.replace(one, share_micro=1_000_000)
    of = plan(one, partitions=2, targets=2, epsilon_micro=4_000_000)
    source = open_source(f"synthetic:sin,n={USERS},periods={PERIODS}", of)
    outcome = Replay(of, source, keys(known_secrets(of.name), of.name)).run()
    releases = [orjson.loads(text) for text in outcome.releases]
    assert [release["t"] for release in releases] == [period.t for period in outcome.truth]
    assert outcome.over_budget == 0
    for release, period in zip(releases, outcome.truth, strict=True):
        said, error = ([release[what][value] for value in of.streams[0].names] for what in ("unbiased", "stderr"))
        assert (np.abs(np.array(said) - period.figures) < 6 * np.array(error)).all()  # false alarm: 2e-9 each
        asked = release["reports"]["slots"] > 0
        assert (release["reports"]["received"] > 0) == asked
        assert asked or release["decision"] == "approximated"


def test_a_period_in_which_nothing_is_asked_is_released_when_it_is_over() -> None:
    """By a round that asks nobody: not when the method knows, which may be several periods before."""
    one = dataclasses.replace(stream(method="lsp", values=("0", "1"), w=4, carry_ms=None), share_micro=1_000_000)
    of = plan(one, partitions=2, targets=2)
    source = open_source(f"synthetic:sin,n=1000,periods={PERIODS}", of)
    outcome = Replay(of, source, keys(known_secrets(of.name), of.name)).run()
    asked = [orjson.loads(text)["reports"]["slots"] > 0 for text in outcome.releases]
    assert asked == [i % 4 == 0 for i in range(PERIODS)]
    assert len(outcome.truth) == len(outcome.releases)  # each came after its period had closed for the truth, too
