# SPDX-License-Identifier: Apache-2.0
"""Releases from a file, from where one wants, while it grows."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

import murmurate as mm
from murmurate.agents.library import from_file
from murmurate.aggregators import ReleaseFormatError
from tests.agents.library.made import everything, ids, release, take, topic, write

ALL = topic()


def read(path: Path, stream: str | None = None, **options: Any) -> list[str]:
    return asyncio.run(everything(mm.subscribe(path, stream, follow=False, **options)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "releases.jsonl", ALL)


def test_a_file_or_its_folder_gives_the_releases_of_all_streams_or_of_one(path: Path) -> None:
    assert read(path) == read(path.parent) == ids(ALL)
    assert read(path, "fare") == ids(ALL, "fare")


def test_one_begins_at_an_instant_after_a_release_or_with_the_last_one(path: Path) -> None:
    late = [one for one in ALL if one["start"] >= ALL[9]["start"]]
    assert read(path, since=ALL[9]["start"]) == ids(late)
    moment = datetime.fromisoformat(ALL[9]["start"]).astimezone(UTC)
    assert read(path, since=moment) == ids(late)
    assert read(path, "screen", since="last") == ids(ALL, "screen")[-1:]
    assert sorted(read(path, since="last")) == sorted([ids(ALL, "screen")[-1], ids(ALL, "fare")[-1]])
    for at in range(len(ALL)):
        assert read(path, since=ids(ALL)[at]) == ids(ALL)[at + 1 :]
    assert read(path, since="screen/7/1") == ids(ALL)  # no longer there: everything came after it


def test_of_what_was_revised_only_what_counts_is_heard(path: Path) -> None:
    found = read(path, "screen", newest_only=True)
    assert len({one.split("/")[1] for one in found}) == len(found) == 12
    assert [one for one in found if one.endswith("/2")] == [one for one in ids(ALL, "screen") if one.endswith("/2")]


def test_a_line_that_is_being_written_is_neither_lost_nor_a_mistake(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_file, "LOOK_S", 0.001)

    async def scenario() -> None:
        lines = [orjson.dumps(one) + b"\n" for one in (release(200), release(201))]
        with path.open("ab", buffering=0) as file:
            async with mm.subscribe(path, "screen") as subscription:
                assert await take(subscription, len(ids(ALL, "screen"))) == ids(ALL, "screen")
                coming = asyncio.ensure_future(take(subscription, 2))
                file.write(lines[0] + lines[1][:70])
                await asyncio.wait([coming], timeout=0.02)
                assert not coming.done()
                file.write(lines[1][70:])
                assert await asyncio.wait_for(coming, 20) == ["screen/200/1", "screen/201/1"]
                write(path, [release(5)])  # another run into the same file
                assert await asyncio.wait_for(take(subscription, 1), 20) == ["screen/5/1"]

    asyncio.run(scenario())


def test_a_last_line_without_an_end_counts_if_it_is_whole(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert read(path) == ids(ALL)
    path.write_bytes(whole[:-40])
    assert read(path) == ids(ALL)[:-1]


def test_what_cannot_be_is_refused_in_a_line(path: Path) -> None:
    for error, said, call in (
        (mm.UsageError, "stream: found no release of 'scren'; allowed: fare, screen", lambda: read(path, "scren")),
        (mm.UsageError, "No such file or directory; allowed: a file of releases", lambda: read(Path("nowhere"))),
        (mm.UsageError, "since: found a time without a zone", lambda: read(path, since=datetime(2026, 1, 1))),
        (mm.UsageError, "since: found 'yesterday'; allowed: an instant", lambda: read(path, since="yesterday")),
        (mm.UsageError, "since: found a release of fare; allowed: one of screen",
         lambda: read(path, "screen", since="fare/5/1")),
        (mm.UsageError, "found 'ftp://a/b'; allowed: kafka://HOST:PORT/DEPLOYMENT, http", lambda: read("ftp://a/b")),  # type: ignore[arg-type]
        (mm.UsageError, "found neither a source nor config", lambda: mm.subscribe()),
        (mm.UsageError, "stream: found 'Screen'", lambda: mm.subscribe(path, "Screen")),
    ):  # fmt: skip
        with pytest.raises(error) as raised:
            call()
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_line_that_is_no_release_is_named(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n{}\n", 1))
    with pytest.raises(ReleaseFormatError, match=r"releases\.jsonl, line 2: "):
        read(path)
