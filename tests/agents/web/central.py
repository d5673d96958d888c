# SPDX-License-Identifier: Apache-2.0
"""The frames of a replay of the example with central streams: a revenue with a hold-out, and orders by values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Frame, Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.config import samples
from murmurate.config.loader import load
from murmurate.config.planning import plan


def till(folder: Path, environ: Mapping[str, str] | None = None) -> list[Frame]:
    """All frames, without the progress."""
    file, events = folder / "murmurate.toml", folder / "events.jsonl"
    file.write_text(samples.example("central"), encoding="utf-8")
    of = plan(load(file, dict(environ or {})))
    events.write_bytes(b"".join(samples.events(of)))
    frames: list[dict[str, Any]] = []
    Replay(of, open_source(str(events), of), keys(known_secrets(of.name), of.name), frames.append).run()
    return [frame for frame in frames if frame["type"] != "progress"]
