# SPDX-License-Identifier: Apache-2.0
"""`report.html`: the page in its final state, in one file that opens from disk without a network.

Contract: the same page, script and style as the server's, inlined, with the frames beside them as data. Its own
Content-Security-Policy names the hashes of exactly that script and style: nothing else runs, nothing is fetched. No
text of a frame is ever markup: `<`, `>` and `&` are escaped inside the JSON.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import orjson

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
SCRIPTS = (
    "words.js",
    "terms.js",
    "axis.js",
    "listed.js",
    "discovery.js",
    "events.js",
    "periods.js",
    "reading.js",
    "picture.js",
    "chart.js",
    "multiples.js",
    "heat.js",
    "ranking.js",
    "leaderboard.js",
    "bars.js",
    "values.js",
    "stretch.js",
    "legend.js",
    "views.js",
    "panel.js",
    "overview.js",
    "link.js",
    "vigil.js",
    "app.js",
)
"""The page's scripts, in the order in which index.html loads them."""
_STYLE = '<link rel="stylesheet" href="style.css">'
_META = '<meta charset="utf-8">'


def report_html(frames: Iterable[Mapping[str, Any]]) -> str:
    """The page of these frames, as a document of its own."""
    page, style = _static("index.html"), _static("style.css")
    scripts = {name: _static(name) for name in SCRIPTS}
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts.values()))}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _swap(page, _META, f'{_META}\n<meta http-equiv="Content-Security-Policy" content="{policy}">')
    page = _swap(page, _STYLE, f"<style>{style}</style>")
    for name, text in scripts.items():
        data = _data(frames) if name == SCRIPTS[0] else ""
        page = _swap(page, f'<script src="{name}"></script>', f"{data}<script>{text}</script>")
    return page


def _data(frames: Iterable[Mapping[str, Any]]) -> str:
    lines = ",\n".join(orjson.dumps(dict(frame)).decode().translate(_ESCAPES) for frame in frames)
    return f'<script type="application/json" id="frames">[\n{lines}\n]</script>\n'


def _static(name: str) -> str:
    return (resources.files("murmurate.agents.web") / "static" / name).read_text(encoding="utf-8")


def _swap(page: str, old: str, new: str) -> str:
    """The page with its one `old` replaced; nothing in `new` is looked at again."""
    before, found, after = page.partition(old)
    if not found:
        raise ValueError(f"static/index.html: found no {old}")
    return before + new + after


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
