# SPDX-License-Identifier: Apache-2.0
"""What shuffling is worth: bounds of one round and of several, and what may be claimed for a concrete question."""

from murmurate.aggregators.accounting.added_ones import appended
from murmurate.aggregators.accounting.attack import shown_at_least
from murmurate.aggregators.accounting.blanket import delta as blanket_delta
from murmurate.aggregators.accounting.blanket import epsilon as blanket_epsilon
from murmurate.aggregators.accounting.claim import MixedClaim, honest, mixed_claim, window_claim
from murmurate.aggregators.accounting.clones import clones_blanket, clones_delta, clones_epsilon
from murmurate.aggregators.accounting.compose import MixedRound, composed_epsilon
from murmurate.aggregators.accounting.errors import AccountingError, NotCertifiedError
from murmurate.aggregators.accounting.fakes import (
    FakesClaim,
    claim_against_users,
    claim_with_fakes,
    fakes_delta,
    fakes_epsilon,
)
from murmurate.aggregators.accounting.literature import FORMS, LiteratureForm
from murmurate.aggregators.accounting.pairs import Pair, pair_delta, pair_epsilon
from murmurate.aggregators.accounting.schedules import Absorbed, Often, SharedOut, WindowRounds
from murmurate.aggregators.accounting.search import CertifiedDelta
from murmurate.aggregators.accounting.solh import HashChoice, cells_below, solh_buckets
from murmurate.aggregators.accounting.target import Candidate, Chosen, MixedTarget, smallest_batch, under_target
from murmurate.aggregators.accounting.window_target import largest_epsilon
from murmurate.aggregators.accounting.worst import worst_window

__all__ = [
    "FORMS",
    "Absorbed",
    "AccountingError",
    "Candidate",
    "CertifiedDelta",
    "Chosen",
    "FakesClaim",
    "HashChoice",
    "LiteratureForm",
    "MixedClaim",
    "MixedRound",
    "MixedTarget",
    "NotCertifiedError",
    "Often",
    "Pair",
    "SharedOut",
    "WindowRounds",
    "appended",
    "blanket_delta",
    "blanket_epsilon",
    "cells_below",
    "claim_against_users",
    "claim_with_fakes",
    "clones_blanket",
    "clones_delta",
    "clones_epsilon",
    "composed_epsilon",
    "fakes_delta",
    "fakes_epsilon",
    "honest",
    "largest_epsilon",
    "mixed_claim",
    "pair_delta",
    "pair_epsilon",
    "shown_at_least",
    "smallest_batch",
    "solh_buckets",
    "under_target",
    "window_claim",
    "worst_window",
]
