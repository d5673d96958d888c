# SPDX-License-Identifier: Apache-2.0
"""What a search found, as a small HTML table: what a notebook shows of the newest release of such a stream.

Contract: no script, nothing fetched; a found name is text and never markup.  The largest first, each with its standard
errors, what became of it and since when it is listed; above them the share below which nothing new is named, below
them who is gone.  Not here: charts of single names (chart.py), all names (tables.py).
"""

from __future__ import annotations

from html import escape
from typing import Final

from murmurate.topics.release import Release
from murmurate.topics.release_parts import Discovery
from murmurate.topics.times import InstantReader, instant

MOST_LEADERS: Final = 10
CELL: Final = 'style="padding:1px 14px 1px 0;text-align:left;font-variant-numeric:tabular-nums"'


def leaders(release: Release) -> str:
    """The HTML of a release with a discovery; nothing for any other."""
    found = release.discovery
    if found is None:
        return ""
    names = sorted(release.known, key=lambda name: (-release.known[name][0], name))
    rows = [_row(release, found, place, name) for place, name in enumerate(names[:MOST_LEADERS], 1)]
    head = "".join(f'<th scope="col" {CELL}>{title}</th>' for title in ("", "name", "share", "± 2 s.e.", "", "since"))
    table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>" if rows else ""
    said = [f"{len(names) - len(rows)} more names; release.discovery and to_pandas() have all."] * (
        len(names) > len(rows)
    )
    said += [f"Gone: {', '.join(found.gone)}."] if found.gone else []
    below = "".join(f"<p>{escape(line)}</p>" for line in said)
    caption = f"<caption {CELL}>{escape(_caption(release, found))}</caption>"
    return f'<table style="border-collapse:collapse">{caption}{table}</table>{below}'


def fate(release: Release, found: Discovery, name: str) -> str:
    """What became of a name since the release before, in a word or two."""
    if found.since[name] == release.t:
        return "new"
    moved = "rose" if name in found.rose else "fell" if name in found.fell else ""
    followed = release.measured_t is not None and found.seen[name] < release.measured_t
    return ", ".join(filter(None, (moved, "followed" if followed else "")))


def _caption(release: Release, found: Discovery) -> str:
    """The stream and the period, and the share from which on names are new."""
    when = release.start[:16].replace("T", " ")
    limit = None if found.threshold is None else f"{100 * max(found.threshold, found.least):.3g}%"
    if not release.known:
        said = "nothing is listed" if limit is None else f"nothing found above {limit}"
    else:
        said = f"{len(release.known)} names" + (f", nothing new below {limit}" if limit else "")
    return f"{release.stream}, {when} UTC: {said}"


def _row(release: Release, found: Discovery, place: int, name: str) -> str:
    estimate, error = release.known[name]
    reader = InstantReader()
    start, end = (reader.milliseconds(text) for text in (release.start, release.end))
    since = instant(start - (release.t - found.since[name]) * (end - start))[:16].replace("T", " ")
    shown = (str(place), f"{100 * estimate:.2f}%", f"{200 * error:.2f}%", fate(release, found, name), since)
    cells = [f"<td {CELL}>{text}</td>" for text in shown]
    cells.insert(1, f'<th scope="row" {CELL}>{escape(name)}</th>')
    return f"<tr>{''.join(cells)}</tr>"
