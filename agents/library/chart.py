# SPDX-License-Identifier: Apache-2.0
"""Small charts of estimate, band and truth as inline SVG: what a notebook shows of a replay.

Contract: no script, no font, nothing fetched; drawn in the colour of the text around, so that it suits light and dark;
who sees no picture is told the same in words.  A gap in what is known is a gap in the line.  Where there are more
periods than columns, every k-th is drawn, and the words say so.  Not here: the page (web/static).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from murmurate.topics.times import instant

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 170, 56, 12, 26, 22
MOST_POINTS: Final = 300
BLUE: Final = "#3b7dd8"
Values = Sequence[float | None]


@dataclass(frozen=True)
class NamedSeries:
    """One statistic over the periods of a stream."""

    title: str
    start_ms: Sequence[int]
    """When each period begins."""
    estimate: Values
    stderr: Values
    truth: Values


def chart(series: NamedSeries) -> str:
    """The SVG of one statistic."""
    step = max(1, math.ceil(len(series.start_ms) / MOST_POINTS))
    times = series.start_ms[::step]
    estimate, stderr, truth = (part[::step] for part in (series.estimate, series.stderr, series.truth))
    band = [
        None if value is None or error is None else (value - 2 * error, value + 2 * error)
        for value, error in zip(estimate, stderr, strict=True)
    ]
    shown = [value for part in (estimate, truth) for value in part if value is not None]
    shown += [limit for pair in band if pair is not None for limit in pair]
    field = _Field.of(times, shown)
    parts = [
        f'<text x="{LEFT}" y="15" font-weight="600">{escape(series.title)}</text>',
        *field.axes(),
        *(field.area(band, start, stop) for start, stop in _runs(band)),
        *(field.line(truth, *run, 'stroke="currentColor" stroke-dasharray="4 3"') for run in _runs(truth)),
        *(field.line(estimate, *run, f'stroke="{BLUE}" stroke-width="1.8"') for run in _runs(estimate)),
    ]
    said = escape(words(series, step), quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" style="width:100%;max-width:{WIDTH}px;height:auto" '
        f'xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{said}" fill="currentColor" '
        f'font-family="system-ui,sans-serif" font-size="11"><title>{said}</title>{"".join(parts)}</svg>'
    )


@dataclass(frozen=True)
class _Field:
    """The part of the picture with the lines, and the values at its edges."""

    times: Sequence[int]
    low: float
    high: float

    @classmethod
    def of(cls, times: Sequence[int], shown: Sequence[float]) -> _Field:
        """A field for these instants and values."""
        low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
        return cls(times, low, high) if high - low >= 1e-12 else cls(times, low - 0.5, high + 0.5)

    def x(self, at: int) -> float:
        span = max(self.times[-1] - self.times[0], 1)
        return LEFT + (WIDTH - LEFT - RIGHT) * (self.times[at] - self.times[0]) / span

    def y(self, value: float) -> float:
        part = value / 2 - self.low / 2, self.high / 2 - self.low / 2  # halves, which never overflow
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - part[0] / part[1])

    def axes(self) -> Iterator[str]:
        """Three values on the left, two instants below."""
        for mark in (self.low, self.low / 2 + self.high / 2, self.high):
            yield _line(LEFT, self.y(mark), WIDTH - RIGHT, self.y(mark), 'opacity=".15"')
            yield f'<text x="{LEFT - 6}" y="{self.y(mark) + 4:.1f}" text-anchor="end">{number(mark)}</text>'
        if self.times:
            yield f'<text x="{LEFT}" y="{HEIGHT - 5}">{_when(self.times[0])}</text>'
            yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" text-anchor="end">{_when(self.times[-1])}</text>'

    def area(self, band: Sequence[tuple[float, float] | None], start: int, stop: int) -> str:
        """What lies between the limits of a stretch."""
        pairs = [(self.x(at), pair) for at in range(start, stop) if (pair := band[at]) is not None]
        points = [f"{x:.1f},{self.y(pair[1]):.1f}" for x, pair in pairs]
        points += [f"{x:.1f},{self.y(pair[0]):.1f}" for x, pair in reversed(pairs)]
        return f'<polygon points="{" ".join(points)}" fill="{BLUE}" opacity=".25"/>'

    def line(self, values: Values, start: int, stop: int, look: str) -> str:
        """The line through a stretch; a single value is a dot."""
        points = [
            f"{self.x(at):.1f},{self.y(value):.1f}" for at in range(start, stop) if (value := values[at]) is not None
        ]
        points += points if len(points) == 1 else []
        return f'<polyline points="{" ".join(points)}" fill="none" {look} stroke-linecap="round"/>'


def words(series: NamedSeries, step: int = 1) -> str:
    """What the chart shows, in a sentence or two."""
    pairs = [
        (value, error, true)
        for value, error, true in zip(series.estimate, series.stderr, series.truth, strict=True)
        if value is not None and error is not None
    ]
    if not pairs:
        return f"{series.title}: nothing is known in {len(series.start_ms)} periods."
    values = [value for value, _, _ in pairs]
    said = f"{series.title}: the estimate goes from {number(values[0])} to {number(values[-1])}, "
    said += f"between {number(min(values))} and {number(max(values))}, over {len(pairs)} periods."
    with_truth = [(value, error, true) for value, error, true in pairs if true is not None]
    if with_truth:
        inside = sum(abs(value - true) <= 2 * error for value, error, true in with_truth)
        said += f" The truth lies within two standard errors in {inside} of {len(with_truth)}."
    if step > 1:
        said += f" Every {step}th period is drawn."
    return said


def number(value: float) -> str:
    """A number to three digits."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}".replace(",", "\u2009")


def _when(time_ms: int) -> str:
    return instant(time_ms)[:16].replace("T", " ")


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line x1="{x1}" y1="{y1:.1f}" x2="{x2}" y2="{y2:.1f}" stroke="currentColor" {look}/>'


def _runs(values: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Stretches without null, as first and one past the last.

    >>> list(_runs([None, 1, 2, None, 3]))
    [(1, 3), (4, 5)]
    """
    start = None
    for at, value in enumerate([*values, None]):
        if value is None and start is not None:
            yield start, at
            start = None
        elif value is not None and start is None:
            start = at
