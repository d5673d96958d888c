# SPDX-License-Identifier: Apache-2.0
"""What reports of Square Wave say of a distribution, and how surely: the likelihood, weighed against how smooth
distributions of each kind are, and a standard error that holds what smoothing takes away.

Contract: of counts of outputs alone, without chance.  The logarithm of a cell's frequency is a sum of cosines whose
sizes are normal; how fast they shrink (`KINDS`: neighbours alike, much alike, alike but for some, or each by itself)
and how large they are (`SIZES`) is weighed by the marginal likelihood: how likely each report was, given those before
it, before it was seen.  So nothing that reports could not exclude is left out of the error: cells that they cannot tell
apart may differ as much as those do that they can.  The error is right on average over a distribution, not in each
cell (Nychka 1988).  Where cells speak each by itself EM without smoothing may be nearer: a part of the reports, held
out, decides between the two (`_nearer`).  What no report can show is a pattern finer than the wave and regular, such as
whole numbers in cells of a third: errors are too small there.
Source: Laplace's method; Nychka 1988 for coverage on average.  Not here: EM and EMS (distribution.py), the channel
(distribution_waves.py).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import Buckets, BucketsAndNone
from murmurate.randomizers import ParameterError

Floats = NDArray[np.float64]

KINDS = ((2, 0.0), (4, 0.0), (2, 0.05), (0, 0.0))
"""The kinds of prior: by which power of their frequency squared cosines shrink, and which part of their sum does not
shrink.
"""
SIZES = tuple(4.0**k for k in range(-4, 5))
"""The sizes of prior: the variance of a cell's logarithm."""
WEIGHED, USED = 48, 128
"""How many cosines weigh kinds and sizes, and in how many the distribution is looked for. Finer ones are not seen
through a wave: what they may hold is in the error.
"""
SPIKY, LARGE = (2, 3), 4.0
"""The kinds whose distributions may have spikes, and the size from which they do: one cell may be e^2 times another."""
LEAN = 0.125
"""How much less likely small sizes are beforehand, as a power: nearly flat distributions would else win by their
number wherever reports are too few to tell.
"""
BEGIN, STEPS = 30, 4
"""How many steps of EM come first, and how many of Newton's follow."""
MOST = 2.0
"""The largest variance of a logarithm that counts: with it an error is two and a half times the frequency."""
FREE = 100.0
"""The variance of a logarithm of which nothing is known: that of the sum of all cells, and that of *none*."""
NEAR = 4.0
"""A frequency fewer standard errors above 0 than this is not known to be more than 0."""
REACHES = 1.9
"""How many errors lie between a small cell's frequency and 0: a little fewer than two, which rounding must not undo."""
HELD_OUT = 0.25
"""The part of the reports that decides between EM and this posterior."""


@dataclass(frozen=True, eq=False, slots=True)
class Posterior:
    """What was found."""

    frequencies: Floats
    """The share of each cell: not negative, summing to 1."""
    variance: Floats
    """The variance of each cell's error in `frequencies`."""
    plain: bool
    """Whether the frequencies are EM's own."""


@dataclass(frozen=True, eq=False, slots=True)
class _Quadratic:
    """The log-likelihood around a distribution, in sizes of cosines: b'a - a'Ga/2."""

    at: Floats
    """The logarithms that the quadratic is around, of the cells' mean frequency."""
    gram: Floats
    slope: Floats


@dataclass(frozen=True, slots=True)
class _Guess:
    """One kind and size, with its weight."""

    weight: float
    kind: int
    size: float


