# SPDX-License-Identifier: Apache-2.0
"""Every post-processing by its name, all with one signature: estimate and context in, float64[d] out.

Contract: a method is a function of its two arguments alone, gives the same output for the same input, and leaves the
estimate as it was.  Source: Wang 2021, section 8.1, in its order.  Not here: Post-Pos, which works on answers
(base.py); which method suits which question (query.py).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from murmurate.aggregators.postprocess.base import base, base_cut, base_pos, significant
from murmurate.aggregators.postprocess.context import Context, Floats
from murmurate.aggregators.postprocess.mle import mle_apx
from murmurate.aggregators.postprocess.norms import norm, norm_cut, norm_mul, norm_sub
from murmurate.aggregators.postprocess.power import power, power_ns
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown

Method = Callable[[Floats, Context], Floats]

METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "base": base,
        "base-pos": base_pos,
        "base-cut": base_cut,
        "significant": significant,
        "norm": norm,
        "norm-mul": norm_mul,
        "norm-sub": norm_sub,
        "norm-cut": norm_cut,
        "mle-apx": mle_apx,
        "power": power,
        "power-ns": power_ns,
    }
)
"""The word for each in a request and in a table."""
NON_NEGATIVE: Final = frozenset(METHODS) - {"base", "norm", "significant"}
"""The methods whose results are never below 0."""
SUM_TO_ONE: Final = frozenset({"norm", "norm-mul", "norm-sub", "mle-apx", "power-ns"})
"""The methods whose results sum to 1."""


def post_process(name: str, estimate: Floats, context: Context) -> Floats:
    """The estimate after the method of this name: float64[d].

    >>> context = Context(p=0.5, q=0.25, n=1200, d=4)
    >>> post_process("norm-cut", [0.5, 0.25, 0.5, -0.25], context).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """
    if name not in METHODS:
        raise ParameterError(f"post-processing: found {shown(name)}; allowed: {', '.join(METHODS)}")
    return METHODS[name](estimate, context)
