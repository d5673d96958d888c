# SPDX-License-Identifier: Apache-2.0
"""What fake reports of the mixing zone ask of a deployment: mistakes in words, one line each.

Contract: no more fakes than the smallest batch has reports; streams of plain frequencies, whose mechanism takes fakes
and whose method asks the same whatever is answered, since no other one knows what fakes do to its distances.  Not here:
what fakes are worth (explain_mixed.py), which question a stream asks then (aggregators/faked_questions.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from murmurate.aggregators.faked_questions import taking_fakes
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.registry import METHODS, kind_of
from murmurate.config.errors import Mistake
from murmurate.config.promises import PrivacyTable

if TYPE_CHECKING:  # tables of streams are read by the same module that asks for mistakes
    from murmurate.config.measures.stream import StreamTable

KEY = "privacy.fakes"


def too_many(privacy: PrivacyTable) -> Iterator[Mistake]:
    """A mistake if there may be more fakes than reports."""
    if privacy.fakes > privacy.min_batch:
        yield Mistake(KEY, f"{privacy.fakes}", f"no more than the reports, min_batch = {privacy.min_batch}")


def unable(privacy: PrivacyTable, name: str, stream: StreamTable) -> Iterator[Mistake]:
    """The mistakes of one stream."""
    if not privacy.fakes:
        return
    key = f"streams.{name}"
    if stream.measured is not Frequency:
        yield Mistake(f"{key}.measure", stream.measured.name, f"with privacy.fakes, {Frequency.name}")
        return
    if not kind_of(stream.method.name).fixed:
        fixed = ", ".join(one for one, kind in METHODS.items() if kind.fixed)
        yield Mistake(f"{key}.method", stream.method.name, f"with privacy.fakes, {fixed}")
    measure = stream.statistic()
    able = (AUTO, *taking_fakes(measure))
    if stream.mechanism not in able:
        yield Mistake(f"{key}.mechanism", stream.mechanism, f"with privacy.fakes, {', '.join(able)}")
