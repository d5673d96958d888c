# SPDX-License-Identifier: Apache-2.0
"""What a server does with estimates. It knows no Kafka, no files and no clock.

Methods       METHODS and HORIZON_METHODS by name, `method` of MethodOptions in a Setting: what is asked of whom, when
Mechanisms    `choose`: the best oracle for a domain
Measures      KINDS by name, each a Measure: from counts to the figures of a release
Reading       `read_for`: the estimates of a release, shaped for a kind of question
Questions     ReleaseIndex, `parse`, `answer`: how much over a stretch of time; QueryAnswer of AnswerRow
Accounting    MixedClaim, `mixed_claim`, `window_claim`: what mixing is worth; more in murmurate.aggregators.accounting
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from murmurate.aggregators.accounting import MixedClaim, mixed_claim, window_claim
    from murmurate.aggregators.chooser import choose
    from murmurate.aggregators.measures.measure import Measure
    from murmurate.aggregators.measures.registry import KINDS
    from murmurate.aggregators.methods.method import Method, Setting
    from murmurate.aggregators.methods.options import MethodOptions
    from murmurate.aggregators.methods.registry import HORIZON_METHODS, METHODS, kind_of, method
    from murmurate.aggregators.postprocess.reading import Read, read_for
    from murmurate.aggregators.queries import (
        AnswerRow,
        ParsedQuery,
        QueryAnswer,
        QueryRefusedError,
        ReleaseIndex,
        answer,
        parse,
    )
    from murmurate.aggregators.queries.errors import ReleaseFormatError

__all__ = [
    "HORIZON_METHODS",
    "KINDS",
    "METHODS",
    "AnswerRow",
    "Measure",
    "Method",
    "MethodOptions",
    "MixedClaim",
    "ParsedQuery",
    "QueryAnswer",
    "QueryRefusedError",
    "Read",
    "ReleaseFormatError",
    "ReleaseIndex",
    "Setting",
    "answer",
    "choose",
    "kind_of",
    "method",
    "mixed_claim",
    "parse",
    "read_for",
    "window_claim",
]

_PLACES: Final = {
    "AnswerRow": "queries",
    "HORIZON_METHODS": "methods.registry",
    "KINDS": "measures.registry",
    "METHODS": "methods.registry",
    "Measure": "measures.measure",
    "Method": "methods.method",
    "MethodOptions": "methods.options",
    "MixedClaim": "accounting",
    "ParsedQuery": "queries",
    "QueryAnswer": "queries",
    "QueryRefusedError": "queries",
    "Read": "postprocess.reading",
    "ReleaseFormatError": "queries.errors",
    "ReleaseIndex": "queries",
    "Setting": "methods.method",
    "answer": "queries",
    "choose": "chooser",
    "kind_of": "methods.registry",
    "method": "methods.registry",
    "mixed_claim": "accounting",
    "parse": "queries",
    "read_for": "postprocess.reading",
    "window_claim": "accounting",
}
"""The module of each name, and behind a colon what it is called there."""


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for, so that nobody waits for what he does not use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, inner = _PLACES[name].partition(":")
    found = getattr(import_module(f"{__name__}.{module}"), inner or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
