# SPDX-License-Identifier: Apache-2.0
"""What somebody at the analysis zone learns from the mixed nodes of a horizon: no more than is claimed for transcripts.

Two worlds that differ in one user's course of changes; everybody else's course is known.  Each node's reports come as
batches of their own, so that of a level with one coordinate there is nothing to see but how often each sign was told at
each node: of that the exact law follows from the protocol's, by convolution.  From it the attack takes the likelihood
ratio of what the stages really mixed, horizon after horizon (test_mixing_attack.py says how epsilon is bounded), and
the exact delta at the claimed epsilon is computed outright.  Leaks that are planted are seen: who told which nodes, and
a target that keeps its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.agents.stages import perturb as perturb_stage
from murmurate.agents.stages import shuffle as shuffle_stage
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers.identity import partitions
from murmurate.randomizers.sessions import Category
from murmurate.randomizers.sessions.exsub_online import ExSubOnline
from murmurate.randomizers.sessions.node import Node
from murmurate.topics.block import BatchBlock, ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.domains import Categories
from murmurate.topics.messages import Seal
from tests.agents.stages.hands import (
    CLOSINGS,
    RAW,
    ROUNDS,
    Hand,
    perturb,
    progress,
    pseudonyms,
    question,
    rows,
    settled,
    start,
)
from tests.agents.world import FIRST, SECOND, deployment, key, stream
from tests.audit.test_mixing_attack import shown
from tests.randomizers.sessions.horizons import horizon
from tests.randomizers.sessions.transcripts import Laws

USERS, DELTA, NODES, HORIZONS = 40, 1e-3, 2, 4000
PARTITIONS, TARGETS = 2, 1
MADE = horizon(NODES, 3, cohorts=1, each=64, of=Category(2, none=True), changes=2)
"""One level of two nodes; code 0 is a one, code 1 nothing."""
PLAN = deployment(
    stream(
        "screen", "sao2", w=1, slots=64, domain=Categories(("held", "not")), carry_ms=None,
        method=MethodOptions("sao2", horizon="2", changes="2", fanout="3", goal="mean", users="0"),
    ),
    partitions=PARTITIONS, targets=TARGETS, min_batch=USERS,
)  # fmt: skip
SCREEN = PLAN.streams[0]
ASKED = [Node(MADE, 0, number) for number in (1, 2)]
COURSES = {(0, 1): ((1,), (-1,)), (1, 0): ((0,), (1,)), (0, 0): ((1,), (0,)), (1, 1): ((0,), (0,))}
"""The changes of those who hold these codes."""
ONE, OTHER, OTHERS = (0, 1), (1, 0), (1, 1)
"""The codes of the target in either world, and everybody else's."""
AXES = range(2 * NODES)
Signs = tuple[tuple[int, int], ...]
"""How often +1 and -1 were told at each node."""
View = Callable[[list[list[Out]], list[list[Out]]], Signs]


def claimed(n: int) -> float:
    """The epsilon that releases print after nodes of so many reports each."""
    window = MixedWindow(1, "population", DELTA, 0.0)
    for t, node in enumerate(ASKED, FIRST):
        window.take(t, node, n)
    claim = window.claim(FIRST + 1, None)  # type: ignore[arg-type]
    assert not isinstance(claim, str)
    return claim.epsilon


@lru_cache(maxsize=4)
def law_of(codes: tuple[int, int]) -> NDArray[np.float64]:
    """The probability of each sign at each node: float64[3, 3], by what was told: nothing, +1, -1."""
    protocol = MADE.protocols[0]
    assert isinstance(protocol, ExSubOnline)
    found = np.zeros((3, 3))
    for reports, chance in Laws(protocol).transcripts(COURSES[codes]).items():
        found[tuple(map(sign, reports))] += float(chance)
    return found


