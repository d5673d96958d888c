# SPDX-License-Identifier: Apache-2.0
"""Everything that runs: replays, workers on Kafka, the page, the command line. Most have it by `import murmurate`.

Replays    Replay runs a Source (`open_source`) through every stage with ZoneKeys (`zone_keys` of secrets): an Outcome,
           with TruePeriod and Score
Kafka      Client (of `access`) makes every connection; FollowedReleases reads releases
Page       Feed takes frames, `serve` shows them, RunningServer stops; `report_html` is the page in one file
Questions  `query` over releases, `index_of` for several
Vectors    WholeVectors: what each round says of every item
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from murmurate.agents.embedded.runtime import Keys as ZoneKeys
    from murmurate.agents.kafka.client import Client
    from murmurate.agents.kafka.client.access import access
    from murmurate.agents.kafka.followed import FollowedReleases
    from murmurate.agents.queries import index_of, query
    from murmurate.agents.replay.known_keys import known_secrets
    from murmurate.agents.replay.run import Outcome, Replay
    from murmurate.agents.replay.run import keys as zone_keys
    from murmurate.agents.replay.score import Score, StreamScore
    from murmurate.agents.replay.source import Source, SourceError
    from murmurate.agents.replay.sources import open_source
    from murmurate.agents.replay.true_period import TruePeriod
    from murmurate.agents.web.feed import Feed
    from murmurate.agents.web.report import report_html
    from murmurate.agents.web.server import RunningServer, serve
    from murmurate.agents.whole_vectors import WholeVectors

__all__ = [
    "Client",
    "Feed",
    "FollowedReleases",
    "Outcome",
    "Replay",
    "RunningServer",
    "Score",
    "Source",
    "SourceError",
    "StreamScore",
    "TruePeriod",
    "WholeVectors",
    "ZoneKeys",
    "access",
    "index_of",
    "known_secrets",
    "open_source",
    "query",
    "report_html",
    "serve",
    "zone_keys",
]

_PLACES: Final = {
    "Client": "kafka.client",
    "Feed": "web.feed",
    "FollowedReleases": "kafka.followed",
    "Outcome": "replay.run",
    "Replay": "replay.run",
    "RunningServer": "web.server",
    "Score": "replay.score",
    "Source": "replay.source",
    "SourceError": "replay.source",
    "StreamScore": "replay.score",
    "TruePeriod": "replay.true_period",
    "WholeVectors": "whole_vectors",
    "ZoneKeys": "embedded.runtime:Keys",
    "access": "kafka.client.access",
    "index_of": "queries",
    "known_secrets": "replay.known_keys",
    "open_source": "replay.sources",
    "query": "queries",
    "report_html": "web.report",
    "serve": "web.server",
    "zone_keys": "replay.run:keys",
}
"""The module of each name, and behind a colon what it is called there."""


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for, so that nobody waits for what he does not use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, inner = _PLACES[name].partition(":")
    found = getattr(import_module(f"{__name__}.{module}"), inner or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
