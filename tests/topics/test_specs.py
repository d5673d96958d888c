# SPDX-License-Identifier: Apache-2.0
"""Specs of questions on the wire: nested, frozen and bounded; and whatever stands there, no reader breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.randomizers import ParameterError, Question, question
from murmurate.topics.codec import decode, encode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import MAX_DEPTH, Round
from murmurate.topics.slots import Slots
from tests.cases import every

GRR = {"name": "grr", "d": 4, "epsilon_micro": 1_000_000}
SETS = {"name": "itemsets", "layout": ["items", 9, 3, 1], "length": 2, "candidates": [[1, 2], [3]]}
VIEWED = {"name": "viewed", "view": SETS, "mechanism": GRR}
DEEPEST = {
    "name": "weighted",
    "inner": {"name": "branches", "of": [[1, VIEWED], [2, VIEWED]]},
    "levels": 4,
    "quantum": 1,
}


def round_of(spec: Any) -> Round:
    return Round(
        stream="screen", t=1, slots=Slots.every(10), mechanism=spec, purpose="publication", contributors=1, targets=1,
        patience_ms=1, config="0" * 16, revision=1,
    )  # fmt: skip


def on_the_wire(spec: Any) -> bytes:
    table = json.loads(encode(round_of(GRR)))
    table["mechanism"] = spec
    return json.dumps(table).encode()


@every("spec", [GRR, VIEWED, DEEPEST])
def test_a_round_brings_its_question_back_whatever_it_nests(spec: Any) -> None:
    sent = round_of(question(spec).spec())
    back = decode(encode(sent))
    assert isinstance(back, Round)
    assert back == sent
    assert back.digest == sent.digest
    assert question(back.mechanism) == question(spec)
    assert decode(on_the_wire(spec)) == sent
    with pytest.raises(TypeError):
        back.mechanism["name"] = "oue"  # type: ignore[index]
    if spec is not GRR:
        inner = next(value for key, value in back.mechanism.items() if key in ("view", "inner"))
        with pytest.raises(TypeError):
            inner["name"] = "oue"


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


@every(
    ("spec", "said"),
    [
        ({**GRR, "d": 4.0}, "found float"),
        ({**GRR, "d": None}, "found NoneType"),
        ({**GRR, "d": True}, "found bool"),
        ({**GRR, "d": 1 << 53}, "found int"),
        ({**GRR, "d": "x" * 65}, "found str"),
        ({**GRR, "d": {}}, "found a table"),
        ({**GRR, "d": {"D": 1}}, "found a table"),
        ({**GRR, "d": {f"a{i}": 1 for i in range(17)}}, "found a table"),
        ({**GRR, "d": nested(MAX_DEPTH)}, "found more levels; allowed: 8"),
        ({**GRR, "d": [123_456] * 40_000}, "found a longer spec; allowed: 262144 bytes"),
        ({"d": 4}, "found no name"),
    ],
)
def test_a_spec_that_is_none_is_refused_with_one_line(spec: Any, said: str) -> None:
    with pytest.raises(WireError, match=said) as refused:
        decode(on_the_wire(spec))
    assert "\n" not in str(refused.value)


WORDS = (
    "grr", "olh", "hm", "recoded", "viewed", "branches", "weighted", "padded", "prefix", "size", "level", "marginal",
    "itemsets", "whole", "items", "bits", "row", "code", "measured", "signed",
)  # fmt: skip
PARAMETERS = (
    "name", "d", "epsilon_micro", "view", "mechanism", "layout", "length", "candidates", "of", "inner", "levels",
    "quantum", "bits", "attributes", "widths", "clip", "group", "pool", "fold",
)  # fmt: skip
SCALARS = st.one_of(
    st.integers(-3, 70), st.integers(), st.text(max_size=8), st.booleans(), st.none(), st.floats(allow_nan=False),
    st.sampled_from(WORDS),
    st.sampled_from(["items", "bits", "row", "code", "measured", "signed"]),
)  # fmt: skip
KEYS = st.sampled_from(PARAMETERS)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=12,
)


def changed(spec: Any, path: list[int], new: Any) -> Any:
    """The same tree with another one at some place."""
    if not path or not isinstance(spec, (dict, list)) or not spec:
        return new
    keys = sorted(spec) if isinstance(spec, dict) else range(len(spec))
    key = keys[path[0] % len(keys)]
    if isinstance(spec, dict):
        return {**spec, key: changed(spec[key], path[1:], new)}
    return [changed(value, path[1:], new) if i == key else value for i, value in enumerate(spec)]


@given(st.sampled_from([GRR, VIEWED, DEEPEST]), st.lists(st.integers(0, 9), max_size=8), TREES)
def test_whatever_stands_in_a_spec_there_is_a_question_or_one_line(spec: Any, path: list[int], new: Any) -> None:
    found = changed(spec, path, new)
    said = []
    try:
        read = decode(on_the_wire(found))
    except WireError as error:
        read, said = None, [str(error)]
    for one in (found, read.mechanism if isinstance(read, Round) else GRR):
        try:
            assert isinstance(question(one), Question)
        except ParameterError as error:
            said.append(str(error))
    assert all("\n" not in line and len(line) < 1000 for line in said)
