# SPDX-License-Identifier: Apache-2.0
"""What a replay came to, as one table: the content of summary.json and of `replay --json`.

Contract: keys are added over time and keep their meaning (docs/STABILITY.md).  Not here: the figures (score.py).
"""

from __future__ import annotations

from typing import Any

from murmurate.agents.replay.score import Score, StreamScore, places


def summary(score: Score, *, events: int, seconds: float, over_budget: int) -> dict[str, Any]:
    """The content of summary.json."""
    return {
        "events": events,
        "seconds": round(seconds, 3),
        "events_per_second": round(events / seconds) if seconds > 0 else None,
        "releases": score.releases,
        "published": score.published,
        "unmeasured": score.unmeasured,
        "mre": places(score.mre),
        "mse": places(score.mse, 10),
        "estimate_mse": places(score.estimate_mse, 10),
        "coverage": places(score.coverage),
        "bits_per_user_per_period": places(score.bits),
        "over_budget": over_budget,
        "refused": dict(score.refused),
        "streams": {stream.stream: _of_stream(stream) for stream in score.streams},
        "mixed": {stream.stream: stream.mixed.table() for stream in score.streams if stream.mixed is not None},
    }


def _of_stream(score: StreamScore) -> dict[str, Any]:
    """The figures of one stream, rounded as those of all."""
    return {
        "releases": score.releases,
        "published": score.published,
        "unmeasured": score.unmeasured,
        "scale": score.scale,
        "mre": places(score.mre),
        "mse": places(score.mse, 10),
        "estimate_mse": places(score.estimate_mse, 10),
        "coverage": places(score.coverage),
        "bits_per_user_per_period": places(score.bits),
    }
