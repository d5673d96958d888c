# SPDX-License-Identifier: Apache-2.0
"""Many small cases of one fact in one test: what pytest does for a test of its own takes longer than most of them.

Contract: `@every("d", [2, 3])` says what `@pytest.mark.parametrize("d", [2, 3])` does, but is one test, in which the
cases run in their order; the first that fails ends it, and the failure says which one it was.  For cases that take
next to nothing and need nothing of their own: a fixture is made once for all of them.  `@every("d", [2, 3], long=[9])`
and `@drawn(8, long=99, d=st.integers(2, 9))`, which is Hypothesis' `@given`, are two tests: `make test` runs the short
one, `make audit` the one with all cases or with as many examples as `long` says.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings

Test = Callable[..., None]
SIZE = "size_of_the_test"
"""The name of the parameter that tells a short test from its long form."""


def every(names: str | tuple[str, ...], cases: Iterable[Any], *, long: Iterable[Any] = ()) -> Callable[[Test], Test]:
    """Run a test for each of these cases; several names take the parts of each. long: further ones, of `make audit`."""
    called = [names] if isinstance(names, str) else list(names)
    usual = [(case,) if isinstance(names, str) else tuple(case) for case in cases]
    further = [(case,) if isinstance(names, str) else tuple(case) for case in long]
    assert usual, f"no case of {names}"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def all_of_them(*args: Any, **others: Any) -> None:
            known = SIZE in inspect.signature(test).parameters
            size = others.get(SIZE) if known else others.pop(SIZE, "short")
            for case in usual + further * (size == "long"):
                values = dict(zip(called, case, strict=True))
                try:
                    test(*args, **others, **values)
                except BaseException as error:
                    error.add_note("for " + ", ".join(f"{name} = {value!r}" for name, value in values.items()))
                    raise

        _without(all_of_them, test, called)
        return _sized(all_of_them) if further else all_of_them

    return decorate


def drawn(short: int, *, long: int, **strategies: Any) -> Callable[[Test], Test]:
    """Run a test for so many examples that Hypothesis draws of these strategies."""

    def decorate(test: Test) -> Test:
        forms = {
            size: settings(max_examples=many, deadline=None)(given(**strategies)(test))
            for size, many in (("short", short), ("long", long))
        }

        @functools.wraps(test)
        def as_many(*args: Any, **others: Any) -> None:
            forms[others.pop(SIZE)](*args, **others)

        _without(as_many, test, list(strategies))
        return _sized(as_many)

    return decorate


def in_turn(cases: Sequence[Any], length: int, of: int = 2) -> list[Any]:
    """These cases, of which stretches of so many are in turn in `make test`, one of two or of so many, each time a
    further one, and the others in `make audit`.
    """
    return [
        pytest.param(*case, marks=[] if at // length % of == at // (of * length) % of else pytest.mark.audit)
        for at, case in enumerate(cases)
    ]


def _without(made: Test, test: Test, names: list[str]) -> None:
    """Let pytest see the parameters of a test but for these."""
    signature = inspect.signature(test)
    kept = [parameter for name, parameter in signature.parameters.items() if name not in names]
    assert len(kept) == len(signature.parameters) - len(names), f"the test takes no {names}"
    made.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]


def _sized(made: Test) -> Test:
    """The test in its two sizes."""
    signature = inspect.signature(made)
    size = inspect.Parameter(SIZE, inspect.Parameter.KEYWORD_ONLY)
    if SIZE not in signature.parameters:
        made.__signature__ = signature.replace(parameters=[*signature.parameters.values(), size])  # type: ignore[attr-defined]
        made = pytest.mark.parametrize(SIZE, ["short", pytest.param("long", marks=pytest.mark.audit)])(made)
    return made
