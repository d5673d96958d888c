# SPDX-License-Identifier: Apache-2.0
"""The protocols of a level by their names, and how a name and parameters become one.

Contract: `protocol(p.name, p.d, p.nodes, epsilon, p.parameters())` is p again.  Any name and parameters give a protocol
or a ParameterError of one line.  Not here: how many users tell a level (aggregators/trees).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.sessions.sign_streams import DDRMOnline, EFMRTTOnline, FutureRandOnline
from murmurate.randomizers.thresholds import Epsilon

PROTOCOLS: dict[str, Callable[..., Protocol]] = {
    kind.name: kind for kind in (ExSubOnline, DDRMOnline, EFMRTTOnline, FutureRandOnline)
}
"""What builds each protocol."""
LITERATURE: dict[str, Callable[..., Protocol]] = {
    "topl_online": partial(DDRMOnline, k=None),
    "future_rand_printed": FutureRandOnline.printed,
}
"""Names for what is one of `PROTOCOLS` with certain parameters, and says so itself: ToPL of -1, 0 and +1 is DDRM with
k = s; FutureRand as printed has an inner epsilon of its own.
"""
_MEASURES = ("d", "nodes", "epsilon")


def protocol(name: str, d: int, nodes: int, epsilon: Epsilon, parameters: Mapping[str, Any]) -> Protocol:
    """The protocol of this name, of d coordinates and so many nodes.

    >>> protocol("exsub_online", 12, 16, 1.0, {"s": 8})
    ExSubOnline(12, 16, epsilon=1.0, s=8, m=13, tau=0)
    """
    makers = PROTOCOLS | LITERATURE
    if not isinstance(name, str) or name not in makers:
        raise ParameterError(f"protocol: found {shown(name)}; allowed: {', '.join(sorted(makers))}")
    make = makers[name]
    fixed = make.keywords if isinstance(make, partial) else {}
    known = [key for key in signature(make).parameters if key not in (*_MEASURES, *fixed)]
    if not isinstance(parameters, Mapping) or "s" not in parameters or not set(parameters) <= set(known):
        found = ", ".join(map(str, parameters)) if isinstance(parameters, Mapping) else parameters
        raise ParameterError(
            f"{name}: parameters: found {shown(found)}; allowed: {', '.join(known)}, of which s is needed"
        )
    return make(d=d, nodes=nodes, epsilon=epsilon, **parameters)
