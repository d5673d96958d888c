# SPDX-License-Identifier: Apache-2.0
"""The parts of a config record: its keys, its values, and what holds before a change.

Contract: frozen, like every part of a message.  Not here: the record itself (messages.py).
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from murmurate.topics.message import SAFE_INTEGER, Freeze, Millis, Part

Setting = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,95}$")]
SettingValue = Annotated[str, Field(max_length=256)] | Annotated[int, Field(ge=-SAFE_INTEGER, le=SAFE_INTEGER)]


class ConfigUntil(Part):
    """The values that hold until an instant, before those of its record do."""

    time: Millis
    values: Annotated[Mapping[Setting, SettingValue], Field(min_length=1, max_length=64), *Freeze]
