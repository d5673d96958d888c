# SPDX-License-Identifier: Apache-2.0
"""Whether what another package adds keeps its promise: checked before anything may use it.

Contract: `fault_of` gives None or one line that says what is wrong; nothing that another package raises gets past it.
A mechanism or question is audited exactly over small domains: the ratio of its law, equal support, constant length, the
same bytes from both ways of perturbing, reports that its law has, unbiased estimates of frequencies.  A view is audited
with randomized response behind it.  Not here: finding packages (plugins.py), measuring what is sent and running whole
streams (`murmurate audit plugins`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.config.measures.declared import DeclaredStream
from murmurate.randomizers import GRR, Key, Mechanism, ParameterError, Question
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.errors import shown
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.registry import is_oracle
from murmurate.randomizers.viewed import Viewed
from murmurate.randomizers.views import View

SIZES: Final = (2, 3, 5)
"""Sizes of the domains over which a mechanism is audited, unless it has examples of its own."""
EPSILONS: Final = (Fraction(1, 2), Fraction(2))
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_USERS: Final = 64
_CLOSE: Final = 1e-6
_KEY: Final = Key(hashlib.sha256(b"murmurate plugin").digest(), deployment="plugin")  # no secret: nobody is there
_ROUND: Final = bytes(range(32))


def fault_of(kind: str, name: str, found: object) -> str | None:
    """What is wrong with the class that an entry point gives; None where it may be used."""
    try:
        return _CHECKS[kind](name, found)
    except ParameterError as error:
        return str(error)
    except Exception as error:
        return f"raises {type(error).__name__} when it is audited: {shown(str(error))}"


def examples_of(kind: type[Any]) -> Iterator[Any]:
    """Small instances of a class: those of its `examples`, else of a mechanism one for each of SIZES and EPSILONS."""
    given = getattr(kind, "examples", None)
    if given is not None:
        yield from given()
        return
    for d in SIZES:
        for epsilon in EPSILONS:
            try:
                yield kind(d=d, epsilon=epsilon)
            except ParameterError:
                continue  # a size that it does not have


def _question_fault(name: str, found: object) -> str | None:
    if (fault := _class_fault(name, found, Question, "a Question, such as a Mechanism")) is not None:
        return fault
    assert isinstance(found, type)  # noqa: S101 - it is a class, as just checked
    if not issubclass(found, Mechanism) and not hasattr(found, "examples"):
        return "has no `examples`: a class method that gives small instances to audit"
    made = list(examples_of(found))
    if not made:
        return f"cannot be made with any of {', '.join(f'd = {d}' for d in SIZES)}, and has no `examples`"
    return next((fault for one in made if (fault := audited(one)) is not None), None)


def audited(question: Question) -> str | None:
    """What breaks a question's promise, of one whose values and reports can be listed."""
    question = question.of_round(_ROUND)
    exact = audit_exact(question, round=_ROUND)
    if not exact.holds:
        return f"{question!r} fails its audit: {exact.violations[0]}"
    values = list(layout(question.layout).enumerate())
    held = [values[user % len(values)] for user in range(_USERS)]
    users = contexts(np.arange(_USERS), 1)
    reports = question.perturb(layout(question.layout).array(held), _KEY.draw(users, round=_ROUND))
    if (
        not isinstance(reports, np.ndarray)
        or reports.dtype != np.uint8
        or reports.shape != (_USERS, question.wire_size)
    ):
        return f"{question!r} gives reports that are not uint8[n, {question.wire_size}]"
    laws = [question.law(value) for value in values[:_USERS]]
    for user, value in enumerate(held):
        report = reports[user].tobytes()
        if report not in laws[user % len(values)]:
            return f"{question!r} sends a report that its law does not have"
        if question.perturb_one(value, _KEY.draw_one(users[user].tobytes(), round=_ROUND)) != report:
            return f"{question!r} gives other bytes to one user (`perturb_one`) than among many (`perturb`)"
    if question.malformed(reports).any():
        return f"{question!r} takes its own reports for malformed"
    if isinstance(question, Mechanism) and is_oracle(type(question)):
        return _bias(question)
    return None


def _bias(mechanism: Mechanism) -> str | None:
    """Whether the expected estimate of each value is its share, worked out from the law."""
    for value in range(mechanism.d):
        expected = np.zeros(mechanism.d)
        for report, chance in mechanism.law(value).items():
            one = np.frombuffer(report, np.uint8)[np.newaxis]
            expected += float(chance) * mechanism.estimate(mechanism.support(one), 1)[: mechanism.d]
        truth = np.eye(mechanism.d)[value]
        if np.abs(expected - truth).max() > _CLOSE:
            return f"{mechanism!r} is biased: where all hold value {value} it expects {expected.round(4).tolist()}"
    return None


def _view_fault(name: str, found: object) -> str | None:
    if (fault := _class_fault(name, found, View, "a View")) is not None:
        return fault
    if not hasattr(found, "examples"):
        return "has no `examples`: a class method that gives small instances to audit"
    assert isinstance(found, type)  # noqa: S101 - it is a class, as just checked
    made: Iterable[View] = examples_of(found)
    for place, view in enumerate(made):
        values = list(layout(view.of.spec()).enumerate())
        users = contexts(np.arange(len(values)), 1)
        told = np.asarray(view.codes(layout(view.of.spec()).array(values), _KEY.draw(users, round=_ROUND)))
        if told.shape != (len(values),) or told.dtype.kind not in "iu" or not ((told >= 0) & (told < view.d)).all():
            return f"example {place}: its codes are not whole numbers below d = {view.d}"
        if view.chance is None and any(view.code(value) != code for value, code in zip(values, told, strict=True)):
            return f"example {place}: gives another code to one value (`code`) than among many (`codes`)"
        for epsilon in EPSILONS:
            if (broken := audited(Viewed(view, GRR(d=view.d, epsilon=epsilon)))) is not None:
                return f"example {place}: {broken}"
    return None


def _method_fault(name: str, found: object) -> str | None:
    if (fault := _class_fault(name, found, MethodBase, "a MethodBase")) is not None:
        return fault
    assert isinstance(found, type)  # noqa: S101 - it is a class, as just checked
    missing = [part for part in ("division", "simplicity") if not hasattr(found, part)]
    return f"has no {' and no '.join(missing)}" if missing else None


def _measure_fault(name: str, found: object) -> str | None:
    if not isinstance(found, type) or not issubclass(found, DeclaredStream):
        return "is no class of a stream's table (a StreamTable)"
    measure = getattr(found, "measured", None)
    if not isinstance(measure, type) or not issubclass(measure, Measure):
        return "has no `measured`: the class of its measure"
    return _name_fault(name, measure.name)


def _class_fault(name: str, found: object, base: type, what: str) -> str | None:
    if not isinstance(found, type) or not issubclass(found, base):
        return f"is no class of {what}"
    unmade = sorted(getattr(found, "__abstractmethods__", ()))
    if unmade:
        return f"leaves out {', '.join(unmade)}"
    return _name_fault(name, getattr(found, "name", None))


def _name_fault(name: str, own: object) -> str | None:
    if own != name:
        return f"calls itself {shown(own)}, and its entry point {shown(name)}; both have to be the same"
    fitting = _NAME.fullmatch(name)
    return None if fitting else "has a name that is not 1 to 32 small letters, digits, dashes and underscores"


_CHECKS: Final[Mapping[str, Callable[[str, object], str | None]]] = {
    "mechanism": _question_fault, "view": _view_fault, "method": _method_fault, "measure": _measure_fault,
}  # fmt: skip
