# SPDX-License-Identifier: Apache-2.0
"""What a line of `murmurate watch` says of names that are searched for: leaders, who is new, who moved, who is gone.

Contract: as wide as there is room, and never wider; first what has a threshold, then the largest, then who is new, then
who moved, then the others by size, shown in the order of size.  What has no room is counted.  Where everything is new,
as at the start, nothing is marked as new.  Not here: the rest of the line (watch.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

from murmurate.topics.release import Release
from murmurate.topics.release_parts import Discovery, Reading

KEY: Final = "* new  ▲ rose  ▼ fell  - gone  +n more; ± the largest error of those shown"
"""What the signs of these lines mean, for the head of them."""
GAP: Final = "  "
NEW: Final = "*"
NAMES: Final = 20, 12, 9
"""The most columns of a name, from the longest form to the shortest."""
GONE: Final = 2
"""The most names that are shown as gone."""
WANTED: Final = 3
"""The number of names for which names are shortened."""


def found_line(release: Release, found: Discovery, room: int) -> str:
    """The part of the line between the decision and the reports."""
    if not release.known:
        said = f"nothing found above {_share(found)}" if found.threshold is not None else "nothing is listed"
        more = f"{GAP}{_gone(found, GONE, 12)}" if found.gone else ""
        return f"{said}{more if len(said) + len(more) <= room else ''}"[:room].ljust(room)
    names = sorted(release.known, key=lambda name: (-release.known[name][0], name))
    marks, held = _marks(release, found), release.thresholds or {}
    new = {name for name, mark in marks.items() if mark == NEW}
    order = sorted(names, key=lambda name: (name not in held, name != names[0], name not in new, name not in marks))
    leasts, ways = range(min(WANTED, len(names)), 0, -1), [range(GONE, 0, -1), [0]] if found.gone else [[0]]
    for least, columns, gone in (form for way in ways for form in product(leasts, NAMES, way)):
        for count in range(len(order), least - 1, -1):
            shown = [name for name in names if name in set(order[:count])]
            parts = [_piece(release, name, marks.get(name, ""), columns, held.get(name)) for name in shown]
            parts += [f"+{len(names) - count}"] if count < len(names) else []
            parts += [_gone(found, gone, columns)] if found.gone else []
            text = GAP.join([*parts, f"±{100 * max(release.known[name][1] for name in shown):.1f}"])
            if len(text) <= room:
                return text.ljust(room)
    return f"+{len(names)}".ljust(room)


def _marks(release: Release, found: Discovery) -> dict[str, str]:
    """The sign of each name that has one."""
    new = [name for name, since in found.since.items() if since == release.t]
    marks = dict.fromkeys(found.rose, "▲") | dict.fromkeys(found.fell, "▼")
    return marks if len(new) == len(found.since) else marks | dict.fromkeys(new, NEW)


def _piece(release: Release, name: str, mark: str, columns: int, held: Reading | None) -> str:
    """A name with its share, and on which side of its threshold that is."""
    side = ""
    if held is not None:
        sign = ">" if held.side == "above" else "<"
        side = f" {sign} {100 * held.threshold:.12g}% ({math.floor(100 * held.confidence)}% sure)"
    return f"{mark}{_cut(name, columns)} {100 * release.known[name][0]:.1f}%{side}"


def _gone(found: Discovery, count: int, columns: int) -> str:
    """Names that are gone, so many of them."""
    shown: Sequence[str] = [f"-{_cut(name, columns)}" for name in found.gone[:count]]
    more = len(found.gone) - len(shown)
    return " ".join([*shown, *([f"-{more}" if not shown else f"and {more}"] if more else [])])


def _share(found: Discovery) -> str:
    """The share above which a new name is listed."""
    return f"{100 * max(found.threshold or 0.0, found.least):.3g}%"


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else f"{text[: columns - 2]}.."
