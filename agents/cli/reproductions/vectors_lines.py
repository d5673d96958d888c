# SPDX-License-Identifier: Apache-2.0
"""The tables of `murmurate reproduce vectors` as lines of at most 80 columns.

Contract: a function of what was computed.  Not here: computing (vectors.py), what is judged (vectors_verdicts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from murmurate.agents.cli.reproductions import vectors_reference as reference
from murmurate.agents.cli.reproductions.vectors_mixed import CENTRAL_WAYS
from murmurate.agents.cli.reproductions.vectors_verdicts import (
    correlated,
    mean_reductions,
    of_normal,
    reductions,
)
from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.federated import EXACT, Learning
from murmurate.agents.simulate.sparse_errors import MEANS, SHARES, expected, item_square, mean_square

COLUMNS: Final = 80
USERS: Final = 100_000
LEARNERS: Final = ("ExSub", "majority", "CoCo", "Collision", "PCKV-AGRR", "KVUE", "DDRM")
LEARNING_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
Found = Mapping[tuple[Any, ...], Any]


def lines(found: Found, runs: int, few: int) -> Iterator[str]:
    """All tables."""
    for number in reference.TABLES:
        yield from _printed(found, number, runs)
    yield from _errors()
    yield from _reductions()
    yield from _buckets()
    yield from _amplified(found)
    yield from _central(found)
    yield from _ranks(found)
    yield from _learned(found, few)


def _printed(found: Found, number: str, runs: int) -> Iterator[str]:
    """A table of SaO2: printed, expected, drawn."""
    table = reference.TABLES[number]
    yield f"SaO2, table {number}: n = {table.n}, {table.d} coordinates, s = {table.s}; drawn: {runs} collections"
    for place, kind in enumerate(("total error (TVE)", "largest error (MAE)")):
        yield f"{kind:<28}" + "".join(f"{epsilon:>10g}" for epsilon in reference.EPSILONS)
        for name, printed in table.rows.items():
            exact = [of_normal(name, table, epsilon)[place] for epsilon in reference.EPSILONS]
            drawn = [found["drawn", number, name, epsilon][place] for epsilon in reference.EPSILONS]
            rows = {"printed": printed[place], "expected": exact, "drawn": drawn}
            if ("reported", number, name, reference.EPSILONS[0]) in found:
                rows["reports"] = [found["reported", number, name, epsilon][place] for epsilon in reference.EPSILONS]
            yield from _rows(name, rows)
    for (of, name, epsilon), why in reference.EXCUSED.items():
        if of == number:
            yield f"({name} at {epsilon:g}: {why})"
    if number == "2":
        yield "reports: one collection of what the product's mechanisms really answer"
    yield f"(judged up to epsilon {reference.JUDGED:g})"
    yield ""


def _rows(name: str, rows: Mapping[str, Sequence[float]]) -> Iterator[str]:
    for kind, values in rows.items():
        yield f"{name:<16}{kind:<12}" + "".join(f"{value:>10.4g}" for value in values)
        name = ""


def _errors() -> Iterator[str]:
    """Expected total errors by epsilon, s, d and n."""
    yield f"Collision and CoCo, section 8: expected total errors, {USERS} users"
    epsilons = (0.01, 0.1, 0.4, 1.0, 2.0)
    yield f"{'of means, d = 256, s = 16':<28}" + "".join(f"{epsilon:>10g}" for epsilon in epsilons)
    for name in MEANS:
        values = (mean_square(name, 256, 16, epsilon, USERS) for epsilon in epsilons)
        yield f"{name:<28}" + "".join(f"{expected(value, USERS, 256).total:>10.4g}" for value in values)
    yield f"{'of items with their sign':<28}" + "".join(f"{epsilon:>10g}" for epsilon in epsilons)
    for name in SHARES:
        values = (item_square(name, 256, 16, epsilon) for epsilon in epsilons)
        yield f"{name:<28}" + "".join(f"{expected(value, USERS, 512).total:>10.4g}" for value in values)
    cases = ((256, 4, USERS), (256, 8, USERS), (256, 32, USERS), (512, 16, USERS), (256, 16, 10_000))
    for text, place in (("of means, epsilon 1: d", 0), ("   s", 1), ("   n", 2)):
        yield f"{text:<28}" + "".join(f"{case[place]:>10}" for case in cases)
    for name in MEANS:
        values = (expected(mean_square(name, d, s, 1.0, n), n, d).total for d, s, n in cases)
        yield f"{name:<28}" + "".join(f"{value:>10.4g}" for value in values)
    yield ""


def _reductions() -> Iterator[str]:
    """By how much errors are smaller, over the whole grid."""
    yield "by how much Collision's total error is smaller (d 256 and 512, s 4 to 32)"
    yield f"{'':<36}{'at most':>10}{'at least':>10}{'average':>10}{'text':>10}"
    averages = []
    for rival in reference.OLDER:
        each = list(reductions(rival).values())
        averages.append(sum(each) / len(each))
        yield f"{f'items, of {rival}':<36}{min(each):>10.0%}{max(each):>10.0%}{averages[-1]:>10.0%}"
    words = reference.PRINTED_WORDS
    average = sum(averages) / len(averages)
    yield f"{'   on average of these four':<36}{'':>20}{average:>10.0%}{words['items, of the older four']:>10.0%}"
    means = list(mean_reductions().values())
    found = f"{min(means):>10.0%}{max(means):>10.0%}{sum(means) / len(means):>10.0%}"
    yield f"{'means, of the best of these four':<36}{found}{words['means, of the best older']:>10.0%}"
    each = [correlated(256, 16, epsilon) for epsilon in reference.GRID]
    found = f"{min(each):>10.0%}{max(each):>10.0%}{sum(each) / len(each):>10.0%}"
    yield f"{'means by CoCo, of Collision':<36}{found}{words['CoCo, of Collision']:>10.0%}"
    yield "(the last one holds nowhere: CoCo's gain falls from 14 % to 2 %)"
    yield ""


def _buckets() -> Iterator[str]:
    """Parameters: the best ones, the papers', and what theirs cost."""
    yield "parameters at d = 128, s = 8: best, by the paper's rule, what that costs"
    yield f"{'epsilon':<14}" + "".join(f"{name:>22}" for name in ("ExSub's m", "Collision's t", "CoCo's t"))
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        line = f"{epsilon:<14g}"
        for name, best in (("ExSub", laws.best_signs), ("Collision", laws.best_buckets), ("CoCo", laws.best_pairs)):
            ours, theirs = best(128, 8, epsilon), laws.paper_parameter(name, 128, 8, epsilon)
            more = mean_square(name, 128, 8, epsilon, 1, theirs) / mean_square(name, 128, 8, epsilon, 1, ours)
            line += f"{ours:>8}{theirs:>6}{more:>8.3f}"
        yield line
    yield ""


