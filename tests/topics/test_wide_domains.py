# SPDX-License-Identifier: Apache-2.0
"""Sets, vectors, rows and strings: from JSON to words and back, by tables too, and what is wrong with the others."""

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.topics import Bits, Categories, Domain, EventReader, Fields, Grid, Items, Measured, Reason, Row, Signed
from murmurate.topics.block import REFUSED
from murmurate.topics.domains.domain import FILLER
from murmurate.topics.errors import MappingError
from tests.topics.samples import ANY_JSON

NAMES = ("home", "basket", "help", "a=b")
AGES = Grid(0, 100, 10, "stretches")
PEOPLE = Row((("plan", Categories(("free", "pro"))), ("age", AGES), ("screen", Categories(("home",), other=True))))
DOMAINS: dict[str, Domain] = {
    "text": Bits(48),
    "a short text": Bits(16),
    "hex": Bits(48, "hex"),
    "four bits": Bits(4, "hex"),
    "items": Items(NAMES, 3),
    "numbers": Items(1000, 4),
    "one item": Items(NAMES, 1),
    "signed": Signed(NAMES, 2),
    "signed numbers": Signed(1 << 20, 3),
    "row": PEOPLE,
    "wide row": Row(tuple((f"a{i}", Grid(0, 1, 1 << 20, "stretches")) for i in range(3))),
    "measured categories": Measured(Categories(("car", "bike")), Grid(0, 10, 11, "points")),
    "measured items": Measured(Items(NAMES, 2), Grid(0, 10, 11, "points")),
    "measured row": Measured(PEOPLE, Grid(0, 10, 11, "points")),
}
SAID: dict[str, Any] = {
    "text": "Grüß", "a short text": "ab", "hex": "00fF12345678", "four bits": "a",
    "items": ["help", "home"], "numbers": [999, 0, 7], "one item": ["help"], "signed": {"help": -0.5, "a=b": 1},
    "signed numbers": {"1048575": 1e-5}, "row": {"age": 33.3, "plan": "pro", "screen": "elsewhere"},
    "wide row": {"a0": 0.5, "a1": 1, "a2": 0}, "measured categories": {"value": "bike", "measure": 3.2},
    "measured items": {"measure": 7, "value": ["a=b"]},
    "measured row": {"value": {"age": 5, "plan": "free", "screen": "home"}, "measure": 2},
}  # fmt: skip
CELLS: dict[str, str] = {
    "text": "Grüß", "a short text": "ab", "hex": "00fF12345678", "four bits": "a",
    "items": "help|home", "numbers": "999 | 0|7", "one item": "help", "signed": "help=-.5|a=b=1",
    "signed numbers": "1048575=1e-5", "row": "age=33.3|plan=pro|screen=elsewhere", "wide row": "a0=.5|a1=1|a2=0",
    "measured categories": "bike@3.2", "measured items": "a=b@7", "measured row": "age=5|plan=free|screen=home@2",
}  # fmt: skip
WRONG: dict[str, list[tuple[Any, Reason]]] = {
    "text": [
        (7, Reason.TYPE), (["ab"], Reason.TYPE), ("seven..", Reason.VALUE), ("a\0b", Reason.VALUE),
        ("üüüü", Reason.VALUE),
    ],
    "hex": [("00ff1234567", Reason.VALUE), ("00ff123456789", Reason.VALUE), ("00ff1234567g", Reason.VALUE),
            ("0x0000000000", Reason.VALUE), ("+00000000000", Reason.VALUE), (12, Reason.TYPE), ("", Reason.VALUE),
            ("\N{ARABIC-INDIC DIGIT ZERO}" * 12, Reason.VALUE)],
    "items": [
        ("help", Reason.TYPE), (["cellar"], Reason.VALUE), (["home", "home"], Reason.VALUE), (["home", 1], Reason.TYPE),
        ([["home"]], Reason.TYPE), ([{}], Reason.TYPE), ({"home": 1}, Reason.TYPE), ([None], Reason.TYPE),
        (["home"] * 40, Reason.VALUE), ([True], Reason.TYPE),
    ],
    "numbers": [([1000], Reason.VALUE), ([-1], Reason.VALUE), ([1.0], Reason.TYPE), ([True], Reason.TYPE),
                (["7"], Reason.TYPE), ([7, 7], Reason.VALUE), ([2**63], Reason.VALUE), (3, Reason.TYPE)],
    "signed": [
        ({"help": 1.0001}, Reason.VALUE), ({"help": -2}, Reason.VALUE), ({"cellar": 0.5}, Reason.VALUE),
        ({"help": "1"}, Reason.TYPE), ({"help": True}, Reason.TYPE), ({"help": None}, Reason.TYPE),
        (["help"], Reason.TYPE), ({"help": [0.5]}, Reason.TYPE), ({"help": 1e300}, Reason.VALUE),
    ],
    "signed numbers": [({"1048576": 0.5}, Reason.VALUE), ({"01": 0.5}, Reason.VALUE), ({"-1": 0.5}, Reason.VALUE),
                       ({"": 0.5}, Reason.VALUE), ({"1 ": 0.5}, Reason.VALUE),
                       ({"\N{ARABIC-INDIC DIGIT THREE}": 0.5}, Reason.VALUE)],
    "row": [
        ({"age": 3, "plan": "pro"}, Reason.FIELD), ({"age": 3, "plan": "pro", "screen": "a", "x": 1}, Reason.FIELD),
        ({"age": 3, "plan": "pro", "Screen": "home"}, Reason.FIELD), ({}, Reason.FIELD), ("pro", Reason.TYPE),
        ({"age": "3", "plan": "pro", "screen": "a"}, Reason.TYPE), (["pro", 3, "a"], Reason.TYPE),
        ({"age": 3, "plan": "gold", "screen": "a"}, Reason.VALUE), ({"age": 3, "plan": 1, "screen": "a"}, Reason.TYPE),
    ],
    "measured categories": [
        ({"value": "bike"}, Reason.FIELD), ({"value": "bike", "measure": "3"}, Reason.TYPE), ("bike", Reason.TYPE),
        ({"value": "boat", "measure": 3}, Reason.VALUE), ({"value": "bike", "measure": 3, "unit": 1}, Reason.FIELD),
    ],
}  # fmt: skip