def sign(report: bytes) -> int:
    """0 for nothing, 1 for +1, 2 for -1."""
    plus, minus = MADE.protocols[0].support(np.frombuffer(report, np.uint8)[np.newaxis]).tolist()
    return int(plus + 2 * minus)


@lru_cache(maxsize=32)
def told(target: tuple[int, int], others: tuple[int, int], n: int) -> NDArray[np.float64]:
    """The probability of how often each sign is told, of a target and n - 1 others: [+1, -1, +1, -1 at either node]."""
    size = (n + 1,) * 4
    one, many = np.zeros(size), np.zeros(size)
    for first, second in product(range(3), range(3)):
        at = (int(first == 1), int(first == 2), int(second == 1), int(second == 2))
        one[at], many[at] = law_of(target)[first, second], law_of(others)[first, second]
    spread = np.fft.rfftn(many, size, AXES) ** (n - 1) * np.fft.rfftn(one, size, AXES)
    return np.asarray(np.clip(np.fft.irfftn(spread, size, AXES), 0, None))


@pytest.mark.parametrize("n", [12, pytest.param(30, marks=pytest.mark.audit)])
def test_the_exact_delta_of_mixed_nodes_is_within_what_is_claimed_of_transcripts(n: int) -> None:
    claim = claimed(n)
    assert claim < MADE.protocols[0].epsilon_micro / 1e6
    for others in COURSES if n > 12 else (OTHERS, ONE):
        for one, other in product(COURSES, COURSES):
            delta = np.clip(told(one, others, n) - np.exp(claim) * told(other, others, n), 0, None).sum()
            assert delta <= DELTA, (one, other, others)


def test_a_transcript_that_is_not_mixed_tells_more_than_is_claimed() -> None:
    whole = np.clip(law_of(ONE) - np.exp(claimed(USERS)) * law_of(OTHER), 0, None).sum()
    assert whole > 10 * DELTA


# ---- through the stages ----


def mixed(sent: list[list[Out]], out: list[list[Out]]) -> Signs:
    """The analysis zone's view: each node's sub-batches."""
    return tuple(counted(of_batches(of), BatchBlock) for of in out)


def first_rows(sent: list[list[Out]], out: list[list[Out]]) -> Signs:
    """A leak where nothing permutes: the target's row is the first of its batch."""
    blocks = [[one for one in of_batches(of) if isinstance(one, BatchBlock)] for of in out]
    signs = [[sign(one.reports[0].tobytes()) for one in of] for of in blocks]
    return tuple((of.count(1), of.count(2)) for of in signs)


def by_source(sent: list[list[Out]], out: list[list[Out]]) -> Signs:
    """A leak: what the first contributor sent, which has the target alone."""
    found = [[decode_record(one.value) for one in of] for of in sent]
    return tuple(counted([one for one in of if not getattr(one, "contributor", 1)], ReportBlock) for of in found)


def of_batches(out: list[Out]) -> list[object]:
    """What stands in the sub-batches of a node."""
    return [decode_record(one.value) for one in out if one.log.topic == "batches"]


def counted(records: list[object], kind: type[BatchBlock] | type[ReportBlock]) -> tuple[int, int]:
    """How often +1 and -1 are told."""
    signs = [sign(row.tobytes()) for one in records if isinstance(one, kind) for row in one.reports]
    assert kind is ReportBlock or sum(one.counted for one in records if isinstance(one, Seal)) == USERS == len(signs)
    return signs.count(1), signs.count(2)


def people(*, alone: bool) -> NDArray[np.uint8]:
    """The users, the target first; alone: the only one of the first contributor."""
    found = pseudonyms(2000, seed=3)
    home = partitions(found, PARTITIONS)
    target = int(np.argmax(home == 0))
    others = np.delete(found, target, 0)
    others = others[np.delete(home, target) == 1] if alone else others
    return np.concatenate((found[target : target + 1], others[: USERS - 1]))


