# SPDX-License-Identifier: Apache-2.0
"""Which of the releases that are there a subscriber begins with, and of which revisions it hears.

Contract: `since` is an instant, a release after which one goes on, "last" for the newest that is there, or nothing,
which is all that is kept.  With `newest_only` a period that was revised before the subscriber came is given once, as it
counts, and no revision comes after a higher one.  Not here: where releases come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from murmurate.agents.web.release_id import ReleaseId, release_id
from murmurate.errors import UsageError
from murmurate.topics.release import Release
from murmurate.topics.times import InstantReader, instant

ALLOWED: Final = (
    'an instant with its zone ("2026-11-18T09:00:00Z"), a release or its id ("screen/29916540/1") to go on after, or '
    '"last" for the newest that is there'
)
REMEMBERED: Final = 1 << 16
"""The most periods of which it is known what was given: those of six weeks, of a stream of minutes."""
GivenSince = datetime | str | Release | None
"""Where a subscriber begins."""


@dataclass(frozen=True)
class Since:
    """Where a subscriber begins; everything that is kept where all three are left out."""

    start_ms: int | None = None
    """The earliest beginning of a period."""
    after: ReleaseId | None = None
    """The release after which one goes on."""
    last: bool = False
    """Whether one begins with the newest release that is there."""

    @classmethod
    def of(cls, given: GivenSince, stream: str | None) -> Since:
        """What was given. UsageError where it is none of what is allowed."""
        if given is None:
            return cls()
        if isinstance(given, Release):
            given = given.id
        if isinstance(given, datetime):
            if given.tzinfo is None:
                raise UsageError(f"since: found a time without a zone; allowed: {ALLOWED}")
            return cls(start_ms=int(given.timestamp() * 1000))
        if not isinstance(given, str):
            raise UsageError(f"since: found {type(given).__name__}; allowed: {ALLOWED}")
        if given == "last":
            return cls(last=True)
        if (after := release_id(given)) is not None:
            if stream is not None and after.stream != stream:
                raise UsageError(f"since: found a release of {after.stream}; allowed: one of {stream}")
            return cls(after=after)
        try:
            return cls(start_ms=InstantReader().milliseconds(given))
        except ValueError:
            raise UsageError(f"since: found {given[:64]!r}; allowed: {ALLOWED}") from None

    def __str__(self) -> str:
        """What was asked for."""
        return "last" if self.last else str(self.after or (instant(self.start_ms) if self.start_ms is not None else ""))


@dataclass
class WantedReleases:
    """Takes releases in the order of their topic, and gives those that are wanted."""

    since: Since
    newest_only: bool = False
    _instants: InstantReader = field(default_factory=InstantReader)
    _pending: list[Release] | None = None  # what came before the release after which one goes on, if it ever comes
    _past: list[Release] = field(default_factory=list)  # held back until all that is there has come
    _caught_up: bool = False
    _newest: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pending = None if self.since.after is None else []

    @property
    def holds_back(self) -> bool:
        """Whether nothing is given before all that is there has come."""
        return not self._caught_up and (self.newest_only or self.since.last)

    def take(self, release: Release) -> Iterator[Release]:
        """Those that may be given now."""
        for found in self._after(release):
            if self.since.start_ms is not None and self._instants.milliseconds(found.start) < self.since.start_ms:
                continue
            if self.holds_back:
                self._past.append(found)
            else:
                yield from self._counting([found])

    def caught_up(self) -> Iterator[Release]:
        """What was held back: everything that is there has come."""
        self._caught_up = True
        past, self._past = self._past, []
        if self.since.last:
            past = list({release.stream: release for release in past}.values())
        if self.newest_only:
            best = dict[tuple[str, int], int]()
            for release in past:
                best[release.stream, release.t] = max(release.revision, best.get((release.stream, release.t), 0))
            past = [release for release in past if release.revision == best[release.stream, release.t]]
        yield from self._counting(past)

    def _after(self, release: Release) -> Iterator[Release]:
        """Those after the release that the subscriber had seen; where it is no longer kept, all that come."""
        seen, pending = self.since.after, self._pending
        if seen is None or pending is None:
            yield release
            return
        which = ReleaseId(release.stream, release.t, release.revision)
        if which == seen:
            self._pending = None
        elif seen.before(which):
            self._pending = None
            yield from [*pending, release]
        else:
            pending.append(release)

    def _counting(self, releases: Iterable[Release]) -> Iterator[Release]:
        if not self.newest_only:
            yield from releases
            return
        for release in releases:
            key = release.stream, release.t
            if release.revision >= self._newest.get(key, 0):
                self._newest[key] = release.revision
                if len(self._newest) > REMEMBERED:
                    self._newest.pop(next(iter(self._newest)))
                yield release


@dataclass
class HeardReleases:
    """What a subscriber has heard of each stream, so that nothing comes twice: of each revision the newest period."""

    _newest: dict[tuple[str, int], int] = field(default_factory=dict)
    missed: list[tuple[str, int, int]] = field(default_factory=list)
    """Periods that were no longer to be had: stream, first, last."""

    def is_new(self, release: Release) -> bool:
        """Whether this release was not heard yet; from now on it is."""
        key = release.stream, release.revision
        newest = self._newest.get(key)
        if newest is not None and release.t <= newest:
            return False
        if newest is not None and release.t > newest + 1 and not self._revises(release):
            self.missed.append((release.stream, newest + 1, release.t - 1))
        self._newest[key] = release.t
        return True

    def _revises(self, release: Release) -> bool:
        """Whether it says once more what an earlier release said."""
        return any(
            stream == release.stream and revision < release.revision and release.t <= newest
            for (stream, revision), newest in self._newest.items()
        )
