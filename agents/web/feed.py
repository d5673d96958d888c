# SPDX-License-Identifier: Apache-2.0
"""The hub between a run in a worker thread and the pages that watch it.

Contract: `put` takes a frame from any thread and never waits for a reader. Every follower gets the frames so far and
then the live ones, in order and without loss; only a `progress` that a newer one has overtaken is left out. The newest
`keep` frames stay for those who come later. Truth is raw data: a live deployment's feed refuses it (ARCHITECTURE rule
9). Not here: HTTP (server.py), what a frame says (page_header.py, static/).
"""

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from murmurate.agents.web.errors import FrameError
from murmurate.agents.web.release_id import ReleaseId, release_id
from murmurate.aggregators.queries import QueryAnswer, ReleaseIndex, answer
from murmurate.aggregators.queries.errors import ReleaseFormatError

KEEP = 1 << 16
"""Frames kept for late readers: more releases than any replay of the papers has."""
BATCH = 256
"""Frames taken under the lock at once, so that a reader of a long history does not hold up the run."""
ASKED_ABOUT = 1 << 22
"""The most figures of a stream that questions are answered from: 64 MB, the newest ones."""
MODES = ("replay", "live")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, encoded once for all readers."""

    number: int
    """The frame's place in the run, from 1; a progress has the place of the frame before it."""
    kind: str
    body: bytes
    """JSON: of a release the record alone, of the others the whole frame."""
    stream: str = ""
    truth: bytes = b"null"
    release: ReleaseId | None = None
    """Which release it is, if it is one."""

    @property
    def json(self) -> bytes:
        """The frame as the page reads it."""
        if self.kind != "release":
            return self.body
        return b'{"type":"release","release":' + self.body + b',"truth":' + self.truth + b"}"


