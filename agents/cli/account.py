# SPDX-License-Identifier: Apache-2.0
"""`murmurate account`: what shuffling is worth for one mechanism, by every bound there is; as a table, as JSON.

Contract: what it prints follows from the mechanism's own chances, the number of reports and of fakes, and delta.  The
claim is the line that says so; the attack is what no claim can be below.  With --fakes a second claim and attack are
against whoever knows all other users' reports.  Closed forms of the literature are printed to compare.  Not here: the
bounds (aggregators/accounting), what is promised in a deployment (check.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import click
import orjson

from murmurate.aggregators.accounting import (
    FORMS,
    FakesClaim,
    MixedClaim,
    NotCertifiedError,
    blanket_epsilon,
    claim_against_users,
    claim_with_fakes,
    fakes_epsilon,
    honest,
    mixed_claim,
    shown_at_least,
)
from murmurate.aggregators.accounting.claim import blankets, checked_delta
from murmurate.aggregators.accounting.literature import peos_against_users, peos_epsilon
from murmurate.aggregators.accounting.search import rounded_up
from murmurate.randomizers import Mechanism
from murmurate.randomizers.registry import from_literature

KNOWN = {
    "local": "each report by itself, without any mixing",
    "blanket": "the concrete mechanism, whatever the others hold",
    "clones": "every mechanism of this epsilon",
    "fakes": "users and fakes together, whatever the others hold",
    "fakes alone": "where all other users' reports are known",
}
NO_BLANKET = "none is known for this mechanism"
NOT_ALIKE = "its reports are not alike: nothing is claimed"
ATTACK = "counting one kind of reports shows this much"
ATTACK_ALONE = "the same, where all others' reports are known"
TITLES = {
    "claimable": "",
    "attack": "",
    "users": "",
    "literature": "the literature's closed forms, never claimed",
}
Claim = MixedClaim | FakesClaim


class Line(NamedTuple):
    """A bound and what it gives."""

    name: str
    kind: str
    """One of claimable, attack, users (where all other users' reports are known) and literature."""
    epsilon: float | None
    """The epsilon, if the bound gives one here."""
    note: str


@click.command("account")
@click.argument("mechanism_name", metavar="MECHANISM")
@click.option("--d", type=int, help="The size of the domain; without it, the mechanism's own.")
@click.option("--epsilon", type=float, required=True, help="What each report may tell by itself, in nats.")
@click.option("--g", type=int, help="The cells of local hashing (olh, solh); without it, the best number for epsilon.")
@click.option("--n", "reports", type=int, required=True, help="How many reports are shuffled together.")
@click.option("--delta", type=float, required=True, help="The chance with which the promise may fail.")
@click.option("--corrupt", type=float, default=0.0, show_default=True, help="The share of reports an attacker knows.")
@click.option("--fakes", type=int, default=0, show_default=True, help="Uniform fake reports of the mixing zone.")
@click.option("--compare", is_flag=True, help="Show the literature's closed forms, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    mechanism_name: str,
    d: int | None,
    epsilon: float,
    g: int | None,
    reports: int,
    delta: float,
    corrupt: float,
    fakes: int,
    compare: bool,
    as_json: bool,
) -> None:
    """Show what shuffling the reports of a mechanism is worth: the claim, its bounds, and what an attack shows.

    sh, solh and rap are grr, olh and sue. rap_r is sue, with the epsilon of a value that is removed.
    """
    asked = {"name": mechanism_name, "epsilon": epsilon, "d": d, "g": g}
    of = from_literature({key: value for key, value in asked.items() if value is not None})
    n = honest(reports, corrupt)
    claims: list[Claim] = [mixed_claim(of, reports, checked_delta(delta), corrupt)]
    if fakes:
        claims = [claim_with_fakes(of, reports, fakes, delta, corrupt), claim_against_users(of, reports, fakes, delta)]
    found = [*lines(of, n, delta, fakes), *(literature(of, n, delta, fakes) if compare else ())]
    if as_json:
        click.echo(orjson.dumps(document(of, claims, found, reports, corrupt, fakes)))
    else:
        for line in table(of, claims, found, reports, fakes):
            click.echo(line)


def lines(of: Mechanism, n: int, delta: float, fakes: int = 0) -> list[Line]:
    """Every bound for so many honest reports and fakes."""
    found = [Line("local", "claimable", of.epsilon, KNOWN["local"])]
    if fakes:
        found.append(_certified("fakes", "claimable", lambda: fakes_epsilon(of, n, fakes, delta, 4)))
    bounds = dict(blankets(of))
    if "blanket" not in bounds:
        found.append(Line("blanket", "claimable", None, NO_BLANKET if bounds else NOT_ALIKE))
    for name, blanket in bounds.items():
        found.append(_certified(name, "claimable", partial(blanket_epsilon, blanket, n, delta, of.epsilon, 4)))
    found.append(Line("attack", "attack", shown_at_least(of, n, delta, fakes), ATTACK))
    if fakes:
        found.append(_certified("fakes alone", "users", lambda: fakes_epsilon(of, 1, fakes, delta, 4)))
        found.append(Line("attack, alone", "users", shown_at_least(of, 1, delta, fakes), ATTACK_ALONE))
    return found


def _certified(name: str, kind: str, epsilon: Callable[[], float]) -> Line:
    try:
        return Line(name, kind, epsilon(), KNOWN[name])
    except NotCertifiedError as error:
        return Line(name, kind, None, str(error))


def literature(of: Mechanism, n: int, delta: float, fakes: int = 0) -> list[Line]:
    """What the closed forms say that are about this mechanism."""
    cells = getattr(of, "g", of.d)
    forms = [form for form in FORMS if form.of is None or of.name in form.of]
    found = [Line(form.name, "literature", form.epsilon(of.epsilon, cells, n, delta), form.caveat) for form in forms]
    if fakes and of.name in ("grr", "olh", "blh"):
        together, alone = peos_epsilon(of.epsilon, cells, n, fakes, delta), peos_against_users(cells, fakes, delta)
        for name, value, whom in (("PEOS", together, "with the users"), ("PEOS, alone", alone, "fakes alone")):
            holds = value if value <= min(1.0, of.epsilon) else None
            found.append(Line(name, "literature", holds, f"up to 1; {whom}; several times too large"))
    return found


def table(of: Mechanism, claims: list[Claim], found: list[Line], reports: int, fakes: int) -> list[str]:
    """At most 80 columns wide."""
    rows = [f"{of.name}, d = {of.d}, epsilon {of.epsilon:g}: {reports} reports, of which {claims[0].n} count as honest"]
    times = f"; local is {of.epsilon / claims[0].epsilon:.3g} times that" if claims[0].bound != "local" else ""
    rows.append(f"claimed: {_said(claims[0])}{times}")
    if fakes:
        rows.append(f"{fakes} fakes; others' reports known: {_said(claims[1])}")
    rows += ["", f"{'bound':<15}{'epsilon':>10}"]
    for kind, title in TITLES.items():
        if title and any(line.kind == kind for line in found):
            rows += ["", title]
        rows += [f"{line.name:<15}{_shown(line):>10}   {line.note}" for line in found if line.kind == kind]
    return [row.rstrip() for row in rows]


def _said(claim: Claim) -> str:
    if claim.bound == "local":
        return f"epsilon {claim.epsilon:g}, the local one"
    return f"epsilon {claim.epsilon:g}, delta {claim.delta:g} ({claim.bound})"


def _shown(line: Line) -> str:
    if line.epsilon is None:
        return "-"
    return f"{line.epsilon if line.name.startswith('attack') else rounded_up(line.epsilon, 4):.4g}"


def document(
    of: Mechanism, claims: list[Claim], found: list[Line], reports: int, corrupt: float, fakes: int
) -> dict[str, Any]:
    """All of it as one table of JSON."""
    made = {
        "mechanism": of.spec(),
        "reports": reports,
        "corrupt": corrupt,
        "fakes": fakes,
        "claim": claims[0]._asdict(),
        "bounds": [line._asdict() for line in found],
    }
    return made | ({"against_users": claims[1]._asdict()} if fakes else {})
