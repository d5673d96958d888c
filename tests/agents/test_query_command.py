# SPDX-License-Identifier: Apache-2.0
"""`murmurate query`, `murmurate.query` and `/query`: the same bytes, whoever is asked."""

import asyncio
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import aiohttp
import numpy as np
import orjson
import pytest

import murmurate as product
from murmurate.agents.cli.query import table
from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.queries import index_of
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.query_client import asked_at
from murmurate.agents.web.server import serve
from murmurate.aggregators.queries import QueryRefusedError
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.topics.times import instant
from tests.agents.commands import murmurate
from tests.aggregators.queries.made import MadeStream, local

REVENUE = MadeStream(levels=2, names=("count", "total")).hold_out(2).run(np.arange(80).reshape(40, 2) * 17)
SCREEN = [local(t, {"a name that has many words": 0.25, "home": 0.5}, None) for t in range(29_390_000, 29_390_010)]
RECORDS = [*REVENUE.records, *SCREEN]
QUESTIONS = (
    "sum of revenue over 2025-11-17T17:25Z .. 18:30Z every 13m", "mean of revenue over last 20m",
    "count of screen over all every 3m", "share of screen.home over all",
)  # fmt: skip


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "releases.jsonl"
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in RECORDS))
    return path


def feed() -> Feed:
    found = Feed()
    found.put({"type": "hello", "mode": "live", "streams": [{"name": "revenue"}, {"name": "screen"}]})
    for record in RECORDS:
        found.put({"type": "release", "release": record, "truth": None})
    return found


async def over_http(questions: tuple[str, ...], **more: bool) -> list[bytes]:
    running = await serve(feed(), "127.0.0.1", 0)
    try:
        return [await asked_at(running.url, question, **more) for question in questions]
    finally:
        await running.stop()


def test_a_file_a_server_and_python_say_the_same_bytes(written: Path) -> None:
    told, growing = asyncio.run(over_http(QUESTIONS)), asyncio.run(over_http(QUESTIONS, running=True))
    for place, question in enumerate(QUESTIONS):
        shown = murmurate("query", question, "--from", written, "--json").stdout
        assert shown.encode() == told[place] + b"\n"
        assert product.query(written.parent, question).canonical() == told[place]
        assert product.query(RECORDS, question, running=True).canonical() == growing[place]
    lines = written.read_bytes().splitlines()
    assert product.query(lines, QUESTIONS[0]).canonical() == told[0]
    assert product.query(index_of(lines), QUESTIONS[0]).canonical() == told[0]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_table_has_at_most_80_columns_and_says_what_is_to_know(written: Path, question: str) -> None:
    done = murmurate("query", question, "--from", written)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = product.query(written, question).rows
    assert sum(" of " in line and line[:4] == "2025" for line in lines) == len(rows)
    if question.startswith("sum"):
        assert "missing: not yet released" in done.stdout
        assert "Numbers below 0 or above 60 EUR count as these." in done.stdout
    if question.startswith("share"):
        assert "not known" in done.stdout
        assert "[releases] queries = true" in done.stdout


def test_a_refusal_is_one_line_and_exit_2_wherever_it_is_asked(written: Path) -> None:
    for question, said in (("sum of x over all", "allowed: revenue, screen"), ("sum", "allowed: of")):
        done = murmurate("query", question, "--from", written)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
        with pytest.raises(QueryRefusedError, match=said):
            asyncio.run(over_http((question,)))


