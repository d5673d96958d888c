# SPDX-License-Identifier: Apache-2.0
"""Every oracle serves a stream: through all stages its releases are near the truth, and nobody is over budget."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.randomizers import ORACLES
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.replay.plans import plan, stream

USERS, PERIODS = 6000, 8


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_an_oracle_by_its_name_gives_releases_within_their_errors(name: str) -> None:
    one = stream(method="lpu", values=("0", "1"), w=4, carry_ms=None)
    of = plan(dataclasses.replace(one, share_micro=1_000_000, mechanism=name), partitions=2, targets=2)
    source = open_source(f"synthetic:sin,n={USERS},periods={PERIODS}", of)
    outcome = Replay(of, source, keys(known_secrets(of.name), of.name)).run()
    assert outcome.over_budget == 0
    assert len(outcome.releases) == PERIODS
    for text, period in zip(outcome.releases, outcome.truth, strict=True):
        release = decode(text)
        assert isinstance(release, Release)
        assert (release.decision, release.mechanism["name"]) == ("published", name)
        off = np.array([*release.unbiased.values()]) - period.figures
        assert (np.abs(off) < 6 * np.array([*release.stderr.values()])).all()  # false alarm: 2e-9 each
