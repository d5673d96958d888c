# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures strings: how they begin, or which ones many users hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import model_validator

from murmurate.aggregators.hitters.levels import QUERIES
from murmurate.aggregators.measures.found import LEAST, MOST_LISTED, TOP
from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.strings import MAX_PREFIX, Prefixes
from murmurate.aggregators.methods.pem import PEM
from murmurate.config.errors import Mistake
from murmurate.config.kinds import Number, WholeNumber, seen
from murmurate.config.measures.wide import RowStream
from murmurate.config.streams import OneOf
from murmurate.randomizers import OLHCounts, ParameterError
from murmurate.randomizers.frequency.local_hash import MAX_POOL
from murmurate.randomizers.registry import oracles
from murmurate.topics.domains import Bits
from murmurate.topics.domains.bits import MAX_BITS

STEPS: Final = {"text": 8, "hex": 4}
"""How many bits each sign of a string has."""
USUAL_PREFIX: Final = 8
"""How many bits are told where the file does not say."""
MOST_QUERIES: Final = 1 << 20
"""The most questions of a release, where the file says the number of groups: some ten seconds of one core."""
_FINDING: Final = ("top", "least", "pool", "groups")


class StringsStream(RowStream):
    """Strings of users: the share of every prefix, or with `find` the shares of the strings that many users hold."""

    measured = Prefixes
    measure: Literal["strings"]
    """What is measured."""
    bits: Annotated[int, WholeNumber(4, MAX_BITS)]
    """The length of a string: a text has at most so many bits in UTF-8, hexadecimal digits have exactly so many."""
    prefix: Annotated[int, WholeNumber(1, MAX_PREFIX)] | None = None
    """How many bits from the beginning are told, 8 if left out; a release has a share for each of the prefixes there
    are. Not with `find`.
    """
    form: Literal["text", "hex"] = "text"
    """What an event says: a text without the character NUL, or hexadecimal digits."""
    find: Literal["strings"] | None = None
    """"strings": the strings that many users hold are found, whatever they are, and followed from then on."""
    top: Annotated[int, WholeNumber(1, MOST_LISTED)] | None = None
    """With `find`: the largest number of strings that a release lists, 32 if left out."""
    least: Annotated[float, Number(0, 1)] | None = None
    """With `find`: the share of users below which no string is named, 0.001 if left out."""
    pool: Annotated[int, WholeNumber(1, MAX_POOL)] | None = None
    """With `find`: the number of hash functions of a round. Left out: so many that their part of the error stays at
    5 %, for `users` of [population].
    """
    groups: Annotated[int, WholeNumber(1, MAX_BITS)] | None = None
    """With `find`: the number of groups of users, of which each tells longer prefixes than the one before. Left out:
    the fewest with which a release takes at most 32 768 questions.
    """
    mechanism: Annotated[str, OneOf(AUTO, oracles, OLHCounts.name)] = AUTO
    """"auto": the one with the smallest exact variance; with `find` olh_counts, the only one that can be asked about
    any string later.
    """

    @model_validator(mode="before")
    @classmethod
    def _usual_method(cls, found: Any) -> Any:
        """A search is by PEM unless the file says otherwise."""
        if isinstance(found, Mapping) and found.get("find") is not None and found.get("method") is None:
            return {**found, "method": PEM.name}
        return found

    def statistic(self) -> Prefixes | FoundStrings:
        """Shares of its prefixes, or of what is found."""
        of = Bits(self.bits, self.form)
        if self.find is None:
            return Prefixes(of, self.says_none, prefix=self.prefix or USUAL_PREFIX)
        return FoundStrings(
            of, self.says_none, top=self.top or TOP, least=LEAST if self.least is None else self.least,
            pool=self.pool or 0, groups=self.groups or 0,
        )  # fmt: skip

    def meaning(self) -> dict[str, Any]:
        """How long strings are and what they say, and how much is told or what is found."""
        of = self.statistic()
        told: dict[str, Any] = {"bits": self.bits, "form": self.form}
        if isinstance(of, Prefixes):
            return {**told, "prefix": of.prefix}
        more = {} if self.pool is None else {"pool": self.pool}
        return {**told, "find": self.find, "top": of.top, "least": repr(of.least), "groups": of.plan.groups, **more}

    def _mistakes(self) -> Iterator[Mistake]:
        step = STEPS[self.form]
        if self.bits % step:
            yield Mistake("bits", seen(self.bits), f"a multiple of {step}, for {self.form}")
        elif self.find is None:
            yield from self._of_prefixes()
        else:
            yield from self._of_search()

    def _of_prefixes(self) -> Iterator[Mistake]:
        """What is wrong where prefixes are declared."""
        given = [key for key in _FINDING if getattr(self, key) is not None]
        for key in given:
            yield Mistake(key, seen(getattr(self, key)), 'only with find = "strings"')
        if (self.prefix or USUAL_PREFIX) > self.bits:
            yield Mistake("prefix", seen(self.prefix or USUAL_PREFIX), f"1 to {self.bits}, the bits of a string")
        elif not given:
            yield from super()._mistakes()

    def _of_search(self) -> Iterator[Mistake]:
        """What is wrong where strings are searched for."""
        of = self.statistic()
        assert isinstance(of, FoundStrings)  # noqa: S101 - by `find`
        if self.prefix is not None:
            yield Mistake("prefix", seen(self.prefix), 'nothing, with find = "strings"')
        try:
            fewest = of.plan.groups
        except ParameterError as error:
            key = "top" if self.groups is None else "groups"
            found = f"{of.top} strings of {self.bits} bits" if self.groups is None else seen(self.groups)
            allowed = f"fewer, or groups, since no number of groups keeps {QUERIES} questions"
            yield Mistake(key, found, allowed if self.groups is None else str(error).rpartition("allowed: ")[2])
            return
        if (asked := of.plan.queries) > MOST_QUERIES:
            yield Mistake(
                "groups", f"{fewest}, which makes {asked} questions", f"more groups: {MOST_QUERIES} questions"
            )
            return
        yield from super()._mistakes()
