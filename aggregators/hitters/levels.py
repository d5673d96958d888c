# SPDX-License-Identifier: Apache-2.0
"""How many bits of a string each group of users tells, how many prefixes that lets a server ask for, and how few groups
a budget of questions allows.

Contract: whole numbers only, from public parameters; the last group always tells all m bits.  The fewer groups, the
more users are in each and the better is what is found, so the smallest number within the budget is the choice.
Source: Wang 2021, sections 4.2 and 4.3, with (4.3) read as hash evaluations and the threshold as a survival function
divided by n (ARCHITECTURE errata C4, C6 and C7).  Not here: what is estimated (search.py).
"""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist
from typing import Final

from murmurate.randomizers.errors import ParameterError, shown

MOST_BITS: Final = 256
MOST_FOUND: Final = 1 << 16
"""The largest k."""
QUERIES: Final = 1 << 15
"""The usual budget of questions, all groups together: a core answers them for a million reports in seconds."""


def levels(m: int, k: int, groups: int) -> tuple[int, ...]:
    """The lengths of prefixes in bits (s_0, s_1, ..., s_g): s_0 needs no group, since k strings that long exist anyway.

    >>> levels(64, 16, 6), levels(48, 32, 6)
    ((4, 14, 24, 34, 44, 54, 64), (5, 13, 20, 27, 34, 41, 48))
    """
    start = _start(m, k)
    most = max(1, m - start)
    if isinstance(groups, bool) or not isinstance(groups, int) or not 1 <= groups <= most:
        raise ParameterError(f"levels: groups: found {shown(groups)}; allowed: a whole number from 1 to {most}")
    return tuple(start - (-i * (m - start) // groups) for i in range(groups + 1))


def domain_sizes(steps: tuple[int, ...], k: int) -> tuple[int, ...]:
    """How many prefixes each group is asked about: all of s_1 bits, then k times all extensions to the next length.

    >>> domain_sizes(levels(10, 3, 4), 3)
    (16, 12, 12, 12)
    """
    further = (k << here - before for before, here in pairwise(steps[1:]))
    return (1 << steps[1], *further)


def smallest_groups(m: int, k: int, queries: int = QUERIES) -> int:
    """The smallest number of groups whose questions are no more than this, all groups together.

    >>> smallest_groups(48, 32), smallest_groups(64, 16, queries=1 << 20)
    (6, 5)
    """
    most = max(1, m - _start(m, k))
    asked = (sum(domain_sizes(levels(m, k, groups), k)) for groups in range(1, most + 1))
    fewest = 0
    for groups, found in enumerate(asked, 1):
        if found <= queries:
            return groups
        fewest = min(fewest or found, found)
    raise ParameterError(f"levels: queries: found {shown(queries)} for m = {m} and k = {k}; allowed: {fewest} or more")


def sensitivity(deviation: float, candidates: int, n: int, expected: float = 1.0) -> float:
    """The share (psi) above which so many of the candidates that nobody holds are expected, by chance alone.

    deviation: the standard error of a share times the square root of n.  Below two expected in four candidates there
    is no such share, and it is 0.

    >>> round(sensitivity(1.9190, 1 << 32, 10_000), 4)
    0.1196
    """
    part = expected / candidates
    if not (part > 0 and n >= 1 and deviation >= 0):
        raise ParameterError(
            f"sensitivity: found deviation {shown(deviation)}, {shown(candidates)} candidates, n = {shown(n)}, "
            f"expected {shown(expected)}; allowed: a deviation of 0 or more, and the others above 0"
        )
    return -NormalDist().inv_cdf(part) * deviation / n**0.5 if part < 0.5 else 0.0


def _start(m: int, k: int) -> int:
    """s_0: the bits that k different strings need, and no more than there are."""
    for name, found, most in (("m", m, MOST_BITS), ("k", k, MOST_FOUND)):
        if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= most:
            raise ParameterError(f"levels: {name}: found {shown(found)}; allowed: a whole number from 1 to {most}")
    return min((k - 1).bit_length(), m)
