# SPDX-License-Identifier: Apache-2.0
"""Known answers for the mechanisms that sparse vectors are compared with, by an implementation that shares no code.

Contract: written from docs/WIRE.md ("Reports of vectors"), in plain Python, on known_answers.py and known_questions.py,
which have the cipher and the draw, and slow_hash.py, which has the hash family.  `python
tests/randomizers/vectors/slow_compared.py` prints tests/data/known_answers/compared.json: one deployment key, round and
ten users, then for each spec ten pairs of a value and its report.  Where this text and the library disagree, one of
them is wrong.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.randomizers.hashing.slow_hash import cell as hashed
from tests.randomizers.hashing.slow_hash import first_seed
from tests.randomizers.known_answers import choose, words
from tests.randomizers.known_questions import FILLER, NONE, blocks, canonical, json_of

TOP = 1 << 64
SECRET, ROUND = choose("compared secret", 32), choose("compared round", 32)
USERS = [choose(f"compared user {i}", 16) for i in range(10)]
Spec = dict[str, object]
Entries = list[tuple[int, int]]


def up(of: Callable[[Fraction], Fraction], exponent: Fraction) -> int:
    """The smallest whole number of at least 2^64 of(e^exponent), which is the same for all that e^exponent may be."""
    context = Context(prec=150)
    power = context.exp(context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    wide = Fraction(power) / (1 << 180)
    ends = of(Fraction(power) - wide), of(Fraction(power) + wide)
    found = {-(-(end.numerator << 64) // end.denominator) for end in ends}
    assert len(found) == 1, "a level sits on a knife's edge"
    return found.pop()


def cell(word: int, k: int) -> int:
    return word * k >> 64


def row(bits: dict[int, int], d: int) -> bytes:
    return sum(bit << j for j, bit in bits.items()).to_bytes((d + 7) // 8, "little")


def number(value: int, below: int) -> bytes:
    size = 1
    while below - 1 >= 256**size:
        size += 1
    return value.to_bytes(size, "little")


class Drawn:
    """Words by their numbers, drawn no sooner than they are asked for."""

    def __init__(self, stream: Iterator[int]) -> None:
        self.stream, self.known = stream, list[int]()

    def __getitem__(self, number: int) -> int:
        while len(self.known) <= number:
            self.known.append(next(self.stream))
        return self.known[number]


class Case:
    """A spec, a user's entries and the words drawn."""

    def __init__(self, spec: Spec, held: Entries, w: Drawn) -> None:
        self.spec, self.held, self.w = spec, held, w
        layout: Any = spec["layout"]
        self.d, self.s = int(layout[1]), int(layout[2])
        self.epsilon = Fraction(int(str(spec["epsilon_micro"])), 10**6)
        self.own = dict(held)

    def key(self, name: str) -> int:
        return int(str(self.spec[name]))


def kvue(c: Case) -> bytes:
    low = up(lambda e: 1 / (e + 2), c.epsilon)
    j = cell(c.w[0], c.d)
    content = {0: 0, 1: 1, -1: 2}[c.own.get(j, 0)]
    return number(3 * j + (content + (c.w[1] < low) + (c.w[1] < 2 * low)) % 3, 3 * c.d)


