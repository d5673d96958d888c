# SPDX-License-Identifier: Apache-2.0
"""The releases of a stream as one JSON document, for those who ask now and then and keep no connection.

Contract: the oldest first, never more than MOST in one answer; `next` is what the next request gives as `since`, and
whoever does so gets every release after the last one, once, of a live deployment from any worker.  A `since` that is no
longer kept gives all that is.  Not here: the event stream at the same address (server.py), which of the two is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson
from aiohttp import web

from murmurate.agents.web.errors import QueryError
from murmurate.agents.web.feed import KEEP, Feed, Frame
from murmurate.agents.web.shaped import Shape
from murmurate.topics.times import InstantReader

MOST: Final = 1000
"""The most releases of one answer; `more` says that others follow."""
NEWEST: Final = 100
"""How many are given where nothing is asked for."""
EVENTS, JSON = "text/event-stream", "application/json"


def wants_list(request: web.Request) -> bool:
    """Whether a reader wants the document: by `format`, else by what it accepts; without either it gets events."""
    said = request.query.get("format")
    if said is not None:
        if said not in ("json", "events"):
            raise QueryError(f"query: format: found {said[:64]!r}; allowed: json, events")
        return said == "json"
    accepted = request.headers.get("Accept", "")
    return JSON in accepted and EVENTS not in accepted


def release_list(feed: Feed, stream: str, last: int | None, since: str | None, shape: Shape) -> bytes:
    """The document: the releases from `since` on, the newest `last` of them."""
    found = feed.kept(stream)
    newest = feed.identity(found[-1]) if found else None
    if since is not None:
        found = _from(feed, found, since)
    count = NEWEST if last is None and since is None else last
    if count is not None:
        found = found[max(len(found) - count, 0) :]
    shown = found[:MOST]
    follows = feed.identity(shown[-1]) if shown else since if since and count != 0 else newest
    head = orjson.dumps({"stream": stream, "next": follows, "more": len(found) > len(shown)})
    return head[:-1] + b',"releases":[' + b",".join(shape(frame).body for frame in shown) + b"]}"


def _from(feed: Feed, found: list[Frame], since: str) -> list[Frame]:
    """Those after a release by its id, or those that begin at an instant or later."""
    seen = feed.seen(since)
    if seen is not None:
        place = next((i for i, frame in enumerate(found) if frame.release == seen), None)
        if place is not None:
            return found[place + 1 :]
        overtaken = any(frame.release is not None and seen.before(frame.release) for frame in found)
        return found if overtaken else []
    run, _, number = since.partition("-")
    if run == feed.run and number.isascii() and number.isdigit() and len(number) <= len(str(KEEP)) + 12:
        return [frame for frame in found if frame.number > int(number)]
    read = InstantReader()
    try:
        start = read.milliseconds(since)
    except ValueError:
        raise QueryError(
            f"query: since: found {since[:64]!r}; allowed: the `next` of an answer, or an instant such as "
            "2026-11-18T09:00:00Z"
        ) from None
    return [frame for frame in found if read.milliseconds(_start(frame)) >= start]


def _start(frame: Frame) -> str:
    """When the period of a release begins."""
    document: Mapping[str, str] = orjson.loads(frame.body)
    return document["start"]
