# SPDX-License-Identifier: Apache-2.0
"""What must not come through: who sent what, in which order, when; and no value or user outside the edge.

Statistical tests here state what they allow: 5 sigma where ARCHITECTURE section 5.12 says so, else one false alarm in a
million, at fixed seeds and keys.
"""

from __future__ import annotations

import base64
import logging
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, permutations
from statistics import NormalDist
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.embedded import task as task_module
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log
from murmurate.config.plan import Plan
from murmurate.randomizers import mechanism
from murmurate.topics.block import BatchBlock, ReportBlock, encode_reports
from murmurate.topics.codec import decode_record, kind_of
from murmurate.topics.domains import Categories
from murmurate.topics.messages import Close, Done
from tests.agents.stages.hands import (
    CLOSINGS,
    RAW,
    ROUNDS,
    Hand,
    perturb,
    progress,
    pseudonyms,
    question,
    reports,
    rows,
    start,
)
from tests.agents.world import (
    FIRST,
    KEYS,
    SECOND,
    TOPIC,
    Crashes,
    Event,
    arrivals,
    crowd,
    deployment,
    key,
    played,
    stream,
)

MILLION = NormalDist().inv_cdf(1 - 5e-7)
"""Two-sided, one in a million."""


def chi_square_at_most(observed: np.ndarray, expected: np.ndarray | float) -> None:
    """At one in a million, by the Wilson-Hilferty approximation of the chi-square quantile."""
    degrees = observed.size - 1
    statistic = float(((observed - expected) ** 2 / expected).sum())
    z = NormalDist().inv_cdf(1 - 1e-6)
    limit = degrees * (1 - 2 / (9 * degrees) + z * math.sqrt(2 / (9 * degrees))) ** 3
    assert statistic < limit


# ---- the linkage game: ARCHITECTURE section 5.12 ----

GAMES, PLAYERS = 200, 1000
SOLO = deployment(stream("screen"), partitions=1, targets=1, min_batch=2)
TRIO = deployment(stream("screen"), partitions=3, targets=1, min_batch=2)
TAGS = np.random.default_rng(8).permutation(1 << 16)[:PLAYERS].astype("<u2").view(np.uint8).reshape(-1, 2)
"""Two bytes that tell the referee, and not the player, who is who."""
WIDE = mechanism({"name": "grr", "d": 1 << 16, "epsilon_micro": 2_000_000})
PLACE = {tag.tobytes(): i for i, tag in enumerate(TAGS)}


def game(number: int, plan: Plan, parts: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, list[bytes]]:
    """Where report i came out, and the bytes of the batch with all reports blanked: what an adversary sees of them."""
    hand = Hand(Shuffle(plan, key("shuffle"), 0))
    round_ = question(plan, plan.streams[0], FIRST + number, mechanism=WIDE.spec())
    hand.give(ROUNDS, round_)
    out = []
    for c, mine in enumerate(parts or np.array_split(np.arange(PLAYERS), plan.partitions)):
        done = Done(round=round_.digest.hex(), contributor=c, sent=len(mine), total=len(mine))
        out += hand.give(Log("reports", 0), *encode_reports(round_.digest, c, TAGS[mine]), done)
    out += hand.give(CLOSINGS, *[one.value for one in out if one.log == CLOSINGS])  # its own word on who counts
    came = [decode_record(one.value) for one in out]
    order = [PLACE[row.tobytes()] for block in came if isinstance(block, BatchBlock) for row in block.reports]
    return np.argsort(order), [one.value[:28] + one.value[32:64] for one in out if kind_of(one.value) == "block"]


