# SPDX-License-Identifier: Apache-2.0
"""Frames with estimates for one kind of question: what `?for=top-k` behind an address means.

Contract: a function of the frame and the query alone.  Only the `estimate` of a frequency's release changes, and
`read` says how; names that are not among the k most frequent ones have null.  Everything else is passed on as it is.
Not here: what suits which question (aggregators/postprocess).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, cast, get_args

import orjson

from murmurate.agents.web.errors import QueryError
from murmurate.agents.web.feed import Frame
from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.postprocess.query import Query
from murmurate.aggregators.postprocess.reading import read_figures
from murmurate.topics.release_parts import MAX_NAMES, PLACES

OF_SHAPES: Final = ("for", "k")
"""What may be asked behind an address."""
Shape = Callable[[Frame], Frame]


def asked_shape(query: Mapping[str, str]) -> Shape:
    """What the query asks for, or QueryError."""
    question, k = query.get("for"), query.get("k")
    if question is None and k is None:
        return lambda frame: frame
    if question not in get_args(Query):
        raise QueryError(f"query: for: found {(question or '')[:64]!r}; allowed: {', '.join(get_args(Query))}")
    if k is not None and question not in ("top-k", "point"):
        raise QueryError(f"query: k: found it with {question}; allowed: with top-k or point")
    if k is not None and not (k.isascii() and k.isdigit() and len(k) <= 4 and 1 <= int(k) <= MAX_NAMES):
        raise QueryError(f"query: k: found {k[:64]!r}; allowed: a whole number from 1 to {MAX_NAMES}")
    most = None if k is None else int(k)
    return lambda frame: _shaped(frame, cast("Query", question), most)


def _shaped(frame: Frame, question: Query, k: int | None) -> Frame:
    if frame.kind != "release":
        return frame
    document = orjson.loads(frame.body)
    kind = KINDS.get(document.get("measure"))
    if kind is None or not kind.shaped:
        return frame
    tables = document["estimate"], document["stderr"], document["unbiased"]
    read = read_figures(question, *tables, k=None if k is None else min(k, len(tables[0])))
    for name in document["estimate"]:
        value = read.values.get(name)
        document["estimate"][name] = None if value is None else round(value, PLACES) + 0.0
    if question == "arithmetic":
        document["stderr"] = dict.fromkeys(document["stderr"])  # the error of the raw figures is not in a release
    document["read"] = {"for": question, "by": read.method}
    return replace(frame, body=orjson.dumps(document))
