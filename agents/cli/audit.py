# SPDX-License-Identifier: Apache-2.0
"""`murmurate audit`: is what is claimed true? `audit mechanism` looks at one mechanism, exactly and by measurement;
`audit ledger` recomputes from a deployment's logs who had to answer what, and compares.
"""

import math
import secrets
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import orjson

from murmurate.agents.audit.findings import Audit
from murmurate.agents.cli.audit_plugins import command as plugins_command
from murmurate.config import plugins
from murmurate.randomizers import Key, mechanism
from murmurate.randomizers.audit import ExactAudit, MeasuredBound, audit_exact, measure, trials_for
from murmurate.randomizers.mechanism import MAX_LAW, Mechanism, nats

FAILED, MISTAKES, FOUND_SOMETHING = 1, 2, 4
COLUMNS = 80
VIOLATIONS = {
    "lost": "reports that had to be there and are not",
    "twice": "reports that are there more often than users gave them",
    "over_budget": "reports that some window did not allow",
    "conflicting": "second, different reports of a user to a round",
    "foreign": "reports that nobody could have given",
    "miscounted": "counts of done, seals and tallies that are wrong",
    "missummed": "sums of central streams that their events do not give",
    "miscurated": "periods of central streams said twice or out of turn",
    "misnoised": "noisy sums without the noise that the key gives",
    "mischosen": "thresholds that hold-out and key do not choose",
}
"""What an audit of a deployment may find, and what it means."""


@click.group("audit")
def command() -> None:
    """Check the privacy promises of a mechanism or a deployment. Exit 4: one does not hold."""


command.add_command(plugins_command)


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
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def mechanism_command(name: str, d: int, epsilon: float, trials: int | None, alpha: float, as_json: bool) -> None:
    """Compare a mechanism's claimed epsilon with its realised and its measured one."""
    plugins.use_name("mechanism", name)
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


@command.command("ledger")
@click.option("-c", "--config", type=click.Path(path_type=Path), default=Path("murmurate.toml"), show_default=True,
              help="The deployment file.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@click.option(
    "--follow", "follows", is_flag=True, help="Go on with what is written, until stopped: a worker of the edge."
)
@click.option("--state", type=click.Path(path_type=Path, file_okay=False), default=Path("audit"), show_default=True,
              help="With --follow: the folder of its checkpoints.")  # fmt: skip
@click.option("--listen", default="127.0.0.1:8002", show_default=True,
              help="With --follow: where its metrics are served; nowhere if empty.")  # fmt: skip
def ledger_command(config: Path, as_json: bool, follows: bool, state: Path, listen: str) -> None:
    """Work out anew, from the logs and the edge's keys, which reports every user should have sent, and compare with
    those in the log. It shares no code with the devices' own ledger of spent budget. Exit 4: they differ; 1: they do
    not, but the logs do not go back far enough to be sure.
    """
    # Imported here: `audit mechanism` needs no broker.
    from murmurate.agents.cli.audit_follow import follow
    from murmurate.agents.cli.deployment import opened, run
    from murmurate.agents.kafka.audited_logs import audited
    from murmurate.agents.kafka.topology import zone_keys
    from murmurate.config.errors import ConfigError
    from murmurate.config.secrets import load

    this = opened(config)
    try:
        keys = zone_keys(load(this.deployment, ("edge",)), this.plan.name)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)
    assert keys.edge is not None  # noqa: S101 - the edge's secrets were loaded

    forgotten: Sequence[str] = ()
    people = True
    if follows:
        found = follow(this, keys.edge, state, listen)
    else:
        found, forgotten, people = run(audited(this.client, this.plan, keys.edge.devices))
    whole = not forgotten
    if as_json:
        counts = {name: getattr(found, name) for name in VIOLATIONS}
        seen = {name: getattr(found, name) for name in SEEN}
        answer = {"ok": found.holds and whole, "told": whole, "violations": counts, **seen}
        click.echo(orjson.dumps({**answer, "where": found.where, "forgotten": list(forgotten)}))
    else:
        for line in ledger_lines(found, forgotten, people=people):
            click.echo(line)
    sys.exit(FOUND_SOMETHING if not found.holds else 0 if whole else FAILED)


SEEN = ("users", "rounds", "reports", "sums", "leaves", "thresholds", "aborted", "pending", "unreadable")
"""What an audit of a deployment has looked at."""


def ledger_lines(found: Audit, forgotten: Sequence[str], *, people: bool) -> Iterator[str]:
    """A table of the checks: how much was examined, the violations found, and where the logs do not suffice."""
    yield f"{found.users} users, {found.rounds} rounds, {found.reports} reports"
    if found.sums:
        yield f"  {found.sums} sums of central streams, {found.leaves} leaves with noise, {found.thresholds} thresholds"
    if found.aborted:
        yield f"  {found.aborted} reports more in transactions that were never committed"
    if found.pending:
        yield f"  {found.pending} answers that may still come: not judged"
    if found.unreadable:
        yield f"  {found.unreadable} records that nobody can read"
    untold = () if people else tuple(name for name in VIOLATIONS if name != "miscounted")
    for name, meaning in VIOLATIONS.items():
        count = "?" if name in untold else getattr(found, name)
        yield f"  {name.replace('_', ' '):<12}{count:>9}  {meaning}"
    for line in found.where:
        yield from textwrap.wrap(line, COLUMNS, initial_indent="  VIOLATION ", subsequent_indent="    ")
    for line in forgotten:
        yield from textwrap.wrap(line, COLUMNS, initial_indent="  forgotten ", subsequent_indent="    ")
    if not found.holds:
        yield "  DOES NOT HOLD"
    elif forgotten:
        yield "  CANNOT BE TOLD: the logs do not go back to the beginning; what is there holds"
    else:
        yield "  holds"


def _listable(audited: Mechanism) -> bool:
    """Whether the laws of all values are few enough to be compared."""
    return audited.reports_possible <= MAX_LAW and audited.d * audited.reports_possible <= MAX_LAW * 64


def _show(audited: Mechanism, exact: ExactAudit | None, measured: MeasuredBound, violations: list[str]) -> None:
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
