# SPDX-License-Identifier: Apache-2.0
"""What the tests of every frequency oracle ask: one text for both halves, the law, the promise, the moments."""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key, Mechanism, ReportError, ValueRefusedError
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.randomness import contexts
from tests.audit.registry import EPSILONS

KEY = Key(hashlib.sha256(b"frequency oracles").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
FEW = [EPSILONS[0], EPSILONS[6], EPSILONS[10], EPSILONS[15], EPSILONS[-1]]
"""One micro-nat, 1/3, 1, 4 and 20."""
GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "oracles_golden.json").read_text(encoding="ascii")
)


def reports_of(made: Mechanism, values: np.ndarray, first: int = 0) -> np.ndarray:
    """What these users say in one round; each is counted from `first`."""
    return made.perturb(values, KEY.draw(contexts(first + np.arange(len(values))), round=ROUND))


def check_both_halves_write_the_same_bytes(made: Mechanism, n: int = 200) -> None:
    values = np.arange(n) % made.d
    values[-1] = made.d - 1
    users = contexts(np.arange(n))
    reports = reports_of(made, values)
    assert reports.shape == (n, made.wire_size)
    assert reports.dtype == np.uint8
    assert not made.malformed(reports).any()
    for i in range(n):
        assert made.perturb_one(int(values[i]), KEY.draw_one(users[i].tobytes(), round=ROUND)) == reports[i].tobytes()
    cuts = [made.support(part) for part in np.split(reports, [1, n // 3])]
    assert (np.sum(cuts, axis=0) == made.support(reports)).all()
    assert (made.support(reports[:0]) == 0).all()


def check_the_promise(made: Mechanism) -> None:
    """In Fractions: no ratio above e^epsilon, none above `realised` and one equal to it, and `telling` as the law."""
    found = audit_exact(made)
    assert found.violations == ()
    laws = [made.law(value) for value in range(made.d)]
    assert len(laws[0]) == made.reports_possible
    assert all(list(law) == list(laws[0]) for law in laws)
    assert max(max(c) / min(c) for c in zip(*(law.values() for law in laws), strict=True)) == made.realised
    rows = np.array([np.frombuffer(report, np.uint8) for report in laws[0]])
    assert not made.malformed(rows).any()
    told = made.evidence(rows, 0, made.d - 1)
    chances = [sum(c for c, hit in zip(laws[v].values(), told, strict=True) if hit) for v in (0, made.d - 1)]
    assert chances == pytest.approx(made.telling, rel=1e-9)


def check_reports_follow_the_law(made: Mechanism, value: int, n: int = 200_000) -> None:
    """Pearson's chi-square; by Laurent and Massart it exceeds k + 2 sqrt(k x) + 2 x with chance at most e^-x."""
    law = made.law(value)
    places = {report: i for i, report in enumerate(law)}
    reports, counted = np.unique(reports_of(made, np.full(n, value)), axis=0, return_counts=True)
    seen = np.zeros(len(law))
    for report, count in zip(reports, counted, strict=True):
        seen[places[report.tobytes()]] = count
    expected = n * np.array([float(chance) for chance in law.values()])
    rare = expected < 20  # put together, or left out if they stay rare
    seen, expected = (np.append(x[~rare], x[rare].sum()) for x in (seen, expected))
    kept = expected >= 20
    chi, k, x = ((seen - expected)[kept] ** 2 / expected[kept]).sum(), int(kept.sum()), math.log(1e6)
    assert chi <= k + 2 * math.sqrt(k * x) + 2 * x
    assert seen[~kept].sum() <= 60


def check_unbiased_and_as_variable_as_said(made: Mechanism, runs: int = 20_000, n: int = 10) -> None:
    """Means within 4 standard errors, variances within 5 percent (5 standard errors or more).

    The key is fixed: it passes always or never. Over keys a mean would alarm with 6e-5, a variance with 1e-6.
    """
    held = np.arange(n) // 4 % made.d
    reports = reports_of(made, np.tile(held, runs)).reshape(runs, n, made.wire_size)
    estimates = np.array([made.estimate(made.support(run), n) for run in reports])
    truth = np.bincount(held, minlength=made.d) / n
    exact = made.variance(n, truth)
    assert (np.abs(estimates.mean(axis=0) - truth) <= 4 * np.sqrt(exact / runs)).all()
    assert (np.abs(estimates.var(axis=0) / exact - 1) <= 0.05).all()


def check_bad_input_is_refused(made: Mechanism) -> None:
    d = made.d
    for values in (np.array([0, d]), np.array([-1, 0]), np.array([0.0, 1.0]), np.array([0]), [0, 1]):
        with pytest.raises(ValueRefusedError, match="allowed:"):
            made.perturb(values, KEY.draw(contexts(np.arange(2)), round=ROUND))  # type: ignore[arg-type]
    for value in (d, -1, 1.0, None, True):
        with pytest.raises(ValueRefusedError, match=f"allowed: a whole number from 0 to {d - 1}"):
            made.perturb_one(value, KEY.draw_one(bytes(16), round=ROUND))  # type: ignore[arg-type]
    for reports in (np.zeros((3, made.wire_size + 1), np.uint8), np.zeros((3, made.wire_size), np.int64), [b"a"]):
        for read in (made.support, made.malformed):
            with pytest.raises(ReportError, match="reports: found"):
                read(reports)  # type: ignore[arg-type]
    counts: list[tuple[Any, int]] = [
        (np.zeros(d + 1, np.int64), 3),
        (np.zeros(d), 3),
        (np.full(d, -1), 3),
        (np.zeros(d, int), 0),
    ]
    for support, n in counts:
        with pytest.raises(ReportError, match="allowed:"):
            made.estimate(support, n)


def close(found: float | Fraction, golden: float, digits: float = 1e-6) -> None:
    assert float(found) == pytest.approx(golden, rel=digits)
