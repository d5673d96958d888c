# SPDX-License-Identifier: Apache-2.0
"""What is frequent when nobody knows the list: searches for strings, items and itemsets in the estimates of reports.

Strings     `PrefixPlan` and `walk` over any PrefixLevel: prefix extension (PEM)
Scores      `f1` and `ncr` of a found list beside the true one

No reports, streams or clocks here: each function is one of estimates, and gives the same for the same estimates.
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
