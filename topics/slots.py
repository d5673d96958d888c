# SPDX-License-Identifier: Apache-2.0
"""Which slots a round asks: all of them, or a bitmap. Users hash to slots; a round never lists users.

Contract: one set of slots has one form. All of them is written "all"; any other set is the base64url text, without
"=", of ceil(S / 8) bytes in which slot s is bit s mod 8 of byte s // 8 and the bits past S are zero. ("all" is no
bitmap's text: it would leave bits in base64's own padding.)
"""

import base64
import binascii
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from murmurate.topics.errors import ColumnError
from murmurate.topics.message import Part

MAX_SLOTS = 1 << 16
ALL = "all"


class Slots(Part):
    """S slots, and which of them are asked."""

    of: Annotated[int, Field(ge=1, le=MAX_SLOTS)]
    asked: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=-(-MAX_SLOTS // 6))]

    @model_validator(mode="after")
    def _one_form(self) -> "Slots":
        if self.asked != ALL:
            bits = self._bits()
            if len(bits) != -(-self.of // 8):
                raise ValueError(f"found {len(bits)} bytes; allowed: {-(-self.of // 8)} for {self.of} slots")
            if self.of % 8 and bits[-1] >> self.of % 8:
                raise ValueError(f"found bits set past slot {self.of - 1}; allowed: zeros there")
            if _text(bits) != self.asked:
                raise ValueError("found base64url that is not canonical; allowed: no padding, unused bits zero")
            if int.from_bytes(bits, "little") == (1 << self.of) - 1:
                raise ValueError('found a bitmap of ones; allowed: "all"')
        return self

    @classmethod
    def every(cls, of: int) -> "Slots":
        """All of S slots."""
        return cls(of=of, asked=ALL)

    @classmethod
    def chosen(cls, mask: NDArray[np.bool_]) -> "Slots":
        """The slots that bool[S] marks."""
        fits = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.ndim == 1
        if not fits or not 1 <= len(mask) <= MAX_SLOTS:
            found = f"{mask.dtype}{list(mask.shape)}" if isinstance(mask, np.ndarray) else type(mask).__name__
            raise ColumnError(f"slots: found {found}; allowed: bool[S] with S from 1 to {MAX_SLOTS}")
        asked = ALL if mask.all() else _text(np.packbits(mask, bitorder="little").tobytes())
        return cls(of=len(mask), asked=asked)

    def mask(self) -> NDArray[np.bool_]:
        """bool[S], read-only: is slot s asked?"""
        if self.asked == ALL:
            mask = np.ones(self.of, np.bool_)
        else:
            packed = np.frombuffer(self._bits(), np.uint8)
            mask = np.unpackbits(packed, count=self.of, bitorder="little").view(np.bool_)
        mask.flags.writeable = False
        return mask

    def count(self) -> int:
        """How many slots are asked."""
        return self.of if self.asked == ALL else int.from_bytes(self._bits(), "little").bit_count()

    def _bits(self) -> bytes:
        try:
            return base64.urlsafe_b64decode(self.asked + "=" * (-len(self.asked) % 4))
        except (binascii.Error, ValueError):
            raise ValueError("found text that is no base64url; allowed: 'all' or a bitmap") from None


def _text(bits: bytes) -> str:
    return base64.urlsafe_b64encode(bits).rstrip(b"=").decode()
