# SPDX-License-Identifier: Apache-2.0
"""The id of a server-sent event of a live deployment: which release it is, whichever worker sent it.

Contract: every worker reads the same releases in the same order, so the id of a reader's last one says at any worker
which ones it lacks.  A release's periods rise within a stream, those of its revisions too, so a later one shows that an
id is no longer kept.  A replay's events are numbered instead: two runs of it are two.  Not here: sending (server.py).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = re.compile(r"([a-z][a-z0-9_-]{0,31})/([0-9]{1,16})/([0-9]{1,16})", re.ASCII)


class ReleaseId(NamedTuple):
    """One release of a deployment."""

    stream: str
    t: int
    revision: int

    def __str__(self) -> str:
        """What a client sees, and sends back as Last-Event-ID.

        >>> str(ReleaseId("screen", 29916540, 1))
        'screen/29916540/1'
        """
        return f"{self.stream}/{self.t}/{self.revision}"

    def before(self, other: ReleaseId) -> bool:
        """Whether the other release can only come after this one.

        >>> ReleaseId("screen", 7, 1).before(ReleaseId("screen", 8, 1))
        True
        >>> ReleaseId("screen", 5, 2).before(ReleaseId("screen", 8, 1))  # period 5 is revised when 8 is released, say
        False
        """
        return self.stream == other.stream and self.t < other.t and self.revision <= other.revision


def release_id(text: str) -> ReleaseId | None:
    """The release that an id names; None where it names none.

    >>> release_id("screen/29916540/1")
    ReleaseId(stream='screen', t=29916540, revision=1)
    >>> release_id("5b07e9a1-12")
    """
    found = _FORM.fullmatch(text)
    return ReleaseId(found[1], int(found[2]), int(found[3])) if found else None
