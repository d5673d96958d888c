# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures how strings begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.strings import MAX_PREFIX, Prefixes
from murmurate.config.errors import Mistake
from murmurate.config.kinds import WholeNumber, seen
from murmurate.config.measures.wide import WideStream
from murmurate.config.streams import OneOf
from murmurate.randomizers.registry import oracles
from murmurate.topics.domains import Bits
from murmurate.topics.domains.bits import MAX_BITS

STEPS: Final = {"text": 8, "hex": 4}
"""How many bits each sign of a string has."""


class StringsStream(WideStream):
    """How the strings of users begin: the share of every prefix."""

    measured = Prefixes
    measure: Literal["strings"]
    """What is measured."""
    bits: Annotated[int, WholeNumber(4, MAX_BITS)]
    """The length of a string: a text has at most so many bits in UTF-8, hexadecimal digits have exactly so many."""
    prefix: Annotated[int, WholeNumber(1, MAX_PREFIX)] = 8
    """How many bits from the beginning are told; a release has a share for each of the prefixes there are."""
    form: Literal["text", "hex"] = "text"
    """What an event says: a text without the character NUL, or hexadecimal digits."""
    mechanism: Annotated[str, OneOf(AUTO, oracles)] = AUTO
    """"auto": the one with the smallest exact variance."""

    def statistic(self) -> Prefixes:
        """Shares of its prefixes."""
        return Prefixes(Bits(self.bits, self.form), self.says_none, prefix=self.prefix)

    def meaning(self) -> dict[str, Any]:
        """How long strings are and what they say, and how much is told."""
        return {"bits": self.bits, "form": self.form, "prefix": self.prefix}

    def _mistakes(self) -> Iterator[Mistake]:
        step = STEPS[self.form]
        if self.bits % step:
            yield Mistake("bits", seen(self.bits), f"a multiple of {step}, for {self.form}")
        elif self.prefix > self.bits:
            yield Mistake("prefix", seen(self.prefix), f"1 to {self.bits}, the bits of a string")
        else:
            yield from super()._mistakes()