def _amplified(found: Found) -> Iterator[str]:
    yield "Collision and CoCo, figure 2: epsilon over the central one, at the printed t"
    yield f"delta {reference.AMPLIFIED_DELTA:g}; certified (blanket), and what the paper prints as its bound"
    yield f"{'s, n':<12}{'epsilon':>12}" + "".join(f"{epsilon:>8g}" for epsilon in reference.AMPLIFIED_EPSILONS)
    for s, n in reference.AMPLIFIED:
        each = [found["amplified", s, n, epsilon] for epsilon in reference.AMPLIFIED_EPSILONS]
        for place, kind in enumerate(("certified", "printed")):
            ratios = (epsilon / pair[place] for epsilon, pair in zip(reference.AMPLIFIED_EPSILONS, each, strict=True))
            name = f"{s:>2}, {n:>6}" if not place else ""
            yield f"{name:<14}{kind:<10}" + "".join(f"{ratio:>8.2f}" for ratio in ratios)
    yield "(the printed bound is a lower one, so that it claims a little too much)"
    yield ""


def _central(found: Found) -> Iterator[str]:
    n, delta = reference.CENTRAL_USERS, reference.CENTRAL_DELTA
    yield f"at a central target: n = {n}, delta {delta:g}, d = 128, s = 8"
    yield "local epsilon, m or t, and squared error of one user's part of a mean"
    yield f"{'central epsilon':<20}" + "".join(f"{target:>20g}" for target in reference.CENTRAL)
    for way in CENTRAL_WAYS:
        each = [found["central", way, target] for target in reference.CENTRAL]
        yield f"{way:<20}" + "".join(f"{local:>8.3f}{at:>4}{error:>8.4g}" for local, at, error in each)
    yield ""


def _ranks(found: Found) -> Iterator[str]:
    yield "the best by exact variance, with the squared error of one user's part; then the"
    yield "best parameters: ExSub's m (means, shares), Collision's t, CoCo's t (both)"
    yield f"{'d':>4}{'s':>4}{'eps':>5}  {'of means':<20}{'of shares':<20}parameters"
    for key, (_, both, parameters) in ((key, of) for key, of in found.items() if key[0] == "rank"):
        d, s, epsilon = key[1:]
        best = "".join(f"{first[0]} {first[1]:.4g}".ljust(20) for first, _ in both)
        yield f"{d:>4}{s:>4}{epsilon:>5g}  {best}{' '.join(map(str, parameters))}"
    yield ""


def _learned(found: Found, few: int) -> Iterator[str]:
    of = Learning()
    yield f"federated learning: share of right labels, {few} runs; {found['learned', EXACT, 0.0]:.3f} without noise"
    yield f"{of.users} users in {of.steps} steps, signs of the {of.s} largest of {of.d} entries of a gradient"
    yield f"{'epsilon':<16}" + "".join(f"{epsilon:>10g}" for epsilon in LEARNING_EPSILONS)
    for name in LEARNERS:
        each = (found["learned", name, epsilon] for epsilon in LEARNING_EPSILONS)
        yield f"{name:<16}" + "".join(f"{value:>10.3f}" for value in each)
    yield ""
