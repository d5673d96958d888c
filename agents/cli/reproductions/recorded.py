# SPDX-License-Identifier: Apache-2.0
"""Recordings as counts of users: what the papers' methods are run over beside the synthetic streams.

Contract: an array, integers [periods, users], is a category for each user and period, at most as many as a stream may
have; -1 is no event, and the value before it stands (before the first event, the first one).  With a deployment file
any other file is read as `murmurate replay` reads it, and the truth of its periods taken: a period's shares are those
of all users there are.  Without one it is a sequence of events, baskets or check-ins, or how a population lies
(agents/simulate/real_sequences.py): shares over time, held by as many users as are asked for.  What users held is in
these counts: they stay in this process, and what is drawn from them is no release.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError
from murmurate.agents.replay.sources import open_source
from murmurate.agents.replay.truth import true_periods
from murmurate.agents.simulate import real_sequences
from murmurate.agents.simulate.synthetic_counts import PERIODS, USERS, apportioned
from murmurate.config.loader import load
from murmurate.config.planning import plan
from murmurate.errors import UsageError
from murmurate.topics.release_parts import MAX_NAMES

Holders = NDArray[np.int64]
ALLOWED: Final = f"whole numbers from 0 to {MAX_NAMES - 1}, -1 for no event, [periods, users]"


@dataclass(frozen=True)
class RecordedFile:
    """A file, and the deployment that says how to read it."""

    path: Path
    config: Path | None = None
    users: int = USERS
    """The number of users of a sequence, which has none of its own."""
    periods: int = PERIODS
    """Into how many periods a sequence is cut."""

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.path.stem


@lru_cache(maxsize=8)
def recorded(recording: RecordedFile) -> Holders:
    """How many users hold each value: int64[periods, d]."""
    if recording.config is not None:
        return _read(recording.path, recording.config)
    if recording.path.suffix == ".npy" and not _is_row(recording.path):
        return _array(recording.path)
    d = real_sequences.form_of(recording.path).values_shown
    return real_sequences.holders(recording.path, 0, d=d, users=recording.users, periods=recording.periods)


def _is_row(path: Path) -> bool:
    """Whether it is an array of one dimension."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return False
    return isinstance(array, np.ndarray) and array.ndim == 1


def _array(path: Path) -> Holders:
    array = _loaded(path)
    low, high = int(array.min()), int(array.max())
    if low < -1 or not 0 <= high < MAX_NAMES:
        found = "no value" if low == high == -1 else low if low < -1 else high
        raise SourceError(f"{path.name}: found {found}; allowed: {ALLOWED}")
    d = max(2, high + 1)
    held = np.full(array.shape[1], -1, np.int64)
    for row in array:
        held = np.where(held < 0, row.astype(np.int64), held)
        if held.min() >= 0:
            break
    counts = []
    for row in array:
        held = np.where(row < 0, held, row.astype(np.int64))
        counts.append(np.bincount(held[held >= 0], minlength=d))
    return np.array(counts, np.int64)


def _loaded(path: Path) -> NDArray[Any]:
    """The file's integers [periods, users], at least one."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise SourceError(f"{path.name}: found no array; allowed: one saved by numpy.save") from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise SourceError(f"{path.name}: found several arrays; allowed: one saved by numpy.save")
    if array.dtype.kind not in "iu" or array.ndim != 2 or not array.size:
        raise SourceError(f"{path.name}: found {array.dtype}{list(array.shape)}; allowed: {ALLOWED}")
    return array


def _read(path: Path, config: Path) -> Holders:
    deployment = plan(load(config))
    if len(deployment.streams) != 1 or not deployment.streams[0].measure.all_shares:
        raise UsageError(f"--config: found {config.name!r}; allowed: one stream, of frequencies or a distribution")
    periods = list(true_periods(deployment, open_source(str(path), deployment)))
    users = max((period.users for period in periods), default=0)
    if not users:
        raise SourceError(f"{path.name}: found no period with a user; allowed: at least one")
    return apportioned(np.array([period.figures for period in periods if period.users]), users)
