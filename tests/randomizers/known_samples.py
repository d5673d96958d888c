# SPDX-License-Identifier: Apache-2.0
"""Known answers for prefixes of sampled items, by a second implementation that shares no code.

Contract: written from the docstrings of sampled_prefix.py, padding.py and hash_counts.py, in plain Python, on
known_questions.py and known_searches.py.  `python tests/randomizers/known_samples.py` prints
tests/data/known_answers/samples.json.  Where this text and the library disagree, one of them is wrong.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from known_answers import EPSILONS, choose, words  # type: ignore[import-not-found]
from known_questions import FILLER, NONE, Value, blocks, canonical, json_of  # type: ignore[import-not-found]
from known_searches import olh_counts, said, vector, viewed  # type: ignore[import-not-found]

VECTORS = 40


def place(u: int, c: int, length: int) -> int | None:
    """Which of c items word u names, None for a dummy."""
    if c > length:
        return min(u // ((1 << 64) // c), c - 1)
    share = (1 << 64) // length
    return u // share if u < c * share else None


def told(u: int, own: list[int], d: int, length: int, cut: int) -> int:
    """The code that word u names for a user with these items."""
    if not own and u >= length * ((1 << 64) // length):
        return (u - length * ((1 << 64) // length)) % d >> cut
    chosen = place(u, len(own), length)
    return ((d - 1) >> cut) + 1 if chosen is None else own[chosen] >> cut


def vectors() -> Iterator[dict[str, object]]:
    """Sets of no item, of one, and of as many as a set may have; and no value."""
    for i in range(VECTORS):
        label = f"samples {i}"
        d, most = (1, 2, 20, 1000, (1 << 31) - 1)[i % 5], (1, 2, 4, 5, 8, 64)[i % 6]
        length, m = (1, 2, 3, 7)[(i // 2) % 4], 1
        while 1 << m < d:
            m += 1
        bits = min(m, (1, 4, 9, 31)[i % 4])
        drawn = {int.from_bytes(choose(f"{label} item {j}", 8), "little") % d for j in range(most)}
        own = sorted(drawn)[: (most, 1, 0, most, 3)[i % 5 if i % 3 else 0]]
        value: Value = own + [FILLER] * (most - len(own))
        if i % 9 == 8:
            value, own = [NONE] + [0] * (most - 1), []
        view = {"name": "sampled_prefix", "layout": ["items", d, most, 1], "length": length, "bits": bits}
        secret, round, user = said(label)
        drawer = hashlib.sha256(b"murmurate/view/1\n" + json_of(view)).digest()
        u = next(words(blocks(secret, b"view", round, drawer, user, canonical(value)), 64))
        code, codes = told(u, own, d, length, m - bits), ((d - 1) >> (m - bits)) + 2
        spec, its, report = olh_counts(codes, EPSILONS[4 + i % 12], (16_400, 300, 2)[i % 3], 0, *said(label), code)
        whole, digest = viewed(view, spec, its)
        yield vector(label, whole, digest, value, report)


if __name__ == "__main__":
    sys.stdout.write("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in vectors()) + "\n]\n")
