"""From a name and a spec to a mechanism: the one list of what there is, over which the audit runs.

Contract: a mechanism that is not in `MECHANISMS` cannot be named in a round; one that is in it is audited.
"""

from collections.abc import Mapping
from fractions import Fraction
from inspect import signature
from typing import Any

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.frequency import GRR, OUE
from murmurate.randomizers.mechanism import Mechanism
from murmurate.randomizers.thresholds import MICRO

MECHANISMS: dict[str, type[Mechanism]] = {kind.name: kind for kind in (GRR, OUE)}
_PARAMETERS = {name: tuple(signature(kind).parameters) for name, kind in MECHANISMS.items()}


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
    unknown, missing = sorted(set(map(str, parameters)) - set(known)), sorted(set(known) - set(parameters))
    if unknown or missing:
        raise ParameterError(
            f"{name}: found {', '.join(unknown) or 'no ' + ', '.join(missing)}; "
            f"allowed: {', '.join(known)} (or epsilon_micro for epsilon)"
        )
    return kind(**parameters)
