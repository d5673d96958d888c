# SPDX-License-Identifier: Apache-2.0
"""What the mixing adds to a deployment's promise, in words and as data: against whom, how much, and what takes it away.

Contract: every figure is a certified claim for the smallest batch that is released; larger batches have less.  Not
here: the choice under a central target (mixed.py), what a release claims for what came (accounting/window.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

from murmurate.aggregators.accounting.claim import MixedClaim
from murmurate.aggregators.accounting.fakes import FakesClaim
from murmurate.config.enough import spaced
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import claim_alone, smallest_claim
from murmurate.config.unprotected import left_by_zones_together

ROUNDED_UP: Final = Context(prec=4, rounding=ROUND_CEILING)
"""How a sum is shown: never smaller than it is."""


@dataclass(frozen=True)
class MixedFacts:
    """What the smallest batch of a stream is worth once it is mixed."""

    epsilon: float
    """What everybody but the mixing zone can learn about a user in a window, in nats."""
    delta: float
    """The chance with which that may fail; 0 where mixing adds nothing."""
    bound: str
    reports: int
    """The smallest batch: min_batch."""
    honest: int
    """How many of them count as honest."""
    target: float | None
    """The stream's part of the central target; None without one."""
    gain: float | None
    """How many times smaller the variance is than where reports keep the target by themselves."""
    fakes: int = 0
    """The fake reports of a round."""
    alone: float | None = None
    """What somebody who knows all other users' reports can learn about a user in a window, in nats; None without fakes.
    """
    alone_delta: float | None = None
    """The chance with which that may fail; 0 where fakes add nothing."""


def mixed_facts(made: Plan, stream: StreamPlan) -> MixedFacts:
    """What the smallest batch of a stream is worth."""
    claim, mixed = smallest_claim(made, stream), stream.mixed
    target, gain = (None, None) if mixed is None else (mixed.target, mixed.gain)
    alone = claim_alone(made, stream)
    known = (None, None) if alone is None else (alone.epsilon, alone.delta)
    return MixedFacts(*_figures(claim), made.min_batch, claim.n, target, gain, made.fakes, *known)


def claims_together(claims: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The (epsilon, delta) of several streams together for a user who serves all of them: sums, to four digits.

    >>> claims_together([(0.1, 1e-8), (0.2, 1e-8), (0.5, 0.0)])
    (0.8, 2e-08)
    """
    exact = [(Decimal(repr(float(epsilon))), Decimal(repr(float(delta)))) for epsilon, delta in claims]
    epsilon, delta = (ROUNDED_UP.plus(sum(part, Decimal(0))) for part in zip(*exact, strict=True))
    return float(epsilon), float(delta)


def _figures(claim: MixedClaim | FakesClaim) -> tuple[float, float, str]:
    return claim.epsilon, claim.delta, claim.bound


def mixed_promise(made: Plan) -> Iterator[str]:
    """What a central target promises beside the local one, and when the local one is all that is left; without a target
    that releases say what the mixing is worth.
    """
    if made.mixed is None:
        corrupt = f", if at most {100 * made.assumed_corrupt:.3g} % of the reports come from whoever attacks"
        yield (
            "Reports are mixed. Each release says what that is worth for its own stream, against everybody but the "
            f"mixing zone and but for a chance of {made.delta:g}{corrupt if made.assumed_corrupt else ''}."
        )
        yield from _together(made)
        return
    yield (
        f"Everybody but the mixing zone learns at most epsilon {made.mixed:g} about one user in a window, but for a "
        f"chance of {made.delta:g}: reports are mixed, and a round of fewer than {spaced(made.min_batch)} shows "
        f"nothing. Of each round {made.assumed_corrupt * 100:g} % may come from whoever attacks."
    )
    yield (
        "If the mixing and the analysis zone work together"
        + ("" if made.fakes else ", or all others of a round do")
        + f", {left_by_zones_together(made)}."
    )


def _together(made: Plan) -> Iterator[str]:
    """What the claims of all streams add up to, where every user serves all of them."""
    if made.split != "budget" or len(made.streams) < 2:
        return
    epsilon, delta = claims_together(_figures(smallest_claim(made, stream))[:2] for stream in made.streams)
    if not delta:
        return  # what holds against everybody is said as the promise
    said = (
        "Every user answers for every stream, so these claims add up: where each round is a smallest batch, all "
        f"streams together have epsilon {epsilon:g} in a window, but for a chance of {delta:g}"
    )
    known = [claim for stream in made.streams if (claim := claim_alone(made, stream)) is not None]
    if known:
        alone, chance = claims_together((claim.epsilon, claim.delta) for claim in known)
        unless = f", but for a chance of {chance:g}" if chance else ""
        said += f"; against a server that knows all other users' reports epsilon {alone:g}{unless}"
    yield f"{said}."


def mixed_lines(found: MixedFacts) -> Iterator[str]:
    """What mixing makes of one stream."""
    hidden = f"{spaced(found.reports)} reports, of which {spaced(found.honest)} count as honest"
    chance = f", but for a chance of {found.delta:g}" if found.delta else ""
    said = f"mixed, a smallest batch of {hidden}, shows everybody but the mixing zone epsilon {found.epsilon:g}{chance}"
    if found.bound == "local":
        said = f"mixing adds nothing to a smallest batch of {hidden}: larger ones gain"
    yield said
    if found.alone is not None:
        against = "against a server that knows all other users' reports"
        unless = f" epsilon {found.alone:g}, but for a chance of {found.alone_delta:g}"
        said = f"{against}{unless}" if found.alone_delta else f"they add nothing {against}"
        yield f"{spaced(found.fakes)} fake reports a round: {said}"
    if found.gain is not None and found.target is not None:
        yield (
            f"its variance is {found.gain:.3g} times smaller than with reports that keep epsilon {found.target:g} by "
            "themselves; devices answer no other question"
        )
