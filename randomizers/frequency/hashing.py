# SPDX-License-Identifier: Apache-2.0
"""A family of hash functions, one for each 64-bit seed: (seed, value) to a cell from 0 to g - 1.

Contract: family 1, the same cells on every machine and Python, for ever; another family gets another number and other
mechanisms' names, because a server reads a report only with the family of its device.  With arithmetic modulo 2^64

    key  = finish(seed + G)                finish(z): z ^= z >> 30; z *= A; z ^= z >> 27; z *= B; z ^= z >> 31
    z    = key + value G                   the sequence of SplitMix64 that begins at key, without its last shift:
    z   ^= z >> 30; z *= A; z ^= z >> 27; z *= B
    cell = floor(z g / 2^64)

Over all seeds z is uniform for every value (each step is a bijection), so a cell has 1/g up to 2^-64; that two values
share a cell for 1/g of the seeds, and that seeds 0, 1, 2 ... are as good as any, is what the tests measure.  Source:
Steele, Lea, Flood 2014 (SplitMix64), its constants by Stafford.  Not a secret: seeds are public, nothing here protects.

A round's pool of S functions is that of S seeds in a row, first to first + S - 1 modulo 2^64, and `first_seed` says
where it begins: two rounds share a seed with a chance below 2 S / 2^64.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown

FAMILY = 1
MAX_CELLS = 1 << 32

_STEP, _A, _B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_LANE = 1 << 13  # seeds at a time, and
_BLOCK = 1 << 15  # pairs: two buffers of 8 bytes a pair stay in a core's second-level cache

Words = NDArray[np.uint64]
Integers = NDArray[np.integer[Any]]


def hash_pairs(seeds: Words, values: Integers, g: int) -> Words:
    """The cells of seeds[i] and values[i]: uint64[n]. A single value is hashed with every seed."""
    steps = np.asarray(values, np.uint64).reshape(-1) * np.uint64(_STEP)
    mixed, scratch = np.empty(len(seeds), np.uint64), np.empty(len(seeds), np.uint64)
    _mix(_keys(seeds, mixed, scratch), steps, mixed, scratch)
    return _cells(mixed, _checked(g), scratch)


def hash_rows(seeds: Words, values: Integers, g: int, dtype: type[np.unsignedinteger[Any]] = np.uint64) -> Any:
    """The cells of seeds[i] and values[:, i], for values of [rows, n]: dtype[rows, n]."""
    cells = np.empty(values.shape, dtype)
    keys, steps, mixed, scratch = (np.empty(len(seeds), np.uint64) for _ in range(4))
    _keys(seeds, keys, scratch)
    for row, found in zip(values, cells, strict=True):
        np.multiply(row, np.uint64(_STEP), out=steps, casting="unsafe")
        _mix(keys, steps, mixed, scratch)
        found[...] = _cells(mixed, _checked(g), scratch)
    return cells


def hash_one(seed: int, value: int, g: int) -> int:
    """The cell of one pair in plain Python.

    >>> [hash_one(7, value, 4) for value in range(8)]
    [1, 2, 2, 2, 2, 1, 0, 3]
    """
    z = (seed + _STEP) & _MASK
    z = (z ^ z >> 30) * _A & _MASK
    z = (z ^ z >> 27) * _B & _MASK
    z = ((z ^ z >> 31) + value * _STEP) & _MASK
    z = (z ^ z >> 30) * _A & _MASK
    z = (z ^ z >> 27) * _B & _MASK
    return z * _checked(g) >> 64


def first_seed(round: bytes) -> int:
    """Seed number 0 of a round's pool: the first 8 bytes, little-endian, of the SHA-256 of b"murmurate/pool/1", a line
    feed, and the round's digest.

    >>> first_seed(bytes(32))
    177684396111183828
    """
    return int.from_bytes(hashlib.sha256(b"murmurate/pool/1\n" + round).digest()[:8], "little")


def count_matches(seeds: Words, cells: Words, values: Integers, g: int) -> NDArray[np.int64]:
    """For each value, the number of pairs (seeds[i], cells[i]) in which the seed's hash of the value is the cell:
    int64[values].

    All n * values pairs are hashed, in blocks.  A cell is a stretch of z, so that no pair needs the multiplication.
    """
    counts = np.zeros(len(values), np.int64)
    least = _least(cells, _checked(g))
    width = _least(cells + np.uint64(1), g) - least
    found = np.empty(_BLOCK, np.bool_)
    for rows, columns, z, _ in _blocks(seeds, values):
        z -= least[rows]
        inside = np.less(z, width[rows], out=found[: z.size].reshape(z.shape))
        counts[columns] += [np.count_nonzero(row) for row in inside]
    return counts


def sum_table(table: NDArray[np.int64], seeds: Words, values: Integers, g: int) -> NDArray[np.int64]:
    """For each value, the sum over seeds of the entries of the table (int64[seeds * g], from 0) at its cell:
    int64[values]. Entries are looked up in half the memory where no sum of them can exceed 31 bits.
    """
    sums = np.zeros(len(values), np.int64)
    first = np.arange(len(seeds), dtype=np.uint64) * np.uint64(_checked(g))
    width = np.int32 if len(table) and float(table.max()) * len(seeds) < 1 << 31 else np.int64
    entries: NDArray[np.int32 | np.int64] = table.astype(width, copy=False)
    for rows, columns, z, scratch in _blocks(seeds, values):
        index = _cells(z, g, scratch)
        index += first[rows]
        taken = scratch.reshape(-1).view(width)[: z.size].reshape(z.shape)
        np.take(entries, index.view(np.int64), out=taken, mode="clip")  # clip: without it `out` is copied
        sums[columns] += taken.sum(axis=1, dtype=width)
    return sums


def _blocks(seeds: Words, values: Integers) -> Iterator[tuple[slice, slice, Words, Words]]:
    """Yield (rows, columns, z, scratch) over all pairs: z is uint64[columns, rows], the next block overwrites it."""
    steps = np.asarray(values, np.uint64) * np.uint64(_STEP)
    keys = _keys(seeds, np.empty(len(seeds), np.uint64), np.empty(len(seeds), np.uint64))
    lane = min(_LANE, max(1, len(seeds)))
    high = _BLOCK // lane
    one, two = np.empty(lane * high, np.uint64), np.empty(lane * high, np.uint64)
    for start in range(0, len(seeds), lane):
        part = keys[start : start + lane]
        for top in range(0, len(steps), high):
            column = steps[top : top + high, None]
            shape = len(column), len(part)
            z, scratch = (buffer[: shape[0] * shape[1]].reshape(shape) for buffer in (one, two))
            _mix(part, column, z, scratch)
            yield slice(start, start + len(part)), slice(top, top + len(column)), z, scratch


def _keys(seeds: Words, out: Words, scratch: Words) -> Words:
    """The start of each seed's sequence."""
    _mix(seeds, np.array([_STEP], np.uint64), out, scratch)
    np.right_shift(out, 31, out=scratch)
    return np.bitwise_xor(out, scratch, out=out)


