# SPDX-License-Identifier: Apache-2.0
"""What releases claim of the mixing, in words: for `watch`, `status` and `replay`.

Contract: a function of releases alone, and the same words everywhere, which always say against whom.  With fake reports
there are two claims: against everybody but the mixing zone, and against whoever knows all other users' reports.  Where
users serve all streams their claims add up.  A claim of sums says, too, that reports show their values.  A release of a
central stream, or of a version that said nothing, has none.  Not here: how a claim is worked out
(aggregators/accounting/window.py), the page's own words (web/static/values.js), which are these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context
from typing import Any, Final, NamedTuple

from murmurate.config.enough import spaced
from murmurate.config.explain_mixed import claims_together
from murmurate.topics.promises import NoClaim

AGAINST: Final = "against everybody but the mixing zone"
AGAINST_USERS: Final = "against a server that knows all other users' reports"
ROUNDED_UP: Final = Context(prec=4, rounding=ROUND_CEILING)
"""How an epsilon is shown: never smaller than it is. Most have three digits, and sums of some may have more."""
SUMS: Final = "counts"
"""The bound of a claim about sums."""
SHOWN: Final = "NO LOCAL PROTECTION: the mixing zone and whoever runs the brokers see what users say"
"""What stands beside the claim of reports that are added up, since they show their values."""
WORTH_SAYING: Final = 0.1
"""By which part of itself a claim has to change before it is said again."""
NOTHING_COUNTED: Final[NoClaim] = "nothing was counted"
REASONS: Final[Mapping[NoClaim, str]] = {
    NOTHING_COUNTED: "no round of the window had enough reports",
    "public measure": "reports carry a public number, by which they can be told apart",
    "lasting reports": "reports outlive their round, and can be told apart by it",
    "too few reports": "only their sum protects reports, and too few were counted",
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
    known: Mapping[str, Any] | None = None
    """The largest `against_users` of these releases; None without fake reports."""

    @property
    def words(self) -> str:
        """The claim as a part of a sentence."""
        if self.claim is None:
            return f"nothing is claimed: {REASONS[self.reason or NOTHING_COUNTED]}"
        said = f"at most {claim_words(self.claim)}{_more(self.claim)}"
        if self.known is not None:
            said += f"; at most {known_words(self.known)}"
        if self.reason is None:
            return said
        return f"{said}; nothing is claimed in {spaced(self.unclaimed)} of its periods: {REASONS[self.reason]}"

    def table(self) -> dict[str, Any]:
        """The claim as summary.json has it."""
        known = None if self.claim is None else {key: self.claim[key] for key in ("epsilon", "delta", "n", "bound")}
        if known is not None and self.known is not None:
            known["against_users"] = dict(self.known)
        return {"shuffled": known, "unshuffled": self.reason, "unclaimed": self.unclaimed}


def claim_words(claim: Mapping[str, Any]) -> str:
    """A `shuffled` in words, its epsilon of four digits and rounded up.

    >>> claim_words({"epsilon": 0.031, "delta": 1e-8})
    'epsilon 0.031 but for a chance of 1e-08, against everybody but the mixing zone'
    >>> claim_words({"epsilon": 1.0, "delta": 0})
    'epsilon 1 against everybody, as without mixing: too few reports hide each other'
    """
    if not claim["delta"]:
        return f"{_epsilon(claim)} against everybody, as without mixing: too few reports hide each other"
    shown = f"; {SHOWN}" if claim.get("bound") == SUMS else ""
    return f"{_epsilon(claim)} but for a chance of {claim['delta']:g}, {AGAINST}{shown}"


def known_words(claim: Mapping[str, Any]) -> str:
    """An `against_users` in words: what fake reports leave to whoever knows all other users' reports.

    >>> known_words({"epsilon": 0.4, "delta": 1e-8})
    "epsilon 0.4 but for a chance of 1e-08, against a server that knows all other users' reports"
    >>> known_words({"epsilon": 1.0, "delta": 0})
    "epsilon 1 against a server that knows all other users' reports: too few fake reports hide one"
    """
    if not claim["delta"]:
        return f"{_epsilon(claim)} {AGAINST_USERS}: too few fake reports hide one"
    return f"{_epsilon(claim)} but for a chance of {claim['delta']:g}, {AGAINST_USERS}"


def mixed_words(release: Mapping[str, Any], *, reports: bool = False) -> str | None:
    """What a release claims of the mixing. reports: also how many hide each other."""
    privacy = release.get("privacy") or {}
    if (claim := privacy.get("shuffled")) is not None:
        known = _known(claim)
        said = claim_words(claim) + (_more(claim) if reports else "")
        return said if known is None else f"{said}; {known_words(known)}"
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
    known = [alone for claim in claims if (alone := _known(claim)) is not None]
    largest, alone = (max(found, key=lambda claim: claim["epsilon"], default=None) for found in (claims, known))
    return LargestClaim(largest, reason, len(shown), alone)


def together_words(claims: Iterable[Mapping[str, Any]]) -> str | None:
    """What several streams' `shuffled` are worth together for a user who serves all of them; None if that is one
    stream's alone.
    """
    found = list(claims)
    if len(found) < 2:
        return None
    epsilon, delta = claims_together((claim["epsilon"], claim["delta"]) for claim in found)
    bound = SUMS if any(claim.get("bound") == SUMS for claim in found) else None
    return claim_words({"epsilon": epsilon, "delta": delta, "bound": bound})


class MixedClaims:
    """Follows the releases of one stream, and says what they claim when it is worth a line: at first, and whenever it
    is more than a tenth more or less than what was said last.
    """

    def __init__(self) -> None:
        self._t: int | None = None
        self._said: tuple[float, ...] | str | None = None

    def take(self, release: Mapping[str, Any]) -> str | None:
        """Take a release; a line if there is something to say. An older period that comes again says nothing."""
        words = mixed_words(release)
        if words is None or (self._t is not None and release["t"] <= self._t):
            return None
        self._t = release["t"]
        claim = release["privacy"]["shuffled"]
        now = words if claim is None else _figures(claim)
        if self._alike(now):
            return None
        self._said = now
        return f"after mixing: {words}"

    def _alike(self, now: tuple[float, ...] | str) -> bool:
        if isinstance(now, str) or not isinstance(self._said, tuple) or len(now) != len(self._said):
            return now == self._said
        return all(abs(one / said - 1) <= WORTH_SAYING * (1 + 1e-9) for one, said in zip(now, self._said, strict=True))


def _figures(claim: Mapping[str, Any]) -> tuple[float, ...]:
    """The epsilons that a `shuffled` claims."""
    known = _known(claim)
    return (float(claim["epsilon"]),) if known is None else (float(claim["epsilon"]), float(known["epsilon"]))


def _known(claim: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = claim.get("against_users")
    return found


def _epsilon(claim: Mapping[str, Any]) -> str:
    """An epsilon of four digits, rounded up."""
    return f"epsilon {float(ROUNDED_UP.create_decimal(repr(float(claim['epsilon'])))):g}"


def _more(claim: Mapping[str, Any]) -> str:
    """How many reports hide each other, where they do."""
    if not claim["delta"]:
        return ""
    fakes = f" and {spaced(claim['fakes'])} fake ones" if claim.get("fakes") and claim["bound"] == "fakes" else ""
    return f"; {spaced(claim['n'])} honest reports{fakes} hide each other"
