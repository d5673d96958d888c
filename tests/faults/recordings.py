# SPDX-License-Identifier: Apache-2.0
"""Made-up recordings for tests on a broker: users, times and values by a seed, a little out of order."""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from pathlib import Path

import orjson

START_MS = 1_790_000_000_000
VALUES = ("home", "search", "basket", "help")


def deployment(*, periods: int = 10, method: str = "lpa", partitions: int = 4, more: str = "") -> str:
    """The text of a deployment for these recordings, without name, brokers and secrets."""
    stream = f"""
[streams.screen]
measure = "frequency"
values = {list(VALUES)}
every = "1s"
method = "{method}"
{more}
"""
    return promise(epsilon=1.0, periods=periods, min_batch=20, partitions=partitions) + stream


def promise(*, epsilon: float, periods: int, min_batch: int, partitions: int) -> str:
    """The same without its streams."""
    return f"""
[privacy]
epsilon = {epsilon}
window = {{ periods = {periods} }}
min_batch = {min_batch}

[population]
partitions = {partitions}
forget_after = "1h"

[time]
clock = "feed"
lateness = "500ms"
patience = "60s"
"""


def recording(
    path: Path, *, users: int, periods: int, each: float = 1.0, seed: int = 1, silent: Container[int] = ()
) -> Path:
    """JSON lines: in each second about `each` events a user, up to 300 ms out of order, a few of them twice; in silent
    ones none.
    """
    draw = random.Random(seed)
    with path.open("wb") as file:
        for t in range(periods):
            if t in silent:
                continue
            start = START_MS + 1000 * t
            count = round(users * each)
            favourite = VALUES[t // 7 % len(VALUES)]
            moments = sorted((draw.randrange(1000), draw.randrange(users)) for _ in range(count))
            lines = []
            for at, user in moments:
                value = favourite if draw.random() < 0.5 else draw.choice(VALUES)
                event = {"stream": "screen", "user": f"user-{user}", "time": start + at, "value": value}
                lines.append((at + draw.randrange(300), orjson.dumps(event) + b"\n"))
                if draw.random() < 0.02:
                    lines.append((at + draw.randrange(300), lines[-1][1]))
            file.writelines(line for _, line in sorted(lines, key=lambda one: one[0]))
    return path


def two_streams(path: Path, *, events: int, users: int, seconds: int, seed: int = 1, values: Sequence[str]) -> Path:
    """JSON lines, up to 300 ms out of order: events of `screen`, one of these values, and of `fare`, up to 120."""
    draw = random.Random(seed)
    each = 1000 * seconds / events
    with path.open("wb") as file:
        late: list[tuple[float, bytes]] = []
        for i in range(events):
            at, user = i * each, draw.randrange(users)
            stream = "fare" if draw.random() < 0.3 else "screen"
            value = draw.randrange(121) if stream == "fare" else draw.choice(values[: 4 + i * 40 // events])
            event = {"stream": stream, "user": f"user-{user}", "time": START_MS + int(at), "value": value}
            late.append((at + draw.randrange(300), orjson.dumps(event) + b"\n"))
            if i % 1000 == 0:
                late.sort(key=lambda one: one[0])
                file.writelines(line for when, line in late if when <= at)
                late = [one for one in late if one[0] > at]
        file.writelines(line for _, line in sorted(late, key=lambda one: one[0]))
    return path
