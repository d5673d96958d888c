# SPDX-License-Identifier: Apache-2.0
"""What a deployment promises of one local stream, worked out and in words.

Contract: as explain.py, which puts these beside what the whole deployment promises.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from murmurate.aggregators.batches import users_needed
from murmurate.aggregators.filters.seasons import PHASES
from murmurate.aggregators.methods.options import OF_ONE, MethodOptions
from murmurate.aggregators.postprocess.shaping import NORM_SUB
from murmurate.config.enough import asks_everybody_first, round_up, smallest_round, spaced
from murmurate.config.explain_horizons import in_horizons
from murmurate.config.explain_many import many_lines
from murmurate.config.explain_mixed import MixedFacts, mixed_facts, mixed_lines
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import resolve
from murmurate.config.plugins import foreign_parts
from murmurate.config.quantities import shortest
from murmurate.config.unprotected import at_epsilon
from murmurate.randomizers.thresholds import MICRO

COLUMNS: Final = 80


@dataclass(frozen=True)
class StreamFacts:
    """One stream, worked out."""

    name: str
    measure: str
    what: str
    """What is measured, in words."""
    names: tuple[str, ...]
    every_ms: int
    w: int
    share: float
    share_of: str
    method: MethodOptions
    mechanism: str
    answer_epsilon: float | None
    """What one answer spends; None where reports show their values."""
    wire_bytes: int
    """The bytes of a report."""
    slots: int
    unit: str
    """The part of all users that the smallest round asks, as a fraction."""
    users_needed: int
    """The number of users in the whole deployment from which on the smallest round is hardly ever below min_batch."""
    post: str | None
    """How the estimates of a frequency are shaped."""
    carry_ms: int | None
    config: str
    range: tuple[float, float] | None
    """The range of the numbers; what lies outside counts as the nearer end."""
    range_unit: str | None
    cells: int | None
    """The number of codes of a number, of which a user reports at most one a period."""
    season_ms: int | None = None
    """After how long values return, by the file."""
    asks_everybody_first: bool = False
    """Whether a clipping threshold is found first."""
    bias: str = ""
    """By what figures are off in the mean, if by anything."""
    listed: tuple[str, ...] = ()
    """What is listed of very many items, and what that costs, in words."""
    mixed: MixedFacts | None = None
    """What the mixing adds for the smallest batch."""
    foreign: tuple[str, ...] = ()
    """What of it is of other packages, in words."""


def stream_facts(made: Plan, stream: StreamPlan) -> StreamFacts:
    """A stream's facts, by the code that the stages use."""
    used = resolve(made, stream.name)
    part = smallest_round(made, stream)
    return StreamFacts(
        name=stream.name,
        measure=stream.measure.name,
        what=f"{stream.measure.name} of {stream.measure.what}{stream.measure.resolution}",
        names=stream.names,
        every_ms=stream.every_ms,
        w=stream.w,
        share=stream.share_micro / MICRO,
        share_of="the users" if made.split == "users" else "epsilon",
        method=stream.method,
        mechanism=used.answered_by,
        answer_epsilon=None if used.unprotected else used.epsilon,
        wire_bytes=used.wire_size,
        slots=stream.slots,
        unit=str(part),
        users_needed=users_needed(part, made.min_batch),
        post=stream.post.name if stream.measure.shaped else None,
        carry_ms=stream.carry_ms,
        config=stream.config,
        range=stream.range,
        range_unit=stream.unit,
        cells=stream.domain.none if stream.range else None,
        season_ms=None if stream.season is None else stream.season * stream.every_ms,
        asks_everybody_first=asks_everybody_first(made, stream),
        bias=stream.measure.bias_of(used),
        listed=tuple(many_lines(stream, used, made.targets)),
        mixed=mixed_facts(made, stream),
        foreign=tuple(
            f"{kind} {name} is of the package {of}, not Murmurate's own" for kind, name, of in foreign_parts(stream)
        ),
    )


def stream_lines(stream: StreamFacts, wide: int) -> Iterator[str]:
    """The facts of a stream in words; wide: the columns of the longest name of a stream. 1. all of it in one sentence,
    2. how many users a round takes, 3. what it adds, by measure, season and threshold.
    """
    lead, indent = f"  {stream.name:<{wide}}  ", " " * min(wide + 4, 24)
    share = {1.0: "all of", 0.5: "half of"}.get(stream.share, f"{stream.share * 100:g} % of")
    whole = f"{share} {stream.share_of}".replace("all of the", "all")
    method, even = stream.method, OF_ONE["first_share"]
    variance = " by the paper's variance" if method.variance == "paper" else ""
    looks = f" with {method.first_share} of a window's budget to look for change"
    first = looks if method.first_share not in (None, even) else ""
    paid = ", groups found by rounds of their own" if method.grouping == "paid" else ""
    filtered = "" if method.filtered or method.horizon is not None else ", without the filter"
    horizons = "" if method.horizon is None else in_horizons(method, stream.every_ms)
    revised = f", releases revised {method.revise} periods later" if method.revise and not horizons else ""
    shaped = f", estimates shaped by {stream.post}" if stream.post not in (None, NORM_SUB.name) else ""
    parts = [
        f"{stream.what}, a release every {shortest(stream.every_ms)}",
        f"windows of w = {stream.w} period{'s' if stream.w > 1 else ''}",
        whole,
        f"method {method.name}{variance}{first}{paid}{horizons}{filtered}{revised}{shaped}",
        f"mechanism {stream.mechanism} {at_epsilon(stream.answer_epsilon)}",
        f"{stream.wire_bytes} byte{'s' if stream.wire_bytes > 1 else ''} a report",
    ]
    if stream.carry_ms:
        parts.insert(1, f"a value stands for {shortest(stream.carry_ms)}")
    yield from wrapped(", ".join(parts), lead, indent)
    part_of_users = "all users" if stream.unit == "1" else f"{stream.unit} of the users"
    needed = (
        f"a round asks {part_of_users}; with {spaced(round_up(stream.users_needed))} users or more it brings the "
        "min_batch reports that a release needs"
    )
    yield from wrapped(needed, indent, indent)
    for said in (*stream.listed, *([stream.bias] if stream.bias else [])):
        yield from wrapped(said, indent, indent)
    for said in stream.foreign:
        yield from wrapped(said, indent, indent)
    for said in mixed_lines(stream.mixed) if stream.mixed else ():
        yield from wrapped(said, indent, indent)
    if stream.season_ms is not None:
        phases = min(stream.season_ms // stream.every_ms, PHASES)
        learned = f"what returns every {shortest(stream.season_ms)} is learned, as a profile of {phases} values"
        yield from wrapped(learned, indent, indent)
    for line in _clipping_lines(stream):
        yield from wrapped(line, indent, indent)


def _clipping_lines(stream: StreamFacts) -> Iterator[str]:
    """What a stream of numbers does about its clipping threshold."""
    method = stream.method
    if stream.asks_everybody_first:
        begins = f"{method.name} begins {stream.w} period{'s' if stream.w > 1 else ''} later"
        found = (
            f"finds its clipping threshold first, in the first period with users: everybody answers once, and {begins}"
        )
        yield f"{found}; it clips only where that surely pays"
    elif method.finds_clip:
        whole = "clips at the end of its range alone: with this epsilon, window and method the search for a threshold"
        yield f"{whole} would not surely pay"


def wrapped(text: str, lead: str, indent: str) -> list[str]:
    """A sentence as lines, which begin with `lead` and then with `indent`."""
    return textwrap.wrap(
        text, COLUMNS, initial_indent=lead, subsequent_indent=indent, break_on_hyphens=False, break_long_words=True
    )
