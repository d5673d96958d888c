# SPDX-License-Identifier: Apache-2.0
"""`murmurate mechanisms` and the page that it makes: every mechanism has its row, the figures are today's."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from murmurate.agents.cli.mechanisms import DOMAINS, EPSILONS, command, drawing, table
from murmurate.randomizers import MECHANISMS, ORACLES
from murmurate.randomizers.registry import VECTORS, VIEWS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "MECHANISMS.md").read_text(encoding="utf-8")


def test_every_mechanism_and_every_view_has_one_row_on_the_page() -> None:
    cells = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    rows = [name for cell in cells for name in cell.split("`")[1::2]]
    views = {name for name, kind in VIEWS.items() if kind.__module__.startswith("murmurate.")}
    seen = views - {"whole"}  # a mechanism's own row; "recoded" is the name on the wire of one behind Clipped
    assert sorted(rows) == sorted([*MECHANISMS, *VECTORS, "recoded", *seen])


def test_the_table_and_the_picture_on_the_page_are_what_the_command_makes() -> None:
    assert "\n".join(table(EPSILONS, DOMAINS)).rstrip() in PAGE
    assert (DOCS / "variances.svg").read_text(encoding="utf-8") == drawing(EPSILONS)


def test_the_table_fits_80_columns_and_names_every_oracle_once_an_epsilon(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    done = CliRunner().invoke(command, ["--epsilon", "1.5", "--d", "16", "--d", "2000000", "--picture", str(picture)])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[2:] if line] == sorted(ORACLES)
    assert next(line for line in lines if "oue" in line).split()[3:] == ["-", "-"]  # a domain that is too large for it
    assert picture.read_text(encoding="utf-8").startswith("<svg")
