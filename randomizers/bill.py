# SPDX-License-Identifier: Apache-2.0
"""The price of an answer, as devices book it: a device computes it from the question, and a server never says it."""

from __future__ import annotations

from typing import NamedTuple


class Bill(NamedTuple):
    """The price of an answer: the ledger books it for all periods from first to last."""

    first: int
    last: int
    digest: bytes | None
    """An identity such that rounds of one bill are charged once; None: each round is charged by itself."""
    epsilon_micro: int
