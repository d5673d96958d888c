# SPDX-License-Identifier: Apache-2.0
"""PrivTrie: each period is asked which open prefix of a trie begins the string; those that pass grow.

Contract: a period's users are a batch of aggregators/hitters/priv_trie.py, and tell one open prefix with the whole
epsilon (`TrieLeaf`, whose round names what has grown: from answers to earlier rounds alone).  Evidence adds up over the
batches of a search; a whole string stays open, and is found when its mean exceeds the bar.  After `batches` periods,
ROUNDS for each step of a string, the next search begins anew, so that it finds what is new, with the prefixes grown of
what is followed, the largest first, as far as HALF of the room goes: these are measured in every period.
Source: Wang et al. 2018, as Wang 2021 has it in section 4.2.4; to begin anew is our own.  Not here: which prefixes pass
(hitters/priv_trie.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.aggregators.hitters import extended, sensitivity
from murmurate.aggregators.hitters.candidates import shortened
from murmurate.aggregators.hitters.priv_trie import MOST_OPEN, GrowingTrie, OpenPrefixes
from murmurate.aggregators.hitters.search import SIGNIFICANT
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.followed import Search, Words
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Request, Setting
from murmurate.aggregators.methods.pem import strings_of, usual_pool
from murmurate.randomizers import OLHCounts, Question, Viewed
from murmurate.randomizers.layouts import BitsLayout
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.trie_view import TrieLeaf

CHARACTER: Final = 8
"""By how many bits a prefix grows."""
ROUNDS: Final = 4
"""How many periods a search has for each step of a string."""
HALF: Final = MOST_OPEN // 2
"""How many prefixes may be open for what is followed alone."""


class PrivTrie(FindingMethod):
    """One stream's search for strings, by a trie that grows from period to period."""

    name = "priv_trie"
    simplicity = 23
    searches = FoundStrings

    def __init__(self, setting: Setting, *, users: str = "0") -> None:
        """users: how many are expected, "0" if nobody has said."""
        self.strings = strings_of(self.checked(setting))
        self._epsilon = Fraction(setting.epsilon_micro, MICRO)
        expected = int(users) / setting.w * len(self.strings.plan.bits)  # here all users of a period share one pool
        self._pool = self.strings.pool or usual_pool(self.strings, self._epsilon, expected)
        layout = self.strings.strings
        self.batches = ROUNDS * -(-layout.m // CHARACTER)
        """How many periods a search has."""
        self.trie = GrowingTrie.planted(layout, float(self._epsilon), self.batches, CHARACTER)
        self.batch = 0
        """How many periods the present search has had."""
        self._told: ToldLeaves | None = None
        super().__init__(setting, would_use=self._question(0), users=users)

    def _begin(self) -> Request | Decision:
        if self.batch >= self.batches:
            self.batch = 0
            values = self.followed.release().values
            self.trie = replace(self.trie, open=open_for(self.strings.strings, values, HALF))
        return super()._begin()

    def _question(self, phase: int) -> Question:
        view = TrieLeaf(self.strings.layout, grown_names(self.trie), CHARACTER)
        return Viewed(view, OLHCounts(d=view.d, epsilon=self._epsilon, pool=self._pool))

    def _heard(self, phase: int, question: Question, answer: Answer) -> None:
        self._told = told = ToldLeaves(
            question, answer, self.trie.asked.get(self.strings.domain.m, self.strings.nothing)
        )
        shares = {bits: told.estimate(rows) for bits, rows in self.trie.asked.items()}
        size = sum(len(rows) for rows in self.trie.asked.values()) * self.batches
        beyond = sensitivity(1.0, size, 1, SIGNIFICANT)
        further = (1 + told.skewness * (beyond**2 - 1) / (6 * beyond)) ** 2  # Cornish and Fisher's first term
        self._widened = further * float(np.median(np.concatenate([each for _, each in shares.values()]))) * told.n
        wide = {bits: (share, variance * further) for bits, (share, variance) in shares.items()}
        self.trie = self.trie.grown(wide, told.n)
        self.batch += 1

    def _searched(self) -> Search | None:
        told, self._told = self._told, None
        if told is None or not len(told.whole):
            return None
        # 1. What is known of whole strings that were asked about, and what it has to exceed.
        known = self.trie.open[self.strings.domain.m]
        known = known.those(known.reports > 0)
        mean, bars = known.told / known.reports, self.trie.bound(self._widened) / np.sqrt(known.reports)
        threshold, bars = float(bars.min()), np.maximum(bars, self.strings.least)
        # 2. The largest that do; what is beyond those for which there is room has to be exceeded, too.
        found = np.flatnonzero(mean > bars)
        order = found[np.argsort(-mean[found], kind="stable")]
        best, next_best = order[: self.strings.top], order[self.strings.top : self.strings.top + 1]
        bars = np.maximum(bars[best], mean[next_best].max(initial=0.0))
        # 3. How precise their means are: as many reports as told them.
        part = told.n / known.reports[best]
        variances = told.variances(mean[best]) + self._sampled(mean[best], told.n)

        def measured(values: Words) -> tuple[Floats, Floats]:
            shares, own = told.strings(values)
            return shares, own + self._sampled(shares, told.n)

        return Search(known.rows[best], bars, threshold, measured, (mean[best], variances * part))

    def _left(self, values: Words) -> None:
        """Begin anew with these strings: they would be found again by what they once were."""
        m = self.strings.domain.m
        if len(values) and m in self.trie.open:
            known, these = self.trie.open[m], {row.tobytes() for row in values}
            stays = np.array([row.tobytes() not in these for row in known.rows], np.bool_)
            fresh = OpenPrefixes(known.rows, known.told * stays, known.reports * stays)
            self.trie = replace(self.trie, open={**self.trie.open, m: fresh})

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "batch": self.batch, "lengths": sorted(self.trie.open)}

    def _arrays(self) -> Arrays:
        trie: Arrays = {}
        for bits, known in self.trie.open.items():
            named: Arrays = {"rows": known.rows, "told": known.told, "reports": known.reports}
            trie |= {f"trie {bits} {name}": array for name, array in named.items()}
        return {**super()._arrays(), **trie}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        super()._load(facts, arrays)
        self.batch = facts["batch"]
        names = "rows", "told", "reports"
        opened = {
            bits: OpenPrefixes(*(arrays[f"trie {bits} {name}"].copy() for name in names)) for bits in facts["lengths"]
        }
        self.trie = replace(self.trie, open=opened)