@pytest.mark.parametrize("plan", [SOLO, TRIO], ids=["one contributor", "three"])
def test_whoever_sees_arrival_and_batch_links_no_better_than_chance(plan: Plan) -> None:
    places = np.array([game(number, plan)[0] for number in range(GAMES)])  # int[games, players]
    assert all(sorted(row) == list(range(PLAYERS)) for row in places.tolist())
    here = np.arange(PLAYERS)
    half = GAMES // 2
    learned = np.array([np.bincount(column, minlength=PLAYERS).argmax() for column in places[:half].T])
    guesses = {  # each names for every arrival the place where it came out
        "the same place": np.broadcast_to(here, places.shape),
        "turned round": np.broadcast_to(PLAYERS - 1 - here, places.shape),
        "as in the last batch": np.roll(places, 1, axis=0),
        "where it came out most often": np.broadcast_to(learned, places.shape),
    }
    for name, guess in guesses.items():
        fair = places[half:] == guess[half:] if name == "where it came out most often" else places == guess
        sigma = math.sqrt(1 / PLAYERS * (1 - 1 / PLAYERS) / fair.size)
        assert fair.mean() <= 1 / PLAYERS + 5 * sigma, name
        # Nor does the last arrival, or the first, stand out.
        for player in (0, PLAYERS - 1):
            assert fair[:, player].sum() <= 8  # Poisson(0.2): more than 8 has chance 4e-12
    centred = places - (PLAYERS - 1) / 2
    spearman = (centred * (here - (PLAYERS - 1) / 2)).mean(axis=1) / centred.var(axis=1)
    assert abs(spearman.mean()) < 5 / math.sqrt(PLAYERS * GAMES)  # over all games
    assert np.abs(spearman).max() < 6 / math.sqrt(PLAYERS)  # and in each: 200 games at 6 sigma, chance 4e-7
    neighbours = np.abs(np.diff(places, axis=1)) == 1
    assert abs(neighbours.mean() - 2 / PLAYERS) < 5 * math.sqrt(2 / PLAYERS / neighbours.size)


def test_a_batch_without_its_reports_is_the_same_whoever_sent_them() -> None:
    everybody = np.arange(PLAYERS)
    uneven = [everybody[990:][::-1], everybody[:0], everybody[:990]]
    seen = game(0, TRIO)[1]
    assert len(seen) == 1
    assert game(0, TRIO, uneven)[1] == seen


def batches(rounds: int, people: int, q: int) -> list[list[int]]:
    """For each round the order in which the shuffle gave so many reports back, by their places on arrival."""
    hand, orders = Hand(Shuffle(SOLO, key("shuffle"), q)), []
    for number in range(rounds):
        round_ = question(SOLO, SOLO.streams[0], FIRST + number, mechanism=WIDE.spec(), targets=2)
        done = Done(round=round_.digest.hex(), contributor=0, sent=people, total=people)
        hand.give(Log("reports", q), *encode_reports(round_.digest, 0, TAGS[:people]), done)
        out = hand.give(ROUNDS, round_) + hand.give(CLOSINGS, Close(round=round_.digest.hex(), contributors=(0,)))
        blocks = [one for one in map(decode_record, (each.value for each in out)) if isinstance(one, BatchBlock)]
        orders.append([PLACE[row.tobytes()] for block in blocks for row in block.reports])
    return orders


ANYBODY = Categories(tuple(map(str, range(127))))
OUE = mechanism({"name": "oue", "d": 128, "epsilon_micro": 800})
"""Reports of sixteen bytes that all differ."""


def answers(rounds: int, users: np.ndarray, codes: Sequence[int], targets: int) -> list[list[list[int]]]:
    """For each round about one period, and each target, whose reports perturb sent there, in their order, by the order
    in which the users came. The referee knows the reports by the key; who sees them does not.
    """
    plan = deployment(stream("screen", "lbu", domain=ANYBODY), partitions=1, targets=targets)
    screen, hand, n = plan.streams[0], perturb(plan), len(users)
    hand.give(RAW, *rows(plan, screen, users, [(FIRST - 1) * SECOND] * n, codes), progress(FIRST * SECOND))
    hand.give(RAW, *rows(plan, screen, users, [FIRST * SECOND] * n, codes))
    asking = [question(plan, screen, FIRST, mechanism=OUE.spec(), patience_ms=i + 1) for i in range(rounds)]
    hand.give(ROUNDS, start(screen), *asking)
    sent = reports(hand.give(RAW, progress((FIRST + 2) * SECOND)))
    found = []
    for one in asking:
        theirs = OUE.perturb(np.array(codes), KEYS.edge.devices.randomness.draw(users, round=one.digest))
        whose = {report.tobytes(): user for user, report in enumerate(theirs)}
        found.append([[whose[report] for report in sent.get((one.digest.hex(), q), [])] for q in range(targets)])
        assert sorted(chain(*found[-1])) == list(range(n))
    return found


@pytest.mark.parametrize("who", ["shuffle", "shuffle of another target", "perturb"])
def test_four_reports_come_out_in_each_of_their_24_orders_alike(who: str) -> None:
    # what the stages wrote in 720 rounds; chi-square at 1e-6
    if who == "perturb":
        orders = [sent[0] for sent in answers(720, pseudonyms(4), [7] * 4, targets=1)]
    else:
        orders = batches(720, 4, q=int("another" in who))
    seen = Counter(map(tuple, orders))
    counts = np.array([seen[order] for order in permutations(range(4))])
    assert counts.sum() == 720
    chi_square_at_most(counts, 30.0)


