# SPDX-License-Identifier: Apache-2.0
"""From a name and options to a method: the one list of all methods.

Contract: a method that is not among `names` cannot be named in a deployment file; errors list what is known.  What a
method divides, takes and asks is in its class.
"""

from __future__ import annotations

from typing import Final

from murmurate.aggregators.clipping import PERIODS
from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.methods.absorption import LBA, LPA
from murmurate.aggregators.methods.after_horizon import AfterHorizon
from murmurate.aggregators.methods.dsat import LBDsat, LPDsat
from murmurate.aggregators.methods.fast import LBFast, LPFast
from murmurate.aggregators.methods.filtered_horizon import FilteredHorizon
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.halving import LBD, LPD
from murmurate.aggregators.methods.holdout import Holdout
from murmurate.aggregators.methods.horizons import (
    DDRMMethod,
    DirectMethod,
    EFMRTTMethod,
    FutureRandMethod,
    FutureRandPrintedMethod,
    HorizonMethod,
    SaO2,
)
from murmurate.aggregators.methods.method import Method, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.options import OF_FILTERS, MethodOptions
from murmurate.aggregators.methods.pegasus import LBPegasus, LPPegasus
from murmurate.aggregators.methods.pem import PEM
from murmurate.aggregators.methods.pem_rounds import PEMRounds, TreeHist
from murmurate.aggregators.methods.rescuedp import LBRescueDP, LPRescueDP
from murmurate.aggregators.methods.set_methods import SVIM, SVSM, LDPMiner
from murmurate.aggregators.methods.threshold import ExpectedAnswers
from murmurate.aggregators.methods.tree_hist_all import TreeHistOfAll
from murmurate.aggregators.methods.uniform import LBU, LPU, LSP
from murmurate.aggregators.methods.worthwhile import worthwhile
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown

METHODS: Final[dict[str, type[MethodBase]]] = {
    kind.name: kind
    for kind in (
        LBU, LPU, LSP, LBD, LPD, LBA, LPA, LBDsat, LPDsat, LBRescueDP, LPRescueDP, LBFast, LPFast, LBPegasus, LPPegasus,
    )
}  # fmt: skip
"""Every method that asks for values, by name. Sources: LDP-IDS, sections 5 and 6; ARCHITECTURE sections 5.1 and 5.2."""
HORIZON_METHODS: Final[dict[str, type[HorizonMethod]]] = {
    kind.name: kind
    for kind in (SaO2, EFMRTTMethod, DDRMMethod, FutureRandMethod, FutureRandPrintedMethod, DirectMethod)
}
"""Every method that asks for changes through horizons, by name. Source: ARCHITECTURE section 5.18."""


FINDING_METHODS: Final[dict[str, type[FindingMethod]]] = {
    kind.name: kind for kind in (PEM, PEMRounds, TreeHist, TreeHistOfAll, SVIM, SVSM, LDPMiner)
}
"""Every method that searches for values which nobody declared, by name. Source: Wang 2021, chapters 4 and 5."""


def add_method(kind: type[MethodBase]) -> None:
    """Let files name a method of another package."""
    if kind.name in names():
        raise ParameterError(f"method: found the name {shown(kind.name)} twice; allowed: one that nothing else has")
    METHODS[kind.name] = kind


def names() -> tuple[str, ...]:
    """The names of all methods, of other packages too."""
    return (*METHODS, *HORIZON_METHODS, *FINDING_METHODS)


def searching(measure: Measure) -> tuple[str, ...]:
    """The names of the methods that find what this measure searches for; empty where it searches for nothing."""
    return tuple(name for name, kind in FINDING_METHODS.items() if kind.serves(measure))


def method(options: MethodOptions, setting: Setting) -> Method:
    """A new method with these options, and with the filter behind it if they ask for one. If the clipping threshold is
    to be found it begins with a hold-out phase, provided that can pay (`finds_first`).

    >>> from murmurate.aggregators.measures.frequency import Frequency
    >>> setting = Setting(Frequency.of_size(4), epsilon_micro=1_000_000, w=20, slots=4_000, first_t=1, seed=bytes(32))
    >>> method(MethodOptions("lpa", variance="paper"), setting).open(1).asked.sum()
    np.int64(100)
    """
    kind, known = kind_of(options.name), kind_of(options.name).takes()
    if unknown := sorted(set(options.own) - set(known)):
        allowed = ", ".join((*known, *OF_FILTERS, "clip"))
        raise ParameterError(f"{kind.name}: found {', '.join(unknown)}; allowed: {allowed}")
    if setting.w < 1 or setting.slots < 1:
        raise ParameterError(f"{kind.name}: found w = {setting.w}, S = {setting.slots}; allowed: both at least 1")

    if (finds := searching(setting.measure)) and options.name not in finds:
        raise ParameterError(f"{kind.name}: found a stream whose values are found; allowed: with {', '.join(finds)}")
    if setting.fakes and not kind.fixed:
        able = ", ".join(name for name, one in METHODS.items() if one.fixed)
        raise ParameterError(f"{kind.name}: found {setting.fakes} fakes a round; allowed: with {able}")

    def made(of: Setting) -> Method:
        plain = kind(of, **options.own)
        if isinstance(plain, HorizonMethod):
            return FilteredHorizon(plain) if options.filtered else AfterHorizon(plain) if options.revise else plain
        if isinstance(plain, FindingMethod):  # it follows what it finds by a filter of its own
            return plain
        return Following(plain, revise=options.revise) if options.filtered else plain

    whole = made(setting)  # so that its errors come before anybody is asked
    return Holdout(setting, made, _answers(options, setting)) if finds_first(options, setting) else whole


def finds_first(options: MethodOptions, setting: Setting) -> bool:
    """Whether the method begins with a hold-out phase: where its threshold is to be found, and that can pay."""
    if not options.finds_clip:
        return False
    if not setting.measure.clips:
        raise ParameterError(f"clip: found a stream of {setting.measure.name}; allowed: a mean or a total")
    return worthwhile(setting, _answers(options, setting))


def _answers(options: MethodOptions, setting: Setting) -> ExpectedAnswers:
    kind = kind_of(options.name)
    periods = PERIODS if options.filtered or kind.averages else 1
    return ExpectedAnswers(kind.usual(setting.w), kind.division == "budget", periods)


def kind_of(name: object) -> type[MethodBase]:
    """The class of this name."""
    known: dict[str, type[MethodBase]] = {**METHODS, **HORIZON_METHODS, **FINDING_METHODS}
    if not isinstance(name, str) or name not in known:
        raise ParameterError(f"method: found {shown(name)}; allowed: {', '.join(sorted(known))}")
    return known[name]
