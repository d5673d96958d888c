# SPDX-License-Identifier: Apache-2.0
"""Sessions: users who tell what changes through a horizon, node by node, for one epsilon in all.

`Ones`             values as vectors of zeros and ones (ones.py)
`Protocol`         what the users of a level do: secret counters, and a report at each node (protocol.py)
`Horizon`          a cohort's levels, slots, protocols and bills (horizon.py)
`Node`             the question of one round: what the users of a level have changed since it began (node.py)
`Sessions`         the users of a partition: secret counters, and values read, horizon by horizon (sessions.py)
"""

from murmurate.randomizers.sessions.horizon import Horizon
from murmurate.randomizers.sessions.ones import Category, Count, Holding, Ones, ones
from murmurate.randomizers.sessions.protocol import NodeSupports, Protocol

__all__ = ["Category", "Count", "Holding", "Horizon", "NodeSupports", "Ones", "Protocol", "ones"]
