# SPDX-License-Identifier: Apache-2.0
"""A log line is one JSON object with what our own loggers say, or plain text where a person looks on."""

import io
import logging
from collections.abc import Iterator
from functools import partial

import orjson
import pytest

from murmurate.agents.observe import logs
from murmurate.agents.observe.logs import NOISY, configure


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logging belongs to the whole process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in NOISY}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_begins_with_time_level_and_message_and_ends_with_its_fields() -> None:
    configure(into := io.StringIO())
    logging.getLogger("murmurate.worker").info("ready", extra={"zones": ["edge"], "partitions": 8})
    line = into.getvalue()
    assert line.count("\n") == 1
    found = orjson.loads(line)
    assert list(found) == ["time", "level", "message", "zones", "partitions"]
    assert found["time"].endswith("Z")
    assert (found["level"], found["message"], found["zones"], found["partitions"]) == ("INFO", "ready", ["edge"], 8)


def test_a_field_cannot_take_the_place_of_level_or_time() -> None:
    configure(into := io.StringIO())
    logging.getLogger("murmurate").warning("odd", extra={"level": "fine", "time": "never"})
    found = orjson.loads(into.getvalue())
    assert (found["level"], found["time"] == "never") == ("WARNING", False)


def test_a_traceback_is_a_field_and_no_more_lines() -> None:
    configure(into := io.StringIO())
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("murmurate").exception("failed")
    line = into.getvalue()
    assert line.count("\n") == 1
    assert "ValueError" in orjson.loads(line)["exc_info"]


@pytest.mark.parametrize("name", ["faust.agents", "mode.services", "aiokafka.consumer.fetcher"])
def test_a_library_says_warnings_only_and_hangs_nothing_on_them(name: str) -> None:
    configure(into := io.StringIO())
    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("trouble", extra={"event": {"user": "u-17"}})
    found = orjson.loads(into.getvalue())
    assert (found["message"], found["logger"]) == ("trouble", name)
    assert "u-17" not in into.getvalue()


def test_a_terminal_gets_plain_text() -> None:
    configure(into := Terminal())
    logging.getLogger("murmurate.worker").info("ready", extra={"zones": ["edge", "mixing"]})
    logging.getLogger("murmurate.worker").error("lost")
    first, second = into.getvalue().splitlines()
    assert first.endswith("  ready  zones=edge,mixing")
    assert second.endswith("  ERROR: lost")


def test_configuring_twice_says_everything_once() -> None:
    configure(io.StringIO())
    configure(into := io.StringIO())
    logging.getLogger("murmurate").info("once")
    assert into.getvalue().count("once") == 1


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def sparing(monkeypatch: pytest.MonkeyPatch) -> tuple[Clock, io.StringIO]:
    clock = Clock()
    monkeypatch.setattr(logs, "OncePerSecond", partial(logs.OncePerSecond, clock))
    configure(into := io.StringIO())
    return clock, into


def test_of_lines_that_say_the_same_numbers_aside_one_a_second_is_written_and_says_how_many_were_not(
    sparing: tuple[Clock, io.StringIO],
) -> None:
    (clock, into), loud = sparing, logging.getLogger("aiokafka.conn")
    for i in range(2_500):
        clock.now = i / 1_000
        loud.warning("Unable to connect to 127.0.0.1:%d: refused", i)
        loud.error("Topic %s is not known", "rounds" if i % 2 else "raw")
    found = [orjson.loads(line) for line in into.getvalue().splitlines()]
    assert [line["repeated"] for line in found if "repeated" in line and line["level"] == "WARNING"] == [999, 999]
    assert len([line for line in found if line["level"] == "WARNING"]) == 3
    assert [line["message"] for line in found if line["level"] == "ERROR"].count("Topic raw is not known") == 3


def test_our_own_lines_are_told_apart_by_their_fields(sparing: tuple[Clock, io.StringIO]) -> None:
    _, into = sparing
    for task in range(50):
        logging.getLogger("murmurate.metrics").info("recovered", extra={"task": f"door {task}", "seconds": 0.1})
    assert len(into.getvalue().splitlines()) == 50


def test_a_traceback_is_written_once_a_minute(sparing: tuple[Clock, io.StringIO]) -> None:
    clock, into = sparing
    for clock.now in range(120):
        try:
            raise ConnectionError("away")
        except ConnectionError:
            logging.getLogger("mode.services").exception("crashed")
    lines = into.getvalue().splitlines()
    assert len(lines) == 120
    assert sum("ConnectionError" in line for line in lines) == 2


def test_however_many_kinds_there_are_few_are_remembered() -> None:
    once = logs.OncePerSecond(Clock())
    for i in range(3 * logs.MOST_KINDS):
        words = "".join(chr(97 + int(digit)) for digit in str(i))
        assert once.filter(logging.LogRecord("faust", logging.WARNING, "", 1, words, (), None))
    assert len(once._kinds) == logs.MOST_KINDS
