# SPDX-License-Identifier: Apache-2.0
"""The privacy promise to users, as frozen facts: one epsilon in one window, and each stream's fixed part of it.

Contract: terms that could spend more than epsilon cannot be built; the facts of two terms can be compared name by name.
Source: ARCHITECTURE rules 3, 5 and 17.  Not here: what has been spent (ledger.py).
"""

from dataclasses import dataclass
from math import gcd
from typing import Literal

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.identity import SLOTS
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.question import LayoutSpec
from murmurate.randomizers.thresholds import MAX_MICRO, MICRO

Division = Literal["population", "budget"]
Split = Literal["users", "budget"]
MAX_SLOTS = 1 << 16
MAX_WINDOW = 1 << 16

Facts = dict[str, str | int]


@dataclass(frozen=True)
class StreamTerms:
    """The part of one stream in the promise."""

    name: str
    share_micro: int
    """The stream's share in millionths: of the users, or of epsilon."""
    w: int
    """The number of periods that one window can touch."""
    slots: int
    """The number of slots S. Users are addressed by slot, a keyed hash mod S."""
    division: Division
    """"population": a slot answers once in w periods, with the whole epsilon; "budget": charges in any w periods add up
    to at most the epsilon.
    """
    layout: LayoutSpec
    """The layout of the stream's values, none and other included (layouts/). A question over another one is refused."""
    every_ms: int = 1000
    """Length of a period."""
    questions: tuple[str, ...] | None = None
    """The digests of the questions that devices answer, in hexadecimal digits, by what is claimed for them
    (`claimed_as`); None: every question whose price the ledger allows.
    """
    most_micro: int | None = None
    """What a user spends on it in any w periods at most, in micro-nats, where a central target leaves less than the
    stream's part of epsilon; None: all of that.
    """
    unprotected_locally: bool = False
    """Whether devices answer a question whose reports show their values: only one that is named in `questions`."""

    def __post_init__(self) -> None:
        where = f"stream {self.name!r}"
        _within(f"{where}: share_micro", self.share_micro, 1, MICRO)
        _within(f"{where}: w", self.w, 1, MAX_WINDOW)
        _within(f"{where}: slots", self.slots, 1, MAX_SLOTS)
        object.__setattr__(self, "layout", layout(self.layout).spec())
        _within(f"{where}: every_ms", self.every_ms, 1, 1 << 40)
        if self.most_micro is not None:
            _within(f"{where}: most_micro", self.most_micro, 1, MAX_MICRO)
        if self.unprotected_locally and self.questions is None:
            raise ParameterError(
                f"{where}: unprotected_locally: found it without questions; allowed: with their digests"
            )
        if self.division not in ("population", "budget"):
            raise ParameterError(f"{where}: division: found {self.division!r}; allowed: population, budget")


@dataclass(frozen=True)
class Terms:
    """One promise over all streams: nobody learns more than epsilon about one user in any window."""

    deployment: str
    epsilon_micro: int
    streams: tuple[StreamTerms, ...]
    """The streams in the order of their names, so that the order of a file does not decide which users serve which
    stream; none where a deployment has central streams alone.
    """
    split: Split = "users"
    """"users": a user serves one stream, with the whole epsilon; "budget": every stream, with a share of epsilon."""
    partitions: int = 1
    """The number of raw partitions. It never changes, since moving a user would lose the record of spending."""
    keys: tuple[tuple[str, str], ...] = ()
    """Fingerprints of the secrets on which the ledger rests: pepper, slots, split."""

    def __post_init__(self) -> None:
        _within("epsilon_micro", self.epsilon_micro, 1, MAX_MICRO)
        _within("partitions", self.partitions, 1, 1 << 16)
        if self.split not in ("users", "budget"):
            raise ParameterError(f"split: found {self.split!r}; allowed: users, budget")
        names = [stream.name for stream in self.streams]
        if len(set(names)) < len(names):
            raise ParameterError(f"streams: found {names}; allowed: each name once")
        object.__setattr__(self, "streams", tuple(sorted(self.streams, key=lambda stream: stream.name)))
        total = sum(stream.share_micro for stream in self.streams)
        if total > MICRO:
            raise ParameterError(f"streams: found shares of {total} millionths together; allowed: at most {MICRO}")
        for stream in self.streams:
            if self.limit_micro(stream.name) < 1:
                raise ParameterError(f"stream {stream.name!r}: its share of epsilon is below one micro-nat")

    def stream(self, name: str) -> StreamTerms | None:
        """The terms of one stream, or None."""
        return next((stream for stream in self.streams if stream.name == name), None)

    def limit_micro(self, name: str) -> int:
        """The limit of one user's charges on this stream in any w periods, in micro-nats.

        Shares are floored and add up to at most one, so all streams together keep the promise whatever they do: this
        is the check over all streams, made once instead of at every charge.
        """
        stream = self.stream(name)
        if stream is None:
            raise ParameterError(f"stream: found {name!r}; allowed: {', '.join(s.name for s in self.streams)}")
        return self.epsilon_micro if self.split == "users" else self.epsilon_micro * stream.share_micro // MICRO

    def spent_micro(self, name: str) -> int:
        """The most that a device spends on this stream in any w periods, in micro-nats: its limit, or less where a
        central target holds only for so much.
        """
        limit, stream = self.limit_micro(name), self.stream(name)
        return limit if stream is None or stream.most_micro is None else min(limit, stream.most_micro)

    def facts(self) -> Facts:
        """The frozen facts by name. Changing any of them would hand users a fresh ledger."""
        facts: Facts = {
            "epsilon_micro": self.epsilon_micro,
            "split": self.split,
            "partitions": self.partitions,
            "base_period_ms": gcd(*(stream.every_ms for stream in self.streams)),
            "slots": SLOTS,
        }
        facts |= {f"keys.{name}": fingerprint for name, fingerprint in self.keys}
        for stream in self.streams:
            for fact in ("share_micro", "w", "slots", "division", "every_ms"):
                facts[f"streams.{stream.name}.{fact}"] = getattr(stream, fact)
            if stream.unprotected_locally:
                facts[f"streams.{stream.name}.unprotected_locally"] = "true"
        return facts


def changed(old: Facts, new: Facts) -> list[str]:
    """One line for each fact that is not the same."""
    why = {"slots": f" (this version draws slots by {SLOTS}; nothing migrates: begin a deployment of another name)"}
    return [
        f"{name}: state {old.get(name, 'none')}, config {new.get(name, 'none')}{why.get(name, '')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def _within(what: str, found: int, low: int, high: int) -> None:
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        raise ParameterError(f"{what}: found {found!r}; allowed: a whole number from {low} to {high}")
