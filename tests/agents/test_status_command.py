# SPDX-License-Identifier: Apache-2.0
"""`murmurate status`, as far as no broker is needed: a table of 80 columns, and the exit where nobody answers."""

import json
import socket
from pathlib import Path

from murmurate.agents.cli.status import as_table, lines
from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.status import StageStatus, Status, _worker
from murmurate.agents.kafka.stream_status import StreamStatus
from murmurate.agents.kafka.transactions import OpenTransaction
from murmurate.topics.codec import decode
from murmurate.topics.messages import Rejected
from murmurate.topics.release import Release
from tests.agents.commands import deploy, murmurate
from tests.topics.samples import RELEASES
from tests.topics.second_wire import GOLDEN

NOW = 1_790_000_000_000
NONE = {"unshuffled": "public measure"}


def many() -> Status:
    """A deployment as large as they come, in trouble."""
    raw = [Place("shop.raw", p) for p in range(128)]
    perturb = StageStatus("perturb", "edge", 128, "Stable", {f"worker-{i}": raw[i::5] for i in range(5)}, [raw[7]])
    perturb.lag = {place: 1_000 * place.partition for place in raw} | {Place("shop.rounds", 0): 3}
    sources = [Place(topic, p) for topic in ("app.clicks", "trips.finished.of.all.the.world") for p in range(6)]
    door = StageStatus("door", "edge", 12, "PreparingRebalance", {"w0": sources}, [], dict.fromkeys(sources, 0))
    hidden = StageStatus(
        "aggregate", "analysis", 8, refused=["group shop-aggregate: refused: GroupAuthorizationFailed"]
    )
    streams = [StreamStatus("screen", 1_790_000_000, 1_790_000_007), StreamStatus("s" * 32)]
    waits = [OpenTransaction(Place("trips.finished.of.all.the.world", 5), 1_234_567, NOW - 90_000)]
    perturb.config = 2
    wrong = ["aggregate: found no worker; allowed: at least one " * 3]
    return Status([door, perturb, hidden], streams, wrong, waits, 3)


def test_the_table_has_80_columns_and_says_what_is_wrong() -> None:
    found = list(lines(many(), "shop", 1000, NOW))
    assert all(len(line) <= 80 for line in found)
    text = "\n".join(found)
    assert "app.clicks 0-5 trips" in " ".join(text.split())
    assert "raw 8 128 000" in text
    assert "raw/127 127 000" in text
    assert "and 120 more" in text
    assert "(PreparingRebalance)" in text
    assert any(line.startswith("wrong  aggregate: found no worker") for line in found)
    assert any(line.startswith("hidden  group shop-aggregate") for line in found)
    assert found[-1] != "ok"
    waits = "waits trips.finished.of.all.the.world/5: a producer's transaction has been open at offset 1234567 for 90 s"
    assert waits in " ".join(text.split())
    assert "config 3 is in force, and these stages last wrote under an older one: perturb 2." in " ".join(text.split())


def test_a_stream_whose_newest_round_was_too_small_is_named() -> None:
    release = decode(json.loads(GOLDEN.read_text(encoding="utf-8"))["unmeasured release"].encode())
    assert isinstance(release, Release)
    assert release.reports
    enough = release.model_copy(
        update={"reports": release.reports.model_copy(update={"rejected": Rejected(malformed=0)})}
    )
    few = ["short  fare: fewer than the 1 000 reports that a release needs"]
    for newest, said in ((release, few), (enough, [])):
        status = Status([], [StreamStatus("fare", 1, 2, release=newest, age_ms=900), StreamStatus("screen")], [])
        found = list(lines(status, "shop", 1000))
        assert [line for line in found if line.startswith("short")] == said
        assert any(line.endswith("09:00:00 unmeasured, 0 s ago") for line in found)
        assert found[-1] == "ok"  # nothing has to be put right but the number of users


def test_what_the_mixing_is_worth_stands_under_a_heading_against_whom_and_with_how_many_reports() -> None:
    claimed, _, central = (decode(value) for value in RELEASES)
    assert isinstance(claimed, Release)
    assert isinstance(central, Release)
    privacy = {"privacy": claimed.privacy and claimed.privacy.model_copy(update={"shuffled": None} | NONE)}
    releases = {"screen": claimed, "s" * 32: claimed.model_copy(update=privacy), "visits": central}
    status = Status([], [StreamStatus(name, 1, 2, release=one, age_ms=900) for name, one in releases.items()], [])
    found = list(lines(status, "shop", 1000))
    assert all(len(line) <= 80 for line in found)
    shown = found[found.index("after mixing") + 1 : -1]
    assert [line[:6] for line in shown if line[0] != " "] == ["screen", "ssssss"]
    said = "epsilon 0.1932 but for a chance of 1e-08, against everybody but the mixing zone; 3 656 honest"
    assert said in " ".join(" ".join(shown).split())
    assert "nothing is claimed: reports carry a public number" in " ".join(" ".join(shown).split())
    first, second, third = (stream["release"] for stream in as_table(status, "shop")["streams"])
    assert (first["shuffled"]["epsilon"], first["unshuffled"]) == (0.193154, None)
    assert (second["shuffled"], second["unshuffled"]) == (None, NONE["unshuffled"])
    assert "shuffled" not in third  # sums of a central stream are not mixed
    json.dumps(as_table(status, "shop"))


def test_where_every_user_serves_all_streams_it_is_said_what_their_claims_add_up_to() -> None:
    claimed = decode(RELEASES[0])
    assert isinstance(claimed, Release)
    status = Status([], [StreamStatus(name, 1, 2, release=claimed, age_ms=900) for name in ("bus", "screen")], [])
    found = list(lines(status, "shop", 1000, serve_all=True))
    assert all(len(line) <= 80 for line in found)
    said = "together every user answers for all of these, so claims add up: epsilon 0.3864 but for a chance of 2e-08"
    assert said in " ".join(" ".join(found).split())
    assert not any(line.startswith("together") for line in lines(status, "shop", 1000))


def test_json_holds_every_partition() -> None:
    table = as_table(many(), "shop", NOW)
    json.dumps(table)
    assert table["ok"] is False
    assert len(table["stages"][1]["lag"]) == 129
    assert table["stages"][1]["unowned"] == ["shop.raw/7"]
    assert (table["config"], table["stages"][1]["config"]) == (3, 2)
    assert table["transactions"] == [
        {"topic": "trips.finished.of.all.the.world", "partition": 5, "offset": 1_234_567, "seconds": 90}
    ]
    assert table["streams"][1] == {
        "stream": "s" * 32, "first": None, "settled": None, "open": [], "release": None, "age_ms": None,
    }  # fmt: skip


def test_a_worker_is_called_as_it_was_started() -> None:
    assert _worker("w0-perturb-3e9af7a8-7c1c-4a53-ba0a-2b1f3d1b7f8e", "perturb") == "w0"
    assert _worker("somebody", "perturb") == "somebody"


def test_where_nobody_answers_the_exit_is_3(tmp_path: Path) -> None:
    deploy(tmp_path)
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        brokers = json.dumps([f"127.0.0.1:{taken.getsockname()[1]}"])
        done = murmurate("status", cwd=tmp_path, MURMURATE__KAFKA__BROKERS=brokers)
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("murmurate: ")
    assert "Traceback" not in done.stderr
