"""What perturb keeps in every transaction: the frozen facts under which budget was spent, as bytes and back.

Not here: which facts those are (randomizers/terms.py, perturb.py), its snapshot (perturb.py).
"""

from __future__ import annotations

from typing import Final

from murmurate.randomizers.state import StateForm, dump, load
from murmurate.randomizers.terms import Facts

FORM: Final = StateForm("perturb", 1)


def frozen(facts: Facts) -> bytes:
    """The facts as perturb's small state."""
    return dump(FORM, dict(facts), {})


def facts_of(small: bytes) -> Facts:
    """The facts in perturb's small state."""
    facts: Facts = load(FORM, small)[0]
    return facts