def posterior(channel: Buckets | BucketsAndNone, counts: NDArray[Any], *, sampled: float = 1.0) -> Posterior:
    """The distribution behind these counts of outputs, of as many reports as they sum to.

    sampled: how much of the sampling of users is an error: 1 where those who report are few of many, 0 where they are
    all there are.
    """
    cnt = np.asarray(counts, np.float64)
    if cnt.shape != (channel.outputs,) or not np.isfinite(cnt).all() or cnt.min() < 0 or not cnt.sum() > 0:
        raise ParameterError(
            f"counts: found float64{list(cnt.shape)}; allowed: [{channel.outputs}], 0 or more, not all 0"
        )
    theta, variance, guesses = _fitted(channel, cnt, None)
    # The reports are the users' own: their sampling is no error, as far as the estimate follows the reports at all.
    known = np.clip(1 - variance / sum(guess.weight * guess.size for guess in guesses), 0, 1)
    variance -= (1 - sampled) * known**2 * np.minimum((1 - theta) / (theta * cnt.sum()), variance / 2)
    variance = np.minimum(variance, MOST)
    spread = theta**2 * np.expm1(variance)
    spiky = sum(guess.weight for guess in guesses if guess.kind in SPIKY and guess.size >= LARGE)
    if spiky > 0.5 and (other := _nearer(channel, cnt, guesses)) is not None:
        return Posterior(other, _down_to_none(other, spread + (other - theta) ** 2), plain=True)
    return Posterior(theta, _down_to_none(theta, spread), plain=False)


def _down_to_none(frequencies: Floats, variance: Floats) -> Floats:
    """The variance, but where two errors of a small cell nearly reach none so large that they do: a logarithm is never
    that of none, and so few reports do not exclude it.
    """
    near = (frequencies < 1 / (4 * len(frequencies))) & (frequencies**2 < NEAR**2 * variance)
    return np.where(near, np.maximum(variance, (frequencies / REACHES) ** 2), variance)


def _nearer(channel: Buckets | BucketsAndNone, counts: Floats, guesses: list[_Guess]) -> Floats | None:
    """EM's distribution, where that of three quarters of the reports makes the fourth one likelier than this one."""
    error = np.sqrt(counts * HELD_OUT * (1 - HELD_OUT)) * _normal(counts)
    kept = np.maximum((1 - HELD_OUT) * counts + error, 0)
    smooth, plain = _fitted(channel, kept, guesses)[0], em(channel, kept).frequencies
    gain = (counts - kept) @ np.log(channel.forward(plain) / channel.forward(smooth))
    return em(channel, counts).frequencies if gain > 0 else None


def _fitted(
    channel: Buckets | BucketsAndNone, counts: Floats, guesses: list[_Guess] | None
) -> tuple[Floats, Floats, list[_Guess]]:
    """1. Some steps of EM. 2. Newton's, each by what kinds and sizes are likely there. 3. The mixture of those, and the
    variance of logarithms. guesses: those to use, where they are not to be found.
    """
    cells = channel.cells
    theta = np.full(channel.inputs, 1 / channel.inputs)
    for _ in range(BEGIN):
        theta *= channel.backward(counts / channel.forward(theta))
        theta /= theta.sum()
    theta = np.maximum(theta, 1e-6 / channel.inputs)
    waves = _cosines(cells, channel.inputs)
    for step in range(1, STEPS + 1):
        around = _quadratic(channel, counts, theta, waves)
        use = guesses or _weighed(around, cells, channel.inputs, least=0.02 if step == STEPS else 0.3)
        parts = [_conditional(around, waves, guess, cells, with_variance=step == STEPS) for guess in use]
        weights = np.array([guess.weight for guess in use])
        means, spreads = np.array([found for found, _ in parts]), np.array([spread for _, spread in parts])
        mean = weights @ means
        theta = theta * np.exp(np.clip(mean - around.at, -2, 2))
        theta /= theta.sum()
        if step == STEPS:
            return theta, np.asarray(weights @ (spreads + (means - mean) ** 2)), use
    raise AssertionError("there is a last step")


def _quadratic(channel: Buckets | BucketsAndNone, counts: Floats, theta: Floats, waves: Floats) -> _Quadratic:
    seen = channel.forward(theta)
    moved = channel.forward(theta[:, None] * waves)
    n = float(counts.sum())
    weighted = moved * (n / seen)[:, None]
    at = np.log(theta * len(theta))
    slope = moved.T @ (counts / seen - n) + weighted.T @ channel.forward(theta * at)
    return _Quadratic(at, np.asarray(moved.T @ weighted), np.asarray(slope))