def test_the_orders_of_two_targets_have_nothing_to_do_with_each_other() -> None:
    # 60 rounds of 200 reports that came in the same order to both; 5 sigma
    same = [np.array(orders) for orders in zip(batches(60, 200, 0), batches(60, 200, 1), strict=True)]
    assert sum(int((one == other).sum()) for one, other in same) <= 60 + 5 * 8  # Poisson(60)
    assert abs(np.mean([np.corrcoef(one, other)[0, 1] for one, other in same])) < 5 / math.sqrt(60 * 200)


@pytest.mark.parametrize("targets", [1, 3])
def test_the_order_in_which_users_came_to_perturb_is_not_that_of_their_reports(targets: int) -> None:
    # 100 rounds about one period, 400 users who say the same, in each target's part of them
    ranks = [
        np.argsort(np.argsort(part)) for sent in answers(100, pseudonyms(400), [7] * 400, targets) for part in sent
    ]
    matches = sum(int((rank == np.arange(len(rank))).sum()) for rank in ranks)
    assert matches <= 100 * targets + 5 * 10 * math.sqrt(targets)  # Poisson(1) in each
    correlation = [float(np.corrcoef(rank, np.arange(len(rank)))[0, 1]) for rank in ranks]
    assert abs(np.mean(correlation)) < 5 / math.sqrt(400 * 100)


def test_a_reports_target_depends_on_no_value_and_on_no_order() -> None:
    users, values = pseudonyms(4000), np.arange(4000) % 5
    went = np.zeros((5, 4000), np.int64)
    for targets, sent in zip(went, answers(5, users, values.tolist(), targets=4), strict=True):
        for q, part in enumerate(sent):
            targets[part] = q
    for targets in went:
        chi_square_at_most(np.bincount(targets, minlength=4), 1000.0)
        table = np.zeros((5, 4))
        np.add.at(table, (values, targets), 1)
        chi_square_at_most(table.ravel(), 200.0)
        assert abs(np.corrcoef(np.arange(4000), targets)[0, 1]) < MILLION / math.sqrt(4000)
    together = np.zeros((4, 4))
    np.add.at(together, (went[0], went[1]), 1)
    chi_square_at_most(together.ravel(), 250.0)  # nor on the last round's
    # whatever everybody says, each of them goes to the same target, and so does whoever comes in another order
    again = answers(1, users[:300], [3] * 300, targets=4)[0]
    turned = answers(1, users[:300][::-1], values[:300].tolist(), targets=4)[0]
    for q in range(4):
        assert set(again[q]) == set(np.flatnonzero(went[0][:300] == q).tolist())
        assert {299 - user for user in turned[q]} == set(again[q])


# ---- twins: the same people at the same times, who say other things ----


def twins(plan: Plan) -> tuple[Runtime, Runtime]:
    """Two runs in which only values differ, asked the same questions: the second gets the rounds of the first."""
    events = crowd(plan, users=90, periods=5)
    first = played(plan, arrivals(events, until=(FIRST + 8) * SECOND), step=300)
    said = [first.logs.read(ROUNDS, offset).value for offset in range(first.logs.end(ROUNDS))]
    changed = [Event(e.stream, e.user, e.time, "help", e.partition, e.arrives) for e in events]
    second = Runtime(plan, KEYS, sources={TOPIC: 2}, keep=True, schedule=EdgeOnly())
    from murmurate.agents.stages.stage import Out

    second.write([Out(ROUNDS, value) for value in said])
    second.write(arrivals(changed, until=(FIRST + 8) * SECOND))
    second.run()
    return first, second


class EdgeOnly:
    """Doors and perturbs: nobody else gets a turn."""

    def turns(self, tasks: Any) -> list[Any]:
        return [(task, 1 << 30, task.inputs) for task in tasks if task.name.split()[0] in ("door", "perturb")]


def structure(runtime: Runtime, q: int) -> dict[tuple[str, int], list[Any]]:
    """Per round and contributor, everything but the reports themselves."""
    found: dict[tuple[str, int], list[Any]] = {}
    log = Log("reports", q)
    for offset in range(runtime.logs.end(log)):
        value = runtime.logs.read(log, offset).value
        record = decode_record(value)
        if isinstance(record, ReportBlock):
            shape = ("block", len(value), value[:28])
            found.setdefault((record.round.hex(), record.contributor), []).append(shape)
        elif isinstance(record, Done):
            found.setdefault((record.round, record.contributor), []).append(value)
    return found


