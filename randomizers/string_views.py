# SPDX-License-Identifier: Apache-2.0
"""Views of strings for whoever searches them: prefixes of any length, and the extensions of prefixes that are named.

Contract: that of views.py.  A prefix of up to 62 bits is told as itself, for `olh_counts`, whose domain it fits; one of
at most 24 further bits behind a named parent (a prefix found before, from reports alone) for any oracle.  A server asks
by `codes_of`, which draws nothing.  Source: Wang 2021, section 4.2; ARCHITECTURE rule 23.  Not here: which prefixes are
worth extending (aggregators/hitters/).
"""

from __future__ import annotations

from typing import ClassVar, Final

from murmurate.randomizers.views import Prefix

LONGEST_TOLD: Final = 62
"""The longest prefix, in bits, that is told as itself; of a longer one a hash of so many bits is told, in which two
prefixes collide for one pair in 2^62.
"""


class LongPrefix(Prefix):
    """The view of a string's first bits, of which up to 62 are told as they are."""

    name = "long_prefix"
    longest: ClassVar = LONGEST_TOLD
