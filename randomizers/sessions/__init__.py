"""Sessions: users who tell what changes through a horizon, node by node, for one epsilon in all.

`Ones`             values as vectors of zeros and ones (ones.py)
`Protocol`         what the users of a level do: secret counters, and a report at each node (protocol.py)
`Horizon`          a cohort's levels, slots, protocols and bills (horizon.py)
"""

from murmurate.randomizers.sessions.horizon import Horizon
from murmurate.randomizers.sessions.ones import Category, Count, Holding, Ones, ones
from murmurate.randomizers.sessions.protocol import NodeSupports, Protocol

__all__ = ["Category", "Count", "Holding", "Horizon", "NodeSupports", "Ones", "Protocol", "ones"]
