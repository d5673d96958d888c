# SPDX-License-Identifier: Apache-2.0
"""What must come out of LDP-IDS's table and figures, and what came out otherwise.

Contract: table 2: LBD, LBA, LPD and LPA within 3 % of the paper's or a simulated figure, the others exact.  Relative
errors: within 10 % of what simulations gave, and orders: a method of population division below the same of budget
division; LPA below LPD below LPU at w >= 20 and epsilon <= 1; LBA below LBU; all of them falling in epsilon and rising
in w.  Both leave room for chance: 4 standard errors, from our own runs.  Not asked, since they are not so: LBD below
LBU, LPD below LPU at a large epsilon, LSP the worst at telling events.  Source: ARCHITECTURE section 5.7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from murmurate.agents.cli.reproductions.figures import Figure, Panel
from murmurate.agents.cli.reproductions.published import METHODS, SETTINGS, STREAMS, bits, of_trace, uniform
from murmurate.agents.cli.reproductions.runs import Case, Lab, What

NEAR_BITS, NEAR_ERROR, CHANCE = 0.03, 0.10, 4.0
EXACT = ("lbu", "lsp", "lpu")
_BELOW = ("lpu", "lbu"), ("lpd", "lbd"), ("lpa", "lba"), ("lba", "lbu")
_BELOW_SOMETIMES = ("lpa", "lpd"), ("lpd", "lpu")


@dataclass(frozen=True)
class Cell:
    """A figure of table 2."""

    setting: tuple[float, int]
    method: str
    stream: str
    found: float
    paper: float | None
    """The paper's figure; None where the paper says nothing about the stream."""
    simulated: float | None
    judged: bool = True
    """Whether it must be near: a recording is another trace than the paper's of the same name."""

    @property
    def off(self) -> float | None:
        """How far the nearer of the two is, as a share."""
        return min((self.found / known - 1 for known in (self.paper, self.simulated) if known), key=abs, default=None)

    @property
    def missed(self) -> bool:
        """Whether it is not reproduced."""
        return self.judged and self.off is not None and abs(self.off) > (1e-9 if self.method in EXACT else NEAR_BITS)


def table_cases(plain: Case, streams: Sequence[str] = STREAMS) -> dict[tuple[tuple[float, int], str, str], Case]:
    """The runs behind table 2, by setting, method and stream."""
    return {
        (setting, method, stream): Case(
            stream, method, epsilon=setting[0], w=setting[1], users=plain.users, periods=plain.periods
        )
        for setting in SETTINGS
        for method in METHODS
        for stream in streams
    }


def table(lab: Lab, plain: Case, streams: Sequence[str], *, judge: bool) -> list[Cell]:
    """Table 2; judge: beside what is known of made-up streams. Of a recording what the paper has of its own trace of
    that name, in proportion to the uniform schedule's bits.
    """
    cells = []
    for (setting, method, stream), case in table_cases(plain, streams).items():
        found, paper, simulated = lab.mean(case, "bits"), None, None
        if stream not in STREAMS:
            share = of_trace(method, stream, setting)
            paper = None if share is None else share * lab.mean(replace(case, method=uniform(method)), "bits")
        elif judge:
            paper, simulated = bits(method, stream, setting)
        cells.append(Cell(setting, method, stream, found, paper, simulated, judged=stream in STREAMS))
    return cells


def far(lab: Lab, figure: Figure) -> Iterator[str]:
    """Points that are not what was expected."""
    for panel in figure.panels:
        for name, expected in panel.expected.items():
            for step, case, known in zip(panel.steps, panel.curves[name], expected, strict=False):
                found, error = lab.mean(case, figure.what), _error(lab.each(case, figure.what))
                if abs(found - known) > NEAR_ERROR * known + CHANCE * error:
                    yield f"figure {figure.number}, {panel.title}, {name} at {step}: {found:.4g}, expected {known:g}"


def disorder(lab: Lab, figure: Figure) -> Iterator[str]:
    """Orders that do not hold."""
    if figure.number not in (3, 4):
        return
    for panel in figure.panels:
        for lower, upper in (*_BELOW, *_BELOW_SOMETIMES):
            for step, one, other in zip(panel.steps, panel.curves[lower], panel.curves[upper], strict=True):
                expected = (lower, upper) in _BELOW or (one.w >= 20 and one.epsilon <= 1)
                if expected and not _below(lab, one, other, figure.what):
                    yield f"figure {figure.number}, {panel.title}: {lower} is above {upper} at {panel.over} {step}"
        yield from _unsteady(lab, figure, panel)


def _unsteady(lab: Lab, figure: Figure, panel: Panel) -> Iterator[str]:
    """Errors must fall in epsilon, and rise in w."""
    for name in METHODS:
        curve = panel.curves[name]
        for step, one, other in zip(panel.steps, curve, curve[1:], strict=False):
            first, second = (other, one) if panel.over == "epsilon" else (one, other)
            if not _below(lab, first, second, figure.what):
                yield f"figure {figure.number}, {panel.title}: {name} goes the wrong way after {panel.over} {step}"


def _below(lab: Lab, one: Case, other: Case, what: What) -> bool:
    """Whether one is below the other, as far as chance lets one say: runs of a seed have the same stream."""
    differences = [a - b for a, b in zip(lab.each(one, what), lab.each(other, what), strict=True)]
    return math.fsum(differences) / len(differences) <= CHANCE * _error(differences)


def _error(values: Sequence[float]) -> float:
    """The standard error of a mean; 0 where there is one value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
