# SPDX-License-Identifier: Apache-2.0
"""Deployments with a central target and recordings of just as many users as their smallest batch: for both runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.config.plan import Plan
from murmurate.config.planning import resolve
from murmurate.randomizers import OLH

START_MS = 1_794_992_400_000
EVERY_MS = 60_000


def text(*, d: int, users: int, limit: float) -> str:
    """A file without its name: everybody answers in every period, and only a round of all of them is released."""
    values = ", ".join(f'"{value}"' for value in range(d))
    return (
        f"schema = 1\n[privacy]\nepsilon = {limit}\nmixed = {{ epsilon = 0.5 }}\ndelta = 1e-9\nassumed_corrupt = 0.0\n"
        f"window = {{ periods = 1 }}\nmin_batch = {users}\n[population]\npartitions = 4\n"
        f'[time]\nclock = "feed"\nlateness = "500ms"\npatience = "60s"\n'
        f'[streams.page]\nmeasure = "frequency"\nvalues = [{values}]\nevery = "1m"\n'
        'method = { name = "lsp", filter = "off" }\nmissing = { carry = "always" }\n'
    )


def held(d: int, users: int, periods: int) -> NDArray[np.int64]:
    """What everybody holds in each period, a few values far more often than the rest."""
    shares = 1 / np.arange(1, d + 1)
    return np.random.default_rng(915).choice(d, (periods, users), p=shares / shares.sum())


def record(path: Path, values: NDArray[np.int64]) -> str:
    """The recording: one event of each user in each period."""
    with path.open("wb") as file:
        for t, period in enumerate(values.tolist()):
            at = START_MS + t * EVERY_MS
            file.writelines(
                b'{"stream":"page","user":"u%d","time":%d,"value":"%d"}\n' % (user, at + user % 1000, value)
                for user, value in enumerate(period)
            )
    return str(path)


def squared_errors(releases: Sequence[bytes], values: NDArray[np.int64], d: int) -> list[float]:
    """The mean squared error of what each release measured by itself."""
    found = []
    for line in releases:
        release = orjson.loads(line)
        period = (release["t"] * EVERY_MS - START_MS) // EVERY_MS
        if release["measured_t"] == release["t"]:
            said = np.array([release["unbiased"][str(value)] for value in range(d)])
            true = np.bincount(values[period], minlength=d) / values.shape[1]
            found.append(float(((said - true) ** 2).mean()))
    return found


def formula(plan: Plan, users: int, d: int) -> float:
    """The exact variance of a value that every d-th user holds, at the question that the target chose."""
    return float(resolve(plan, "page").variance(users, 1 / d).mean())


def local(users: int, d: int) -> float:
    """The variance of local hashing at a local epsilon of the target."""
    return float(OLH(d=d, epsilon=0.5).variance(users, 1 / d))
