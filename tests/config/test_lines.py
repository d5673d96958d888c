# SPDX-License-Identifier: Apache-2.0
"""A mistake in a deployment names the line of the file, or the variable, and the right key near a wrong one."""

from pathlib import Path

import pytest

from murmurate.config.errors import ConfigError
from murmurate.config.lines import KeyLines, unfinished
from murmurate.config.loader import load
from tests.config.deployments import SHOP

TEXT = '''\
# a comment
name = "shop"

[privacy]  # [not.a.table]
epsilon = 2.0
"wind\\u006fw" = "1h"

[streams.screen]
values = [
  "a]", # ]
  """
[privacy]""",
  "c"]
method = { name = "lpa", filter.lag = 1 }
source.user = "/u"
'''


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (("name",), 2), (("privacy",), 4), (("privacy", "epsilon"), 5), (("privacy", "window"), 6),
        (("privacy", "delta"), 4), (("streams",), 8), (("streams", "screen"), 8), (("streams", "screen", "values"), 9),
        (("streams", "screen", "values", "1"), 9), (("streams", "screen", "method", "name"), 14),
        (("streams", "screen", "method", "filter", "lag"), 14), (("streams", "screen", "source", "user"), 15),
        (("kafka", "brokers"), None), ((), None),
    ],
)  # fmt: skip
def test_every_key_has_the_first_line_of_its_statement_or_of_the_table_around_it(
    steps: tuple[str, ...], line: int | None
) -> None:
    assert KeyLines(TEXT).of(steps) == line
    assert KeyLines(TEXT.replace("\n", "\r\n")).of(steps) == line


def test_a_file_that_ends_too_early_names_the_line_of_what_has_no_end() -> None:
    assert unfinished("a = 1\nb = [\n1,\n") == 2
    assert unfinished("a = 1\n") is None


def test_a_statement_of_thousands_of_lines_is_passed_over_in_no_time() -> None:
    many = "values = [\n" + '"]",\n' * 4096 + "]\nname = 3\n"
    assert KeyLines("schema = 1\n" + many).of(("name",)) is None
    assert KeyLines(many.replace('"]"', '"v"')).of(("name",)) == 4099


def refused(path: Path, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, environ)
    return str(caught.value).replace(str(path), "FILE").splitlines()


def test_mistakes_of_a_file_name_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "murmurate.toml"
    path.write_text(TEXT.replace("epsilon = 2.0", "epsilom = 0").replace("values", "valus"), encoding="utf-8")
    assert [line.split(": found")[0] for line in refused(path)] == [
        "FILE, line 4: privacy.epsilon", "FILE, line 5: privacy.epsilom", "FILE, line 8: streams.screen.measure",
    ]  # fmt: skip
    assert refused(path)[1].endswith("; did you mean privacy.epsilon?")


@pytest.mark.parametrize(
    ("variable", "value", "found", "right"),
    [
        ("MURMURATE__PRIVCY__EPSILON", "1", "MURMURATE__PRIVCY__EPSILON", "MURMURATE__PRIVACY__EPSILON"),
        ("MURMURATE__PRIVCY__EPSILO", "1", "MURMURATE__PRIVCY__EPSILO", "MURMURATE__PRIVACY__EPSILON"),
        ("MURMURATE__PRIVACY__EPSILO", "1", "MURMURATE__PRIVACY__EPSILO", "MURMURATE__PRIVACY__EPSILON"),
        ("Murmurate__privacy__epsilo", "1", None, None),
        ("MURMURATE__Privacy__epsilo", "1", "MURMURATE__Privacy__epsilo", "MURMURATE__PRIVACY__EPSILON"),
        ("MURMURATE__KAFKA", '{"broker": []}', "MURMURATE__KAFKA.broker", "MURMURATE__KAFKA.brokers"),
        ("MURMURATE__STREAMS__SCREEN__EVRY", "1m", "MURMURATE__STREAMS__SCREEN__EVRY",
         "MURMURATE__STREAMS__SCREEN__EVERY"),
        ("MURMURATE__STREAM__SCREEN__EVERY", "1m", "MURMURATE__STREAM__SCREEN__EVERY",
         "MURMURATE__STREAMS__SCREEN__EVERY"),
        ("MURMURATE__XYZZY", "1", "MURMURATE__XYZZY", None),
    ],
)  # fmt: skip
def test_an_unknown_variable_names_itself_and_the_nearest_right_one(
    variable: str, value: str, found: str | None, right: str | None
) -> None:
    if found is None:  # no variable of ours: nothing is wrong
        load(SHOP, {variable: value})
        return
    (line,) = refused(SHOP, **{variable: value})
    assert line.startswith(f"environment: {found}: found an unknown key; allowed: ")
    assert line.endswith(f"; did you mean {right}?") == (right is not None)
    assert ("did you mean" in line) == (right is not None)


def test_two_variables_in_a_table_that_there_is_not_are_two_lines() -> None:
    lines = refused(SHOP, MURMURATE__PRIVCY__EPSILON="1", MURMURATE__PRIVCY__DELTA="1e-9")
    assert [line.split(": ")[1] for line in lines] == ["MURMURATE__PRIVCY__DELTA", "MURMURATE__PRIVCY__EPSILON"]


def test_a_key_of_the_file_that_a_variable_sets_again_is_the_variables_mistake() -> None:
    (line,) = refused(SHOP, MURMURATE__PRIVACY__EPSILON="lots")
    assert line.startswith("environment: MURMURATE__PRIVACY__EPSILON: found 'lots'; allowed: ")


def test_what_stands_in_a_secrets_place_is_shown_by_no_line(tmp_path: Path) -> None:
    path = tmp_path / "murmurate.toml"
    text = SHOP.read_text(encoding="utf-8")
    path.write_text(text.replace("[secrets]", '[secrets]\npeper = "c4n4ry"'), encoding="utf-8")
    (line,) = refused(path)
    assert line.startswith(f"FILE, line {text[: text.index('[secrets]')].count(chr(10)) + 2}: secrets.peper: found ")
    assert "c4n4ry" not in line
    assert line.endswith("did you mean secrets.pepper?")
