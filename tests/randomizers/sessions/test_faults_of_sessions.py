# SPDX-License-Identifier: Apache-2.0
"""What is wrong with other ways to tell a horizon node by node: the audit of transcripts finds each of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.randomizers.ledger import Ledger, Verdict
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.thresholds import exp_floor
from tests.cases import every
from tests.randomizers.sessions.drawn_outright import (
    AsPrinted,
    BySmallTable,
    ByTable,
    DrawnOutright,
    WithoutClamp,
    hypergeometric,
)
from tests.randomizers.sessions.test_bills import steps_of_a_ledger
from tests.randomizers.sessions.transcripts import Laws, audit, courses


@every(("d", "nodes", "s", "m"), [(2, 2, 1, 2), (1, 3, 2, 3), (2, 1, 1, 1)])
def test_counters_drawn_outright_keep_epsilon_where_cells_are_not_rare(d: int, nodes: int, s: int, m: int) -> None:
    made = DrawnOutright(d, nodes, s, 1.0, m)
    found = audit(Laws(made), courses(d, nodes, s)).ratio
    assert found is not None
    assert found / made.realised - 1 < Fraction(1, 1 << 50)


@every("m", [2, 3])
def test_counters_as_printed_tell_what_another_course_cannot(m: int) -> None:
    made = AsPrinted(2, 2, 2, 1.0, m)
    assert audit(Laws(made), courses(2, 2, 2)).ratio is None


@every("kind", [ExSubOnline, DrawnOutright])
def test_counters_drawn_anew_in_the_middle_exceed_epsilon(kind: type[ExSubOnline]) -> None:
    made = kind(1, 3, 2, 1.0, 2)
    right, wrong = (audit(Laws(made, at), courses(1, 2, 2)) for at in (None, 1))
    assert right.ratio is not None
    assert not wrong.holds(made)


def test_changes_without_a_slot_tell_what_another_course_cannot() -> None:
    made = WithoutClamp(1, 3, 1, 1.0, 2)
    assert audit(Laws(made), courses(1, 3, 1)).ratio is not None
    assert audit(Laws(made), courses(1, 3, 2)).ratio is None


def test_a_table_of_a_node_loses_rare_numbers_under_one_course_only() -> None:
    made = BySmallTable(2, 2, 1, 1.0, 2)
    assert audit(Laws(made), courses(2, 2, 1)).ratio is None
    fine = ByTable(2, 2, 1, 1.0, 2)
    assert audit(Laws(fine), courses(2, 2, 1)).ratio is not None  # nothing is that rare among so few coordinates


def test_a_table_of_64_bits_has_no_word_for_what_a_course_with_a_change_could_tell() -> None:
    """A node of 16 of 144 coordinates tells 15 of the 15 symbols there are, all but one coordinate: if that is the only
    one with a change there are 15 others in the node instead of 16, and no counters leave more symbols for them.
    """
    rare = [hypergeometric(15, 144, free, 15) * (1 << 64) for free in (16, 15)]
    assert rare[1] < 1 <= rare[0]
    made = ByTable(16, 9, 1, 1.0, 15)
    chances = [made.table(15, 144, free)[15] for free in (16, 15)]
    assert chances[1] == 0 < chances[0]


def told_twice(made: ExSubOnline, changes: tuple[int, ...]) -> dict[tuple[bytes, bytes], Fraction]:
    """The law of two answers about the first node, both from the counters at the beginning, with words of their own."""
    law: dict[tuple[bytes, bytes], Fraction] = {}
    for counters, chance in made.law_begin().items():
        told = made.law_tell(counters, changes).items()
        for ((one, _), first), ((other, _), second) in product(told, told):
            law[one, other] = law.get((one, other), Fraction(0)) + chance * first * second
    return law


@every("m", [1, 2])
def test_a_node_told_twice_from_the_same_secrets_exceeds_epsilon(m: int) -> None:
    """So it is where a server that repeats a node is answered again, or a user is forgotten within a horizon and
    enrolled anew: the ledger refuses the one, and a session takes in nobody after its first period.
    """
    made = ExSubOnline(2, 1, 1, 1.0, m)
    laws = [told_twice(made, changes) for changes in ((1, 0), (-1, 0), (0, 1), (0, 0))]
    worst = max(one[pair] / other[pair] for one, other in product(laws, laws) for pair in one)
    assert worst > exp_floor(made.epsilon_micro)


def test_a_ledger_that_lets_a_node_be_answered_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ledger.verdicts

    def verdicts(self: Ledger, t: int, *charge: Any) -> NDArray[np.uint8]:
        told = real(self, t, *charge)
        told[told == Verdict.CLOSED] = Verdict.CONTINUED
        return told

    monkeypatch.setattr(Ledger, "verdicts", verdicts)
    with pytest.raises(AssertionError):
        sum(steps_of_a_ledger(seed, 100) for seed in range(5))