def read(domain: Domain, *records: bytes, texts: bool = False) -> tuple[np.ndarray, list[Reason], dict[int, Any]]:
    columns = EventReader({"it": domain}, Fields(), texts=texts).read(records)
    return columns.code.reshape(-1, domain.words), [reason for _, reason in columns.refusals], dict(columns.long)


def event(value: Any) -> bytes:
    return json.dumps({"user": "u", "time": 5, "value": value}).encode()


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_value_becomes_words_and_its_words_say_it_again(kind: str) -> None:
    domain = DOMAINS[kind]
    (row,), reasons, long = read(domain, event(SAID[kind]))
    assert (reasons, long) == ([], {})
    assert row.tolist() == domain.rows([SAID[kind]])[0].tolist()
    assert row[0] < 2**31
    again, reasons, _ = read(domain, event(domain.value(tuple(row.tolist()))))
    assert (again.tolist(), reasons) == ([row.tolist()], [])


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_cell_of_a_table_says_the_same_in_short_and_as_json(kind: str) -> None:
    domain = DOMAINS[kind]
    said = SAID[kind] if isinstance(SAID[kind], str) else json.dumps(SAID[kind])
    found, reasons, _ = read(domain, event(CELLS[kind]), event(said), texts=True)
    assert (found.tolist(), reasons) == (domain.rows([SAID[kind]] * 2).tolist(), [])


@pytest.mark.parametrize(("kind", "value", "reason"), [(k, v, r) for k, some in WRONG.items() for v, r in some])
def test_whatever_is_wrong_with_a_value_shows_its_user_and_sets_nothing(kind: str, value: Any, reason: Reason) -> None:
    found, reasons, long = read(DOMAINS[kind], event(value), event(SAID[kind]))
    assert (reasons, long) == ([reason], {})
    assert (found[0] == REFUSED).all()
    assert found[1].tolist() == DOMAINS[kind].rows([SAID[kind]])[0].tolist()


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_missing_value_or_bytes_that_are_no_text_show_their_user(kind: str) -> None:
    records = [
        b'{"user":"u","time":5}',
        b'{"user":"u","time":5,"value":["\xff"]}',
        b'{"user":"u","time":5,"value":NaN}',
    ]
    found, reasons, _ = read(DOMAINS[kind], *records)
    assert (found == REFUSED).all()
    assert (len(found), reasons) == (3, [Reason.FIELD, Reason.JSON, Reason.JSON])