class ToldLeaves:
    """What a period's users told of the open prefixes."""

    def __init__(self, question: Question, answer: Answer, whole: Words) -> None:
        """question: with the public choices of its round; whole: the open prefixes that are whole strings."""
        assert isinstance(question, Viewed)  # noqa: S101 - as it was asked
        assert isinstance(question.view, TrieLeaf)  # noqa: S101
        assert isinstance(question.inner, OLHCounts)  # noqa: S101
        self._view, self._oracle, self._counts, self.n = question.view, question.inner, answer.support, answer.counted
        self.whole = whole
        self._strings = {row.tobytes() for row in whole}

    @property
    def skewness(self) -> float:
        """The skewness of the share of a prefix that nobody has, as `ToldPrefixes` has it."""
        return self._oracle.skewness_of(self._counts, self.n)

    def estimate(self, rows: Words) -> tuple[Floats, Floats]:
        """The share of users whose strings begin with each open prefix, or are this string, and the variance of each
        estimate; NaN for a string that only a prefix stands for.
        """
        shares = self._oracle.shares_of(self._counts, self.n, self._view.codes_of(rows))
        return shares, self.variances(shares)

    def variances(self, shares: Floats) -> Floats:
        """The variances of estimates at these shares."""
        return self._oracle.variances_of(self._counts, self.n, shares)

    def strings(self, values: Words) -> tuple[Floats, Floats]:
        """`estimate` of strings; NaN for one that is not open by itself."""
        shares, variances = self.estimate(values)
        is_open = np.array([row.tobytes() in self._strings for row in values], np.bool_)
        return np.where(is_open, shares, np.nan), np.where(is_open, variances, np.nan)


def open_for(layout: BitsLayout, values: Words, room: int) -> Mapping[int, OpenPrefixes]:
    """The open prefixes of a trie in which the first of these strings have grown, as many as there is room for."""
    steps = [*range(0, layout.m, CHARACTER), layout.m]
    while True:
        grown = [np.unique(shortened(layout, np.vstack((values, values[:1])), bits), axis=0) for bits in steps[:-1]]
        if not len(values) or sum(len(rows) << CHARACTER for rows in grown) <= room:
            break
        values = values[: len(values) * 3 // 4]
    result = dict[int, OpenPrefixes]()
    grown[0] = np.zeros((1, layout.words), np.uint32)
    for at, rows in enumerate(grown):
        further = extended(layout, rows, steps[at], steps[at + 1])
        known = {row.tobytes() for row in grown[at + 1]} if at + 1 < len(grown) else set()
        fresh = further[np.array([row.tobytes() not in known for row in further], np.bool_)]
        if len(fresh):
            result[steps[at + 1]] = OpenPrefixes(fresh, np.zeros(len(fresh)), np.zeros(len(fresh), np.int64))
    return result


def grown_names(trie: GrowingTrie) -> tuple[str, ...]:
    """What has grown, as a round names it."""
    layout, names = trie.layout, [""]
    for bits in range(CHARACTER, layout.m, CHARACTER):
        longer = [prefixes.rows for length, prefixes in trie.open.items() if length > bits]
        if longer:
            rows = np.unique(shortened(layout, np.vstack(longer), bits), axis=0)
            spare = 32 * layout.words - 1 - bits
            numbers = (int.from_bytes(row.tobytes(), "big") >> spare for row in np.ascontiguousarray(rows, ">u4"))
            names += [f"{number:0{bits // 4}x}" for number in numbers]
    return tuple(names)
