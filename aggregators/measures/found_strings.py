# SPDX-License-Identifier: Apache-2.0
"""The strings that many users hold, found among all that there can be: what is searched for, opened, typed, visited.

Contract: users are in `groups` groups, each of which tells the first bits of their strings, longer ones from group to
group (aggregators/hitters/levels.py); "auto" is local hashing whose counts can be asked about any prefix later, over a
pool of hash functions that are others in every round.  A text is called by itself; where it is empty, not printable, or
could be taken for another name, by "0x" and its hexadecimal digits, as strings of hexadecimal digits are.
Source: Wang 2021, section 4.2.  Not here: the search (aggregators/methods/pem.py and the files beside it), shares of
declared prefixes (strings.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.hitters import PrefixPlan, texts
from murmurate.aggregators.measures.found import FoundMeasure, Values
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.measures.searched_words import MOMENTS, MOST, searched
from murmurate.randomizers import Branches, OLHCounts, ParameterError, Question, Viewed
from murmurate.randomizers.frequency.hash_counts import MAX_COUNTS
from murmurate.randomizers.frequency.local_hash import MAX_POOL
from murmurate.randomizers.layouts import BitsLayout
from murmurate.randomizers.layouts import layout as layout_of
from murmurate.randomizers.string_views import LongPrefix
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Bits
from murmurate.topics.errors import MappingError

DIGITS: Final = "0x"
"""What a name of hexadecimal digits begins with."""
USUAL_POOL: Final = 1 << 14
"""The hash functions of a round where nobody has said how many."""


@dataclass(frozen=True)
class FoundStrings(FoundMeasure):
    """Shares of users who hold each of the strings that were found."""

    domain: Bits
    pool: int = 0
    """The number of hash functions of a round; 0: as the method takes it."""
    groups: int = 0
    """The number of groups of users; 0: the fewest within the usual budget of questions."""

    name = "strings"

    @cached_property
    def strings(self) -> BitsLayout:
        """The layout of strings, decoded."""
        of = layout_of(self.layout)
        assert isinstance(of, BitsLayout)  # noqa: S101 - the domain's
        return of

    @cached_property
    def plan(self) -> PrefixPlan:
        """Which prefixes are told and asked about. ParameterError where no number of groups keeps the budget."""
        if self.groups:
            return PrefixPlan(self.domain.m, self.top, self.groups)
        return PrefixPlan.within(self.domain.m, self.top)

    @property
    def d(self) -> int:
        """The number of codes of the longest prefix, since strings themselves have none."""
        return LongPrefix(self.layout, self.domain.m).d

    @property
    def serving(self) -> tuple[str, ...]:
        """The single mechanism whose counts can be asked about any string."""
        return (OLHCounts.name,)

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """A group for each length of a prefix, all of the same weight."""
        return self.grouped(epsilon, self.pool or min(USUAL_POOL, self.most_pool(epsilon)))

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """What `choose` gives, by either name."""
        if name not in (AUTO, *self.serving):
            raise ParameterError(f"{self.name}: found {name}; allowed: {AUTO}, {', '.join(self.serving)}")
        return self.choose(epsilon, prefer)

    def most_pool(self, epsilon: Epsilon) -> int:
        """The most hash functions of a round whose counts fit a tally."""
        groups = len(self.plan.bits)
        return min(MAX_POOL, (MAX_COUNTS - groups) // (groups * OLHCounts(d=4, epsilon=epsilon, pool=1).g))

    def grouped(self, epsilon: Epsilon, pool: int) -> Question:
        """The question of all groups, over a pool of so many hash functions."""
        if (most := self.most_pool(epsilon)) < 1:
            found = (
                f"epsilon {float(epsilon):g} in {len(self.plan.bits)} groups, of which one hash function fills a tally"
            )
            raise ParameterError(f"{self.name}: found {found}; allowed: a smaller epsilon, or fewer groups")
        if pool > most:
            raise ParameterError(f"{self.name}: pool: found {pool}; allowed: at most {most}, with this epsilon")
        views = [LongPrefix(self.layout, bits) for bits in self.plan.bits]
        return Branches([(1, Viewed(view, OLHCounts(d=view.d, epsilon=epsilon, pool=pool))) for view in views])

    # ---- names and the truth ----

    @property
    def nothing(self) -> Values:
        """No strings."""
        return np.zeros((0, self.domain.words), np.uint32)

    def names_of(self, values: Values) -> tuple[str, ...]:
        """The texts, or their digits."""
        return texts(values, self.domain.m, self.domain.form)

    def values_of(self, names: Sequence[str]) -> Values:
        """The strings of these names."""
        m = self.domain.m
        digits = Bits(m, "hex").codes()
        text = self.domain.codes()
        try:
            rows = [digits[name[len(DIGITS) :]] if name.startswith(DIGITS) else text[name] for name in names]
        except (MappingError, TypeError):
            raise ValueError(names) from None
        return np.array(rows, np.uint32).reshape(-1, self.domain.words)

    def true_shares(self, rows: Values, counts: NDArray[np.int64], values: Values) -> Floats:
        """The share of users who hold each string."""
        held = dict(zip(map(bytes, np.ascontiguousarray(rows)), counts.tolist(), strict=True))
        users = int(counts.sum())
        return np.array([held.get(bytes(value), 0) / users for value in np.ascontiguousarray(values)])

    # ---- in words ----

    @property
    def what(self) -> str:
        """How long strings are, and how many are listed."""
        bits, text = self.domain.m, self.domain.form == "text"
        length = f"up to {bits // 8} bytes" if text else f"{bits // 4} hexadecimal digits"
        return f"{length} (the {self.top} largest are searched for)"

    @property
    def called(self) -> tuple[str, str]:
        """The words for strings on the page."""
        return "String", "Strings"

    def example(self, mark: int, *, peak: bool) -> str:
        """One of the words that users search for at first or, in the peak, while one trends."""
        return self.example_at(mark * (MOST // 100), MOMENTS // 2 if peak else 0, peak=peak)

    def example_at(self, chance: int, moment: int, *, peak: bool) -> str:
        """One of the words that users search for at that moment. Where strings are hexadecimal digits, those of its
        letters.
        """
        letters = searched(chance, moment).encode()
        if self.domain.form == "text":
            return letters[: self.domain.m // 8].decode()
        return letters.hex().ljust(self.domain.m // 4, "0")[: self.domain.m // 4]
