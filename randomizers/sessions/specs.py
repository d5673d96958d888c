# SPDX-License-Identifier: Apache-2.0
"""From specs to horizons and nodes: what a round or a state says of a session becomes the session's objects again.

Contract: any spec gives the object, whose own spec is the same, or a ParameterError of one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import orjson

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.horizon import Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.ones import ones
from murmurate.randomizers.sessions.protocols import protocol
from murmurate.randomizers.spec_fields import fields, listed
from murmurate.randomizers.thresholds import MICRO

_TREE = ("periods", "fanout", "every", "cut")
_USERS = ("cohort", "cohorts", "of", "slots")
_TOLD = ("ones", "changes", "epsilon_micro", "levels")


def horizon_of(spec: Mapping[str, Any]) -> Horizon:
    """The horizon of a spec: the same object for the newest ones that were asked for."""
    try:
        return _horizon(orjson.dumps(spec, default=dict, option=orjson.OPT_SORT_KEYS))
    except TypeError:
        raise ParameterError(f"horizon: found {shown(spec)}; allowed: words, whole numbers, lists and tables") from None


@lru_cache(maxsize=64)
def _horizon(described: bytes) -> Horizon:
    found = fields("horizon", orjson.loads(described), *_TREE, *_USERS, *_TOLD)
    if found["every"] not in (0, 1) or isinstance(found["every"], (bool, float)):
        raise ParameterError(f"horizon: every: found {shown(found['every'])}; allowed: 0 or 1")
    micro = found["epsilon_micro"]
    if isinstance(micro, bool) or not isinstance(micro, int):
        raise ParameterError(f"horizon: epsilon_micro: found {shown(micro)}; allowed: a whole number of micro-nats")
    tree = ResidueTree(found["periods"], found["fanout"], bool(found["every"]), found["cut"])
    levels = listed("horizon: levels", found["levels"])
    if len(levels) != tree.levels:
        raise ParameterError(f"horizon: levels: found {len(levels)}; allowed: {tree.levels} of these periods")
    told = ones(found["ones"])
    protocols = tuple(
        protocol(found["name"], told.d, len(tree.nodes(level)), Fraction(micro, MICRO), parameters)
        for level, parameters in enumerate(levels)
    )
    slots = tuple(listed("horizon: slots", found["slots"]))
    return Horizon(tree, found["cohort"], found["cohorts"], found["of"], slots, told, found["changes"], protocols)


def node_of(spec: Mapping[str, Any]) -> Node:
    """The node of a spec."""
    found = fields("node", spec, "horizon", "level", "node")
    return Node(horizon_of(found["horizon"]), found["level"], found["node"])