def test_what_cannot_be_read_is_named_by_its_line(written: Path) -> None:
    written.write_bytes(written.read_bytes() + b'{"schema":"other"}\n')
    done = murmurate("query", QUESTIONS[0], "--from", written)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "releases.jsonl, line 53: found a record that is no release" in done.stderr
    done = murmurate("query", QUESTIONS[0], "--from", written / "nowhere")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_server_refuses_what_it_does_not_know_and_hardens_what_it_says() -> None:
    async def scenario() -> None:
        running = await serve(feed(), "127.0.0.1", 0)
        try:
            async with aiohttp.ClientSession(running.url) as session:
                for query in (
                    "",
                    "?q=a&q=b",
                    "?q=sum of screen over all&x=1",
                    "?q=x&users=many",
                    "?q=x&running=yes",
                    "?q=x",
                ):
                    async with session.get(f"/query{query}") as refused:
                        assert refused.status == 400
                        assert list(await refused.json()) == ["error"]
                async with session.get("/query", params={"q": QUESTIONS[2], "users": "1000"}) as answer:
                    assert answer.content_type == "application/json"
                    assert "Content-Security-Policy" in answer.headers
                    assert (await answer.json())["users"] == 1000
        finally:
            await running.stop()

    asyncio.run(scenario())


def test_the_import_of_murmurate_loads_nothing_else_until_query_is_asked_for() -> None:
    code = "import sys, murmurate; a = 'numpy' in sys.modules; murmurate.query; print(a, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'queries'"):
        _ = product.queries


def covered(method: str, key: int, stretches: int) -> int:
    """In how many random stretches of a replay two standard errors hold the average of the true shares.

    They have up to 20 of 1 000 periods: long ones have most of their noise in common, and 200 would say what one says.
    """
    bit = {
        "measure": "frequency",
        "values": ["0", "1"],
        "every": "1m",
        "method": method,
        "missing": {"carry": "always"},
    }
    privacy = {"epsilon": 2.0, "window": {"periods": 5}, "min_batch": 2}
    few = {"population": {"partitions": 1}, "kafka": {"targets": 1}, "releases": {"queries": True}}
    name = f"local-{key}"
    deployment = plan(build({"schema": 1, "name": name, "privacy": privacy, **few, "streams": {"bit": bit}}))
    source = open_source(f"synthetic:sin,n=300,periods=1000,seed={key}", deployment, None)
    outcome = Replay(deployment, source, keys(known_secrets(name), name)).run()
    truth = {period.t: float(period.figures[1]) for period in outcome.truth}
    known, rng, held = index_of(outcome.releases), np.random.default_rng(key), 0
    first = min(truth)
    for _ in range(stretches):
        low, length = int(rng.integers(0, 980)), int(rng.integers(1, 21))
        high = low + length
        stretch = f"{instant((first + low) * 60_000)} .. {instant((first + high) * 60_000)}"
        row = product.query(known, f"share of bit.1 over {stretch}").rows[0]
        assert row.complete
        assert row.value is not None
        assert row.stderr is not None
        held += abs(row.value - float(np.mean([truth[first + t] for t in range(low, high)]))) <= 2 * row.stderr
    return held


@pytest.mark.audit
@pytest.mark.parametrize("method", ["lbu", "lpu"])
def test_two_standard_errors_hold_93_to_97_percent_of_local_averages(method: str) -> None:
    """20 keys, 200 stretches each. Everybody answers by LBU; by LPU users are drawn, of values drawn anew."""
    assert 0.93 <= sum(covered(method, key, 200) for key in range(20)) / 4000 <= 0.97


def test_all_times_of_an_answer_have_one_form() -> None:
    whole, exact = "2026-11-18T09:01:00Z", "2026-11-18T09:00:10Z"

    def shown(*times: str) -> list[str]:
        figures = {"name": "home", "value": 0.5, "stderr": 0.01, "periods": 1, "asked": 1}
        rows = [{**figures, "from": start, "to": end} for start, end in pairwise(times)]
        lines = table({"rows": rows, "unit": None, "stream": "screen", "query": "mean of screen", "notes": []})
        return [line[:34].rstrip() for line in lines[-len(rows) :]]

    assert shown("2026-11-18T09:00:00Z", whole) == ["2026-11-18 09:00  2026-11-18 09:01"]
    assert shown("2026-11-18T09:00:00Z", exact, whole) == [
        "11-18 09:00:00    11-18 09:00:10",
        "11-18 09:00:10    11-18 09:01:00",
    ]
