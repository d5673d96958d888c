# SPDX-License-Identifier: Apache-2.0
"""The kinds of measures by name, for code that has only the name in a release.

Contract: another kind is added by registering its table in a deployment file (config/measures/registry.py).  Not here:
what a kind is (measure.py).
"""

from __future__ import annotations

from typing import Final

from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.measures.marginals import Marginals
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.strings import Prefixes
from murmurate.aggregators.measures.total import Total
from murmurate.aggregators.measures.vector import ItemNumbers

KINDS: Final[dict[str, type[Measure]]] = {
    kind.name: kind for kind in (Frequency, Mean, Total, Distribution, ItemShares, Marginals, Prefixes, ItemNumbers)
}
"""The kinds of measures by name."""
