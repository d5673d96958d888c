# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG, without a library: curves over numbered steps or time, with a legend; light and dark like the page.

Contract: a picture is a function of its charts, to the byte, so that one in docs/ can be made again and compared; 400
units wide, the text large enough where that is 400 pixels.  It has its own background, and what is ink follows the
reader's preference of light or dark.  What lies outside a chart's ends is not seen; on a logarithmic scale all values
are above 0.  Not here: what is drawn.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

WIDTH, MARGIN, LEFT, TITLE, BELOW = 400, 8, 40, 24, 22
LIGHT = ("#0072b2", "#d55e00", "#007a5a", "#b0478a", "#7a5200", "#2d2d33", "#3f93c4", "#8c3a1c")
DARK = ("#56b4e9", "#ff8b45", "#18c492", "#f09fd0", "#f0e442", "#f4f4f4", "#8e9bff", "#c9a227")
"""The page's line colours (agents/web/static/style.css), which people who are colour-blind can tell apart."""
DASHES = ("none", "6 3", "2 2")
_LEGEND_ROW, _LETTER, _LINE = 17, 6.2, 16
_PLAIN = {"page": ("#ffffff", "#191f26"), "ink": ("#1a2027", "#e9edf1"), "soft": ("#55606b", "#a3afba")}
_GRID = ("#e3e0da", "#313a44")


@dataclass(frozen=True)
class Look:
    """How a curve is drawn; the same name looks the same in all charts of a picture."""

    colour: int | None = None
    """Number of a line colour; None for ink."""
    dashes: int = 0
    width: float = 1.6
    faint: bool = False
    dots: bool = False
    """Dots at the points instead of a line."""

    def of(self, shape: str) -> str:
        """The attributes of a line ("s") or an area ("f") in its colour."""
        name = "ink" if self.colour is None else f"c{self.colour}"
        return f'class="{shape}-{name}"' + (' opacity=".45"' if self.faint else "")


@dataclass(frozen=True)
class Curve:
    """A name and its points; `band`: below and above each of them."""

    name: str
    look: Look
    points: Sequence[Point]
    band: Sequence[Point] = ()


@dataclass(frozen=True)
class Chart:
    """Curves in a frame."""

    title: str
    across: Sequence[tuple[float, str]]
    """Where something is written below, and what."""
    curves: Sequence[Curve]
    over: str = ""
    """What is across, written at the end of the title's line."""
    logarithmic: bool = False
    height: float = 130
    ends: Point | None = None
    """The ends of the scale; None: as the points need it."""

    def scale(self) -> Point:
        """The ends of the scale."""
        if self.ends is not None:
            return self.ends
        values = [y for curve in self.curves for _, y in curve.points]
        low, high = min(values), max(values)
        room = 0.05 * ((math.log(high / low) if self.logarithmic else high - low) or 1.0)
        return (low * math.exp(-room), high * math.exp(room)) if self.logarithmic else (low - room, high + room)


def picture(title: str, charts: Sequence[Chart], *, columns: int = 2) -> str:
    """All charts, row by row, and what their curves are called in the first free place."""
    wide = WIDTH / columns
    named = {curve.name: curve.look for chart in charts for curve in chart.curves}
    parts, top, beside = list[str](), float(MARGIN + _LINE * len(_wrapped(title, WIDTH))), len(charts) % columns
    for start in range(0, len(charts), columns):
        row = charts[start : start + columns]
        for place, chart in enumerate(row):
            parts += _chart(chart, f"f{start + place}", place * wide, top, wide)
        if len(row) < columns:
            parts += _legend(named, wide * len(row) + LEFT, top + TITLE, 0, 1)
        tall = max(chart.height for chart in row) + TITLE + BELOW
        if len(row) < columns:
            tall = max(tall, TITLE + len(named) * _LEGEND_ROW)
        top += tall
    if not beside:
        column = 40 + _LETTER * max(map(len, named))
        per_row = max(1, int((WIDTH - 2 * MARGIN) / column))
        parts += _legend(named, MARGIN, top + 4, column, per_row)
        top += -(-len(named) // per_row) * _LEGEND_ROW + 8
    return framed(title, WIDTH, top + MARGIN, parts)


def framed(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    """An SVG with its title, a background and the classes of all colours."""
    lines = enumerate(_wrapped(title, width))
    heading = (f'<tspan x="{MARGIN}" y="{MARGIN + 10 + _LINE * i}">{escape(line)}</tspan>' for i, line in lines)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="system-ui, sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f"<style>{_style(0)}@media (prefers-color-scheme:dark){{{_style(1)}}}</style>",
        '<rect width="100%" height="100%" class="f-page"/>',
        f'<text class="f-ink" font-size="12.5">{"".join(heading)}</text>',
        *parts, "</svg>", "",
    ])  # fmt: skip


def _wrapped(title: str, width: float) -> list[str]:
    return textwrap.wrap(title, int((width - 2 * MARGIN) / (_LETTER + 0.8)))


