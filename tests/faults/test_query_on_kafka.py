# SPDX-License-Identifier: Apache-2.0
"""`murmurate query` on a real broker: it says what the topic holds, revisions and strangers among its records."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import orjson
from click.testing import CliRunner

from murmurate.agents.cli.main import command
from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.queries import query
from tests.aggregators.queries.made import START_T, local
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment

QUESTION = "count of screen.home over all every 3m"


def test_the_topic_says_the_bytes_that_its_records_say(broker: Broker, tmp_path: Path) -> None:
    found = Deployed(tmp_path, f"t-query-{secrets.token_hex(4)}", broker.bootstrap, deployment(periods=4, partitions=2))
    try:
        found.create(2)
        records = [local(START_T + t, {"home": t / 8}, {"home": 0.125}) for t in range(20)]
        records.append(local(START_T + 3, {"home": 0.875}, {"home": 0.0625}, revision=2))
        others = [b"no release", b"{}", orjson.dumps(local(START_T, {"x": 1.0}, None, stream="other"))]
        writes = [
            Write(Place(f"{found.plan.name}.releases", 0), value) for value in (*map(orjson.dumps, records), *others)
        ]

        async def written() -> None:
            async with found.client.sender() as sender:
                await sender.send(writes)

        asyncio.run(written())

        def say(*words: str) -> tuple[str, str]:
            done = CliRunner().invoke(command, ["query", *words, "-c", str(found.file)])
            return done.output, str(done.exception)

        assert say(QUESTION, "--json")[0].encode() == query(records, QUESTION).canonical() + b"\n"
        assert "20 of 20" in say("count of screen.home over all")[0]
        assert "found stream 'nothing'; allowed: screen" in say("sum of nothing over all")[1]
    finally:
        found.close()
