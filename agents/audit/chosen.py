# SPDX-License-Identifier: Apache-2.0
"""The threshold of a central stream, chosen a second time: from the exact sums of a hold-out and the key.

Contract: shares no code with the curator and its noisy max.  Against a candidate count its cost (the float slope times
candidate, to the nearest whole number, a half to the even one) and the events above it, for it the key's noise; the
highest score wins, of several the smallest candidate.  Slow and plain on purpose.  Source: ARCHITECTURE erratum E10.
Not here: what the slope is (config/central_noise.py), the law of the noise (randomizers/central).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from murmurate.config.central_noise import slope
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import Key
from murmurate.randomizers.central import keyed_noise, law_of
from murmurate.randomizers.thresholds import MICRO


def chosen_threshold(plan: Plan, stream: CentralPlan, key: Key, first_t: int, sums: Sequence[int]) -> int:
    """What the hold-out from this period on has to choose. sums: the exact ones of all its periods and partitions, of
    which the first half says how many events lie above the candidate before and not above this one.
    """
    candidates, of_a_step = stream.measure.candidates, slope(stream)
    counts = list(sums)[: len(candidates)]
    best: tuple[int, int] | None = None
    for place, (candidate, noise) in enumerate(zip(candidates, _noise(plan, stream, key, first_t), strict=True)):
        score = noise - round(of_a_step * candidate) - sum(counts[place + 1 :])
        if best is None or score > best[0]:
            best = score, candidate
    if best is None:
        raise ValueError(f"stream {stream.name!r}: found no candidates; allowed: a stream whose threshold is found")
    return best[1]


def drawn_under(plan: Plan, stream: CentralPlan, what: str, first_t: int, more: Mapping[str, object]) -> bytes:
    """The digest of all that shapes a noise of this kind, from this period on."""
    shape = {
        "config": stream.config, "deployment": plan.name, "every_ms": stream.every_ms, "first_t": first_t,
        "stream": stream.name, **more,
    }  # fmt: skip
    text = json.dumps(shape, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{what}\n{text}".encode()).digest()


def _noise(plan: Plan, stream: CentralPlan, key: Key, first_t: int) -> list[int]:
    """The key's noise for each candidate, at the whole epsilon of an event."""
    held = stream.holdout
    more = {"events": 0 if held is None else held.events, "slope": repr(slope(stream))}
    of = drawn_under(plan, stream, "murmurate/threshold/1", first_t, more)
    own = hashlib.sha256(b"murmurate/noisy max/1\n" + of).digest()
    law = law_of(Fraction(stream.epsilon_micro, MICRO * (stream.events or 1)))
    drawn: list[int] = keyed_noise(law, key, np.arange(len(stream.measure.candidates)), digest=own).tolist()
    return drawn
