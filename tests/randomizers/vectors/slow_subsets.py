# SPDX-License-Identifier: Apache-2.0
"""Known answers for subsets of coordinates, by a second implementation that shares no code with the library.

Contract: written from docs/WIRE.md ("Subsets of coordinates", "Questions"), in plain Python, on known_answers.py and
known_questions.py, which have the cipher and the words of values.  `python tests/randomizers/vectors/slow_subsets.py`
prints tests/data/known_answers/subsets.json.  Where this text and the library disagree, one of them is wrong.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from math import comb
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from known_answers import DIGITS, choose, words  # type: ignore[import-not-found]
from known_questions import FILLER, NONE, blocks, canonical, json_of  # type: ignore[import-not-found]

EACH = 100  # vectors a mechanism
Spec = dict[str, object]
SIZES = (  # d, most, m, epsilon_micro
    (1, 1, 1, 1_000_000), (3, 2, 2, 500_000), (4, 3, 4, 1_000_000), (5, 5, 8, 100_000), (9, 2, 9, 2_000_000),
    (16, 4, 16, 700_000), (40, 5, 5, 1_000_000), (40, 5, 41, 250_000), (64, 1, 64, 20_000_000), (100, 8, 9, 3_141_593),
    (128, 8, 17, 50_000), (128, 8, 136, 1_000_000), (200, 20, 100, 1_500_000), (250, 6, 30, 1), (300, 3, 60, 693_147),
    (1024, 8, 69, 1_000_000), (1024, 64, 12, 2_000_000), (4088, 8, 40, 4_000_000), (4089, 8, 40, 4_000_000),
    (40_000, 5, 33, 6_000_000), (1 << 20, 3, 21, 8_000_000),
)  # fmt: skip


def accepted(name: str, a: int, b: int, tau: int) -> bool:
    return a >= 1 if name != "exsub_majority" else a - b >= tau


def cells(name: str, d: int, s: int, m: int, tau: int, epsilon_micro: int) -> list[tuple[int, int, int]]:
    """Each accepted cell (a, b) and the number of its words."""
    found = []
    for a in range(s + 1):
        for b in range(s + 1 - a if name != "set_subset" else 1):
            k = a + b
            if accepted(name, a, b, tau) and k <= m <= d + k:
                share = Fraction(comb(s, k) * comb(d, m - k), comb(d + s, m))
                found.append((a, b, share * Fraction(comb(k, a), 2**k) if name != "set_subset" else share))
    total = sum((share for _, _, share in found), Fraction(0))
    context = Context(prec=DIGITS)
    power = context.exp(Decimal(epsilon_micro).scaleb(-6))
    low, high = Fraction(power.next_minus(context)) - Fraction(1, 1 << 180), Fraction(power.next_plus(context))
    answers = [[(a, b, (e - 1) * share * 2**64 // (1 + (e - 1) * total)) for a, b, share in found] for e in (low, high)]
    assert answers[0] == answers[1], "a number of words sits on a knife's edge"
    return [(a, b, int(level)) for a, b, level in answers[0]]


def entries(signs: bool, d: int, value: list[int], coins: Iterator[int]) -> list[tuple[int, int]]:
    if value[0] == NONE:
        return []
    if not signs:
        return [(item, 1) for item in value if item < d]
    pairs = list(zip(value[::2], value[1::2], strict=True))
    return [(j, 1 if u // 2**15 < x else -1) for (j, x), u in zip(pairs, coins, strict=False) if j < d]


def report(spec: Spec, held: list[tuple[int, int]], stream: Iterator[int]) -> bytes:
    """The report of these entries from words of 32 bits."""
    name, layout, m = str(spec["name"]), spec["layout"], int(str(spec["m"]))
    assert isinstance(layout, list)
    d, s = int(layout[1]), int(layout[2])
    number, signed, tau = d + s, name != "set_subset", int(str(spec.get("tau", 0)))
    specials = held + [(d + i, 1) for i in range(s - len(held))]
    u = next(stream) + 2**32 * next(stream)
    order_words = [next(stream) + 2**32 * next(stream) for _ in range(s)]
    sign_words = [next(stream) for _ in range(-(-m // 32))] if signed else []
    # 1. the cell
    cell, order = None, list(range(s))
    for a, b, level in cells(name, d, s, m, tau, int(str(spec["epsilon_micro"]))):
        if u < level:
            cell = a, b
            break
        u -= level
    # 2. its specials
    given: dict[int, int] = {}
    if cell:
        for i in range(sum(cell)):
            t = order_words[i] // (2**64 // (s - i))
            if t >= s - i:
                cell = None
                break
            order[i], order[i + t] = order[i + t], order[i]
    if cell:
        for place in range(sum(cell)):
            j, sign = specials[order[place]]
            given[j] = sign if place < cell[0] else -sign
    # 3. the other coordinates
    bits = 16 if number <= 4096 else 32
    skipped = {j for j, _ in specials} if cell else set()
    wanted = m - len(given) if 2 * m <= number else number - m - (len(skipped) - len(given))
    out: set[int] = set()
    while len(out) < wanted:
        word = next(stream)
        for part in (word % 65536, word // 65536) if bits == 16 else (word,):
            j = part // (2**bits // number)
            if len(out) < wanted and j < number and j not in skipped:
                out.add(j)
    others = out if 2 * m <= number else set(range(number)) - out - skipped
    # 4. signs and the row
    chosen = sorted(others | set(given))
    assert len(chosen) == m
    if not signed:
        return row(number, m, signed, chosen, [])
    minus = [int(given[j] < 0) if j in given else sign_words[i // 32] >> i % 32 & 1 for i, j in enumerate(chosen)]
    return row(number, m, signed, chosen, minus)


def filled(bits: list[int]) -> bytes:
    bits = bits + [0] * (-len(bits) % 8)
    return bytes(sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8))


def row(number: int, m: int, signed: bool, chosen: list[int], minus: list[int]) -> bytes:
    symbols = [2 * j + sign for j, sign in zip(chosen, minus, strict=True)] if signed else chosen
    b = 1
    while number * (2 if signed else 1) > 2**b:
        b += 1
    planes, at = [8] * (b // 8), 0
    planes += [part for part in (4, 2, 1) if b % 8 & part]
    listed = b""
    for part in planes:
        listed += filled([symbol >> at + i & 1 for symbol in symbols for i in range(part)])
        at += part
    mapped = filled([int(j in set(chosen)) for j in range(number)]) + filled(minus) if number < 10_000 else b"." * 9999
    return mapped if 2 * m > number or len(mapped) < len(listed) else listed


def vectors() -> Iterator[dict[str, object]]:
    for name in ("exsub", "exsub_majority", "set_subset"):
        for i in range(EACH):
            label = f"{name} {i}"
            d, s, m, epsilon_micro = SIZES[i % len(SIZES)]
            signs = name != "set_subset" and i % 3 != 2
            spec: Spec = {"name": name, "layout": ["signed" if signs else "items", d, s, 1]}
            spec |= {"epsilon_micro": epsilon_micro, "m": m if name != "set_subset" else min(m, d)}
            if name == "exsub_majority":
                spec["tau"] = 1 + (i // 7 % min(3, s, m))
            pool = [int.from_bytes(choose(f"{label} item {j}", 8), "little") % d for j in range(s)]
            held = sorted(set(pool))[: (s, s, 1, 0, s, 3)[i % 6]]
            if not signs:
                value = held + [FILLER] * (s - len(held))
            else:
                numbers = [(0, 131072, int.from_bytes(choose(f"{label} {j}", 2), "little"))[(i + j) % 3] for j in held]
                pairs = [word for j, x in zip(held, numbers, strict=True) for word in (j, x + (x == 65536))]
                value = pairs + [FILLER, 0] * (s - len(held))
            if i % 11 == 10:
                value = [NONE] + [0] * (len(value) - 1)
            secret, round, user = (choose(f"{label} {of}", size) for of, size in (("s", 32), ("r", 32), ("u", 16)))
            digest = hashlib.sha256(b"murmurate/mechanism/1\n" + json_of(spec)).digest()
            coins, drawn = (
                words(blocks(secret, of, round, digest, user, canonical(value)), 32) for of in (b"sign", b"report")
            )
            answer = report(spec, entries(signs, d, value, coins), drawn)
            yield {
                "spec": spec, "secret": secret.hex(), "round": round.hex(), "user": user.hex(), "value": value,
                "digest": digest.hex(), "report": answer.hex(),
            }  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in vectors()) + "\n]\n")
