# SPDX-License-Identifier: Apache-2.0
"""Live statistics from Kafka streams that are private by construction.

`murmurate.randomizers`  what a device needs: keyed randomness, exact mechanisms, the ledger, the Device
`murmurate.topics`       what is on the wire, as data: topic names, messages, blocks, events
`murmurate.aggregators`  what a server does with estimates: methods, the filter, distributions, post-processing
`murmurate.config`       the deployment file: its schema, its checks, what it promises in words
`murmurate.agents`       everything that runs: stages, replay, the Kafka runtime, page, metrics, the command line

Beside them stands `query(releases, question)`: it answers a question about a stretch of time from releases alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from murmurate.agents.queries import query as query

__version__: str


def __getattr__(name: str) -> Any:
    """What takes time to load, when it is first asked for: who needs a device alone waits for nothing else."""
    if name == "__version__":  # the module that finds it takes half the time of this import
        return import_module("importlib.metadata").version("murmurate")
    if name != "query":
        raise AttributeError(f"module 'murmurate' has no attribute {name!r}")
    return import_module("murmurate.agents.queries").query