@pytest.mark.parametrize(
    "cell", ["", "[", "{", "a|a", "=", "=|=", "@", "1@", "[[[", '{"a":', "|", "x=1|x=2", "nan", "\0"]
)
@pytest.mark.parametrize("kind", DOMAINS)
def test_any_cell_makes_a_value_or_a_reason(kind: str, cell: str) -> None:
    found, reasons, _ = read(DOMAINS[kind], event(cell), texts=True)
    assert (found == REFUSED).all() == bool(reasons)
    assert len(found) == 1


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(list(DOMAINS)), ANY_JSON | st.text('[]{}|=@"0123456789.-ahome', max_size=12), st.booleans())
def test_any_json_makes_a_value_or_a_reason_and_never_an_error(kind: str, value: Any, texts: bool) -> None:
    domain = DOMAINS[kind]
    codes = domain.codes(texts=texts)
    wrong = codes.wrong(value)
    if wrong is None:
        row = codes[value]
        assert isinstance(row, tuple)
        assert len(row) >= domain.words
        assert all(0 <= word < 2**32 for word in row)
        assert row[0] < 2**31
    else:
        assert wrong in ("type", "value", "field")
        with pytest.raises((LookupError, TypeError, ValueError)):
            codes[value]


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (Bits(4, "hex"), [f"{i:x}" for i in range(16)]),
        (Bits(16), ["", "a", "b", *map("".join, itertools.product("ab", repeat=2))]),
        (Items(4, 3), [list(c) for k in range(4) for c in itertools.combinations(range(4), k)]),
        (Signed(("a", "b"), 2), [
            {name: x for name, x in zip("ab", xs, strict=True) if x}
            for xs in itertools.product((-1, -0.5, 0, 1), repeat=2)
        ]),
        (PEOPLE, [
            {"plan": plan, "age": age, "screen": screen}
            for plan in ("free", "pro") for age in range(5, 100, 10) for screen in ("home", "?")
        ]),
        (Row(tuple((name, Categories(("no", "yes"))) for name in "xyz")), [
            dict(zip("xyz", said, strict=True)) for said in itertools.product(("no", "yes"), repeat=3)
        ]),
    ],
)  # fmt: skip
def test_different_values_have_different_words(domain: Domain, values: list[Any]) -> None:
    rows = domain.rows(values)
    assert len({tuple(row) for row in rows.tolist()}) == len(values)
    assert not (rows[:, 0] >> 31).any()


def test_layouts_say_what_words_mean() -> None:
    assert [DOMAINS[kind].layout(True) for kind in DOMAINS] == [
        ("bits", 48, 1), ("bits", 16, 1), ("bits", 48, 1), ("bits", 4, 1), ("items", 4, 3, 1), ("items", 1000, 4, 1),
        ("items", 4, 1, 1), ("signed", 4, 2, 1), ("signed", 1 << 20, 3, 1), ("row", (2, 10, 2), 1),
        ("row", (1 << 20,) * 3, 1), ("measured", ("code", 3), 11), ("measured", ("items", 4, 2, 1), 11),
        ("measured", ("row", (2, 10, 2), 1), 11),
    ]  # fmt: skip
    assert [domain.words for domain in DOMAINS.values()] == [2, 1, 2, 1, 3, 4, 1, 4, 6, 1, 3, 2, 3, 2]
    assert Categories(("a", "b"), other=True).layout(False) == ("code", 3)
    assert Grid(0, 1, 9, "points").layout(True) == ("code", 10)
    assert Items(4, 3).layout(False) == ("items", 4, 3, 0)


def test_words_are_those_of_the_page() -> None:
    assert Bits(48).rows(["ab"]).tolist() == [[0x61620000 >> 1, 0]]
    assert Bits(48, "hex").rows(["ffffffffffff"]).tolist() == [[0x7FFFFFFF, 0xFFFF8000]]
    assert Items(NAMES, 3).rows([["help", "home"], []]).tolist() == [[0, 2, FILLER], [FILLER] * 3]
    assert Signed(NAMES, 2).rows([{"a=b": 1, "home": -1}, {"home": 0}, {"help": 1e-9}]).tolist() == [
        [0, 0, 3, 131072], [FILLER, 0, FILLER, 0], [FILLER, 0, FILLER, 0]
    ]  # fmt: skip
    assert PEOPLE.rows([SAID["row"]]).tolist() == [[1 * 20 + 3 * 2 + 1]]
    wide = DOMAINS["wide row"].rows([SAID["wide row"]])
    assert wide.tolist() == [[1 << 19, (1 << 20) - 1, 0]]
    assert DOMAINS["measured items"].rows([SAID["measured items"]]).tolist() == [[3, FILLER, 7]]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 1 << 11), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_rows_are_packed_in_bulk_as_one_by_one(sizes: list[int], seed: int) -> None:
    attributes = tuple((f"a{i}", Categories(tuple(map(str, range(size))))) for i, size in enumerate(sizes))
    row = Row(attributes)
    chance = np.random.default_rng(seed)
    codes = [chance.integers(0, size, 7) for size in sizes]
    said = [{f"a{i}": str(codes[i][n]) for i in range(len(sizes))} for n in range(7)]
    assert row.pack(codes).tolist() == row.rows(said).tolist()
    for word in range(row.words):  # a word is as full as it can be
        held = [size for size, (at, _) in zip(sizes, row.places, strict=True) if at == word]
        assert np.prod(held, dtype=object) <= 2**31


