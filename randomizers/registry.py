# SPDX-License-Identifier: Apache-2.0
"""The lists of all mechanisms and views, and how a spec becomes a mechanism, a view or a question.

Contract: a mechanism that is in `MECHANISMS` and a view that is in `VIEWS` are audited; a round can use those in
`STREAMED` and `SEARCHED`, behind any view that fits. Any spec gives a question or a ParameterError. Of what other
packages add (`add_question`, `add_view`) nothing takes the name of one that is there, and "auto" chooses none.
Not here: finding and auditing what other packages have (config/plugins.py).
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from inspect import Parameter, signature
from typing import Any, TypeVar

from murmurate.randomizers.branches import Branches
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.faked import Faked
from murmurate.randomizers.frequency import (
    AUE,
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
    OLHCounts,
    SubsetSelection,
)
from murmurate.randomizers.mechanism import Mechanism
from murmurate.randomizers.numeric import HM, PM, SR, SW, ValueAndPresence, WaveAndPresence
from murmurate.randomizers.numeric.clipped import NAME as CLIPPED
from murmurate.randomizers.numeric.clipped import clipped
from murmurate.randomizers.padding import Itemsets, Padded
from murmurate.randomizers.question import Question
from murmurate.randomizers.row_views import Level, Marginal
from murmurate.randomizers.sampled_prefix import SampledPrefix
from murmurate.randomizers.sessions.specs import node_of
from murmurate.randomizers.spec_fields import fields, listed
from murmurate.randomizers.string_views import Extensions, LongPrefix
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.trie_view import TrieLeaf
from murmurate.randomizers.vectors import (
    DDRM,
    EFMRTT,
    KVUE,
    PCKVAGRR,
    PCKVGRR,
    PCKVUE,
    SUCCINCT,
    CoCo,
    Collision,
    ExSub,
    FutureRand,
    MajorityExSub,
    PrivKV,
    SetSubset,
    VectorQuestion,
)
from murmurate.randomizers.viewed import Viewed
from murmurate.randomizers.views import FOLD, Prefix, Size, View, Whole
from murmurate.randomizers.weighted import Weighted

ORACLES: dict[str, type[Mechanism]] = {
    kind.name: kind for kind in (BLH, GRR, HadamardResponse, OLH, OUE, SHE, SUE, SubsetSelection, THE)
}
"""The mechanisms that serve a stream of frequencies."""
STREAMED: dict[str, type[Mechanism]] = {
    **ORACLES,
    **{kind.name: kind for kind in (SR, PM, HM, ValueAndPresence, SW, WaveAndPresence)},
}
"""The mechanisms that a stream may name."""
SEARCHED: dict[str, type[Mechanism]] = {OLHCounts.name: OLHCounts}
"""The mechanisms that a round of a search may name, and no file."""
MECHANISMS: dict[str, type[Mechanism]] = {
    **STREAMED,
    **SEARCHED,
    **{kind.name: kind for kind in (BasicRAPPOR, RAPPOR)},
}
"""Every mechanism by its name."""
LITERATURE: dict[str, Callable[..., Mechanism]] = {"sh": GRR, "solh": OLH, "rap": SUE, "rap_r": SUE.removal}
"""Names that the literature of shuffling has for mechanisms that are here under another one: what builds them. RAP_R's
epsilon is that of a removed value, and what it builds costs twice that.
"""
VIEWS: dict[str, type[View]] = {
    kind.name: kind
    for kind in (
        Whole,
        Prefix,
        LongPrefix,
        Extensions,
        TrieLeaf,
        Level,
        Marginal,
        Size,
        Padded,
        Itemsets,
        SampledPrefix,
    )
}
"""The views that may stand before a mechanism, except clipping at a threshold."""
VECTORS: dict[str, type[VectorQuestion]] = {
    kind.name: kind
    for kind in (
        KVUE,
        ExSub,
        MajorityExSub,
        SetSubset,
        CoCo,
        Collision,
        DDRM,
        EFMRTT,
        PCKVAGRR,
        PCKVGRR,
        PCKVUE,
        SUCCINCT,
        FutureRand,
        PrivKV,
    )
}
"""The mechanisms for sets and sparse vectors by their names; a stream may name them all."""
FOREIGN: dict[str, type[Question]] = {}
"""Questions and mechanisms of other packages by their names."""
_BY_MEASURE: dict[str, list[str]] = {}
for _name, _kind in STREAMED.items():
    _BY_MEASURE.setdefault(_kind.measure, []).append(_name)


def add_question(kind: type[Question]) -> None:
    """Let rounds and files name a question of another package. A mechanism serves streams of its `measure`."""
    name = str(getattr(kind, "name", ""))
    if name in taken_names():
        raise ParameterError(f"question: found the name {shown(name)} twice; allowed: one that nothing else has")
    FOREIGN[name] = kind
    if issubclass(kind, Mechanism):
        MECHANISMS[name] = STREAMED[name] = kind
        _BY_MEASURE.setdefault(kind.measure, []).append(name)
        if is_oracle(kind):
            ORACLES[name] = kind


def add_view(kind: type[View]) -> None:
    """Let rounds name a view of another package."""
    if kind.name in VIEWS:
        raise ParameterError(f"view: found the name {shown(kind.name)} twice; allowed: one that nothing else has")
    VIEWS[kind.name] = kind


def is_oracle(kind: type[Mechanism]) -> bool:
    """Whether a mechanism serves streams of frequencies, as GRR does."""
    return _BY_MEASURE.get(kind.measure) is _BY_MEASURE[GRR.measure]


def taken_names() -> frozenset[str]:
    """Every name by which a spec of a question may be called."""
    wrappers = (CLIPPED, "viewed", "branches", Faked.name, "weighted", AUE.name, "node", *LITERATURE)
    return frozenset((*MECHANISMS, *VECTORS, *FOREIGN, *wrappers))


def oracles() -> tuple[str, ...]:
    """The names in ORACLES, those of other packages last."""
    return _own_first(ORACLES)


def mechanism(spec: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a spec describes: its name, its parameters, and `epsilon` or `epsilon_micro`.

    >>> mechanism({"name": "oue", "d": 128, "epsilon": 1.0})
    OUE(d=128, epsilon=1.0)
    """
    if not isinstance(spec, Mapping):
        raise ParameterError(f"mechanism: found {type(spec).__name__}; allowed: a table with a name and parameters")
    name = spec.get("name")
    if not isinstance(name, str) or name not in MECHANISMS:
        raise ParameterError(f"mechanism: found {shown(name)}; allowed: {', '.join(sorted(MECHANISMS))}")
    return _built(name, MECHANISMS[name], spec)


