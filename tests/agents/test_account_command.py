# SPDX-License-Identifier: Apache-2.0
"""`murmurate account`: the table's lines, its width, the JSON, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from murmurate.agents.cli.account import command
from murmurate.aggregators.accounting import AccountingError
from murmurate.errors import UsageError
from murmurate.randomizers import ORACLES, mechanism
from murmurate.randomizers.fakes import takes_fakes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "MIXING.md"


def said(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_table_says_what_is_claimed_what_an_attack_shows_and_what_others_print() -> None:
    asked = ("grr", "--d", "16", "--epsilon", "1", "--n", "10000", "--delta", "1e-6", "--corrupt", "0.1")
    assert "SH, SOLH" not in said(*asked)
    text = said(*asked, "--compare")
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert "claimed: epsilon 0.0197, delta 1e-06 (blanket); local is 50.8 times that" in text
    assert "9000 count as honest" in text
    assert rows["blanket"].split()[1] == "0.01969"
    assert 0.005 < float(rows["attack"].split()[1]) < 0.0197
    assert float(rows["clones"].split()[1]) > 0.0197
    assert float(rows["SH, SOLH"].split()[2]) > 0.1
    assert rows["EFMRTT"].split()[1] == "-"
    assert "never claimed" in text


def test_the_tables_of_the_page_are_todays() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^\$ murmurate account ([^\n]*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(shown) == 3
    for arguments, text in shown:
        assert said(*arguments.split()) == text


@pytest.mark.parametrize("name", [*sorted(ORACLES), "hm", "sw", "rappor"])
def test_every_mechanism_has_a_table_of_eighty_columns(name: str) -> None:
    asked = (name, "--d", "20", "--epsilon", "0.123456", "--n", "54321", "--delta", "1.23e-7", "--compare")
    text = said(*asked)
    if takes_fakes(mechanism({"name": name, "d": 20, "epsilon": 1})):
        text += said(*asked, "--fakes", "54321")
    assert max(map(len, text.splitlines())) <= 80
    assert "claimed: epsilon" in text


@pytest.mark.parametrize("name", ["grr", "olh", "subset"])
def test_fakes_make_two_claims_neither_of_which_an_attack_beats(name: str) -> None:
    asked = (name, "--d", "20", "--epsilon", "2", "--n", "3000", "--delta", "1e-6", "--json")
    found = orjson.loads(said(*asked, "--fakes", "1000"))
    shown = {line["name"]: line["epsilon"] for line in found["bounds"]}
    assert shown["attack"] < shown["fakes"] <= found["claim"]["epsilon"] < shown["blanket"] < shown["local"]
    assert shown["attack, alone"] < shown["fakes alone"] <= found["against_users"]["epsilon"] < shown["local"]
    assert found["claim"]["epsilon"] < found["against_users"]["epsilon"]
    assert (found["fakes"], found["claim"]["bound"], found["against_users"]["bound"]) == (1000, "fakes", "fakes")
    plain = orjson.loads(said(*asked))
    assert plain["fakes"] == 0
    assert "against_users" not in plain


def test_what_the_literature_says_of_fakes_is_printed_beside() -> None:
    asked = ("olh", "--d", "20", "--epsilon", "3", "--n", "300000", "--delta", "1e-6", "--fakes", "100000", "--compare")
    rows = {line.split("  ")[0]: line for line in said(*asked).splitlines()}
    assert float(rows["PEOS"].split()[1]) > 2 * float(rows["fakes"].split()[1])
    assert float(rows["PEOS, alone"].split()[2]) > 2 * float(rows["fakes alone"].split()[2])


def test_a_mechanism_whose_reports_are_not_alike_says_so() -> None:
    asked = ("--d", "4", "--epsilon", "1", "--n", "300", "--delta", "1e-6")
    assert "\nblanket                 -   its reports are not alike: nothing is claimed\n" in said("rappor", *asked)


def test_the_json_holds_the_same() -> None:
    found = orjson.loads(
        said("sue", "--d", "4", "--epsilon", "2", "--n", "3000", "--delta", "1e-6", "--json", "--compare")
    )
    assert found["claim"]["bound"] == "blanket"
    kinds = {line["name"]: line["kind"] for line in found["bounds"]}
    assert kinds["local"] == kinds["clones"] == "claimable"
    assert kinds["attack"] == "attack"
    assert {kinds[name] for name in ("RAP", "RAP_R", "EFMRTT", "clones, closed")} == {"literature"}
    assert found["mechanism"] == {"name": "sue", "d": 4, "epsilon_micro": 2_000_000}


@pytest.mark.parametrize(("name", "own"), [("sh", "grr"), ("solh", "olh"), ("rap", "sue")])
def test_names_of_the_literature_are_mechanisms_under_their_own_names(name: str, own: str) -> None:
    rest = ("--d", "20", "--epsilon", "1", "--n", "5000", "--delta", "1e-6", "--json")
    assert said(name, *rest) == said(own, *rest)


def test_rap_r_is_charged_twice_and_solh_takes_cells() -> None:
    rest = ("--d", "20", "--n", "5000", "--delta", "1e-6", "--json")
    assert said("rap_r", "--epsilon", "1", *rest) == said("sue", "--epsilon", "2", *rest)
    found = orjson.loads(said("solh", "--epsilon", "5", "--g", "45", *rest))
    assert found["mechanism"]["g"] == 45
    assert 0 < found["claim"]["epsilon"] < 5


def test_few_reports_are_worth_nothing_and_that_is_said() -> None:
    text = said("oue", "--d", "4", "--epsilon", "3", "--n", "2", "--delta", "1e-9")
    assert "claimed: epsilon 3, the local one" in text


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("grr", "--d", "4", "--epsilon", "1", "--n", "1", "--delta", "1e-6"), AccountingError),
        (("grr", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", "0"), AccountingError),
        (("grr", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", ".1", "--corrupt", "1"), AccountingError),
        (("grr", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", "1"), AccountingError),
        (("grr", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", ".1", "--corrupt", ".8"), AccountingError),
        (("grr", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", ".1", "--fakes", "10"), AccountingError),
        (("grr", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", ".1", "--fakes", "-1"), AccountingError),
        (("oue", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", ".1", "--fakes", "3"), UsageError),
        (("gru", "--d", "4", "--epsilon", "1", "--n", "9", "--delta", ".1"), UsageError),
        (("grr", "--epsilon", "1", "--n", "9", "--delta", ".1"), UsageError),
        (("grr", "--d", "4", "--epsilon", "0", "--n", "9", "--delta", ".1"), UsageError),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments: tuple[str, ...], error: type[Exception]) -> None:
    with pytest.raises(error) as refused:
        CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert "\n" not in str(refused.value)
