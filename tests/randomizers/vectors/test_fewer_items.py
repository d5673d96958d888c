# SPDX-License-Identifier: Apache-2.0
"""Where a user may hold more items than there are, every mechanism for vectors is the one of all items."""

from __future__ import annotations

import pytest

from murmurate.randomizers import question
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.registry import VECTORS
from murmurate.randomizers.vectors import SparseOracle, VectorQuestion
from tests.cases import every
from tests.randomizers.vectors.laws import all_held, check_exactly, numbers, one_and_many_agree

AVERAGED = {"collision": {"pool": 2}, "coco": {"pool": 2}, "succinct": {"pool": 2}}
"""Of these supports are averages over random hash functions, which two of them are not."""


@every("name", sorted(VECTORS))
@every("kind", ["items", "signed"])
def test_epsilon_holds_and_supports_are_as_said(kind: str, name: str) -> None:
    if kind == "signed" and not VECTORS[name].signs_are_drawn:
        return
    made = question({"name": name, "layout": [kind, 2, 3, 1], "epsilon": 1, **AVERAGED.get(name, {})})
    assert isinstance(made, VectorQuestion)
    if isinstance(made, SparseOracle) and name not in AVERAGED:
        check_exactly(made)
    values = [made.value(held) for held in all_held(made)] + numbers(made)
    audit = audit_exact(made, round=bytes(32), values=values)
    assert audit.holds, audit.violations


@every("name", sorted(VECTORS))
@every("kind", ["items", "signed"])
def test_it_is_as_accurate_as_with_as_many_as_there_are_and_one_user_answers_like_many(kind: str, name: str) -> None:
    if kind == "signed" and not VECTORS[name].signs_are_drawn:
        return
    few, more = (question({"name": name, "layout": [kind, 3, most, 1], "epsilon": 1}) for most in (3, 5))
    assert isinstance(few, VectorQuestion)
    assert isinstance(more, VectorQuestion)
    assert few.digest != more.digest
    assert few.variance(100, 0.3) == pytest.approx(more.variance(100, 0.3))
    one_and_many_agree(more, [more.value(held) for held in all_held(more)] + numbers(more))