def _mix(keys: Words, steps: Words, out: Words, scratch: Words) -> None:
    np.add(keys, steps, out=out)
    np.right_shift(out, 30, out=scratch)
    np.bitwise_xor(out, scratch, out=out)
    np.multiply(out, _A, out=out)
    np.right_shift(out, 27, out=scratch)
    np.bitwise_xor(out, scratch, out=out)
    np.multiply(out, _B, out=out)


def _cells(z: Words, g: int, scratch: Words) -> Words:
    """The cells floor(z g / 2^64), in place: from two halves of z, or for a power of two by one shift."""
    if g == 1:
        z[...] = 0
        return z
    if g & (g - 1) == 0:
        z >>= 65 - g.bit_length()
        return z
    np.bitwise_and(z, 0xFFFFFFFF, out=scratch)
    scratch *= g
    scratch >>= 32
    z >>= 32
    z *= g
    z += scratch
    z >>= 32
    return z


def cells_of(words: Words, cells: int) -> Words:
    """Uniform words as cells below `cells`, floor(word * cells / 2^64): uint64[n]."""
    return _cells(words.astype(np.uint64), _checked(cells) if cells > 1 else 1, np.empty(len(words), np.uint64))


def cells_of_one(word: int, cells: int) -> int:
    """What `cells_of` gives for one word."""
    return word * cells >> 64


def _least(cells: Words, g: int) -> Words:
    """The least z of each cell, ceil(cell 2^64 / g), modulo 2^64: cell g, past the last one, begins at 0."""
    whole, rest = divmod(1 << 64, g)
    least = cells * np.uint64(rest)
    least += g - 1
    least //= np.uint64(g)
    least += cells * np.uint64(whole)
    return least


def _checked(g: int) -> int:
    if isinstance(g, bool) or not isinstance(g, int) or not 2 <= g <= MAX_CELLS:
        raise ParameterError(f"hash: g: found {shown(g)}; allowed: a whole number from 2 to {MAX_CELLS}")
    return g
