# SPDX-License-Identifier: Apache-2.0
"""What a period of a search among sets of very many items costs: CPU of devices and of the server, phase by phase.

`python -m benchmarks.set_searches` prints seconds of CPU for 200 000 users and a million items, and how much of what
most users hold is found.  Not here: how good searches are (agents/simulate), bytes through the stages (pipeline.py).
"""

from __future__ import annotations

import argparse
import hashlib
import time

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.found_items import Find, FoundItems
from murmurate.aggregators.methods.method import Answer, Decision, FoundValues, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers import Key
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import FILLER

MOST, HELD, SLOTS = 8, 2_000, 4_096
KEY = Key(hashlib.sha256(b"reports of made-up users").digest(), deployment="benchmark")


def main() -> None:
    """Print what each phase of some periods costs."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--method", choices=("svim", "svsm", "ldp_miner"), default="svim")
    given.add_argument("--users", type=int, default=200_000)
    given.add_argument("--items", type=int, default=1_000_000)
    given.add_argument("--epsilon", type=float, default=2.0)
    given.add_argument("--periods", type=int, default=2)
    asked = given.parse_args()
    find: Find = "itemsets" if asked.method == "svsm" else "items"
    measure = FoundItems(Items(asked.items, MOST), find=find)
    setting = Setting(measure, round(asked.epsilon * 1e6), 1, SLOTS, 1, bytes(32))
    search, rng = method(MethodOptions(asked.method), setting), np.random.default_rng(5)
    rows, names = baskets(rng, asked.users, asked.items), rng.integers(0, 256, (asked.users, 16), np.uint8)
    slots = rng.integers(0, SLOTS, asked.users)
    for t in range(1, asked.periods + 1):
        spent, step, phase = np.zeros(2), search.open(t), 0
        while isinstance(step, Request):
            assert step.asked is not None
            digest, mine = hashlib.sha256(f"{t} {phase}".encode()).digest(), step.asked[slots]
            question = step.question.of_round(digest)
            at = [time.process_time()]
            reports = question.perturb(rows[mine], KEY.draw(names[mine], round=digest))
            at.append(time.process_time())
            step = search.tally(Answer(question.support(reports), len(reports), digest))
            at.append(time.process_time())
            spent, phase = spent + np.diff(at), phase + 1
            print(f"t = {t}, phase {phase}: {len(reports)} reports, server {at[2] - at[1]:.2f} s of CPU")
        print(f"t = {t}: devices {spent[0]:.2f} s, server {spent[1]:.2f} s of CPU; {found_in(step, rows)}")


def baskets(rng: np.random.Generator, users: int, items: int) -> NDArray[np.uint32]:
    """Sets of up to MOST items, drawn with chances like 1 / rank from 2 000 that anybody holds."""
    chances = 1 / np.arange(1, HELD + 1) ** 1.1
    known = rng.choice(items, HELD, replace=False)
    rows = np.sort(known[rng.choice(HELD, (users, MOST), p=chances / chances.sum())], axis=1).astype(np.uint32)
    again = np.zeros(rows.shape, np.bool_)
    again[:, 1:] = rows[:, 1:] == rows[:, :-1]
    rows[again | (np.arange(MOST) >= rng.integers(1, MOST + 1, users)[:, np.newaxis])] = FILLER
    return np.sort(rows, axis=1)


def found_in(decision: Decision, rows: NDArray[np.uint32]) -> str:
    """How many of the single items that were found are among the 32 that most users hold."""
    assert isinstance(decision.outcome, FoundValues)
    values = decision.outcome.values
    single = values[(values != FILLER).sum(axis=1) == 1, 0]
    items, counts = np.unique(rows[rows != FILLER], return_counts=True)
    best = items[np.argsort(-counts, kind="stable")[:32]]
    return f"{len(values)} names, {int(np.isin(single, best).sum())} of {len(single)} items among the true top 32"


if __name__ == "__main__":
    main()
