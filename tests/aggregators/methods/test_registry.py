# SPDX-License-Identifier: Apache-2.0
"""Methods by name, and mistakes answered with what is allowed."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from murmurate.aggregators.filters.following import Following
from murmurate.aggregators.methods.absorption import LPA
from murmurate.aggregators.methods.method import Request, Setting
from murmurate.aggregators.methods.options import OF_ONE, MethodOptions
from murmurate.aggregators.methods.registry import HORIZON_METHODS, METHODS, names
from murmurate.aggregators.methods.registry import method as made
from murmurate.aggregators.methods.uniform import LPU
from murmurate.config.enough import smallest_round
from murmurate.config.loader import build
from murmurate.config.planning import plan as planned
from murmurate.config.streams import MethodTable as Named
from murmurate.errors import UsageError
from murmurate.randomizers import ParameterError
from tests.aggregators.methods.driving import SEED, method
from tests.measured import sized

KNOWN = ", ".join(sorted(names()))
SETTING = Setting(sized(2), epsilon_micro=1_000_000, w=4, slots=2_000, first_t=1, seed=SEED)


def test_a_spec_names_a_method_and_its_options() -> None:
    for name, kind in METHODS.items():
        assert type(method({"name": name}, SETTING)) is kind
    lpa = method({"name": "lpa", "variance": "paper"}, SETTING)
    assert isinstance(lpa, LPA)
    assert lpa.rule == "paper"


def test_each_method_says_what_it_divides() -> None:
    divided = {name: kind.division for name, kind in METHODS.items()}
    assert divided == {name: "budget" if name.startswith("lb") else "population" for name in METHODS}


def test_a_file_may_name_every_method_and_every_option_of_it() -> None:
    others: dict[str, Any] = {"variance": "paper", "first_share": 0.25, "grouping": "paid"}
    of_horizons = {option for kind in HORIZON_METHODS.values() for option in kind.takes()}
    assert {option for kind in METHODS.values() for option in kind.takes()} == set(others)
    assert set(others) | of_horizons == set(OF_ONE)
    for name, kind in METHODS.items():
        chosen = Named(name=name, **{option: others[option] for option in kind.takes()}).options()
        assert set(chosen.described()) == {"name", "filter", *kind.takes()}
        state = made(chosen, SETTING).state()
        follows = {"name": name, "filter": "adaptive"}
        assert state == method({**follows, **{o: str(others[o]) for o in kind.takes()}}, SETTING).state()
        assert made(Named(name=name).options(), SETTING).state() == method(follows, SETTING).state()
        if kind.takes():
            assert state != method(follows, SETTING).state()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_file_is_told_what_the_smallest_round_uses(name: str) -> None:
    setting, kind = replace(SETTING, w=20, slots=4_000), METHODS[name]
    every: tuple[dict[str, Any], ...] = ({}, {"first_share": 0.25}, {"grouping": "paid"})
    for given in every:
        if not set(given) <= set(kind.takes()):
            continue
        options = Named(name=name, **given).options()
        step = made(options, setting).open(1)
        assert isinstance(step, Request)
        part, first = kind.smallest(setting.w, options), kind.first(setting.w, options)
        if kind.division == "budget":
            used, total = step.question.epsilon_micro, setting.epsilon_micro
        else:
            used, total = setting.slots if step.asked is None else int(step.asked.sum()), setting.slots
        if "rescuedp" in name:  # the first sample is a little larger than the smallest
            assert part * total < used <= first * total < 1.2 * part * total
        else:
            assert used == part * total // 1
            assert first == part


class Last(LPU):
    """LPU that ends a window with its first group."""

    name = "lpu-last"

    def __init__(self, setting: Setting, *, variance: str = "sampling") -> None:
        super().__init__(setting)


def test_a_method_is_known_wherever_methods_are_once_its_class_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it divides, takes and asks stands on the class: no second table has to be told."""
    monkeypatch.setitem(METHODS, Last.name, Last)
    table = {"measure": "frequency", "values": ["a", "b"], "every": "1m"}
    privacy = {"epsilon": 1, "window": {"periods": 4}}
    file = {"schema": 1, "name": "shop", "privacy": privacy, "streams": {"screen": {**table, "method": Last.name}}}
    stream = planned(build(file)).streams[0]
    assert (stream.division, stream.method) == ("population", MethodOptions(Last.name, "sampling", filter="adaptive"))
    assert smallest_round(planned(build(file)), stream) == Fraction(1, 4)
    assert isinstance(made(stream.method, stream.setting(planned(build(file)), 1)), Following)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"name": "lpx"}, f"method: found 'lpx'; allowed: {KNOWN}"),
        ({}, f"method: found None; allowed: {KNOWN}"),
        ({"name": ["lpa"]}, f"allowed: {KNOWN}"),
        ({"name": "lpa", "grouping": "paid"}, "lpa: found grouping; allowed: variance, first_share"),
        ({"name": "lpa", "variance": "exact"}, "variance: found 'exact'; allowed: sampling, paper"),
        ({"name": "lpd", "variance": ""}, "variance: found ''; allowed: sampling, paper"),
        ({"name": "lbd", "variance": "paper"}, "lbd: found variance; allowed: first_share"),
        ({"name": "lpu", "variance": "paper"}, "lpu: found variance; allowed: filter, revise"),
    ],
)
def test_unknown_names_and_options_list_the_known_ones(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        method(spec, SETTING)
    assert isinstance(caught.value, UsageError)


def test_a_setting_without_periods_or_slots_is_refused() -> None:
    for setting in (replace(SETTING, w=0), replace(SETTING, slots=0)):
        with pytest.raises(ParameterError, match="allowed: both at least 1"):
            method({"name": "lbu"}, setting)
