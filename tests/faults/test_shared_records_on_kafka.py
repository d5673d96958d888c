# SPDX-License-Identifier: Apache-2.0
"""Several streams from one record on a real broker: a feed writes it once, and each stream has a replay's bytes."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.faults.deployed import Deployed
from tests.faults.recordings import START_MS, promise

SOURCE = 'source = { topic = "TOPIC", user = "/USER", time = "/at", value = "/VALUE" }\n'
DEPLOYMENT = promise(epsilon=2.0, periods=6, min_batch=5, partitions=2) + "".join(
    f'[streams.{name}]\n{measure}\nevery = "1s"\nshare = {share}\n'
    + SOURCE.replace("TOPIC", "orders-that-streams-share").replace("USER", user).replace("VALUE", value)
    for name, measure, share, user, value in (
        ("mean", 'measure = "mean"\nrange = [0, 100]', 0.4, "buyer", "amount"),
        ("spread", 'measure = "distribution"\nrange = [0, 100]\ncells = 8', 0.3, "buyer", "amount"),
        ("kind", 'measure = "frequency"\nvalues = ["book", "game"]', 0.3, "seller", "what/kind"),
    )
)


def orders(count: int) -> list[dict[str, object]]:
    """Orders in order; of some a seller, an amount or a kind is missing."""
    draw, found = random.Random(5), list[dict[str, object]]()
    for i in range(count):
        one: dict[str, object] = {
            "buyer": f"b-{draw.randrange(300)}", "seller": f"s-{draw.randrange(120)}", "at": START_MS + i * 5,
            "amount": draw.randrange(0, 130), "what": {"kind": draw.choice(("book", "game", "car"))},
        }  # fmt: skip
        if draw.random() < 0.1:
            del one[draw.choice(("seller", "amount", "what"))]
        found.append(one)
    return found


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_what_is_fed_of_a_record_that_streams_share_gives_each_the_releases_of_a_replay(
    deployed: Deployed, tmp_path: Path
) -> None:
    path = tmp_path / "orders.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(orders(2_400)), path)
    wanted = deployed.expected(str(path))
    deployed.worker()
    feed = deployed.feed(str(path))
    found = deployed.releases(len(wanted))
    assert by_stream(found) == by_stream(wanted), deployed.blame(found, wanted)
    assert len(by_stream(wanted)) == 3
    assert "fed " in feed.said() or feed.running


def by_stream(releases: list[bytes]) -> dict[str, list[bytes]]:
    found = defaultdict[str, list[bytes]](list)
    for release in releases:
        found[orjson.loads(release)["stream"]].append(release)
    return dict(found)
