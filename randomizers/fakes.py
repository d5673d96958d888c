# SPDX-License-Identifier: Apache-2.0
"""Fake reports of a mixing zone: drawn uniformly from all reports there are, and how estimates take them out again.

Contract: `fake_reports` gives reports that `malformed` accepts.  Every one is equally likely, but for one fake in 2^105
or fewer; a report that names a hash function of a pool names it as often as users do.  Fakes hide users because they
do not depend on anybody; a server reads them like other reports, and `estimate_with_fakes` is unbiased for the users.
They are offered where every report is as likely for somebody as any other is (`takes_fakes`); among rows of many
independent bits a uniform one shows itself.  Source: Wang 2021, algorithm 5 and equation (9.5), as corrected in
ARCHITECTURE erratum C24.  Not here: what fakes are worth (aggregators/accounting/fakes.py), which key draws them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.frequency.grr import GRR
from murmurate.randomizers.frequency.hadamard import HadamardResponse
from murmurate.randomizers.frequency.hash_counts import OLHCounts
from murmurate.randomizers.frequency.local_hash import LocalHash
from murmurate.randomizers.frequency.subset import SubsetSelection
from murmurate.randomizers.frequency.subsets import sets_of
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.packing import bit_bytes, int_bytes, pack_ints
from murmurate.randomizers.question import Counts, Floats, Question, Reports

WORDS = 4
"""Words of 64 bits that one fake report takes: one for a hash function, three tries for the rest."""
MISSED = 2.0**-105
"""The most by which the law of one fake report differs from the uniform one, in total variation."""
_TRIES = WORDS - 1

TakesFakes = GRR | LocalHash | HadamardResponse | SubsetSelection


def takes_fakes(question: Question) -> bool:
    """Whether uniform fake reports can hide the users of this question."""
    return _equally_likely(question) or _numbered(question)


def checked_faked(question: Question) -> TakesFakes:
    """The mechanism, if uniform fake reports can hide its users; else a ParameterError that says why they cannot."""
    if _equally_likely(question):
        return question
    if isinstance(question, OLHCounts):
        raise ParameterError(f"fakes: found {question.name}, whose counts are not freed of fakes; allowed: olh")
    if isinstance(question, SubsetSelection):
        if _numbered(question):
            return question
        found = f"{question.d} values, whose subsets are too many to draw one by its number"
        raise ParameterError(f"fakes: {question.name}: found {found}; allowed: up to {question.numbered}")
    raise ParameterError(
        f"fakes: found {question.name}, among whose reports uniform ones show themselves; "
        "allowed: grr, olh, blh, hr, subset"
    )


def fake_reports(mechanism: Question, words: NDArray[np.uint64]) -> Reports:
    """A fake report for each row of words (uint64[n, WORDS]): uint8[n, wire_size].

    The first word names the hash function, as a user's does.  Each of the others is a try: word // (2^64 // outputs) is
    the number of the output, unless there is no such number; after three such words, word mod outputs.
    """
    of = checked_faked(mechanism)
    if not isinstance(words, np.ndarray) or words.dtype.kind != "u" or words.dtype.itemsize != 8:
        raise ParameterError(f"fakes: words: found {shown(words)}; allowed: uint64[n, {WORDS}]")
    if words.ndim != 2 or words.shape[1] != WORDS:
        raise ParameterError(f"fakes: words: found the shape {list(words.shape)}; allowed: uint64[n, {WORDS}]")
    if isinstance(of, LocalHash):
        return _hashed(of, words)
    numbers = _uniform(words[:, 1:], of.reports_possible)
    if isinstance(of, SubsetSelection):
        return pack_ints(sets_of(of.d, of.k)[numbers], bit_bytes(of.d))
    return pack_ints(numbers, of.wire_size)


def _hashed(of: LocalHash, words: NDArray[np.uint64]) -> Reports:
    seeds = words[:, 0]
    if of.pool:
        seeds = (seeds >> np.uint64(32)) * np.uint64(of.pool) >> np.uint64(32)
    width = int_bytes(of.g)
    cells = _uniform(words[:, 1:], of.g)
    return np.concatenate((pack_ints(seeds, of.wire_size - width), pack_ints(cells, width)), axis=1)


def _uniform(tries: NDArray[np.uint64], outputs: int) -> NDArray[np.uint64]:
    """Numbers below `outputs`, each from the first word that gives one: uint64[n]."""
    share = np.uint64((1 << 64) // outputs)
    numbers = tries[:, -1] % np.uint64(outputs)
    for k in reversed(range(_TRIES)):
        found = tries[:, k] // share
        numbers = np.where(found < np.uint64(outputs), found, numbers)
    return numbers


def fake_support(mechanism: Question) -> Fraction:
    """The probability that a fake report supports one certain value."""
    of = checked_faked(mechanism)
    if isinstance(of, LocalHash):
        return Fraction(1, of.g)
    if isinstance(of, SubsetSelection):
        return Fraction(of.k, of.d)
    return Fraction(1, of.d) if isinstance(of, GRR) else Fraction(1, 2)


def fake_telling(mechanism: Question) -> Fraction:
    """The probability that a fake report is evidence for the one extreme against the other (`Question.telling`); of
    local hashing on average over hash functions.
    """
    of = checked_faked(mechanism)
    share = fake_support(of)
    if isinstance(of, SubsetSelection):
        return share * Fraction(of.d - of.k, of.d - 1)
    return share if isinstance(of, GRR) else share * (1 - share)


def estimate_with_fakes(mechanism: PureOracle, support: Counts, n: int, fakes: int) -> Floats:
    """The unbiased frequencies among n users, from the support of their reports and of so many fakes together."""
    share = _checked(mechanism, n, fakes)
    counts = np.asarray(support)
    if counts.shape != (mechanism.d,) or counts.dtype.kind not in "iu":
        found = f"{counts.dtype}{list(counts.shape)}"
        raise ReportError(f"{mechanism.name}: support: found {found}; allowed: int64[{mechanism.d}]")
    if counts.min() < 0 or counts.max() > n + fakes:
        raise ReportError(f"{mechanism.name}: support: found counts that do not fit; allowed: from 0 to {n + fakes}")
    p, q = float(mechanism.p), float(mechanism.q)
    return np.asarray(((counts - fakes * float(share)) / n - q) / (p - q), np.float64)


def variance_with_fakes(mechanism: PureOracle, n: int, fakes: int, frequency: float | Floats) -> Floats:
    """The variance of `estimate_with_fakes`, exact in the frequency, n and the fakes: that of the users alone, and of a
    coin for each fake.
    """
    added = fakes_variance(mechanism, n, fakes)
    return np.asarray(mechanism.variance(n, frequency) + added, np.float64)


def fakes_variance(mechanism: PureOracle, n: int, fakes: int) -> float:
    """The part of the variance of a frequency among n users that is the fakes'."""
    share = _checked(mechanism, n, fakes)
    return float(fakes * share * (1 - share) / (n * (mechanism.p - mechanism.q)) ** 2)


def _checked(mechanism: PureOracle, n: int, fakes: int) -> Fraction:
    for what, found, least in (("n", n, 1), ("fakes", fakes, 0)):
        if isinstance(found, bool) or not isinstance(found, int) or found < least:
            raise ParameterError(
                f"{mechanism.name}: {what}: found {shown(found)}; allowed: a whole number from {least}"
            )
    return fake_support(mechanism)


def _equally_likely(question: Question) -> TypeGuard[GRR | LocalHash | HadamardResponse]:
    return isinstance(question, (GRR, LocalHash, HadamardResponse)) and not isinstance(question, OLHCounts)


def _numbered(question: Any) -> bool:
    return isinstance(question, SubsetSelection) and question.d <= question.numbered
