# SPDX-License-Identifier: Apache-2.0
"""What is frequent when nobody knows the list: searches for strings, items and sets of items.

Contract: pure functions from estimates and variances to what is asked next and what was found; no stream, no clock, no
chance.  Not here: the methods of a stream that call them, phase by phase (aggregators/methods).

Strings     `PrefixPlan` and `walk` over any PrefixLevel (PEM); in files of their own TreeHist, SPM, HASH and PrivTrie
Items       set_search.py (SVIM), itemset_search.py (SVSM), ldp_miner.py
Scores      `f1` and `ncr` of a found list beside the true one
"""

from murmurate.aggregators.hitters.candidates import every_prefix, extended, texts
from murmurate.aggregators.hitters.levels import domain_sizes, sensitivity, smallest_groups
from murmurate.aggregators.hitters.pem import PrefixPlan
from murmurate.aggregators.hitters.scores import f1, ncr
from murmurate.aggregators.hitters.search import PrefixLevel, Walked, walk

__all__ = [
    "PrefixLevel", "PrefixPlan", "Walked", "domain_sizes", "every_prefix", "extended", "f1", "ncr",
    "sensitivity", "smallest_groups", "texts", "walk",
]  # fmt: skip