def _style(dark: int) -> str:
    colours = {name: pair[dark] for name, pair in _PLAIN.items()}
    colours |= {f"c{i}": pair[dark] for i, pair in enumerate(zip(LIGHT, DARK, strict=True))}
    lines = "".join(f".s-{name}{{stroke:{colour};fill:none}}" for name, colour in colours.items() if name != "page")
    return lines + "".join(f".f-{name}{{fill:{colour}}}" for name, colour in colours.items()) + (
        f".g{{stroke:{_GRID[dark]}}}"
    )  # fmt: skip


def _chart(chart: Chart, name: str, left: float, top: float, wide: float) -> Iterator[str]:
    begin, end = left + LEFT, left + wide - MARGIN
    upper, lower = top + TITLE - 4, top + TITLE - 4 + chart.height
    low, high = chart.scale()
    first, last = (f(x for curve in chart.curves for x, _ in curve.points) for f in (min, max))

    widest = max((len(text) for x, text in chart.across if x in (first, last)), default=0)
    inset = max(6.0, _LETTER * widest / 2 - MARGIN) if last > first else 0.0

    def across(x: float) -> float:
        return begin + inset + (end - begin - 2 * inset) * ((x - first) / (last - first) if last > first else 0.5)

    def up(y: float) -> float:
        part = math.log(y / low) / math.log(high / low) if chart.logarithmic else (y - low) / (high - low)
        return lower - (lower - upper) * part

    yield f'<text x="{begin:g}" y="{top + 12:g}" class="f-ink">{escape(chart.title)}</text>'
    if chart.over:
        yield f'<text x="{end:g}" y="{top + 12:g}" class="f-soft" text-anchor="end">{escape(chart.over)}</text>'
    for y in ticks(low, high, logarithmic=chart.logarithmic):
        yield f'<path d="M{begin:g} {up(y):.1f}H{end:g}" class="g"/>'
        yield f'<text x="{begin - 4:g}" y="{up(y) + 4:.1f}" class="f-soft" text-anchor="end">{short(y)}</text>'
    for x, text in chart.across:
        place = f'x="{across(x):.1f}" y="{lower + 14:g}" text-anchor="middle"'
        yield f'<text {place} class="f-soft">{escape(text)}</text>'
    inside = f'<rect x="{begin:g}" y="{upper - 1:g}" width="{end - begin:g}" height="{chart.height + 2:g}"/>'
    yield f'<clipPath id="{name}">{inside}</clipPath><g clip-path="url(#{name})">'
    for curve in chart.curves:
        points = [(across(x), up(y)) for x, y in curve.points]
        if curve.band:
            edge = [(across(x), up(y)) for (x, _), (y, _) in zip(curve.points, curve.band, strict=True)]
            back = [(across(x), up(y)) for (x, _), (_, y) in zip(curve.points, curve.band, strict=True)]
            outline = _path([*edge, *reversed(back)])
            yield f'<polygon points="{outline}" {curve.look.of("f")} fill-opacity=".25"/>'
        if curve.look.dots:
            yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" {curve.look.of("f")}/>' for x, y in points)
        else:
            yield f'<polyline points="{_path(points)}" {_line(curve.look)}/>'
    yield "</g>"


def _line(look: Look) -> str:
    dashes = f' stroke-dasharray="{DASHES[look.dashes]}"' if look.dashes else ""
    return f'{look.of("s")} stroke-width="{look.width:g}"{dashes}'


def _path(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _legend(named: dict[str, Look], left: float, top: float, column: float, per_row: int) -> Iterator[str]:
    for i, (name, look) in enumerate(named.items()):
        x, y = left + i % per_row * column, top + i // per_row * _LEGEND_ROW + 8
        if look.dots:
            yield f'<circle cx="{x + 10:g}" cy="{y:g}" r="3.2" {look.of("f")}/>'
        else:
            yield f'<path d="M{x:g} {y:g}h20" {_line(look)}/>'
        yield f'<text x="{x + 26:g}" y="{y + 4:g}" class="f-ink">{escape(name)}</text>'


def ticks(low: float, high: float, *, logarithmic: bool) -> list[float]:
    """Round numbers from low to high, three to six of them where that can be.

    >>> ticks(0.03, 1.2, logarithmic=True), ticks(0, 0.31, logarithmic=False)
    ([0.03, 0.1, 0.3, 1.0], [0.0, 0.1, 0.2, 0.3])
    """
    found: list[float] = []
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
            each = [float(f"{digit}e{power}") for power in powers for digit in digits]
            found = [number for number in each if low <= number <= high]
            if len(found) >= 3:
                return found
        return found
    for step in (float(f"{digit}e{power}") for power in range(3, -7, -1) for digit in (5, 2, 1)):
        found = [round(step * i, 9) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(found) >= 4:
            break
    return found


def short(number: float) -> str:
    """A number in few characters.

    >>> short(0.05), short(1.0), short(0.0), short(0.00012)
    ('.05', '1', '0', '1.2e-4')
    """
    if number and abs(number) < 0.001:
        digits, power = f"{number:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    return f"{number:g}".replace("0.", ".", 1) if abs(number) < 1 and number else f"{number:g}"
