"""Methods by name, and mistakes answered with what is allowed."""

from dataclasses import replace
from inspect import signature
from typing import Any

import pytest

from murmurate.aggregators.methods.absorption import LPA
from murmurate.aggregators.methods.method import Request, Setting
from murmurate.aggregators.methods.registry import METHODS, division, method
from murmurate.config.streams import METHODS as SCHEDULES
from murmurate.config.streams import Method as Named
from murmurate.errors import UsageError
from murmurate.randomizers import ParameterError
from tests.aggregators.methods.driving import SEED

KNOWN = (
    "lb-dsat, lb-fast, lb-pegasus, lb-rescuedp, lba, lbd, lbu, lp-dsat, lp-fast, lp-pegasus, lp-rescuedp, lpa, lpd, "
    "lpu, lsp"
)
SETTING = Setting(d=2, epsilon_micro=1_000_000, w=4, slots=2_000, first_t=1, seed=SEED)


def test_a_spec_names_a_method_and_its_options() -> None:
    for name, kind in METHODS.items():
        assert type(method({"name": name}, SETTING)) is kind
    lpa = method({"name": "lpa", "variance": "paper"}, SETTING)
    assert isinstance(lpa, LPA)
    assert lpa.rule == "paper"


def test_each_method_says_what_it_divides() -> None:
    assert {name for name in METHODS if division(name) == "budget"} == {name for name in METHODS if name[:2] == "lb"}
    assert {name for name in METHODS if division(name) == "population"} == {
        name for name in METHODS if name[:2] == "lp" or name == "lsp"
    }


def test_a_file_may_name_every_method_and_every_option_of_it() -> None:
    assert {name: schedule.division for name, schedule in SCHEDULES.items()} == {
        name: division(name) for name in METHODS
    }
    others: dict[str, Any] = {"variance": "paper", "first_share": 0.25, "grouping": "paid"}
    for name, schedule in SCHEDULES.items():
        assert set(schedule.options) == set(signature(METHODS[name]).parameters) - {"setting"}
        described = Named(name=name, **{option: others[option] for option in schedule.options}).described()
        assert set(described) == {"name", "filter", *schedule.options}
        state = method(described, SETTING).state()
        follows = {"name": name, "filter": "adaptive"}
        assert state == method({**follows, **{o: str(others[o]) for o in schedule.options}}, SETTING).state()
        assert method(Named(name=name).described(), SETTING).state() == method(follows, SETTING).state()
        if schedule.options:
            assert state != method(follows, SETTING).state()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_file_is_told_what_the_smallest_round_uses(name: str) -> None:
    setting = replace(SETTING, w=20, slots=4_000)
    every: tuple[dict[str, Any], ...] = ({}, {"first_share": 0.25}, {"grouping": "paid"})
    for options in every:
        if not set(options) <= set(SCHEDULES[name].options):
            continue
        described = Named(name=name, **options).described()
        step = method(described, setting).open(1)
        assert isinstance(step, Request)
        part = SCHEDULES[name].part(setting.w, described)
        if division(name) == "budget":
            used, total = step.question.epsilon_micro, setting.epsilon_micro
        else:
            used, total = setting.slots if step.asked is None else int(step.asked.sum()), setting.slots
        if "rescuedp" in name:  # the first sample is a little larger than said
            assert part * total < used < 1.2 * part * total
        else:
            assert used == part * total // 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"name": "lpx"}, f"method: found 'lpx'; allowed: {KNOWN}"),
        ({}, f"method: found None; allowed: {KNOWN}"),
        ({"name": ["lpa"]}, f"allowed: {KNOWN}"),
        ({"name": "lpa", "varianc": "paper"}, "lpa: found varianc; allowed: variance, first_share"),
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
