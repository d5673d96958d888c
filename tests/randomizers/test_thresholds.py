# SPDX-License-Identifier: Apache-2.0
"""Epsilon in whole micro-nats, a lower bound of e^epsilon, and levels that round towards privacy."""

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from murmurate.errors import MurmurateError
from murmurate.randomizers import GRR, OUE
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.thresholds import MAX_MICRO, exp_floor, low_level, micro_nats
from tests.cases import every

MICROS = st.integers(1, MAX_MICRO)
DIGITS = Context(prec=120)


@every(
    ("said", "micro"),
    [
        (1, 1_000_000),
        (20, 20_000_000),
        (1.0, 1_000_000),
        (0.29, 290_000),
        (0.1 + 0.2, 300_000),
        (1e-6, 1),
        (1.9e-6, 1),
        (19.999999, 19_999_999),
        (2**-3, 125_000),
        (1 / 3, 333_333),
        (2 / 3, 666_666),
        (np.float64(0.7), 700_000),
        (Fraction(1, 3), 333_333),
        (Fraction(20), 20_000_000),
        (Decimal("0.693147999"), 693_147),
        (Decimal("1e-6"), 1),
    ],
)
def test_epsilon_is_the_number_as_it_was_written_and_never_more(said: Any, micro: int) -> None:
    assert micro_nats(said) == micro


@every(
    "said",
    [
        0,
        -1,
        0.0,
        -0.0,
        -0.5,
        1e-7,
        9.99e-7,
        5e-324,
        20.000001,
        21,
        1e308,
        10**30,
        float("nan"),
        float("inf"),
        float("-inf"),
        np.float64("nan"),
        Fraction(1, 1_000_001),
        Fraction(-1),
        Decimal(0),
        Decimal("20.000001"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
    ],
)
def test_an_epsilon_outside_its_range_is_refused_in_words(said: Any) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon: found .*; allowed: a number from 0\.000001 .* to 20$"):
        micro_nats(said)


@every("said", [True, False, None, "1", b"1", 1j, [1], np.array([1.0]), np.int64(1), np.bool_(True)])
def test_an_epsilon_that_is_no_number_is_refused_by_its_type(said: Any) -> None:
    with pytest.raises(ParameterError, match=f"^epsilon: found {type(said).__name__}; allowed"):
        micro_nats(said)


@given(MICROS)
def test_every_micro_nat_survives_being_written_as_a_float_a_decimal_or_a_fraction(micro: int) -> None:
    assert micro_nats(micro / 1_000_000) == micro
    assert micro_nats(Decimal(micro).scaleb(-6)) == micro
    assert micro_nats(Fraction(micro, 1_000_000)) == micro


@given(st.one_of(st.floats(), st.integers(-(10**30), 10**30), st.fractions(), st.decimals(-1000, 1000)))
def test_a_number_gives_micro_nats_at_most_itself_or_a_refusal(said: Any) -> None:
    try:
        micro = micro_nats(said)
    except MurmurateError:
        return
    assert 1 <= micro <= MAX_MICRO
    written = Fraction(repr(said)) if isinstance(said, float) else Fraction(said)
    assert micro <= written * 1_000_000 < micro + 1


def within_2_to_the_minus_180_below(found: Fraction, exponent: Decimal, parts: int = 1) -> bool:
    power = DIGITS.exp(DIGITS.divide(exponent, Decimal(parts)))
    slack = Fraction(1, 10**100)  # e^20 has 9 digits before the point: 120 digits are exact to far less
    return -slack <= Fraction(power) - found < Fraction(1, 1 << 180)


@given(MICROS)
@example(1)
@example(693_147)
@example(MAX_MICRO)
def test_exp_floor_is_below_e_to_the_epsilon_and_within_2_to_the_minus_180(micro: int) -> None:
    assert within_2_to_the_minus_180_below(exp_floor(micro), Decimal(micro).scaleb(-6))


@given(MICROS, st.integers(1, 1000))
def test_exp_floor_of_a_part_is_as_close(micro: int, parts: int) -> None:
    found, exponent = exp_floor(micro, parts), Decimal(micro).scaleb(-6)
    assert within_2_to_the_minus_180_below(found, exponent, parts)


@given(MICROS, st.integers(1, 20))
def test_the_parts_of_an_epsilon_multiply_to_at_most_the_whole(micro: int, parts: int) -> None:
    whole = Fraction(DIGITS.exp(Decimal(micro).scaleb(-6))) + Fraction(1, 10**100)
    assert exp_floor(micro, parts) ** parts <= whole


def test_exp_floor_is_really_below_and_not_rounded_to_nearest() -> None:
    wide = Context(prec=200)
    for micro in (1, 2, 999_999, 1_000_000, 5_000_000, 11_090_355, MAX_MICRO):
        assert exp_floor(micro) < Fraction(wide.exp(Decimal(micro).scaleb(-6))) - Fraction(1, 10**180)


@given(MICROS, MICROS)
def test_exp_floor_grows_with_epsilon(one: int, other: int) -> None:
    assert (exp_floor(one) < exp_floor(other)) == (one < other)


@every(("micro", "parts"), [(0, 1), (-1, 1), (MAX_MICRO + 1, 1), (1, 0), (1, -1)])
def test_exp_floor_refuses_what_no_epsilon_is(micro: int, parts: int) -> None:
    with pytest.raises(ParameterError, match=r"^exp_floor: found"):
        exp_floor(micro, parts)


@given(st.fractions(0, 1), st.sampled_from([8, 16, 32, 64]))
@example(Fraction(1, 2), 64)
@example(Fraction(1), 32)
@example(Fraction(0), 32)
@example(Fraction(1, 3), 64)
def test_a_low_level_is_the_ceiling(probability: Fraction, bits: int) -> None:
    level = low_level(probability, bits)
    assert Fraction(level, 1 << bits) >= probability > Fraction(level - 1, 1 << bits)


@given(MICROS, st.integers(2, 1 << 24))
@example(1_000_000, 7)
@example(1_000_000, 128)
@example(1, 1 << 24)
@example(MAX_MICRO, 2)
def test_grr_realises_at_most_e_to_its_epsilon_and_no_less_than_rounding_costs(micro: int, d: int) -> None:
    grr = GRR(d=d, epsilon=Fraction(micro, 1_000_000))
    bound = exp_floor(micro)
    assert 1 <= grr.realised <= bound
    assert grr.p + (d - 1) * grr.q == 1
    assert grr.q - 1 / (bound + d - 1) < Fraction(1, 1 << 64)


@given(MICROS)
@example(11_090_354)
@example(11_090_355)
@example(MAX_MICRO)
def test_oue_realises_at_most_e_to_its_epsilon_and_at_least_all_but_one_part_in_2_to_the_16(micro: int) -> None:
    oue = OUE(d=2, epsilon=Fraction(micro, 1_000_000))
    bound = exp_floor(micro)
    assert oue.realised <= bound
    assert oue.q <= (1 + Fraction(1, 1 << 16)) / (bound + 1)


@every("d", [7, 128])
def test_flooring_the_high_level_instead_would_exceed_e_to_the_epsilon(d: int) -> None:
    bound = exp_floor(1_000_000)
    above = bound + Fraction(1, 1 << 180)
    high = int(bound / (bound + d - 1) * (1 << 64))
    low = ((1 << 64) - high) // (d - 1)  # some other value gets no more than this
    assert Fraction(high, low) > above
    assert GRR(d=d, epsilon=1).realised <= bound
