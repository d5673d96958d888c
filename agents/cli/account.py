"""`murmurate account`: what shuffling is worth for one mechanism, by every bound there is; as a table, as JSON.

Contract: what it prints follows from the mechanism's own chances, the number of reports and delta.  The claim is the
line that says so; the attack is what no claim can be below; closed forms of the literature stand there to compare.
Not here: the bounds (aggregators/accounting), what is promised in a deployment (check.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click
import orjson

from murmurate.aggregators.accounting import (
    FORMS,
    MixedClaim,
    NotCertifiedError,
    blanket_epsilon,
    honest,
    mixed_claim,
    shown_at_least,
)
from murmurate.aggregators.accounting.claim import blankets, checked_delta
from murmurate.aggregators.accounting.search import rounded_up
from murmurate.randomizers import Mechanism
from murmurate.randomizers.registry import from_literature

KNOWN = {
    "local": "each report by itself, without any mixing",
    "blanket": "the concrete mechanism, whatever the others hold",
    "clones": "every mechanism of this epsilon",
}
ATTACK = "counting one kind of reports shows this much"


class Line(NamedTuple):
    """A bound and what it gives."""

    name: str
    kind: str
    """One of claimable, attack and literature."""
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
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    mechanism_name: str,
    d: int | None,
    epsilon: float,
    g: int | None,
    reports: int,
    delta: float,
    corrupt: float,
    as_json: bool,
) -> None:
    """Show what shuffling the reports of a mechanism is worth: the claim, an attack, and what the literature says.

    sh, solh and rap are grr, olh and sue. rap_r is sue, with the epsilon of a value that is removed.
    """
    asked = {"name": mechanism_name, "epsilon": epsilon, "d": d, "g": g}
    of = from_literature({key: value for key, value in asked.items() if value is not None})
    n = honest(reports, corrupt)
    claim = mixed_claim(of, reports, checked_delta(delta), corrupt)
    found = lines(of, n, delta)
    if as_json:
        click.echo(orjson.dumps(document(of, claim, found, reports, corrupt)))
    else:
        for line in table(of, claim, found, reports, delta):
            click.echo(line)


def lines(of: Mechanism, n: int, delta: float) -> list[Line]:
    """Every bound for so many honest reports."""
    found = [Line("local", "claimable", of.epsilon, KNOWN["local"])]
    for name, blanket in blankets(of):
        try:
            value, note = blanket_epsilon(blanket, n, delta, of.epsilon, 4), KNOWN[name]
        except NotCertifiedError as error:
            value, note = None, str(error)
        found.append(Line(name, "claimable", value, note))
    found.append(Line("attack", "attack", shown_at_least(of, n, delta), ATTACK))
    cells = getattr(of, "g", of.d)
    forms = [form for form in FORMS if form.of is None or of.name in form.of]
    found += [Line(form.name, "literature", form.epsilon(of.epsilon, cells, n, delta), form.caveat) for form in forms]
    return found


def table(of: Mechanism, claim: MixedClaim, found: list[Line], reports: int, delta: float) -> list[str]:
    """At most 80 columns wide."""
    said = f"claimed: epsilon {claim.epsilon:g}, the local one"
    if claim.bound != "local":
        times = of.epsilon / claim.epsilon
        said = f"claimed: epsilon {claim.epsilon:g}, delta {delta:g} ({claim.bound}); local is {times:.3g} times that"
    head = f"{of.name}, d = {of.d}, epsilon {of.epsilon:g}: {reports} reports, of which {claim.n} count as honest"
    rows = [head, said, "", f"{'bound':<15}{'epsilon':>10}"]
    for kind, title in (
        ("claimable", ""),
        ("attack", ""),
        ("literature", "the literature's closed forms, never claimed"),
    ):
        if title and any(line.kind == kind for line in found):
            rows += ["", title]
        rows += [f"{line.name:<15}{_shown(line):>10}   {line.note}" for line in found if line.kind == kind]
    return [row.rstrip() for row in rows]


def _shown(line: Line) -> str:
    if line.epsilon is None:
        return "-"
    return f"{line.epsilon if line.kind == 'attack' else rounded_up(line.epsilon, 4):.4g}"


def document(of: Mechanism, claim: MixedClaim, found: list[Line], reports: int, corrupt: float) -> dict[str, Any]:
    """All of it as one table of JSON."""
    return {
        "mechanism": of.spec(),
        "reports": reports,
        "corrupt": corrupt,
        "claim": claim._asdict(),
        "bounds": [line._asdict() for line in found],
    }
