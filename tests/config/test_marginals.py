# SPDX-License-Identifier: Apache-2.0
"""The table of marginals in a deployment file: what loads, what each mistake's line says, what changes the digest."""

from __future__ import annotations

from typing import Any

import pytest

from murmurate.aggregators.measures.marginals import Marginals
from murmurate.config.explain import explain
from murmurate.config.planning import resolve
from murmurate.randomizers import Branches, Viewed
from tests.config.deployments import lines, planned

AGE = {"whole": [0, 99], "cells": 10}
TABLE: dict[str, Any] = {
    "measure": "marginals",
    "every": "1m",
    "tables": [["sex", "age"], ["plan"]],
    "attributes": {"age": AGE, "sex": ["f", "m"], "plan": {"values": ["free", "pro"], "other": True}},
}
FORMS = (
    'a list of values, { values = ["f", "m"], other = true }, { whole = [0, 99], cells = 10 } or '
    "{ range = [0, 1e5], cells = 20 }"
)
NO_BAR = 'texts without " | ", which stands between attributes in the name of a cell'
MANY = {"sex": [str(n) for n in range(400)]}
TABLES = 'a list of 1 to 16 tables, each a list of 1 to 8 attributes, such as [["age", "sex"], ["plan"]]'


def of(**changes: Any) -> dict[str, Any]:
    return {"streams__screen": TABLE | changes}


def with_(**attributes: Any) -> dict[str, Any]:
    return of(attributes=TABLE["attributes"] | attributes)


def measure(**changes: Any) -> Marginals:
    found = planned(**of(**changes)).stream("screen").measure
    assert isinstance(found, Marginals)
    return found


def test_a_table_of_marginals_loads_and_names_its_cells_in_each_tables_own_order() -> None:
    found = measure()
    assert found.domain.sizes == (10, 2, 3)
    assert found.names[:3] == ("sex=f | age=0-9", "sex=f | age=10-19", "sex=f | age=20-29")
    assert found.names[-3:] == ("plan=free", "plan=pro", "plan=other")
    assert found.what == "2 tables (sex by age; plan) with 23 cells"
    (stream,) = explain(planned(**of())).streams
    assert (stream.what, stream.mechanism) == (
        "marginals of 2 tables (sex by age; plan) with 23 cells",
        "subset, grr",
    )
    assert isinstance(resolve(planned(**of()), "screen"), Branches)
    one = TABLE["attributes"] | {}
    del one["plan"]
    assert isinstance(resolve(planned(**of(tables=[["sex", "age"]], attributes=one)), "screen"), Viewed)


