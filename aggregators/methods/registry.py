"""From a name and options to a method: the one list of what there is.

Contract: a method that is not in `METHODS` cannot be named in a deployment file; errors list what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from inspect import signature
from typing import Any

from murmurate.aggregators.clipping import PERIODS
from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.methods.absorption import LBA, LPA
from murmurate.aggregators.methods.dsat import LBDsat, LPDsat
from murmurate.aggregators.methods.fast import LBFast, LPFast
from murmurate.aggregators.methods.filtered import Filtered
from murmurate.aggregators.methods.halving import LBD, LPD
from murmurate.aggregators.methods.holdout import Holdout
from murmurate.aggregators.methods.method import Method, Setting
from murmurate.aggregators.methods.pegasus import LBPegasus, LPPegasus, Pegasus
from murmurate.aggregators.methods.rescuedp import LBRescueDP, LPRescueDP
from murmurate.aggregators.methods.threshold import Answers
from murmurate.aggregators.methods.turns import Turns
from murmurate.aggregators.methods.uniform import LBU, LPU, LSP
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.terms import Division

METHODS: dict[str, type[Turns]] = {
    kind.name: kind
    for kind in (
        LBU, LPU, LSP, LBD, LPD, LBA, LPA, LBDsat, LPDsat, LBRescueDP, LPRescueDP, LBFast, LPFast, LBPegasus, LPPegasus,
    )
}  # fmt: skip

ADAPTIVE, OFF = FILTERS = ("adaptive", "off")
OF_FILTERS = ("filter", "revise")
"""Options that every method takes. A spec that names no filter has none: the papers' series."""
DECLARED, FOUND = CLIPS = ("declared", "found")
"""Of a mean: whether numbers are clipped at the end of the range, or at a threshold that a phase before all finds."""


def method(spec: Mapping[str, Any], setting: Setting) -> Method:
    """The method that a spec describes, at its beginning: its name and its options, and with "filter": "adaptive" the
    filter behind it ("revise": the lag of its revisions). With "clip": "found" it begins with a hold-out phase.

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> setting = Setting(Frequency.of_size(4), epsilon_micro=1_000_000, w=20, slots=4_000, first_t=1, seed=bytes(32))
    >>> method({"name": "lpa", "variance": "paper"}, setting).open(1).asked.sum()
    np.int64(100)
    """
    kind = _kind(spec.get("name"))
    known = [name for name in signature(kind).parameters if name != "setting"]
    options = {key: value for key, value in spec.items() if key != "name"}
    filtering, revise = options.pop("filter", OFF), options.pop("revise", 0)
    clip = options.pop("clip", DECLARED)
    unknown = sorted(set(map(str, options)) - set(known))
    if unknown:
        allowed = ", ".join((*known, *OF_FILTERS, "clip"))
        raise ParameterError(f"{kind.name}: found {', '.join(unknown)}; allowed: {allowed}")
    if setting.w < 1 or setting.slots < 1:
        raise ParameterError(f"{kind.name}: found w = {setting.w}, S = {setting.slots}; allowed: both at least 1")
    if filtering not in FILTERS:
        raise ParameterError(f"filter: found {shown(filtering)}; allowed: {', '.join(FILTERS)}")
    if clip not in CLIPS:
        raise ParameterError(f"clip: found {shown(clip)}; allowed: {', '.join(CLIPS)}")
    filtered = filtering == ADAPTIVE
    if revise and not filtered:
        raise ParameterError(f"revise: found {shown(revise)} without a filter; allowed: with filter = {ADAPTIVE!r}")

    def made(of: Setting) -> Method:
        turns = kind(of, **options)
        return Following(turns, revise=revise) if filtered else turns

    if clip == DECLARED:
        return made(setting)
    share = Fraction(1) if kind is LSP else Fraction(1, setting.w)
    averages = filtered or issubclass(kind, Filtered | Pegasus)
    return Holdout(setting, made, Answers(share, kind.division == "budget", PERIODS if averages else 1))


def division(name: str) -> Division:
    """What the promise of this method is divided into: population or budget."""
    return _kind(name).division


def _kind(name: object) -> type[Turns]:
    if not isinstance(name, str) or name not in METHODS:
        raise ParameterError(f"method: found {shown(name)}; allowed: {', '.join(sorted(METHODS))}")
    return METHODS[name]
