"""What releases claim of the mixing, in words: for `watch`, `status` and `replay`.

Contract: a function of releases alone, and the same words everywhere, which always say against whom.  A release of a
central stream, or of a version that said nothing, has none.  Not here: how a claim is worked out
(aggregators/accounting/window.py), the page's own words (web/static/values.js), which are these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context
from typing import Any, Final, NamedTuple

from murmurate.config.enough import spaced
from murmurate.topics.promises import NoClaim

AGAINST: Final = "against everybody but the mixing zone"
ROUNDED_UP: Final = Context(prec=4, rounding=ROUND_CEILING)
"""How an epsilon is shown: never smaller than it is. Most have three digits, and sums of some may have more."""
WORTH_SAYING: Final = 0.1
"""By which part of itself a claim has to change before it is said again."""
NOTHING_COUNTED: Final[NoClaim] = "nothing was counted"
REASONS: Final[Mapping[NoClaim, str]] = {
    NOTHING_COUNTED: "no round of the window had enough reports",
    "public measure": "reports carry a public number, by which they can be told apart",
    "lasting reports": "reports outlive their round, and can be told apart by it",
}
"""Why nothing is claimed, in words."""


class LargestClaim(NamedTuple):
    """The largest claim among the releases of a stream."""

    claim: Mapping[str, Any] | None
    """The `shuffled` of that release; None where no release has one."""
    reason: NoClaim | None
    """Why reports of some releases claim nothing; where no release has a claim, why that is."""
    unclaimed: int
    """The number of releases whose reports claim nothing. Windows in which nothing was counted are none of them."""

    @property
    def words(self) -> str:
        """The claim as a part of a sentence."""
        if self.claim is None:
            return f"nothing is claimed: {REASONS[self.reason or NOTHING_COUNTED]}"
        said = f"at most {claim_words(self.claim)}{_more(self.claim)}"
        if self.reason is None:
            return said
        return f"{said}; nothing is claimed in {spaced(self.unclaimed)} of its periods: {REASONS[self.reason]}"

    def table(self) -> dict[str, Any]:
        """The claim as summary.json has it."""
        known = None if self.claim is None else {key: self.claim[key] for key in ("epsilon", "delta", "n", "bound")}
        return {"shuffled": known, "unshuffled": self.reason, "unclaimed": self.unclaimed}


def claim_words(claim: Mapping[str, Any]) -> str:
    """A `shuffled` in words, its epsilon of four digits and rounded up.

    >>> claim_words({"epsilon": 0.031, "delta": 1e-8})
    'epsilon 0.031 but for a chance of 1e-08, against everybody but the mixing zone'
    >>> claim_words({"epsilon": 1.0, "delta": 0})
    'epsilon 1 against everybody, as without mixing: too few reports hide each other'
    """
    epsilon = f"{float(ROUNDED_UP.create_decimal(repr(float(claim['epsilon'])))):g}"
    if not claim["delta"]:
        return f"epsilon {epsilon} against everybody, as without mixing: too few reports hide each other"
    return f"epsilon {epsilon} but for a chance of {claim['delta']:g}, {AGAINST}"


def mixed_words(release: Mapping[str, Any], *, reports: bool = False) -> str | None:
    """What a release claims of the mixing. reports: also how many hide each other."""
    privacy = release.get("privacy") or {}
    if (claim := privacy.get("shuffled")) is not None:
        return claim_words(claim) + (_more(claim) if reports else "")
    reason = privacy.get("unshuffled")
    return None if reason is None else f"nothing is claimed: {REASONS[reason]}"


def largest_claim(releases: Iterable[Mapping[str, Any]]) -> LargestClaim | None:
    """The largest claim of these releases; None where they say nothing of the mixing."""
    told = [release["privacy"] for release in releases if mixed_words(release) is not None]
    if not told:
        return None
    claims = [privacy["shuffled"] for privacy in told if privacy["shuffled"] is not None]
    reasons = [privacy["unshuffled"] for privacy in told if privacy["shuffled"] is None]
    shown = [reason for reason in reasons if reason != NOTHING_COUNTED]
    reason = shown[0] if shown else None if claims else NOTHING_COUNTED
    return LargestClaim(max(claims, key=lambda claim: claim["epsilon"], default=None), reason, len(shown))


class MixedClaims:
    """Follows the releases of one stream, and says what they claim when it is worth a line: at first, and whenever it
    is more than a tenth more or less than what was said last.
    """

    def __init__(self) -> None:
        self._t: int | None = None
        self._said: float | str | None = None

    def take(self, release: Mapping[str, Any]) -> str | None:
        """Take a release; a line if there is something to say. An older period that comes again says nothing."""
        words = mixed_words(release)
        if words is None or (self._t is not None and release["t"] <= self._t):
            return None
        self._t = release["t"]
        claim = release["privacy"]["shuffled"]
        now = words if claim is None else float(claim["epsilon"])
        if self._alike(now):
            return None
        self._said = now
        return f"after mixing: {words}"

    def _alike(self, now: float | str) -> bool:
        if isinstance(now, str) or not isinstance(self._said, float):
            return now == self._said
        return abs(now / self._said - 1) <= WORTH_SAYING * (1 + 1e-9)


def _more(claim: Mapping[str, Any]) -> str:
    """How many reports hide each other, where they do."""
    return f"; {spaced(claim['n'])} honest reports hide each other" if claim["delta"] else ""
