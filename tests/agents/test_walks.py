# SPDX-License-Identifier: Apache-2.0
"""The two walks of docs/ARCHITECTURE.md are what really happens: a small deployment is played with every call watched.

Contract: a step's function is defined in its file; it is entered after the step before it, called directly by the step
that the table names, or folds a record of the log that the table names.  Calls from comprehensions count as their
function's.  Not here: what the steps compute.
"""

import re
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.stream_at_partition import as_ask
from tests.agents.world import arrivals, crowd, deployment, played, stream
from tests.cases import every

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
ROW = re.compile(r"^\| (\d+) \| (?:(\d+)|`(\w+)`) \| `([\w/.]+)` `([\w.]+)` \| (.+) \|$", re.MULTILINE)
WALKS = {"7.1": 59, "7.2": 31}
"""Each walk's section, and how many steps it has."""


class Step(NamedTuple):
    """A row."""

    number: int
    caller: int | None
    log: str | None
    place: tuple[str, str]


class Call(NamedTuple):
    """A function that was entered: where it stands, the nearest of ours that called it, the log of its record."""

    place: tuple[str, str]
    caller: tuple[str, str] | None
    log: str | None


def steps(section: str) -> list[Step]:
    text = PAGE.read_text(encoding="utf-8").partition(f"\n### {section} ")[2].partition("\n### ")[0]
    return [
        Step(int(number), int(caller) if caller else None, log or None, (file, name))
        for number, caller, log, file, name, _ in ROW.findall(text)
    ]


def place(frame: FrameType) -> tuple[str, str] | None:
    """Where a frame of ours runs; a comprehension is its function."""
    file = Path(frame.f_code.co_filename)
    if not file.is_relative_to(ROOT):
        return None
    name = re.sub(r"\.<locals>\.<\w+>", "", frame.f_code.co_qualname)
    return file.relative_to(ROOT).as_posix(), name


@cache
def calls() -> tuple[Call, ...]:
    """Every call of ours in a run of one stream under LPA, in order."""
    found: list[Call] = []
    places: dict[Any, tuple[str, str] | None] = {}

    def known(frame: FrameType) -> tuple[str, str] | None:
        if frame.f_code not in places:
            places[frame.f_code] = place(frame)
        return places[frame.f_code]

    def entered(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (here := known(frame)) is None or here[0].startswith("tests/"):
            return
        back = frame.f_back
        while back is not None and (known(back) in (None, here)):
            back = back.f_back
        record = frame.f_locals.get("record") if here[1].endswith(".fold") else None
        log = getattr(getattr(record, "log", None), "topic", None)
        found.append(Call(here, known(back) if back else None, log))

    plan = deployment(stream("screen", share_micro=1_000_000))
    records = arrivals(crowd(plan, users=120, periods=6), until=107_000)
    for remembered in (as_ask, question_of):  # by another test in this process, of the same rounds
        remembered.cache_clear()
    sys.setprofile(entered)
    try:
        released = played(plan, records, step=40).releases()
    finally:
        sys.setprofile(None)
    assert released
    return tuple(found)


def lost(walk: list[Step], of: tuple[Call, ...]) -> Step | None:
    """The first step that does not come after the one before it, from where the table says."""
    at = 0
    for step in walk:
        caller = None if step.caller is None else walk[step.caller - 1].place
        topic = "shop.events" if step.log == "events" else step.log
        for position in range(at, len(of)):
            call = of[position]
            if call.place == step.place and (call.caller == caller if caller else call.log == topic):
                at = position + 1
                break
        else:
            return step
    return None


@every("section", sorted(WALKS))
def test_a_walk_is_what_happens(section: str) -> None:
    walk = steps(section)
    assert [step.number for step in walk] == list(range(1, WALKS[section] + 1))
    assert all(step.caller is None or step.caller < step.number for step in walk)
    assert lost(walk, calls()) is None


@every("section", sorted(WALKS))
def test_every_function_of_a_walk_stands_in_its_file(section: str) -> None:
    for step in steps(section):
        *within, name = step.place[1].split(".")
        text = (ROOT / step.place[0]).read_text(encoding="utf-8")
        assert re.search(rf"^{'    ' if within else ''}def {name}\(", text, re.MULTILINE), step
        assert all(f"class {one}" in text for one in within), step


def test_a_step_that_is_left_out_swapped_or_called_by_another_is_seen() -> None:
    walk = steps("7.2")
    swapped = [*walk[:3], walk[4]._replace(number=4, caller=3), walk[3]._replace(number=5, caller=4)]
    assert lost(swapped, calls()) is not None
    assert lost([step._replace(caller=1) if step.number == 3 else step for step in walk], calls()) == walk[2]._replace(
        caller=1
    )
    assert lost([step._replace(log="reports") if step.number == 27 else step for step in walk], calls()) is not None
    gone = ("agents/stages/perturb.py", "Perturb.fly")
    assert lost([step._replace(place=gone) if step.number == 9 else step for step in walk], calls()) is not None
