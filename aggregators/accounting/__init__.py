"""What shuffling is worth: bounds of one round and of several, and what may be claimed for a concrete question."""

from murmurate.aggregators.accounting.added_ones import appended
from murmurate.aggregators.accounting.attack import shown_at_least
from murmurate.aggregators.accounting.blanket import delta as blanket_delta
from murmurate.aggregators.accounting.blanket import epsilon as blanket_epsilon
from murmurate.aggregators.accounting.claim import MixedClaim, honest, mixed_claim, window_claim
from murmurate.aggregators.accounting.clones import clones_blanket, clones_delta, clones_epsilon
from murmurate.aggregators.accounting.compose import MixedRound, composed_epsilon
from murmurate.aggregators.accounting.errors import AccountingError, NotCertifiedError
from murmurate.aggregators.accounting.literature import FORMS, LiteratureForm
from murmurate.aggregators.accounting.pairs import Pair, pair_delta, pair_epsilon
from murmurate.aggregators.accounting.search import CertifiedDelta
from murmurate.aggregators.accounting.solh import HashChoice, solh_buckets

__all__ = [
    "FORMS",
    "AccountingError",
    "CertifiedDelta",
    "HashChoice",
    "LiteratureForm",
    "MixedClaim",
    "MixedRound",
    "NotCertifiedError",
    "Pair",
    "appended",
    "blanket_delta",
    "blanket_epsilon",
    "clones_blanket",
    "clones_delta",
    "clones_epsilon",
    "composed_epsilon",
    "honest",
    "mixed_claim",
    "pair_delta",
    "pair_epsilon",
    "shown_at_least",
    "solh_buckets",
    "window_claim",
]
