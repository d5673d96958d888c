"""`murmurate audit`: is what is claimed true? `audit mechanism` looks at one mechanism, exactly and by measurement."""

import math
import secrets
import sys

import click
import orjson

from murmurate.randomizers import Key, mechanism
from murmurate.randomizers.audit import ExactAudit, Measured, audit_exact, measure, trials_for
from murmurate.randomizers.mechanism import MAX_LAW, Mechanism, nats

FOUND_SOMETHING = 4


@click.group("audit")
def command() -> None:
    """Check that what is claimed holds, exactly and by measurement. Exit 4: it does not."""


@command.command("mechanism")
@click.argument("name")
@click.option("--d", type=int, required=True, help="Size of the domain.")
@click.option("--epsilon", type=float, required=True, help="The claim, in nats.")
@click.option("--trials", type=click.IntRange(2), help="Users a value; by default enough to see 5 % above the claim.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="Chance of a false alarm.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
def mechanism_command(name: str, d: int, epsilon: float, trials: int | None, alpha: float, as_json: bool) -> None:
    """Compare a mechanism's claimed epsilon with its realised and its measured one."""
    audited = mechanism({"name": name, "d": d, "epsilon": epsilon})
    key = Key(secrets.token_bytes(32), deployment="audit")
    exact = audit_exact(audited) if _listable(audited) else None
    measured = measure(audited, key, trials=trials or trials_for(audited, 0.05, alpha=alpha), alpha=alpha)
    violations = [
        *(exact.violations if exact else ()),
        *([] if measured.holds else ["more than the claim was measured"]),
    ]
    if as_json:
        click.echo(
            orjson.dumps(
                {
                    "mechanism": audited.spec(),
                    "digest": audited.digest.hex(),
                    "claimed": audited.epsilon,
                    "realised": nats(audited.realised),
                    "exact": exact is not None,
                    "measured_at_least": measured.at_least,
                    "trials": measured.trials,
                    "alpha": alpha,
                    "violations": violations,
                }
            )
        )
    else:
        _show(audited, exact, measured, violations)
    sys.exit(FOUND_SOMETHING if violations else 0)


def _listable(audited: Mechanism) -> bool:
    """Whether the laws of all values are few enough to be compared."""
    return audited.reports_possible <= MAX_LAW and audited.d * audited.reports_possible <= MAX_LAW * 64


def _show(audited: Mechanism, exact: ExactAudit | None, measured: Measured, violations: list[str]) -> None:
    compared = (
        f"all {audited.d} values and {audited.reports_possible} reports compared"
        if exact
        else "too many reports to compare"
    )
    click.echo(f"{audited!r}   {audited.wire_size} bytes a report   digest {audited.digest.hex()[:16]}")
    click.echo(f"  claimed   {audited.epsilon:.9f}")
    click.echo(f"  realised  {_floor(nats(audited.realised))}   {compared}")
    users = f"{measured.trials:,} users a value, alpha {measured.alpha:g}"
    click.echo(f"  measured  {_floor(measured.at_least)}   at least, from {users}")
    for violation in violations:
        click.echo(f"  VIOLATION {violation}")
    click.echo("  holds" if not violations else "  DOES NOT HOLD")


def _floor(nats: float) -> str:
    """Nine digits behind the point, never more than there is."""
    return f"{math.floor(nats * 1e9) / 1e9:.9f}"
