# SPDX-License-Identifier: Apache-2.0
"""What tests of whole runs share: snapshots that come often."""

from __future__ import annotations

import pytest

from murmurate.agents.embedded import task as task_module


@pytest.fixture
def frequent_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task takes one after 10 000 bytes, so that a short run has several."""
    monkeypatch.setattr(task_module, "SNAPSHOT_BYTES", 10_000)
