"""Everything a device needs to answer a question privately, and what a server needs to read the answers.

    from murmurate.randomizers import OUE, Key

    oue = OUE(d=128, epsilon=1.0)               or mechanism({"name": "oue", "d": 128, "epsilon": 1.0})
    key = Key(secret, deployment="shop")
    draw = key.draw(users, round=digest)        users: uint8[n, 16] pseudonyms
    reports = oue.perturb(values, draw)         uint8[n, 16]: constant length, the same bytes for the same inputs
    support = oue.support(reports)              int64[128], additive over batches and machines
    oue.estimate(support, n=len(reports))       unbiased frequencies
    oue.variance(n=len(reports), frequency=.1)  exact

Mechanisms    GRR (few values), OUE (many values); `mechanism(spec)` builds any by name
Randomness    Key, Draw: a keyed PRF of round, user and value
Guarantee     thresholds in integers, `law` gives exact probabilities, `audit_exact` and `measure` check them
"""

from murmurate.randomizers.errors import (
    FrozenFactsError,
    ParameterError,
    RandomnessError,
    ReportError,
    SnapshotError,
    ValueRefusedError,
)
from murmurate.randomizers.frequency import GRR, OUE
from murmurate.randomizers.mechanism import Mechanism
from murmurate.randomizers.randomness import Draw, DrawOne, Key
from murmurate.randomizers.registry import MECHANISMS, mechanism

__all__ = [
    "GRR", "MECHANISMS", "OUE", "Draw", "DrawOne", "FrozenFactsError", "Key", "Mechanism", "ParameterError",
    "RandomnessError", "ReportError", "SnapshotError", "ValueRefusedError", "mechanism",
]  # fmt: skip
