# SPDX-License-Identifier: Apache-2.0
"""Known answers for Collision and CoCo, by a second implementation that shares no code with the library.

Contract: written from docs/WIRE.md ("Reports of hashed vectors", "The hash functions of a round") in plain Python, on
known_answers.py, which has the cipher and the blocks of randomness.  It imports neither NumPy nor murmurate.
`python tests/randomizers/vectors/known_cells.py` rewrites the two files in tests/data/known_answers/; with the name of
a mechanism it prints that file.  Where this text and the library disagree, one of them is wrong.
"""

import hashlib
import hmac
import json
import sys
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import islice
from math import floor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from known_answers import DIGITS, EPSILONS, FOLDER, aes, choose, lp, words  # type: ignore[import-not-found]

VECTORS = 100  # a mechanism
T = 1 << 64
NONE, FILLER, ONE = 0xFFFFFFFE, 0x7FFFFFFF, 65_536
Spec = dict[str, Any]
Words = list[int]
Entries = list[tuple[int, int]]


def blocks(secret: bytes, purpose: bytes, round: bytes, drawer: bytes, user: bytes, value: Words) -> Iterator[bytes]:
    """B_0, B_1, ... for a value of several words."""
    data = b"".join(word.to_bytes(4, "little") for word in value)
    data += bytes(-len(data) % 16)
    message = lp(b"shop") + lp(round) + lp(drawer) + lp(purpose) + lp(b"1")
    encrypt = aes(hmac.new(secret, message, hashlib.sha256).digest()[:16])
    mac = encrypt(user)
    for start in range(0, len(data), 16):
        mac = encrypt(bytes(a ^ b for a, b in zip(mac, data[start : start + 16], strict=True)))
    i = 0
    while True:
        yield encrypt(bytes(a ^ b for a, b in zip(mac, i.to_bytes(16, "little"), strict=True)))
        i += 1


def cell(seed: int, symbol: int, t: int) -> int:
    """The cell of a symbol under a seed."""
    g, a, b = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    k = (seed + g) % T
    k = (k ^ k >> 30) * a % T
    k = (k ^ k >> 27) * b % T
    z = ((k ^ k >> 31) + symbol * g) % T
    z = (z ^ z >> 30) * a % T
    z = (z ^ z >> 27) * b % T
    return z * t // T


def at_both_ends(epsilon_micro: int, of: Callable[[Fraction], tuple[int, ...]]) -> tuple[int, ...]:
    """What a rule gives for e^epsilon, which lies between two fractions for which it must give the same."""
    context = Context(prec=DIGITS)
    power = context.exp(Decimal(epsilon_micro).scaleb(-6))
    ends = Fraction(power.next_minus(context)) - Fraction(1, 1 << 180), Fraction(power.next_plus(context))
    low, high = map(of, ends)
    assert low == high, f"{epsilon_micro} micro-nats: a level sits on a knife's edge"
    return low


