# SPDX-License-Identifier: Apache-2.0
"""A feed loses nothing: every reader, early or late, slow or quick, gets every release once and in order."""

import asyncio
import threading
from typing import Any

import orjson
import pytest

from murmurate.agents.web.errors import FrameError
from murmurate.agents.web.feed import Feed, FeedReader, Frame
from tests.agents.web.frames import done, hello, progress, releases, whole_run

RUN = list(whole_run(periods=40))


def filled(frames: list[dict[str, Any]], **options: int) -> Feed:
    feed = Feed(**options)
    fill(feed, frames)
    return feed


def fill(feed: Feed, frames: list[dict[str, Any]]) -> None:
    for frame in frames:
        feed.put(frame)


async def read(follower: FeedReader) -> list[Frame]:
    return [frame async for frame in follower]


def kinds(frames: list[Frame]) -> list[str]:
    return [frame.kind for frame in frames]


def test_every_reader_gets_every_release_in_order_while_a_thread_writes() -> None:
    async def scenario() -> None:
        feed = Feed()
        worker = threading.Thread(target=fill, args=(feed, RUN))
        early = [asyncio.create_task(read(feed.follow())) for _ in range(3)]
        await asyncio.sleep(0)
        worker.start()
        late = await read(feed.follow())
        worker.join()
        for found in (late, *[await task for task in early]):
            told = [orjson.loads(frame.json) for frame in found]
            assert [frame for frame in told if frame["type"] != "progress"] == [
                frame for frame in RUN if frame["type"] != "progress"
            ]
            counts = [frame["releases"] for frame in told if frame["type"] == "progress"]
            assert counts == sorted(counts)
            assert counts[-1] == 40

    asyncio.run(scenario())


def test_only_progress_that_is_overtaken_is_left_out() -> None:
    found = asyncio.run(_all(filled(RUN)))
    assert kinds(found) == ["hello", *["release"] * 40, "progress", "done"]


async def _all(feed: Feed, after: int = 0, stream: str = "") -> list[Frame]:
    return await read(feed.follow(after, stream))


def test_a_reader_resumes_after_any_frame() -> None:
    feed = filled(RUN)
    whole = [frame for frame in asyncio.run(_all(feed)) if frame.kind != "progress"]
    for after in (0, 1, 7, 41, 42):
        rest = [frame for frame in asyncio.run(_all(feed, after)) if frame.kind != "progress"]
        assert rest == whole[after:]


def test_a_stream_alone_is_its_records_without_truth() -> None:
    feed = filled(RUN)
    found = asyncio.run(_all(feed, feed.before_last("screen", 10), "screen"))
    assert [orjson.loads(frame.body) for frame in found] == [f["release"] for f in RUN if f["type"] == "release"][-10:]


def test_a_bounded_feed_keeps_the_newest_releases_and_its_hello() -> None:
    found = asyncio.run(_all(filled(RUN, keep=16)))
    assert found[0].kind == "hello"
    assert [frame.number for frame in found if frame.kind == "release"][-1] == 41
    assert 16 <= len(found) <= 16 + 16 // 8 + 2


def test_the_frames_of_a_feed_make_the_same_feed_again() -> None:
    feed = filled(RUN)
    assert filled(feed.frames()).frames() == feed.frames()


def test_a_live_deployment_has_no_truth_to_show() -> None:
    feed = filled([hello(mode="live")])
    frame = next(releases())
    with pytest.raises(FrameError, match="truth is raw data"):
        feed.put(frame)
    feed.put(frame | {"truth": None})


@pytest.mark.parametrize(
    "frames",
    [[progress(1, 2)], [hello(), hello()], [hello(), done(0), progress(1, 2)], [hello(), {"type": "what"}]],
)
def test_frames_out_of_order_or_of_no_known_type_are_refused(frames: list[dict[str, Any]]) -> None:
    with pytest.raises(FrameError, match="allowed: "):
        filled(frames)


def test_a_release_of_a_stream_that_hello_did_not_name_is_refused() -> None:
    frame = next(releases())
    with pytest.raises(FrameError, match="allowed: one of its streams"):
        filled([hello(), frame | {"release": frame["release"] | {"stream": "other"}}])


def test_what_happens_to_a_frame_after_it_was_put_changes_nothing() -> None:
    frame = next(releases())
    feed = filled([hello(), frame])
    frame["release"]["estimate"]["home"] = 99
    assert feed.frames()[1]["release"]["estimate"]["home"] != 99


def test_a_closed_reader_ends() -> None:
    async def scenario() -> None:
        follower = filled([hello()]).follow()
        reading = asyncio.create_task(read(follower))
        await asyncio.sleep(0)
        follower.close()
        assert kinds(await asyncio.wait_for(reading, 5)) in ([], ["hello"])

    asyncio.run(scenario())