@pytest.mark.parametrize(
    ("split", "carry"),
    [
        ("users", 2000), ("budget", None),
        *(pytest.param("users", carry, marks=pytest.mark.audit) for carry in (0, None)),
        *(pytest.param("budget", carry, marks=pytest.mark.audit) for carry in (0, 2000)),
    ],
)  # fmt: skip
def test_who_answers_how_much_and_where_is_the_same_whatever_people_say(split: Any, carry: int | None) -> None:
    plan = deployment(
        stream("screen", "lpa", carry_ms=carry, share_micro=600_000),
        stream("mood", "lbu", carry_ms=carry, share_micro=400_000, every_ms=2 * SECOND),
        split=split,
    )
    first, second = twins(plan)
    for q in range(plan.targets):
        one, other = structure(first, q), structure(second, q)
        assert one == other
        assert len(one) > 20
    for a, b in zip(first.of_stage["perturb"], second.of_stage["perturb"], strict=True):
        assert isinstance(a.stage, Perturb)
        assert isinstance(b.stage, Perturb)
        assert a.stage.edge_counts == b.stage.edge_counts
        snapshots = [b"".join(each.stage.snapshot()) for each in (a, b)]
        assert len(snapshots[0]) == len(snapshots[1])
        assert snapshots[0] != snapshots[1]


def test_bytes_that_leave_perturb_are_as_long_for_one_value_as_for_another() -> None:
    plan = deployment(stream("screen"), partitions=1, targets=3)
    screen, lengths = plan.streams[0], []
    for code in (0, 3):
        hand, users = perturb(plan), pseudonyms(500)
        hand.give(ROUNDS, start(screen), question(plan, screen, FIRST))
        hand.give(RAW, *rows(plan, screen, users, [(FIRST - 1) * SECOND] * 500, [code] * 500), progress(FIRST * SECOND))
        hand.give(RAW, *rows(plan, screen, users, [FIRST * SECOND] * 500, [code] * 500))
        out = hand.give(RAW, progress((FIRST + 2) * SECOND))
        lengths.append([(one.log, len(one.value)) for one in out])
    assert lengths[0] == lengths[1]
    assert len(lengths[0]) == 6


# ---- canaries ----

CANARY = "canary-value-Zq8"
USERS = [f"canary-user-{i}-Xw3" for i in range(60)]
EDGE = {"raw", "ticks", "dead.edge", TOPIC}


