# SPDX-License-Identifier: Apache-2.0
"""What `murmurate plan` says of horizons of changes: SaO2 beside LPU, LPA and LSP on the same promise.

Contract: it compares, with figures, and recommends nothing; no line is longer than a terminal.  Not here: how the
errors come about (agents/simulate/horizon_outlook.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from murmurate.agents.simulate.horizon_outlook import HorizonOutlook
from murmurate.aggregators.methods.horizon_errors import LONGEST
from murmurate.aggregators.methods.horizon_levels import PAPER
from murmurate.config.explain_streams import COLUMNS


def horizon_lines(said: HorizonOutlook, w: int) -> Iterator[str]:
    """The comparison of a stream, for a terminal."""
    yield "  horizons of changes, by exact variances of users who tell all that they may:"
    heads = f"{'changes':>7} {'horizon':>8} {'fan-out':>7} {'cohorts':>7} {'error':>8} {'users needed':>12}"
    yield f"  {'method':<12} {heads}"
    for row in said.rows:
        needed = f"{row.users_needed:,}".replace(",", " ")
        shape = (row.periods, row.fanout, row.cohorts) if row.error is not None else ("-", "-", "-")
        error = "-" if row.error is None else _figure(row.error)
        note = "  file" if row.of_file else "" if row.form == PAPER else f"  {row.form} form"
        columns = f"{shape[0]:>8} {shape[1]:>7} {shape[2]:>7} {error:>8} {needed:>12}"
        yield f"  {row.method:<12} {row.changes:>7} {columns}{note}"
    yield from _wrapped(" ".join((*_verdict(said), *_crossings(said, w))), "  ")


def _verdict(said: HorizonOutlook) -> Iterator[str]:
    """Whether it pays, in words."""
    best = said.best
    if best is None or best.error is None:
        yield "Users are too few for a horizon of sao2."
        return
    plain = {name: min(errors) for name, errors in said.others.items()}
    if not plain:
        return
    name = min(plain, key=lambda one: plain[one])
    ratio = best.error / plain[name]
    beside = f"{name} {'with the filter' if said.others[name][0] <= said.others[name][1] else 'as it is'}"
    form = "" if best.form == PAPER else f' with form = "{best.form}"'
    among = f"sao2's smallest error, {_figure(best.error)} at {_changes(best.changes)}{form},"
    if ratio < 1:
        yield f"It pays here: {among} is {ratio:.2g} times that of {beside}, {_figure(plain[name])}."
        yield "Users who change more often are told no further, which is in no figure here."
    else:
        yield f"It does not pay here: {among} is {ratio:.3g} times that of {beside}, {_figure(plain[name])}."


def _crossings(said: HorizonOutlook, w: int) -> Iterator[str]:
    """From which window on it beats LPU without a filter."""
    each = ", ".join(
        f"{_changes(s)} " + (f"from w = {at}" if at else f"not up to w = {LONGEST}") for s, at in said.crossings.items()
    )
    less = "it has less error than lpu without the filter"
    yield f"Of powers of two, with a horizon of w periods, {less} at {each}; here w = {w}."


def _changes(count: int) -> str:
    return f"{count} change" + "s" * (count > 1)


def _figure(number: float) -> str:
    return f"{number:#.3g}".rstrip(".")


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)