def _weighed(around: _Quadratic, cells: int, inputs: int, *, least: float) -> list[_Guess]:
    """Kinds and sizes by the marginal likelihood, without those below this part of the likeliest."""
    used = min(len(around.slope), WEIGHED)
    gram, slope = around.gram[:used, :used], around.slope[:used]
    tried = []
    for kind in range(len(KINDS)):
        for size in SIZES:
            root = np.sqrt(_prior(kind, size, cells, inputs)[:used])
            lower, z = _whitened(gram, slope, root)
            likely = float(z @ z / 2 - np.log(np.diag(lower)).sum()) + LEAN * log(min(size, 1.0))
            tried.append((likely, kind, size))
    most = max(tried)[0]
    weights = {(kind, size): float(np.exp(likely - most)) for likely, kind, size in tried if likely - most > log(least)}
    total = sum(weights.values())
    return [_Guess(weight / total, kind, size) for (kind, size), weight in weights.items()]


def _conditional(
    around: _Quadratic, waves: Floats, guess: _Guess, cells: int, *, with_variance: bool
) -> tuple[Floats, Floats]:
    """The mean of the logarithms under one guess, and their variances, those of the finest cosines among them."""
    used = waves.shape[1]
    inputs = len(waves)
    whole = _prior(guess.kind, guess.size, cells, inputs)
    root = np.sqrt(whole[:used])
    lower, z = _whitened(around.gram, around.slope, root)
    mean = waves @ (root * np.linalg.solve(lower.T, z))
    if not with_variance:
        return np.asarray(mean), np.zeros(inputs)
    variance = (np.linalg.solve(lower, (waves * root).T) ** 2).sum(axis=0)
    variance[:cells] += whole[used:].sum() / cells
    return np.asarray(mean), np.asarray(variance)


def _whitened(gram: Floats, slope: Floats, root: Floats) -> tuple[Floats, Floats]:
    """L of I + R G R = L L', and L^-1 R b."""
    whole = root[:, None] * gram * root
    whole[np.diag_indices(len(whole))] += 1
    lower = np.linalg.cholesky(whole)
    return np.asarray(lower, np.float64), np.asarray(np.linalg.solve(lower, root * slope), np.float64)


@lru_cache(maxsize=8)
def _cosines(cells: int, inputs: int) -> Floats:
    """The cells by cosines of length 1, slow ones first; before them none's own coordinate where there is one:
    float64[inputs, cosines].
    """
    least = inputs - cells
    used = min(cells, USED)
    out = np.zeros((inputs, least + used))
    out[cells:, :least] = 1
    out[:cells, least:] = np.cos(np.pi * np.outer((np.arange(cells) + 0.5) / cells, np.arange(used)))
    out[:cells, least:] *= np.sqrt(2 / cells)
    out[:cells, least] /= np.sqrt(2)
    out.flags.writeable = False
    return out


@lru_cache(maxsize=len(KINDS) * len(SIZES) * 4)
def _prior(kind: int, size: float, cells: int, inputs: int) -> Floats:
    """The variance of each coordinate, all cosines there are: float64[inputs]."""
    power, even = KINDS[kind]
    shrinking = np.arange(1, cells, dtype=np.float64) ** -power
    shrinking = (1 - even) * shrinking / shrinking.sum() + even / (cells - 1)
    out = np.concatenate((np.full(inputs - cells, FREE), [FREE * cells], size * cells * shrinking))
    out.flags.writeable = False
    return out


def _normal(counts: Floats) -> Floats:
    """Normal numbers that anyone can draw again: from the SHA-256 of the counts, by Box and Muller."""
    seed = hashlib.sha256(b"murmurate/held out/1\n" + np.ascontiguousarray(counts, "<f8").tobytes()).digest()
    words = np.frombuffer(hashlib.shake_256(seed).digest(16 * len(counts)), "<u8").astype(np.float64).reshape(2, -1)
    one, other = (words + 0.5) / 2.0**64
    return np.asarray(np.sqrt(-2 * np.log(np.minimum(one, 1 - 1e-16))) * np.cos(2 * np.pi * other))