def test_of_too_many_items_those_of_the_smallest_ranks_stay() -> None:
    domain = Items(1000, 3)
    _, reasons, long = read(domain, event([5, 900, 1]), event([9, 3, 500, 77, 2]), event([4, 3, 2, 1]))
    assert (reasons, long) == ([], {1: (2, 3, 9, 77, 500), 2: (1, 2, 3, 4)})

    def ranks(owner: np.ndarray, items: np.ndarray) -> np.ndarray:
        assert Counter(owner.tolist()) == {0: 5, 1: 4}
        return np.asarray((items * 7 % 10).astype(np.uint64))  # of 2 3 9 77 500: 4 1 3 9 0; of 1 2 3 4: 7 4 1 8

    assert domain.cut(list(long.values()), ranks).tolist() == [[3, 9, 500], [1, 2, 3]]
    signed = Signed(1000, 1)
    _, _, long = read(signed, event({"9": 0.5, "3": -1, "4": 0}), event({"9": 0.5, "4": 0}))
    assert long == {0: (3, 0, 9, 98304)}
    assert signed.cut([long[0]], lambda owner, items: (10 - items).astype(np.uint64)).tolist() == [[9, 98304]]
    beside = Measured(domain, Grid(0, 10, 11, "points"))
    _, _, long = read(beside, event({"value": [9, 3, 500, 77, 2], "measure": 4}))
    assert beside.cut([long[0]], lambda owner, items: (items * 7 % 10).astype(np.uint64)).tolist() == [[3, 9, 500, 4]]
    with pytest.raises(MappingError, match="only in domains of lists"):
        PEOPLE.cut([(1, 2)], ranks)


def test_streams_of_different_widths_share_a_source() -> None:
    streams: dict[str, Domain] = {"screen": Categories(("home", "help")), "basket": Items(NAMES, 3), "tag": Bits(16)}
    reader = EventReader(streams, Fields(stream="/stream"))
    said: list[tuple[str, Any]] = [
        ("basket", ["help"]), ("screen", "help"), ("tag", "ab"), ("screen", "?"), ("basket", ["help", "help"]),
        ("tag", 3), ("basket", list(NAMES)),
    ]  # fmt: skip
    columns = reader.read([
        json.dumps({"user": "u", "time": 5, "stream": stream, "value": value}).encode() for stream, value in said
    ])  # fmt: skip
    found = {
        name: columns.words_of(np.flatnonzero(columns.stream == i), domain.words).tolist()
        for i, (name, domain) in enumerate(streams.items())
    }
    assert found == {
        "screen": [1, REFUSED], "tag": [0x30B10000, REFUSED],
        "basket": [[2, FILLER, FILLER], [REFUSED] * 3, [REFUSED] * 3],
    }  # fmt: skip
    assert dict(columns.long) == {6: (0, 1, 2, 3)}  # until somebody cuts it, it counts as refused
    assert [reason.value for _, reason in columns.refusals] == ["value", "value", "type"]


@pytest.mark.parametrize(
    "made",
    [
        lambda: Bits(0), lambda: Bits(257, "hex"), lambda: Bits(12), lambda: Bits(6, "hex"), lambda: Bits(8, "octal"),  # type: ignore[arg-type]
        lambda: Items(("a", "a"), 1), lambda: Items((), 1), lambda: Items(0, 1), lambda: Items(1 << 31, 1),
        lambda: Items(5, 0), lambda: Items(5, 65), lambda: Items(True, 1), lambda: Signed((1,), 1),  # type: ignore[arg-type]
        lambda: Signed(5, 65), lambda: Row(()), lambda: Row((("a", Items(2, 1)),)),  # type: ignore[arg-type]
        lambda: Row((("a", AGES), ("a", AGES))),
        lambda: Measured(Measured(AGES, AGES), AGES), lambda: Measured(AGES, Bits(8)),  # type: ignore[arg-type]
        lambda: Items(5, 2).rows([[1], [1, 1]]), lambda: Items(5, 2).rows([[1, 2, 3]]),
    ],
)  # fmt: skip
def test_domains_that_make_no_sense_are_refused(made: Any) -> None:
    with pytest.raises(MappingError, match=r"found .*; allowed: "):
        made()