def from_literature(spec: Mapping[str, Any]) -> Mechanism:
    """The mechanism of a spec that may also have a name of the literature of shuffling; no round has such a name.

    >>> from_literature({"name": "rap_r", "d": 9, "epsilon": 0.5})
    SUE(d=9, epsilon=1.0)
    """
    name = spec.get("name") if isinstance(spec, Mapping) else None
    if isinstance(name, str) and name in LITERATURE:
        return _built(name, LITERATURE[name], spec)
    return mechanism(spec)


def streamed(spec: Mapping[str, Any]) -> Mechanism:
    """The mechanism of a spec, if rounds may ask it."""
    named = spec.get("name") if isinstance(spec, Mapping) else None
    if isinstance(named, str) and named in MECHANISMS and named not in (*STREAMED, *SEARCHED):
        allowed = ", ".join(sorted(STREAMED))
        raise ParameterError(f"mechanism: found {named!r}, which serves no stream; allowed: {allowed}")
    return mechanism(spec)


def view(spec: Mapping[str, Any]) -> View:
    """The view that a spec describes: its name, a layout, and its parameters.

    >>> view({"name": "prefix", "layout": ["bits", 48, 1], "bits": 8}).d
    257
    """
    name = spec.get("name") if isinstance(spec, Mapping) else None
    if not isinstance(name, str) or name not in VIEWS:
        raise ParameterError(f"view: found {shown(name)}; allowed: {', '.join(sorted(VIEWS))}")
    return _built(name, VIEWS[name], spec)


