"""Many small cases of one fact in one test: what pytest does for a test of its own takes longer than most of them.

Contract: `@every("d", [2, 3])` says what `@pytest.mark.parametrize("d", [2, 3])` does, but is one test, in which the
cases run in their order; the first that fails ends it, and the failure says which one it was.  For cases that take
next to nothing and need nothing of their own: a fixture is made once for all of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def every(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for each of these cases; several names take the parts of each."""
    called = [names] if isinstance(names, str) else list(names)
    given = [(case,) if isinstance(names, str) else tuple(case) for case in cases]
    assert given, f"no case of {names}"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def all_of_them(*args: Any, **others: Any) -> None:
            for case in given:
                values = dict(zip(called, case, strict=True))
                try:
                    test(*args, **others, **values)
                except BaseException as error:
                    error.add_note("for " + ", ".join(f"{name} = {value!r}" for name, value in values.items()))
                    raise

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in called]
        assert len(kept) == len(signature.parameters) - len(called), f"the test takes no {names}"
        all_of_them.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_of_them

    return decorate