def collision(s: int, t: int, epsilon_micro: int, cells: list[int], coins: list[int]) -> int:
    def level(e: Fraction) -> tuple[int, ...]:
        parts = [(j, T // (t - j)) for j in range(s + 1)]
        return (min(floor(e * T * f / (T + j * e * f)) for j, f in parts),)

    (high,) = at_both_ends(epsilon_micro, level)
    own = sorted(set(cells))
    i = coins[0] // high
    if i < len(own):
        return own[i]
    return [c for c in range(t) if c not in own][coins[1] * (t - len(own)) // T]


def coco(s: int, t: int, epsilon_micro: int, cells: list[int], coins: list[int]) -> int:
    def levels(e: Fraction) -> tuple[int, ...]:
        low = -floor(-T / (s * (e - 1) + t))
        allowed = [floor(e * low), (T - 1) // s - low]
        for j in range(1, s + 1):
            if t > 2 * j:
                f = T // (t - 2 * j)
                allowed.append(floor(e * f * (T - j * low) / (T + j * e * f)))
        return min(allowed), low

    high, low = at_both_ends(epsilon_micro, levels)
    dummies = coins[2 + len(cells) : 2 + s]
    cells = sorted(cells + [w * t // T for w in dummies])
    pairs = sorted({c // 2 for c in cells})
    k, i = len(pairs), coins[0] // (high + low)
    if t == 2 * k and i == k:
        i = k - 1
    if i < k:
        inside = [c for c in cells if c // 2 == pairs[i]]
        winner = inside[coins[1] * len(inside) // T]
        return winner if coins[0] - i * (high + low) < high else winner ^ 1
    j = coins[1] * (t - 2 * k) // T
    return 2 * [q for q in range(t // 2) if q not in pairs][j // 2] + j % 2


def size_of(numbers: int) -> int:
    """How many bytes a number below this takes."""
    size = 1
    while numbers - 1 >= 256**size:
        size += 1
    return size


def entries(kind: str, value: list[int], coins: list[int]) -> Entries:
    if value[0] == NONE:
        return []
    if kind == "items":
        return [(item, 1) for item in value if item != FILLER]
    places = zip(value[::2], value[1::2], coins, strict=True)
    return [(item, 1 if coin >> 15 < number else -1) for item, number, coin in places if item != FILLER]


def report(spec: Spec, secret: bytes, round: bytes, user: bytes, value: list[int]) -> tuple[bytes, bytes]:
    """The digest of the spec, and the report."""
    name, (kind, _, s, _), t, pool = spec["name"], spec["layout"], spec["t"], spec["pool"]
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(b"murmurate/mechanism/1\n" + text.encode()).digest()
    coins = list(islice(words(blocks(secret, b"sign", round, digest, user, value), 32), s))
    w = list(islice(words(blocks(secret, b"report", round, digest, user, value), 64), 3 + s))
    number = (w[0] >> 32) * pool >> 32 if pool else w[0]
    first = int.from_bytes(hashlib.sha256(b"murmurate/pool/1\n" + round).digest()[:8], "little") if pool else 0
    seed = (first + number) % T
    cells = []
    for item, sign in entries(kind, value, coins):
        if name == "coco":
            cells.append(cell(seed, item, t) ^ (sign < 0))
        else:
            cells.append(cell(seed, item if kind == "items" else 2 * item + (sign < 0), t))
    chosen = (coco if name == "coco" else collision)(s, t, spec["epsilon_micro"], cells, w[1:])
    return digest, number.to_bytes(size_of(pool) if pool else 8, "little") + chosen.to_bytes(size_of(t), "little")


def vectors(name: str) -> Iterator[dict[str, object]]:
    for i in range(VECTORS):
        label = f"cells {name} {i}"

        def number(what: str, below: int, label: str = label) -> int:
            return int.from_bytes(choose(f"{label} {what}", 8), "little") % below

        kind, d, s = ("signed", "items")[i % 2], (70, 1000, 1 << 20)[i % 3], (1, 2, 3, 5, 8, 13, 64)[i % 7]
        t = (2 * s, 2 * s + 2, 4 * s + 6, 256, 258, 1000, 6000)[i // 2 % 7]
        if t < 2 * s:
            t = 2 * s
        if name == "collision" and i % 5 == 1:
            t += 1
        spec: Spec = {
            "name": name,
            "layout": [kind, d, s, 1],
            "epsilon_micro": EPSILONS[i % len(EPSILONS)] if i % 3 == 2 else 1_000_000 + number("epsilon", 3_000_000),
            "t": t,
            "pool": (2048, 0, 1, 7, 16_384, 65_536, 256, 257)[i // 2 % 8],
        }
        held = sorted({number(f"item {j}", d) for j in range((s, 1 + s // 2, s, 0)[i // 2 % 4])})
        if kind == "items":
            value = held + [FILLER] * (s - len(held))
        else:
            near = [(0, 2 * ONE, ONE + 1, ONE - 1, number(f"near {j}", ONE))[number(f"kind {j}", 5)] for j in range(s)]
            pairs = [[item, near[j]] for j, item in enumerate(held)] + [[FILLER, 0]] * (s - len(held))
            value = [word for pair in pairs for word in pair]
        if i % 11 == 10:
            value = [NONE] + [0] * (len(value) - 1)
        sizes = {"secret": 32, "round": 32, "user": 16}
        secret, round, user = (choose(f"{label} {what}", size) for what, size in sizes.items())
        digest, told = report(spec, secret, round, user, value)
        yield {
            "spec": spec,
            "secret": secret.hex(),
            "round": round.hex(),
            "user": user.hex(),
            "value": value,
            "digest": digest.hex(),
            "report": told.hex(),
        }


def text(name: str) -> str:
    """The file of a mechanism: a JSON list, one vector a line, ASCII."""
    return "[\n" + ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors(name)) + "\n]\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write(text(sys.argv[1]))
    else:
        for mechanism in ("collision", "coco"):
            (FOLDER / f"{mechanism}.json").write_text(text(mechanism), encoding="ascii")
