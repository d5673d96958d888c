# SPDX-License-Identifier: Apache-2.0
"""What perturb keeps in every transaction: the frozen facts under which budget was spent, as bytes and back; and how a
state is refused that was written under others.

Not here: which facts those are (randomizers/terms.py, perturb.py, curate.py), its snapshot (perturb.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from murmurate.agents.stages.errors import WAY_ON
from murmurate.randomizers import FrozenFactsError
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.randomizers.terms import Facts, changed

FORM: Final = StateForm("perturb", 1)
CENTRAL: Final = "central."
"""How facts about central streams begin: their config digests."""
SOURCE: Final = "source."
"""How facts about the first partitions of source topics begin."""


def frozen(facts: Facts) -> bytes:
    """The facts as perturb's small state."""
    return dump(FORM, dict(facts), {})


def facts_of(small: bytes) -> Facts:
    """The facts in perturb's small state."""
    facts: Facts = load(FORM, small)[0]
    return facts


def closing_facts(lateness_ms: int, sources: Mapping[str, int]) -> Facts:
    """What decides when periods close. sources: how many partitions each source topic had at first."""
    return {"lateness_ms": lateness_ms, **{f"{SOURCE}{topic}": n for topic, n in sorted(sources.items())}}


def first_sources(held: Facts, sources: Mapping[str, int]) -> dict[str, int]:
    """The first partitions of these source topics as a state has them: it knows better than any topic of today."""
    return {topic: int(held.get(f"{SOURCE}{topic}", n)) for topic, n in sources.items()}


def refuse_others(stage: str, held: Facts, wanted: Facts, since: str) -> None:
    """FrozenFactsError if a state was written under other facts than the wanted ones: one line, with the way on. since:
    why there is no other.
    """
    differences = [line.replace(CENTRAL, "config of stream ", 1) for line in changed(held, wanted)]
    if differences:
        raise FrozenFactsError(f"{stage}: frozen facts differ: {'; '.join(differences)}; {WAY_ON}, since {since}")
