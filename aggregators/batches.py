# SPDX-License-Identifier: Apache-2.0
"""How large a round must be expected to be, so that chance hardly ever leaves it below `min_batch`.

Contract: users fall into slots by chance, so the reports of a round have the standard deviation of a sample; SIGMAS of
them are kept above what a release needs, in which a round fails once in millions.  Not here: how many users there are.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

SIGMAS: Final = 5
"""A unit is expected this many standard deviations above min_batch, so hardly ever too small (ARCHITECTURE rule 8)."""


def worth_asking(min_batch: int) -> int:
    """The smallest expected size of a round that stays below min_batch once in millions: n - 5 sqrt(n) >= min_batch. It
    asks a small part of the users, whose number is unknown.

    >>> worth_asking(1000)
    1172
    """
    return math.ceil(((SIGMAS + math.sqrt(SIGMAS**2 + 4 * min_batch)) / 2) ** 2)


def users_needed(part: Fraction, min_batch: int) -> int:
    """The number of users of whom a round must ask this part: the least n with n part - 5 sqrt(n part (1 - part)) >=
    min_batch.

    >>> users_needed(Fraction(1, 122), 1000), users_needed(Fraction(1), 1000)
    (142783, 1000)
    """
    spread = SIGMAS * math.sqrt(1 - part)
    root = (spread + math.sqrt(spread * spread + 4 * min_batch)) / 2
    return math.ceil(Fraction(root * root) / part) if spread else math.ceil(min_batch / part)
