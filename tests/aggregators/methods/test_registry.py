"""Methods by name, and mistakes answered with what is allowed."""

from dataclasses import replace
from typing import Any

import pytest

from murmurate.aggregators.methods.absorption import LPA
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.registry import METHODS, division, method
from murmurate.errors import UsageError
from murmurate.randomizers import ParameterError
from tests.aggregators.methods.driving import SEED

SETTING = Setting(d=2, epsilon_micro=1_000_000, w=4, slots=2_000, first_t=1, seed=SEED)


def test_a_spec_names_a_method_and_its_options() -> None:
    for name, kind in METHODS.items():
        assert type(method({"name": name}, SETTING)) is kind
    lpa = method({"name": "lpa", "variance": "paper"}, SETTING)
    assert isinstance(lpa, LPA)
    assert lpa.rule == "paper"


def test_each_method_says_what_it_divides() -> None:
    assert {name: division(name) for name in METHODS} == {"lbu": "budget", "lpa": "population", "lpu": "population"}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"name": "lpx"}, "method: found 'lpx'; allowed: lbu, lpa, lpu"),
        ({}, "method: found None; allowed: lbu, lpa, lpu"),
        ({"name": ["lpa"]}, "allowed: lbu, lpa, lpu"),
        ({"name": "lpa", "varianc": "paper"}, "lpa: found varianc; allowed: variance"),
        ({"name": "lpa", "variance": "exact"}, "variance: found 'exact'; allowed: sampling, paper"),
        ({"name": "lpu", "variance": "paper"}, "lpu: found variance; allowed: no options but the name"),
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