class Feed:
    """All frames of one run: `hello`, then releases and progress, then `done`."""

    def __init__(self, *, keep: int = KEEP) -> None:
        self.run = secrets.token_hex(4)
        """Tells this run from another one at the same address."""
        self._keep = keep
        self._lock = threading.Lock()
        self._hello: Frame | None = None
        self._live = False
        self._streams: tuple[str, ...] = ()
        self._log: list[Frame] = []
        self._forgotten = 0  # frames before the first one of the log
        self._progress: Frame | None = None
        self._progressed = 0  # how many progress frames there were
        self._ended = False
        self._followers: set[FeedReader] = set()
        self._answers = threading.Lock()
        self._index = ReleaseIndex(keep=ASKED_ABOUT)
        self._unread: deque[Mapping[str, Any]] = deque()
        """Releases that came while a question was answered."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that `hello` named; empty before it."""
        return self._streams

    @property
    def started(self) -> bool:
        """Whether `hello` has been put."""
        return self._hello is not None

    @property
    def ended(self) -> bool:
        """Whether `done` has been put: nothing follows."""
        return self._ended

    @property
    def last(self) -> int:
        """The number of the newest frame; 0 before the first."""
        return self._forgotten + len(self._log)

    def put(self, frame: Mapping[str, Any]) -> None:
        """Add a frame, from any thread. What it holds is encoded now, so later changes do no harm."""
        kind = frame.get("type")
        if kind == "hello":
            self._open(frame)
        elif kind == "release":
            self._release(frame)
        elif kind == "progress":
            self._add(Frame(0, "progress", orjson.dumps(dict(frame))))
        elif kind == "done":
            self._add(Frame(0, "done", orjson.dumps(dict(frame))))
        else:
            raise FrameError(f"feed: found a frame of type {kind!r}; allowed: hello, release, progress, done")

    def frames(self) -> list[dict[str, Any]]:
        """What is kept, in order, as the report takes it."""
        found, _ = self._take(0, 0, self.last)
        return [orjson.loads(frame.json) for frame in found]

    def kept(self, stream: str) -> list[Frame]:
        """The releases of a stream that are kept, in order."""
        with self._lock:
            return [frame for frame in self._log if frame.kind == "release" and frame.stream == stream]

    def answer(self, question: str, *, users: int | None = None, running: bool = False) -> QueryAnswer:
        """The answer to a question over the releases so far. QueryRefusedError if there is none."""
        with self._answers:
            self._read()
            return answer(self._index, question, users=users, running=running)

    def _read(self) -> None:
        while self._unread:
            try:
                self._index.add(self._unread.popleft())
            except ReleaseFormatError:  # a frame that is shown, and says too little to be asked about
                continue

    def before_last(self, stream: str, count: int) -> int:
        """The number after which the last `count` releases of a stream come."""
        with self._lock:
            after = self._forgotten + len(self._log)
            for frame in reversed(self._log):
                if not count:
                    break
                after = frame.number - 1
                count -= frame.kind == "release" and frame.stream == stream
            return after

    def identity(self, frame: Frame) -> str | None:
        """The id of a frame for readers: of a live deployment that of its release, the same at every worker; of a run
        its number there.
        """
        if not self._live:
            return f"{self.run}-{frame.number}"
        return None if frame.release is None else str(frame.release)

    def follow(self, after: int = 0, stream: str = "", seen: ReleaseId | None = None) -> "FeedReader":
        """The frames after a number, to the end; of one stream only its releases. `seen`: those after this release
        alone, which may have come here or not yet; if it is no longer kept, all that are.
        """
        return FeedReader(self, after, stream, seen)

    def seen(self, identity: str) -> ReleaseId | None:
        """The release that a reader saw last, by the id that some worker gave it; None for no release of these
        streams, and in a run of its own.
        """
        found = release_id(identity) if self._live else None
        return found if found is not None and found.stream in self._streams else None

    def _join(self, follower: "FeedReader") -> None:
        with self._lock:
            self._followers.add(follower)

    def _leave(self, follower: "FeedReader") -> None:
        with self._lock:
            self._followers.discard(follower)

    def _open(self, frame: Mapping[str, Any]) -> None:
        mode, streams = frame.get("mode"), frame.get("streams")
        if mode not in MODES or not isinstance(streams, list):
            raise FrameError(f"feed: found a hello in mode {mode!r}; allowed: replay or live, and a list of streams")
        self._live = mode == "live"
        self._streams = tuple(str(stream["name"]) for stream in streams)
        self._add(Frame(0, "hello", orjson.dumps(dict(frame))))

    def _release(self, frame: Mapping[str, Any]) -> None:
        release, truth = frame.get("release"), frame.get("truth")
        if not isinstance(release, Mapping) or release.get("stream") not in self._streams:
            raise FrameError("feed: found a release of no stream that hello named; allowed: one of its streams")
        if self._live and truth is not None:
            raise FrameError("feed: found a truth in a live deployment; allowed: null, since truth is raw data")
        body = orjson.dumps(dict(release))
        which = ReleaseId(str(release["stream"]), int(release["t"]), int(release["revision"]))
        self._add(Frame(0, "release", body, which.stream, orjson.dumps(truth), which))
        self._unread.append(orjson.loads(body))
        if self._answers.acquire(blocking=False):  # else it is read with the next one, or before the next answer
            try:
                self._read()
            finally:
                self._answers.release()

    def _add(self, frame: Frame) -> None:
        with self._lock:
            if (frame.kind == "hello") == self.started or self._ended:
                raise FrameError(
                    f"feed: found {frame.kind} out of order; allowed: hello once, the others, done at last"
                )
            number = self.last + (frame.kind != "progress")
            frame = replace(frame, number=number)
            if frame.kind == "progress":
                self._progress = frame
                self._progressed += 1
            else:
                self._log.append(frame)
                if frame.kind == "hello":
                    self._hello = frame
                self._ended = frame.kind == "done"
            if len(self._log) > self._keep + self._keep // 8:
                self._forgotten += len(self._log) - self._keep
                del self._log[: -self._keep]
            followers = tuple(self._followers)
        for follower in followers:
            follower.wake()

    def _take(self, after: int, progressed: int, limit: int = BATCH) -> tuple[list[Frame], int]:
        """Up to `limit` frames after a number, and the progress if it is newer than the one seen."""
        with self._lock:
            skip = max(after - self._forgotten, 0)
            found = self._log[skip : skip + limit]
            if self._hello and after == 0 < self._forgotten:
                found.insert(0, self._hello)
            due = self._progress
            if due and self._progressed > progressed and (not found or due.number <= found[-1].number):
                place = next((i for i, frame in enumerate(found) if frame.number > due.number), len(found))
                found.insert(place, due)
                progressed = self._progressed
            return found, progressed


class FeedReader:
    """A reader's place in a feed. Iterate over it in the loop in which it was made."""

    def __init__(self, feed: Feed, after: int, stream: str, seen: ReleaseId | None = None) -> None:
        self._feed, self._after, self._stream, self._seen = feed, after, stream, seen
        self._resumed = seen is not None
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._closing = asyncio.Event()

    def wake(self) -> None:
        """Look for frames again; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:  # the loop is closed: nobody reads any more
            self._feed._leave(self)

    def close(self) -> None:
        """End the iteration, from within the loop."""
        self._closing.set()
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Frame]:
        """Frames, as they come, until `done` or `close`."""
        feed, progressed = self._feed, 0
        feed._join(self)
        try:
            while not self._closing.is_set():
                self._news.clear()  # before looking: what comes while we look wakes us again
                found, progressed = feed._take(self._after, progressed)
                for frame in found:
                    if self._seen is not None and frame.release is not None and self._seen.before(frame.release):
                        self._seen, self._after = None, 0  # it is no longer kept: everything that is, is new
                        break
                    self._after = max(self._after, frame.number)
                    if self._is_new(frame):
                        yield frame
                        if self._closing.is_set():
                            return
                if feed.ended and self._after >= feed.last:
                    return
                if not found:
                    await self._news.wait()
        finally:
            feed._leave(self)

    def _is_new(self, frame: Frame) -> bool:
        """Whether the reader wants a frame, and has not seen it at another worker."""
        if self._seen is not None:
            self._seen = None if frame.release == self._seen else self._seen
            return False
        if self._resumed and frame.kind == "hello":
            return False
        return not self._stream or (frame.kind == "release" and frame.stream == self._stream)
