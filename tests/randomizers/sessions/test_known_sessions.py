# SPDX-License-Identifier: Apache-2.0
"""Known answers of sessions: digests, bills' identities and reports as docs/WIRE.md has them, which must never move.

Digests are computed here a second time, from JSON and SHA-256 alone; reports by plain Python, one user at a time.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers.randomness import canonical_words_one
from murmurate.randomizers.sessions.node import Node
from tests.randomizers.guards import SECRETS, people
from tests.randomizers.sessions.horizons import Crowd, ask, horizon

FIRST, USERS = 10, 40
KNOWN = {
    "exsub_online": ("ab19c8dcae5a50f9", "888995014d510e91", "e122a16b54c1f63b", "6c0276d0c58aeb8b"),
    "ddrm_online": ("9fe3a51da1674f16", "55411375643bd614", "426e970ec774531d", "2e4124f764c3f8d5"),
    "efmrtt_online": ("0851b6519b7c1ca9", "90df0b6754e814d4", "ad4692a161dffcb9", "3ba81f05a556374a"),
    "future_rand_online": ("650d39a95305ffca", "cea699736d2e2199", "1f1e0b86804a7b65", "2dcf11894fd799dd"),
}
"""The first 16 digits of the digests of a node and of its horizon, of a level's identity, and of all reports."""


def named(what: str, table: dict[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"murmurate/{what}/1\n{text}".encode()).hexdigest()


@pytest.mark.parametrize("name", ["exsub_online", "ddrm_online", "efmrtt_online", "future_rand_online"])
def test_digests_and_reports_are_the_known_ones(name: str) -> None:
    made, users = horizon(4, name=name), people(USERS)
    crowd, found = Crowd(made, users), hashlib.sha256()
    held = [[(user * 7 + step * (user % 3)) % 4 for user in range(USERS)] for step in range(4)]
    digest = named("horizon", made.spec())
    identity = named("session", {"first_t": FIRST, "horizon": digest, "level": 1})
    node = Node(made, 1, 1)
    assert node.digest.hex() == named("node", node.spec())
    assert made.digest.hex() == digest
    assert made.identity(FIRST, 1).hex() == identity
    for step in range(1, 5):
        for level, number in made.tree.ending(step):
            reports = crowd.round(ask(made, FIRST, level, number), held[step - 1])
            assert reports is not None
            found.update(reports.tobytes())
        crowd.look(FIRST + step - 1, held[step - 1])
    assert (node.digest.hex()[:16], digest[:16], identity[:16], found.hexdigest()[:16]) == KNOWN[name]


def test_a_report_follows_from_the_key_as_the_wire_says() -> None:
    made, key = horizon(4), SECRETS.randomness
    crowd, asked = Crowd(made, people(USERS)), ask(made, FIRST, 0, 1)
    reports = crowd.round(asked, [1] * USERS)
    assert reports is not None
    protocol, identity, plain = made.protocols[0], made.identity(FIRST, 0), []
    slots = crowd.array._slot[:USERS]
    for user in people(USERS)[made.level_of_slot[slots] == 0]:
        drawn = key.draw_one(user.tobytes(), round=identity).open(identity, None, "session")
        counters = protocol.begin_one(drawn(protocol.begin_words, 64))
        value = canonical_words_one([0xFFFFFFFF, 1])
        words = key.draw_one(user.tobytes(), round=asked.digest).open(asked.question.digest, value)
        plain.append(protocol.tell_one(counters, [0, 1, 0], words(protocol.tell_words, 64)))
    assert [report.tobytes() for report in reports] == plain
    assert len(plain) == np.count_nonzero(made.level_of_slot[slots] == 0) > 0
