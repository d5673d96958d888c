# SPDX-License-Identifier: Apache-2.0
"""From the table of a central stream to its plan: tree, epsilon, and a digest of what its releases mean.

Contract: as planning.py, which plans the local streams.  But a central stream's `config` keys its noise as well, and
one noise must never lie on two sums, so in it is whatever decides which events count, when they are late included.  Not
here: the stages that keep the promise (agents/stages).
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import orjson

from murmurate.config.measures.central import CentralStream
from murmurate.config.measures.declared import DeclaredStream
from murmurate.config.plan import CentralPlan, HoldoutPlan
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.trees import Tree
from murmurate.topics.events import Fields

DIGEST_DIGITS: Final = 16


@dataclass(frozen=True)
class AcceptedTimes:
    """By which clock, and how far from it, an event counts: what [time] says of the door."""

    clock: Literal["wall", "feed"]
    lateness_ms: int
    future_ms: int


def source_of(deployment: str, stream: DeclaredStream) -> tuple[str, Fields]:
    """The topic of a stream's events, and where they keep what matters."""
    source = stream.source
    if source is None:
        return f"{deployment}.events", Fields(stream="/stream")
    return source.topic, Fields(user=source.user, value=source.value, time=source.time)


def digest_of(meaning: dict[str, Any]) -> str:
    """The short digest of what gives a stream's releases their meaning."""
    canonical = orjson.dumps(meaning, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:DIGEST_DIGITS]


def central_plan(
    deployment: str, name: str, stream: CentralStream, times: AcceptedTimes, epsilon_micro: int, window: int | None
) -> CentralPlan:
    """What the stages need to know of a central stream. epsilon_micro, window: what [curator] says."""
    topic, fields = source_of(deployment, stream)
    phase = stream.holdout_phase
    window_ms = window if stream.protects is not None else None
    epsilon = epsilon_micro * stream.share_micro // MICRO
    meaning = {
        "schema": "murmurate/central/1",
        "name": name,
        "measure": stream.measured.name,
        **stream.meaning(),
        "every_ms": stream.every,
        "times": asdict(times),
        "source": {"topic": topic, **asdict(fields)},
        "epsilon_micro": epsilon,
        "protects": {"events": stream.protects, "window_ms": window_ms},
        "tree": stream.tree.model_dump(),
        "noise": stream.noise,
    }
    return CentralPlan(
        name=name,
        measure=stream.statistic(),
        every_ms=stream.every,
        epsilon_micro=epsilon,
        tree=Tree(stream.tree.fanout, stream.tree.levels),
        block=stream.tree.fanout**stream.tree.block,
        topic=topic,
        fields=fields,
        config=digest_of(meaning),
        holdout=None if phase is None else HoldoutPlan(phase.periods, phase.events, phase.again),
        events=stream.protects,
        window_ms=window_ms,
        smoother=stream.tree.smoother,
        thresholds=stream.thresholds,
    )