def question(spec: Mapping[str, Any]) -> Question:
    """The question that a round's spec describes: a mechanism, one behind a view or with fakes, several, or a node.

    >>> olh = {"name": "olh", "d": 257, "epsilon": 1.0}
    >>> question({"name": "viewed", "view": {"name": "prefix", "layout": ["bits", 48, 1], "bits": 8}, "mechanism": olh})
    Viewed(prefix, OLH(d=257, epsilon=1.0))
    """
    match spec.get("name") if isinstance(spec, Mapping) else None:
        case "recoded":
            return _built(CLIPPED, clipped, spec)
        case "viewed":
            found = fields("viewed", spec, "view", "mechanism")
            return Viewed(view(found["view"]), streamed(found["mechanism"]))
        case "branches":
            return Branches([_branch(pair) for pair in listed("branches: of", fields("branches", spec, "of")["of"])])
        case "faked":
            found = fields("faked", spec, "fakes", "mechanism")
            return Faked(streamed(found["mechanism"]), found["fakes"])
        case "weighted":
            found = fields("weighted", spec, "inner", "levels", "quantum")
            return Weighted(_inside(found["inner"], "weighted"), found["levels"], found["quantum"])
        case AUE.name:
            found = fields(AUE.name, spec, "d", "ones", "batch", "central_micro", "delta")
            return AUE.of_spec(**{key: found[key] for key in found if key != "name"})
        case "node":
            return node_of(spec)
        case str(name) if name in VECTORS:
            return _built(name, VECTORS[name], spec)
        case str(name) if name in FOREIGN and name not in MECHANISMS:
            return _built(name, FOREIGN[name], spec)
    return streamed(spec)


def _branch(pair: Any) -> tuple[Any, Question]:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise ParameterError(f"branches: of: found {shown(pair)}; allowed: pairs of a weight and a question")
    return pair[0], _inside(pair[1], "branches", "weighted")


def _inside(spec: Any, *refused: str) -> Question:
    """The question of a spec inside another one's, which may not contain others, so that specs nest only once."""
    name = spec.get("name") if isinstance(spec, Mapping) else None
    if name in (*refused, Faked.name, AUE.name):  # a round has fakes, or is added up, or is not: not a part of it
        raise ParameterError(f"question: found {name} in {refused[0]}; allowed: others")
    return question(spec)


_Made = TypeVar("_Made")


def _built(name: str, make: Callable[..., _Made], spec: Mapping[str, Any]) -> _Made:
    """The object built from a spec's parameters, if they are valid; epsilon may be given in micro-nats."""
    parameters = {key: value for key, value in spec.items() if key != "name"}
    known = _parameters(make)
    if name in (Prefix.name, LongPrefix.name) and parameters.get("fold") == FOLD:
        del parameters["fold"]  # the only way there is
    if "epsilon_micro" in parameters and "epsilon" not in parameters and "epsilon" in known:
        micro = parameters.pop("epsilon_micro")
        if isinstance(micro, bool) or not isinstance(micro, int):
            raise ParameterError(f"{name}: epsilon_micro: found {shown(micro)}; allowed: a whole number of micro-nats")
        parameters["epsilon"] = Fraction(micro, MICRO)
    needed = {key for key, parameter in known.items() if parameter.default is Parameter.empty}
    unknown, missing = sorted(set(map(str, parameters)) - set(known)), sorted(needed - set(parameters))
    if unknown or missing:
        also = " (or epsilon_micro for epsilon)" if "epsilon" in known else ""
        raise ParameterError(
            f"{name}: found {', '.join(unknown)[:60] or 'no ' + ', '.join(missing)}; allowed: {', '.join(known)}{also}"
        )
    return make(**parameters)


@cache
def _parameters(make: Callable[..., Any]) -> Mapping[str, Parameter]:
    return signature(make).parameters


def serving(measure: str, *, says_none: bool) -> tuple[str, ...]:
    """The mechanisms that serve such a stream; says_none: whether its users may have no value.

    >>> serving("mean", says_none=True)
    ('value_presence',)
    """
    able = (name for name in _BY_MEASURE.get(measure, ()) if STREAMED[name].says_none in (None, says_none))
    return _own_first(able)


def _own_first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (name in FOREIGN, name)))