def test_whole_numbers_never_fall_into_a_neighbours_cell() -> None:
    for low, high, cells in ((0, 99, 100), (1, 700, 350), (-3, 4092, 4096), (10**9 - 7, 10**9, 8)):
        found = measure(tables=[["n"]], attributes={"n": {"whole": [low, high], "cells": cells}})
        width, codes = (high - low + 1) // cells, found.domain.codes()
        assert [codes[{"n": n}] for n in range(low, high + 1)] == [((n - low) // width,) for n in range(low, high + 1)]
        assert codes[{"n": low - 9}] == (0,)
        assert codes[{"n": high + 9.5}] == (cells - 1,)


def test_who_had_no_valid_value_yet_is_named_where_values_stand_for_ever() -> None:
    (promise,) = [
        line for line in explain(planned(**of(missing={"carry": "always"}))).promise if "they count as" in line
    ]
    assert "they count as age=0-9 | sex=f | plan=other, which" in promise


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (of(tables=None), f"tables: found nothing; allowed: {TABLES}"),
        (of(tables=[]), f"tables: found a list of 0; allowed: {TABLES}"),
        (of(tables=["age"]), f"tables: found a list of 1; allowed: {TABLES}"),
        (of(tables=[["age", 3]]), f"tables: found a list of 1; allowed: {TABLES}"),
        (of(tables=[["age"]] * 17), f"tables: found a list of 17; allowed: {TABLES}"),
        (of(tables=[["age", "sex", "plan"] * 3]), f"tables: found a list of 1; allowed: {TABLES}"),
        (of(tables=[["age", "sex"], ["plan"], ["race"]]),
         "tables.2: found 'race'; allowed: attributes that are declared: age, sex, plan"),
        (of(tables=[["age", "sex", "age"], ["plan"]]),
         "tables.0: found 'age' more than once; allowed: an attribute at most once a table"),
        (of(tables=[["age", "sex"], ["plan"], ["sex", "age"]]),
         "tables.2: found the attributes of table 0; allowed: no table twice, in whatever order"),
        (of(tables=[["age", "sex"]]),
         "attributes.plan: found an attribute that no table names; allowed: those of tables alone"),
        (with_(sex=[str(n) for n in range(500)]),
         "tables.0: found 500 x 10 = 5000 cells; allowed: at most 4096, as a release carries"),
        (of(tables=[["sex", "age"], ["sex", "plan"]], attributes=TABLE["attributes"] | MANY),
         "tables: found 5200 cells in all tables; allowed: at most 4096, as a release carries"),
        (with_(sex=["f" * 200, "m"], age=["x" * 60, "y"]),
         "tables.0: found the name of a cell with 271 characters; allowed: at most 256"),
        (of(attributes=None), f"attributes: found nothing; allowed: a table of 1 to 64 attributes, each {FORMS}"),
        (of(attributes=["age"]),
         f"attributes: found a list of 1; allowed: a table of 1 to 64 attributes, each {FORMS}"),
        (with_(**{"a=b": ["x", "y"]}),
         "attributes.a=b: found the name 'a=b'; allowed: a text of 1 to 64 printable characters without \"=\""),
        (with_(**{"a | b": ["x", "y"]}), f"attributes.a | b: found the name 'a | b'; allowed: {NO_BAR}"),
        (with_(sex=["f | x", "m"]), f"attributes.sex: found 'f | x'; allowed: {NO_BAR}"),
        (with_(sex={"values": ["f |", "m"]}), f"attributes.sex.values: found 'f |'; allowed: {NO_BAR}"),
        (with_(sex=["f", "f"]), "attributes.sex: found 'f' more than once; allowed: each value once"),
        (with_(sex=["f"]), "attributes.sex: found 1 value; allowed: 2 or more, other included"),
        (with_(sex=[]), "attributes.sex: found a list of 0; allowed: a list of 1 to 4096, each a text of 1 to 256 "
                        "printable characters"),
        (with_(sex=["f", 2]), "attributes.sex.1: found 2; allowed: a text of 1 to 256 printable characters"),
        (with_(sex={"values": ["f", "other"], "other": True}),
         "attributes.sex.values: found 'other'; allowed: other words: other = true adds this one"),
        (with_(sex={"values": ["f", "m"], "other": "yes"}),
         "attributes.sex.other: found 'yes'; allowed: true or false"),
        (with_(sex={"values": ["f", "m"], "cells": 2}),
         "attributes.sex.cells: found an unknown key; allowed: values, other"),
        (with_(sex={}), f"attributes.sex: found a table; allowed: {FORMS}"),
        (with_(sex=7), f"attributes.sex: found 7; allowed: {FORMS}"),
        (with_(age={"whole": [0, 99], "cells": 7}),
         "attributes.age.cells: found 7; allowed: a divisor of 100, how many whole numbers there are from 0 to 99"),
        (with_(age={"whole": [0, 9999]}),
         "attributes.age.cells: found nothing; allowed: a whole number from 2 to 4096 that divides 10000, how many "
         "there are"),
        (with_(age={"whole": [0, 9.5], "cells": 2}),
         "attributes.age.whole: found 9.5; allowed: a whole number from -1000000000 to 1000000000"),
        (with_(age={"whole": [9, 0]}),
         "attributes.age.whole: found [9, 0]; allowed: two whole numbers, the lower one first"),
        (with_(age={"whole": 9}),
         "attributes.age.whole: found 9; allowed: two whole numbers, the lower one first, such as [0, 99]"),
        (with_(age={"whole": [0, 99], "cells": 1}),
         "attributes.age.cells: found 1; allowed: a whole number from 2 to 4096"),
        (with_(age={"range": [5, 5], "cells": 4}),
         "attributes.age.range: found [5, 5]; allowed: two numbers, the lower one first, such as [0, 120]"),
        (with_(age={"range": [0, 5]}),
         "attributes.age.cells: found nothing; allowed: a whole number from 2 to 4096"),
        (with_(age={"whole": [0, 99], "range": [0, 5]}),
         "attributes.age.range: found an unknown key; allowed: whole, cells"),
        (of(mechanism="hm"),
         "mechanism: found 'hm'; allowed: auto, blh, grr, hr, olh, oue, she, subset, sue, the"),
        (of(post="norm"), "post: found an unknown key"),
        (of(initial="x"), "initial: found an unknown key"),
        (of(thresholds={"age=0-9": 0.5}), "thresholds: found 'age=0-9'; allowed: statistics of the stream: "
                                          "sex=f | age=0-9, sex=f | age=10-19"),
        (of(thresholds={"plan=pro": 1.5}), "thresholds.plan=pro: found 1.5; allowed: between 0 and 1"),
    ],
)  # fmt: skip
def test_a_mistake_in_it_is_one_line_with_what_is_allowed(changes: dict[str, Any], line: str) -> None:
    if changes["streams__screen"].get("tables", 1) is None or changes["streams__screen"].get("attributes", 1) is None:
        changes = {"streams__screen": {k: v for k, v in changes["streams__screen"].items() if v is not None}}
    (found,) = lines(**changes)
    assert found.startswith(f"t: streams.screen.{line}")


def test_a_mechanism_whose_reports_of_a_large_table_are_too_long_is_refused() -> None:
    wide: dict[str, Any] = {"tables": [["n"]], "attributes": {"n": {"whole": [1, 4096]}}}
    (found,) = lines(**of(**wide, mechanism="she"))
    assert found.startswith("t: streams.screen.mechanism: found 'she'; allowed: auto, ")
    assert "she" not in found.partition("allowed")[2]
    assert lines(**of(**wide, mechanism="oue")) == []


def test_everything_declared_is_in_the_digest_of_the_stream() -> None:
    def digest(**changes: Any) -> str:
        return planned(**of(**changes)).stream("screen").config

    attributes = TABLE["attributes"]
    others: list[dict[str, Any]] = [
        {"tables": [["age", "sex"], ["plan"]]},
        {"tables": [["plan"], ["sex", "age"]]},
        {"attributes": {"sex": ["f", "m"], "age": AGE, "plan": attributes["plan"]}},
        {"attributes": attributes | {"sex": ["m", "f"]}},
        {"attributes": attributes | {"plan": ["free", "pro"]}},
        {"attributes": attributes | {"age": {"whole": [0, 99], "cells": 20}}},
        {"attributes": attributes | {"age": {"whole": [1, 100], "cells": 10}}},
        {"attributes": attributes | {"age": {"range": [0, 99], "cells": 10}}},
        {"mechanism": "oue"},
    ]
    assert len({digest(), *(digest(**other) for other in others)}) == len(others) + 1
    assert digest() == digest() == digest(attributes=attributes | {"sex": {"values": ["f", "m"]}})
