# SPDX-License-Identifier: Apache-2.0
"""Live statistics from Kafka streams that are private by construction.

    import murmurate as mm

    result = mm.replay("events.csv", "shop/murmurate.toml")     a recording through every stage; shows itself
    result.score, result.truth, result.to_pandas()              how good it was, and the long table
    async for release in mm.subscribe("http://127.0.0.1:8000", "screen"):
        print(release.start, release.estimate)                  or "kafka://localhost:9092/shop", or "run/"
    mm.query(result, "mean of screen.home over all")            an answer over a stretch of time
    mm.table("run/").to_polars()                                long tables of whatever has releases

`murmurate.randomizers`  what a device needs: keyed randomness, exact mechanisms, the ledger, the Device
`murmurate.topics`       what is on the wire, as data: topic names, messages, blocks, events
`murmurate.aggregators`  what a server does with estimates: methods, the filter, distributions, post-processing
`murmurate.config`       the deployment file: its schema, its checks, what it promises in words
`murmurate.agents`       everything that runs: stages, replay, the Kafka runtime, page, metrics, the command line

Nothing of it is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from murmurate.errors import MurmurateError, UsageError

if TYPE_CHECKING:
    from murmurate import agents, aggregators, config, randomizers, topics
    from murmurate.agents.library.given import load_plan
    from murmurate.agents.library.replayed import ReplayResult, replay
    from murmurate.agents.library.subscription import Subscription, subscribe
    from murmurate.agents.library.tables import ReleaseTable, table
    from murmurate.agents.queries import index_of, query
    from murmurate.topics.release import Release

    __version__: str

__all__ = [
    "MurmurateError",
    "Release",
    "ReleaseTable",
    "ReplayResult",
    "Subscription",
    "UsageError",
    "__version__",
    "agents",
    "aggregators",
    "config",
    "index_of",
    "load_plan",
    "query",
    "randomizers",
    "replay",
    "subscribe",
    "table",
    "topics",
]

_FOLDERS: Final = frozenset({"agents", "aggregators", "config", "randomizers", "topics"})
_PLACES: Final = {
    "Release": "murmurate.topics.release",
    "ReleaseTable": "murmurate.agents.library.tables",
    "ReplayResult": "murmurate.agents.library.replayed",
    "Subscription": "murmurate.agents.library.subscription",
    "index_of": "murmurate.agents.queries",
    "load_plan": "murmurate.agents.library.given",
    "query": "murmurate.agents.queries",
    "replay": "murmurate.agents.library.replayed",
    "subscribe": "murmurate.agents.library.subscription",
    "table": "murmurate.agents.library.tables",
}
"""Where each name is defined."""


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for: who needs a device alone waits for nothing else."""
    found: Any
    if name in _FOLDERS:
        return import_module(f"murmurate.{name}")
    if name == "__version__":
        found = import_module("importlib.metadata").version("murmurate")
    elif name in _PLACES:
        found = getattr(import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module 'murmurate' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
