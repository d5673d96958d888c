# SPDX-License-Identifier: Apache-2.0
"""A node of ExSub online for many users at once: byte for byte and counter for counter what one user gets.

Contract: that of `ExSubOnline.tell_one`, in columns.  How many slots and others are left at a coordinate depends on
the changes alone, so that all words are turned into places among them at once.  What is told takes one from the
symbols that are left, so that only places below the first of these numbers are looked at one after the other, for all
users together.  Not here: what the counters mean (exsub_online.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.lanes import Words
from murmurate.randomizers.packing import bit_bytes, pack_bits
from murmurate.randomizers.question import Reports
from murmurate.randomizers.sessions.ones import Changes
from murmurate.randomizers.sessions.protocol import Counters
from murmurate.randomizers.vectors.cells import scaled

Rows = NDArray[np.intp]
_LANE = 1 << 15  # words at a time: with few rows calls take longest, with many the pages of fresh arrays do
_MANY = 8  # where one coordinate in so many may be told, it is quicker to look at all, one column after the other


def tell_many(counters: Counters, changes: Changes, words: Words) -> Reports:
    """Bits for +1 and then for -1 at each coordinate, uint8[n, 2 bytes]; the counters are moved in place."""
    n, d = changes.shape
    bits = np.empty((n, 2 * bit_bytes(d)), np.uint8)
    step = max(1, _LANE // d)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        _tell(counters[rows], changes[rows], words[rows], bits[rows])
    return bits


def _tell(counters: Counters, changes: Changes, words: Words, bits: Reports) -> None:
    """Write the bits of one lane.

    1. Which changes have a slot, and with how many others a coordinate without one is drawn.
    2. Places of coordinates without a slot, and which of them are told.
    3. Their signs by coins.
    4. Changes.
    """
    d, size = changes.shape[1], bits.shape[1] // 2
    number = counters.dtype.type
    agreeing, opposite, elsewhere, slots, others = counters.T
    left = others.astype(np.uint64)[:, np.newaxis] - np.arange(d, dtype=np.uint64)
    changed = np.flatnonzero(changes.reshape(-1)) // d
    changed = changed[_first_of(changed)]
    changed = changed[slots[changed] > 0]
    some = changes[changed] != 0
    rank = np.cumsum(some, axis=1, dtype=np.int32)
    some &= rank <= slots[changed, np.newaxis]
    used = np.cumsum(some, axis=1, dtype=np.uint64)
    left[changed] += used - some
    others -= number(d)
    others[changed] += used[:, -1].astype(number)

    place = scaled(words[:, :d], left)
    told = place < elsewhere[:, np.newaxis]
    told[changed] &= ~some
    _take(told, place, elsewhere)

    chosen = pack_bits(told)
    coins = np.ascontiguousarray(words[:, d:], "<u8").view(np.uint8)[:, :size]
    np.bitwise_and(chosen, coins, out=bits[:, :size])
    np.bitwise_xor(chosen, bits[:, :size], out=bits[:, size:])

    row, column = np.nonzero(some)
    user = changed[row]
    slot = slots[user] - (rank[row, column] - 1).astype(number)
    slots[changed] -= used[:, -1].astype(number)
    at = scaled(words[user, column], slot.astype(np.uint64))
    minus = changes[user, column] < 0
    for each in in_turn(user, 0):
        who, near = user[each], at[each]
        own = near < agreeing[who]
        other = ~own & (near < agreeing[who] + opposite[who])
        agreeing[who] -= own
        opposite[who] -= other
        hit = own | other
        where, sign = column[each][hit], minus[each][hit] ^ other[hit]
        bits[who[hit], (where >> 3) + size * sign] |= (1 << (where & 7)).astype(np.uint8)


def _take(told: NDArray[np.bool_], place: Words, elsewhere: NDArray[np.unsignedinteger[Any]]) -> None:
    """Take one symbol for each coordinate whose place is below the number of those left, in order, and leave out of
    `told`, which are those below the first such number, all others.
    """
    d = told.shape[1]
    at = np.flatnonzero(told)
    if _MANY * len(at) > told.size:
        for column in range(d):
            hits = told[:, column]
            hits &= place[:, column] < elsewhere
            elsewhere -= hits
        return
    user, near = at // d, place.reshape(-1)[at]
    elsewhere[user[_first_of(user)]] -= elsewhere.dtype.type(1)
    for each in in_turn(user, 1):
        who = user[each]
        hit = near[each] < elsewhere[who]
        elsewhere[who] -= hit
        told.reshape(-1)[at[each[~hit]]] = False


def _first_of(user: Rows) -> NDArray[np.bool_]:
    """Which places of a list ordered by users are the first of their user."""
    first = np.ones(len(user), np.bool_)
    np.not_equal(user[1:], user[:-1], out=first[1:])
    return first


def in_turn(user: Rows, first: int) -> Iterator[Rows]:
    """The places of each user's entry number `first` in a list ordered by users, then of each one's next, and so on."""
    starts = np.flatnonzero(_first_of(user))
    ends = np.append(starts[1:], len(user))
    at = starts + first
    while True:
        there = at < ends
        at, ends = at[there], ends[there]
        if not len(at):
            return
        yield at
        at = at + 1