def privkv(c: Case) -> bytes:
    flip = hide = up(lambda e: 1 / (e + 1), c.epsilon / 2)
    if c.key("tuned"):
        flip = up(lambda e: 1 / (e + 1), c.epsilon)
        r = 2 * (1 - Fraction(flip, TOP))
        hide = up(lambda e: r / (e + r), c.epsilon)
    j = cell(c.w[0], c.d)
    if j in c.own:
        sign = c.own[j] if c.w[2] >= flip else -c.own[j]
        told = 0 if c.w[1] < hide else sign
    else:
        told = (-1 if c.w[2] < TOP // 2 else 1) if c.w[1] < hide else 0
    return number(3 * j + {0: 0, 1: 1, -1: 2}[told], 3 * c.d)


def pckv_ue(c: Case) -> bytes:
    b = up(lambda e: 1 / (2 * e + 2), c.epsilon)
    a = TOP // 2 - b
    share = Fraction(a, TOP)
    noise = up(lambda e: share / (e / 2 + 2 * share), c.epsilon)
    place = cell(c.w[0], c.s)
    item, sign = c.held[place] if place < len(c.held) else (-1, 0)
    says = {}
    for j in range(c.d):
        word = c.w[1 + j]
        if j == item:
            says[j] = -sign if word < b else sign if word < a + b else 0
        else:
            says[j] = -1 if word < noise else 1 if word < 2 * noise else 0
    return b"".join(row({j: int(said == wanted) for j, said in says.items()}, c.d) for wanted in (1, -1))


def symbol(c: Case, ratio: Callable[[Fraction], Fraction]) -> bytes:
    symbols = 2 * (c.d + c.s)
    low = up(lambda e: 1 / (ratio(e) + symbols - 1), c.epsilon)
    width, w0 = (TOP - symbols * low) // c.s, c.w[0]
    padded = [2 * j + (sign < 0) for j, sign in c.held] + [2 * (c.d + i) for i in range(len(c.held), c.s)]
    if w0 < symbols * low:
        return number(w0 // low, symbols)
    u = w0 - symbols * low
    return number(padded[u // width] if u < c.s * width else 2 * (c.d + u - c.s * width) + 1, symbols)


def coins(c: Case, first: int) -> dict[int, int]:
    return {j: c.w[first + j // 64] >> j % 64 & 1 for j in range(c.d)}


def ddrm(c: Case) -> bytes:
    k = c.key("k") if "k" in c.spec else 1
    flip = up(lambda e: 1 / (e + 1), c.epsilon / k)
    bits = coins(c, 1 + c.s)
    for i, (item, sign) in enumerate(c.held):
        if (i - cell(c.w[0], c.s)) % c.s < k:
            bits[item] = int((sign > 0) != (c.w[1 + i] < flip))
    return row(bits, c.d)


def future_rand(c: Case) -> bytes:
    s, flip = c.s, up(lambda e: 1 / (e + 1), Fraction(c.key("inner_nano"), 10**9))
    keep = TOP - flip
    last = max(j for j in range(s + 1) if (2 * flip) ** j * (2 * keep) ** (s - j) >= TOP**s)
    inside = [j for j in range(last + 1) if j * TOP >= s * flip or (s * flip - j * TOP) ** 2 <= 4 * s * TOP**2]
    out = sum(comb(s, j) for j in range(s + 1) if j not in inside) or 1
    rest = TOP**s - sum(comb(s, j) * flip**j * keep ** (s - j) for j in inside)
    n = {(s, j): flip**j * keep ** (s - j) * out if j in inside else rest for j in range(s + 1)}
    for i in reversed(range(s)):
        n.update({(i, f): n[i + 1, f] + n[i + 1, f + 1] for f in range(i + 1)})
    bits, flips = coins(c, s), 0
    for i in range(s):
        level = int(Fraction(TOP * n[i + 1, flips + 1], n[i, flips]) + Fraction(1, 2))
        flipped = c.w[i] < min(max(level, 1), TOP - 1)
        flips += flipped
        if i < len(c.held):
            item, sign = c.held[i]
            bits[item] = int((sign > 0) != flipped)
    return row(bits, c.d)


def succinct(c: Case) -> bytes:
    clip, pool = c.key("clip"), c.key("pool")
    rate, n = (c.epsilon - Fraction(1, 1 << 32)) / (2 * clip), 1
    while 2**n * rate < 20:
        n += 1
    t = [up(lambda e: 1 / (e + 1), 2**i * rate) for i in range(n)]
    z = (c.w[0] >> 32) * pool >> 32 if pool else c.w[0]
    seed = (z + first_seed(ROUND)) % TOP if pool else z
    padded = c.held + [(c.d + i, 1) for i in range(len(c.held), c.s)]
    total = sum(sign * (1 - 2 * hashed(seed, key, 2)) for key, sign in padded) * c.key("steps")
    g = sum(2**i for i in range(n) if c.w[2 + i] < t[i])
    told = min(max(total, -clip), clip) + (-1 - g if c.w[1] < t[0] else g)
    return (number(z, pool) if pool else z.to_bytes(8, "little")) + number(told % 2 ** (n + 1), 2 ** (n + 1))


REPORT: dict[str, Callable[[Case], bytes]] = {
    "ddrm": ddrm,
    "efmrtt": ddrm,
    "future_rand": future_rand,
    "kvue": kvue,
    "pckv_agrr": lambda c: symbol(c, lambda e: c.s * (e - 1) + 1),
    "pckv_grr": lambda c: symbol(c, lambda e: e),
    "pckv_ue": pckv_ue,
    "privkv": privkv,
    "succinct": succinct,
}
LAYOUTS = (
    ("signed", 3, 2, 0), ("items", 5, 3, 1), ("signed", 64, 5, 1), ("items", 1, 1, 0), ("signed", 8, 8, 0),
    ("items", 90, 20, 0), ("signed", 129, 3, 1), ("items", 300, 2, 0), ("signed", 17, 1, 0), ("signed", 40, 7, 0),
)  # fmt: skip
EPSILONS = (1_000_000, 50_000, 3_000_000, 693_148, 100, 2_000_000, 12_000_000, 500_000, 20_000_000, 1_500_001)


def parameters(name: str, i: int, s: int, epsilon: int) -> Spec:
    """The keys of spec number i besides name, layout and epsilon."""
    if name == "ddrm":
        return {"k": 1 + i % s}
    if name == "privkv":
        return {"tuned": i % 2}
    if name == "future_rand":
        return {"inner_nano": max(1, epsilon * 1000 // (5 * s) if i % 2 else epsilon * 1000 // (7 * s))}
    if name == "succinct":
        steps = (1, 2, 5)[i % 3]
        return {"clip": max(1, steps * s * (i % 4) // 4), "steps": steps, "pool": (0, 1, 300)[i % 3]}
    return {}


def value_of(label: str, i: int, user: int, layout: tuple[str, int, int, int]) -> list[int]:
    """The words of a value: of no entries, of as many as may be, of any; numbers that are signs, and others."""
    kind, d, most, none = layout
    if none and user == 9:
        return [NONE] + [0] * (most * (1 + (kind == "signed")) - 1)
    many = (most, 0, most, 1, most)[(i + user) % 5]
    items = sorted({int.from_bytes(choose(f"{label} item {j}", 8), "little") % d for j in range(most)})[:many]
    if kind == "items":
        return items + [FILLER] * (most - len(items))
    numbers = [int.from_bytes(choose(f"{label} number {j}", 8), "little") % 131_073 for j in range(len(items))]
    if user % 2:
        numbers = [0 if one < 65_536 else 131_072 for one in numbers]
    pairs = [(item, 1 if one == 65_536 else one) for item, one in zip(items, numbers, strict=True)]
    return [word for pair in pairs for word in pair] + [FILLER, 0] * (most - len(items))


def entries_of(spec: Spec, value: list[int], digest: bytes, user: bytes) -> Entries:
    if value[0] == NONE:
        return []
    if spec["layout"][0] == "items":  # type: ignore[index]
        return [(item, 1) for item in value if item != FILLER]
    coins = words(blocks(SECRET, b"sign", ROUND, digest, user, canonical(value)), 32)
    drawn = zip(value[::2], value[1::2], coins, strict=False)
    return [(item, 1 if coin >> 15 < one else -1) for item, one, coin in drawn if item != FILLER]


def answers(name: str) -> Iterator[tuple[Spec, list[list[object]]]]:
    for i, (layout, epsilon) in enumerate(zip(LAYOUTS, EPSILONS, strict=True)):
        spec: Spec = {"name": name, "layout": list(layout), "epsilon_micro": epsilon}
        spec |= parameters(name, i, layout[2], epsilon)
        digest = hashlib.sha256(b"murmurate/mechanism/1\n" + json_of(spec)).digest()
        pairs: list[list[object]] = []
        for number_of, user in enumerate(USERS):
            value = value_of(f"compared {name} {i} {number_of}", i, number_of, layout)
            w = Drawn(words(blocks(SECRET, b"report", ROUND, digest, user, canonical(value)), 64))
            pairs.append([value, REPORT[name](Case(spec, entries_of(spec, value, digest, user), w)).hex()])
        yield spec, pairs


def text() -> str:
    """The file: JSON, one spec a line, ASCII."""
    lines = [json.dumps([spec, pairs], separators=(",", ":")) for name in REPORT for spec, pairs in answers(name)]
    head = {"deployment": "shop", "secret": SECRET.hex(), "round": ROUND.hex(), "users": [user.hex() for user in USERS]}
    return json.dumps(head, separators=(",", ":"))[:-1] + ',"answers":[\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    sys.stdout.write(text())