def canaries(deployment_users: list[str]) -> Iterator[bytes]:
    """Every form in which a value or a user could show."""
    words = [CANARY.encode(), *(user.encode() for user in deployment_users)]
    words += [KEYS.edge.pepper.pseudonym(user.encode()) for user in deployment_users]
    for word in words:
        yield word
        yield word.hex().encode()
        yield word.hex().upper().encode()
        for cut in range(3):  # wherever a base64 group may begin
            text = base64.b64encode(bytes(cut) + word)[-(-4 * cut // 3) + (cut > 0) :]
            yield text[: len(text) // 4 * 4 - 4]
        yield base64.urlsafe_b64encode(word).rstrip(b"=")[:-2]
        if len(word) == 16:
            yield word[:8]
            yield word[8:]
            yield str(int.from_bytes(word[:8], "little")).encode()


def canary_plan() -> Plan:
    return deployment(
        stream("screen", "lpa", domain=Categories(("home", "help"), other=True), share_micro=500_000),
        stream("mood", "lbu", domain=Categories((CANARY, "fine")), share_micro=500_000, carry_ms=2000),
        split="budget",
    )


def canary_events() -> list[Event]:
    """Users with telling names who say things that nobody declared, or the one telling category."""
    events = []
    for i, user in enumerate(USERS):
        for t in range(FIRST - 1, FIRST + 6):
            at = t * SECOND + 10 * i
            events.append(Event("screen", user, at, CANARY, i % 2, at + 50))
            events.append(Event("mood", user, at, CANARY if i % 3 else CANARY + " undeclared", i % 2, at + 60))
    events.append(Event(CANARY, USERS[0], FIRST * SECOND, CANARY, 0, FIRST * SECOND + 100))
    events.append(Event("screen", USERS[1], 0, CANARY, 0, FIRST * SECOND + 200))
    return sorted(events, key=lambda event: event.arrives)


@pytest.fixture(name="run")
def canary_run(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Runtime:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(task_module, "SNAPSHOT_BYTES", 4000)
    moments = {("after fold", kind): range(10, 300, 41) for kind in ("door", "perturb", "shuffle", "aggregate")}
    crashes = Crashes(moments)
    return played(canary_plan(), arrivals(canary_events(), until=(FIRST + 8) * SECOND), faults=crashes, step=100)


def hits(data: bytes) -> int:
    return sum(data.count(canary) for canary in canaries(USERS) if canary)


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc"])
def test_the_search_finds_a_canary_in_every_form(before: bytes) -> None:
    for word in (CANARY.encode(), USERS[7].encode(), KEYS.edge.pepper.pseudonym(USERS[7].encode())):
        text = before + word + b"abcdef"
        assert hits(text) > 0
        assert hits(text.hex().encode()) > 0
        assert hits(text.hex().upper().encode()) > 0
        assert hits(base64.b64encode(text)) > 0
    assert hits(b"abcdef" * 100) == 0


def test_no_canary_leaves_the_edge(run: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    raw = b"".join(run.logs.all("raw"))
    assert hits(raw) > 100  # the search finds what is there: pseudonyms in raw
    assert hits(b"".join(run.logs.all(TOPIC))) > 100
    # The names of declared categories are public: they stand in the config, and in releases.
    released = b"".join(run.logs.all("releases")).replace(f'"{CANARY}":'.encode(), b"")
    assert len(run.releases()) > 8
    assert hits(released) == 0
    for log in run.logs.topics():
        if log.topic not in EDGE | {"releases"}:
            data = b"".join(run.logs.all(log.topic))
            assert data
            assert hits(data) == 0, log
    assert hits(b"".join(run.logs.all("dead.edge"))) == 0
    assert len(run.logs.all("dead.edge")) >= 1
    assert hits(caplog.text.encode()) == 0


def test_no_canary_stands_in_a_state_record_or_a_count(run: Runtime) -> None:
    snapshots = 0
    for task in run.tasks:
        for record in task.state:
            # perturb's snapshots are sealed: not even the edge's own state shows anybody
            data = record.small + b"".join(record.snapshot) + repr((record.marks, record.start)).encode()
            assert hits(data.replace(f'"{CANARY}"'.encode(), b"")) == 0, task.name
            snapshots += len(record.snapshot)
        counts = {name: value for name, value in vars(task.stage).items() if isinstance(value, Counter)}
        assert hits(repr(counts).encode()) == 0
    assert snapshots > 0


def test_sealed_state_shows_no_pseudonym_and_no_column_of_values(run: Runtime) -> None:
    for task in run.of_stage["perturb"]:
        data = b"".join(task.stage.snapshot())
        assert len(data) > 1000
        assert hits(data) == 0
        assert b"MURMFLOW" not in data
        histogram = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
        chi_square_at_most(histogram, len(data) / 256)  # as good as uniform


def broken_states(task: Any) -> Iterator[tuple[bytes, tuple[bytes, ...]]]:
    chunks = tuple(task.stage.snapshot())
    small = task.stage.small()
    yield small, (chunks[0][:-1], *chunks[1:])
    yield small, (*chunks, chunks[-1])
    yield small, (b"\0" * 40,)


def test_what_a_stage_says_of_a_bad_state_names_nobody(run: Runtime) -> None:
    for task in run.of_stage["perturb"]:
        for small, snapshot in broken_states(task):
            with pytest.raises(StateError) as caught:
                task._build().restore(small, snapshot)
            assert hits(str(caught.value).encode() + repr(caught.value.__cause__).encode()) == 0


def test_what_a_stage_says_of_a_bad_record_names_nobody(run: Runtime) -> None:
    raw = next(value for value in run.logs.all("raw") if kind_of(value) == "block")
    pieces = [raw[:-1], raw[:70] + bytes([raw[70] ^ 1]) + raw[71:], b'{"schema":"' + CANARY.encode() + b'"}']
    pieces.append(orjson.dumps({"schema": "murmurate/done/1", CANARY: USERS[0]}))
    for task in [*run.of_stage["perturb"], *run.of_stage["shuffle"], *run.of_stage["aggregate"], run.publish]:
        for piece in pieces:
            written = Hand(task._build()).give(task.inputs[0], piece)
            assert [out.log.topic.split(".")[0] for out in written] == ["dead"], task.name
            assert hits(b"".join(out.value for out in written)) == 0, task.name


def test_no_object_on_the_way_shows_a_row_when_printed(run: Runtime) -> None:
    for topic in ("raw", "reports"):
        for value in run.logs.all(topic)[:40]:
            text = repr(decode_record(value))
            assert hits(text.encode()) == 0
            assert "array(" not in text
    for task in run.of_stage["perturb"]:
        assert isinstance(task.stage, Perturb)
        for guarded in task.stage._streams.values():
            assert "array(" not in repr(guarded.plan)
