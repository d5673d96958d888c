"""The protocols of a level by their names, and how a name and parameters become one.

Contract: `protocol(p.name, p.d, p.nodes, epsilon, p.parameters())` is p again.  Any name and parameters give a protocol
or a ParameterError of one line.  Not here: how many users tell a level (aggregators/trees).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.thresholds import Epsilon

PROTOCOLS: dict[str, Callable[..., Protocol]] = {"exsub_online": ExSubOnline}
"""What builds each protocol."""
_MEASURES = ("d", "nodes", "epsilon")


def protocol(name: str, d: int, nodes: int, epsilon: Epsilon, parameters: Mapping[str, Any]) -> Protocol:
    """The protocol of this name, of d coordinates and so many nodes.

    >>> protocol("exsub_online", 12, 16, 1.0, {"s": 8})
    ExSubOnline(12, 16, epsilon=1.0, s=8, m=13, tau=0)
    """
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise ParameterError(f"protocol: found {shown(name)}; allowed: {', '.join(sorted(PROTOCOLS))}")
    make = PROTOCOLS[name]
    known = [key for key in signature(make).parameters if key not in _MEASURES]
    if not isinstance(parameters, Mapping) or "s" not in parameters or not set(parameters) <= set(known):
        found = ", ".join(map(str, parameters)) if isinstance(parameters, Mapping) else parameters
        raise ParameterError(
            f"{name}: parameters: found {shown(found)}; allowed: {', '.join(known)}, of which s is needed"
        )
    return make(d=d, nodes=nodes, epsilon=epsilon, **parameters)