def played(codes: tuple[int, int], horizons: int, view: View, *, alone: bool = False) -> Iterator[Signs]:
    """The view of so many horizons of a world in which the target holds these codes, one after the other."""
    users = people(alone=alone)
    edge = [perturb(PLAN, p) for p in range(PARTITIONS)]
    mixing = [Hand(Shuffle(PLAN, key("shuffle"), q)) for q in range(TARGETS)]
    for p, hand in enumerate(edge):
        hand.give(ROUNDS, start(SCREEN, FIRST))
        hand.give(RAW, progress((FIRST - 1) * SECOND))
        before = [(FIRST - 1) * SECOND] * USERS
        hand.give(RAW, *rows(PLAN, SCREEN, users, before, [OTHERS[0]] * USERS, p))
    for first_t in range(FIRST, FIRST + NODES * horizons, NODES):
        sents, outs = list[list[Out]](), list[list[Out]]()
        for node, code in zip(ASKED, codes, strict=True):
            t = first_t + node.step - 1
            round_ = question(PLAN, SCREEN, t, mechanism=node.spec())
            event = [rows(PLAN, SCREEN, users[:1], [t * SECOND], [code], p) for p in range(PARTITIONS)]
            for hand, records in zip(edge, event, strict=True):
                hand.give(RAW, *records)
            sent = [out for hand in edge for out in hand.give(ROUNDS, round_)]
            sent += [out for hand in edge for out in hand.give(RAW, progress((t + 2) * SECOND))]
            out = [one for hand in mixing for one in hand.give(ROUNDS, round_)]
            for q, hand in enumerate(mixing):
                out += hand.give(Log("reports", q), *(one.value for one in sent if one.log == Log("reports", q)))
            closes = [one.value for one in out if one.log == CLOSINGS]
            out += [one for hand in mixing for one in hand.give(CLOSINGS, *closes)]
            for hand in edge:
                hand.give(ROUNDS, settled(SCREEN, t))
            sents.append(sent)
            outs.append(out)
        yield view(sents, outs)


def scores(horizons: Iterator[Signs], laws: tuple[NDArray[np.float64], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The likelihood ratio of the two worlds in each horizon."""
    places = [tuple(np.array(signs).ravel().tolist()) for signs in horizons]
    return np.array([np.log(laws[0][at] / laws[1][at]) for at in places])


def measured(horizons: int, view: View, n: int, *, alone: bool = False) -> float:
    """The epsilon that an attacker with this view of n users shows, of the two worlds in either order."""
    laws = told(ONE, OTHERS, n), told(OTHER, OTHERS, n)
    first, second = (scores(played(codes, horizons, view, alone=alone), laws) for codes in (ONE, OTHER))
    return max(shown(first, second), shown(-second, -first))


def test_what_the_stages_mix_is_what_the_law_says_may_be_seen() -> None:
    for codes in (ONE, OTHER):
        seen = list(played(codes, 3, mixed))
        assert all(0 < sum(map(sum, signs)) < NODES * USERS for signs in seen)
        assert len(set(seen)) > 1


@pytest.mark.audit
@pytest.mark.timeout(7200)
def test_no_more_is_seen_of_mixed_nodes_than_is_claimed() -> None:
    assert 0 < measured(HORIZONS, mixed, USERS) <= claimed(USERS)  # the attack is one: it does see something


@pytest.mark.audit
def test_a_view_that_says_who_told_which_nodes_is_seen_to_show_more() -> None:
    assert measured(HORIZONS, by_source, 1, alone=True) > claimed(USERS)


@pytest.mark.audit
def test_a_target_that_keeps_its_place_in_every_node_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perturb_stage, "permutation", lambda key, users, round: np.arange(len(users)))
    monkeypatch.setattr(shuffle_stage, "permutation_of_rows", lambda key, count, part, round: np.arange(count))
    assert measured(HORIZONS, first_rows, 1, alone=True) > claimed(USERS)
