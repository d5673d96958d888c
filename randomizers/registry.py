"""From a name and a spec to a mechanism: the one list of what there is, over which the audit runs.

Contract: a mechanism that is in `MECHANISMS` is audited; one that is not in `ASKED` cannot be named in a round.
"""

from collections.abc import Mapping
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.frequency import (
    BLH,
    GRR,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    SUE,
    THE,
    BasicRAPPOR,
    HadamardResponse,
    SubsetSelection,
)
from murmurate.randomizers.mechanism import Mechanism
from murmurate.randomizers.numeric import HM, PM, SR, SW, Recoded, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.thresholds import MICRO

ORACLES: dict[str, type[Mechanism]] = {
    kind.name: kind for kind in (BLH, GRR, HadamardResponse, OLH, OUE, SHE, SUE, SubsetSelection, THE)
}
"""Those that serve a stream of frequencies."""
STREAMED: dict[str, type[Mechanism]] = {
    **ORACLES,
    **{kind.name: kind for kind in (SR, PM, HM, ValueAndPresence, SW, WaveAndPresence)},
}
"""Those that a stream may name."""
ASKED: dict[str, type[Mechanism]] = {**STREAMED, Recoded.name: Recoded}
"""Those that a round may name."""
MECHANISMS: dict[str, type[Mechanism]] = {**ASKED, **{kind.name: kind for kind in (BasicRAPPOR, RAPPOR)}}
"""All there are."""
_BY_MEASURE: dict[str, list[str]] = {}
for _name, _kind in STREAMED.items():
    _BY_MEASURE.setdefault(_kind.measure, []).append(_name)
_PARAMETERS = {name: signature(kind).parameters for name, kind in MECHANISMS.items()}


def mechanism(spec: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a spec describes: its name, its parameters, and `epsilon` or `epsilon_micro`.

    >>> mechanism({"name": "oue", "d": 128, "epsilon": 1.0})
    OUE(d=128, epsilon=1.0)
    """
    if not isinstance(spec, Mapping):
        raise ParameterError(f"mechanism: found {type(spec).__name__}; allowed: a table with a name and parameters")
    parameters = dict(spec)
    name = parameters.pop("name", None)
    if not isinstance(name, str) or name not in MECHANISMS:
        raise ParameterError(f"mechanism: found {name!r}; allowed: {', '.join(sorted(MECHANISMS))}")
    kind = MECHANISMS[name]
    known = _PARAMETERS[name]
    if "epsilon_micro" in parameters and "epsilon" not in parameters:
        micro = parameters.pop("epsilon_micro")
        if isinstance(micro, bool) or not isinstance(micro, int):
            raise ParameterError(f"{name}: epsilon_micro: found {micro!r}; allowed: a whole number of micro-nats")
        parameters["epsilon"] = Fraction(micro, MICRO)
    needed = {name for name, parameter in known.items() if parameter.default is Parameter.empty}
    unknown, missing = sorted(set(map(str, parameters)) - set(known)), sorted(needed - set(parameters))
    if unknown or missing:
        raise ParameterError(
            f"{name}: found {', '.join(unknown) or 'no ' + ', '.join(missing)}; "
            f"allowed: {', '.join(known)} (or epsilon_micro for epsilon)"
        )
    return kind(**parameters)


def streamed(spec: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a round names."""
    named = spec.get("name") if isinstance(spec, Mapping) else None
    if isinstance(named, str) and named in MECHANISMS and named not in ASKED:
        allowed = ", ".join(sorted(ASKED))
        raise ParameterError(f"mechanism: found {named!r}, which serves no stream; allowed: {allowed}")
    return mechanism(spec)


def serving(measure: str, *, says_none: bool) -> tuple[str, ...]:
    """The mechanisms that serve such a stream; says_none: whether its users may have no value.

    >>> serving("mean", says_none=True)
    ('value_presence',)
    """
    able = (name for name in _BY_MEASURE.get(measure, ()) if STREAMED[name].says_none in (None, says_none))
    return tuple(sorted(able))
