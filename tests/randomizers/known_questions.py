# SPDX-License-Identifier: Apache-2.0
"""Known answers for questions over values of several words, by a second implementation that shares no code.

Contract: written from the docstrings of randomness.py, layouts/, views.py, padding.py, viewed.py and grr.py, in plain
Python, on known_answers.py, which has the cipher.  `python tests/randomizers/known_questions.py` prints
tests/data/known_answers/questions.json.  Where this text and the library disagree, one of them is wrong.
"""

import hashlib
import hmac
import json
import sys
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from known_answers import DIGITS, EPSILONS, aes, choose, digest, lp, words  # type: ignore[import-not-found]

VECTORS = 30  # a view
NONE, FILLER = 0xFFFFFFFE, 0x7FFFFFFF
Value = list[int]


def blocks(secret: bytes, purpose: bytes, round: bytes, drawer: bytes, user: bytes, value: bytes) -> Iterator[bytes]:
    """B_0, B_1, ... of any drawer and purpose, for a value of any whole number of blocks."""
    message = lp(b"shop") + lp(round) + lp(drawer) + lp(purpose) + lp(b"1")
    encrypt = aes(hmac.new(secret, message, hashlib.sha256).digest()[:16])
    mac = encrypt(user)
    for start in range(0, len(value), 16):
        mac = encrypt(bytes(a ^ b for a, b in zip(mac, value[start : start + 16], strict=True)))
    i = 0
    while True:
        yield encrypt(bytes(a ^ b for a, b in zip(mac, i.to_bytes(16, "little"), strict=True)))
        i += 1


def canonical(value: Value) -> bytes:
    data = b"".join(word.to_bytes(4, "little") for word in value)
    return data + bytes((16 - len(data) % 16) % 16)


def json_of(spec: object) -> bytes:
    return json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()


def grr(d: int, epsilon_micro: int, times: int, code: int, stream: Iterator[bytes]) -> bytes:
    """GRR of d codes at the ratio times (e^epsilon - 1) + 1."""
    context = Context(prec=DIGITS)
    power = context.exp(Decimal(epsilon_micro).scaleb(-6))
    enclosed = Fraction(power.next_minus(context)) - Fraction(1, 1 << 180), Fraction(power.next_plus(context))
    levels = set()
    for e in enclosed:
        whole = times * (e - 1) + d
        levels.add(-(-(1 << 64) * whole.denominator // whole.numerator))
    assert len(levels) == 1, "a level sits on a knife's edge"
    (low,) = levels
    k = next(words(stream, 64)) // low
    report = (k if k < code else k + 1) if k < d - 1 else code
    size = 1
    while d - 1 >= 256**size:
        size += 1
    return report.to_bytes(size, "little")


def prefix(label: str, i: int) -> tuple[dict[str, object], int, Value, int]:
    """View, codes, value, code."""
    m = (1, 8, 31, 32, 48, 63, 100, 256)[i % 8]
    bits = min(m, (1, 4, 17, 23, 24, 40, 63, 130)[i % 7])
    number = int.from_bytes(choose(label + " value", 32), "little") % (1 << m)
    count = m // 32 + 1
    line = number << (32 * count - 1 - m)
    value = [line >> 32 * (count - 1 - j) & 0xFFFFFFFF for j in range(count)]
    silent = i % 5 == 4
    if silent:
        value = [NONE] + [0] * (count - 1)
    view: dict[str, object] = {"name": "prefix", "layout": ["bits", m, 1], "bits": bits}
    codes = (1 << min(bits, 23)) + 1
    code = number >> (m - bits)
    if bits > 23:
        view["fold"] = 1
        mask, size = (1 << 64) - 1, bits // 32 + 1
        kept = code << (32 * size - 1 - bits)
        state = bits
        for j in range(size):
            state = (state + 0x9E3779B97F4A7C15 & mask) ^ (kept >> 32 * (size - 1 - j) & 0xFFFFFFFF)
            state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
            state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
            state ^= state >> 31
        code = state >> 41
    return view, codes, value, codes - 1 if silent else code


def padded(label: str, i: int, secret: bytes, round: bytes, user: bytes) -> tuple[dict[str, object], int, Value, int]:
    """View, codes, value, and the code that is drawn."""
    d, most = (3, 20, 1000, 1 << 30)[i % 4], (1, 2, 4, 5, 8, 64)[i % 6]
    length = (1, 2, 3, 7, 8, 12)[(i // 2) % 6]
    pool = [int.from_bytes(choose(f"{label} item {j}", 8), "little") % d for j in range(most)]
    held = sorted(set(pool))[: (most, 1, 0, most, 3)[i % 5]]
    value = held + [FILLER] * (most - len(held))
    view: dict[str, object] = {"name": "padded", "layout": ["items", d, most, 1], "length": length}
    candidates = list(range(d)) if d < 4 else sorted({*held[::2], *range(min(d, 6))})
    if d >= 4:
        view["candidates"] = candidates
    own = [candidates.index(item) for item in held if item in candidates]
    if i % 7 == 6:
        value, own = [NONE] + [0] * (most - 1), []
    drawer = hashlib.sha256(b"murmurate/view/1\n" + json_of(view)).digest()
    u = next(words(blocks(secret, b"view", round, drawer, user, canonical(value)), 64))
    number, share, c = len(candidates), (1 << 64) // length, len(own)
    if c > length:
        edges = [j * ((1 << 64) // c) for j in range(c)] + [1 << 64]
        names = own
    elif c:
        rest = (1 << 64) - c * share
        each = max(1, rest // length)
        dummies = [min(1 << 64, c * share + j * each) for j in range(length)]
        edges = [j * share for j in range(c)] + dummies + [1 << 64]
        names = own + [number + j for j in range(length)]
    else:
        edges = [j * share for j in range(length + 1)]
        names = [number + j for j in range(length)]
        if u >= edges[-1]:
            return view, number + length, value, (u - edges[-1]) % number
    code = next(name for name, (low, high) in zip(names, pairwise(edges), strict=True) if low <= u < high)
    return view, number + length, value, code


def vectors() -> Iterator[dict[str, object]]:
    for name in ("prefix", "padded"):
        for i in range(VECTORS):
            label = f"questions {name} {i}"
            secret, round, user = (
                choose(label + " secret", 32),
                choose(label + " round", 32),
                choose(label + " user", 16),
            )
            epsilon_micro = EPSILONS[i % len(EPSILONS)]
            found = prefix(label, i) if name == "prefix" else padded(label, i, secret, round, user)
            view, codes, value, code = found
            times = view["length"] if name == "padded" else 1
            assert isinstance(times, int)
            plain = mechanism = digest("grr", codes, epsilon_micro)
            if name == "padded":
                mechanism = hashlib.sha256(b"murmurate/sampled/1\n" + times.to_bytes(8, "little") + plain).digest()
            spec = {
                "name": "viewed",
                "view": view,
                "mechanism": {"name": "grr", "d": codes, "epsilon_micro": epsilon_micro},
            }
            stream = blocks(secret, b"report", round, mechanism, user, code.to_bytes(16, "little"))
            yield {
                "spec": spec,
                "secret": secret.hex(),
                "round": round.hex(),
                "user": user.hex(),
                "value": value,
                "digest": hashlib.sha256(b"murmurate/question/1\n" + json_of(spec) + b"\n" + plain).hexdigest(),
                "report": grr(codes, epsilon_micro, times, code, stream).hex(),
            }


def branches() -> Iterator[dict[str, object]]:
    """Groups of prefixes of 48 bits, by weights."""
    for i in range(10):
        label = f"questions branches {i}"
        secret, round = choose(label + " secret", 32), choose(label + " round", 32)
        user, number = choose(label + " user", 16), int.from_bytes(choose(label + " value", 6), "little")
        value = [number >> 17, number << 15 & 0xFFFFFFFF]
        pairs = [(1, 4), (1 + i, 8), (7, 12), (2, 16)][: 2 + i % 3]
        of: list[list[object]] = []
        plain = []
        for weight, bits in pairs:
            codes, epsilon_micro = (1 << bits) + 1, EPSILONS[5 + i]
            view = {"name": "prefix", "layout": ["bits", 48, 1], "bits": bits}
            mechanism = {"name": "grr", "d": codes, "epsilon_micro": epsilon_micro}
            spec = {"name": "viewed", "view": view, "mechanism": mechanism}
            plain.append((codes, digest("grr", codes, epsilon_micro), json_of(spec)))
            of.append([weight, spec])
        whole = {"name": "branches", "of": of}
        each = [hashlib.sha256(b"murmurate/question/1\n" + said + b"\n" + its).digest() for _, its, said in plain]
        own = hashlib.sha256(b"murmurate/question/1\n" + json_of(whole) + b"\n" + b"".join(each)).digest()
        u = next(words(blocks(secret, b"branch", round, own, user, bytes(16)), 64))
        total, branch, so_far = sum(weight for weight, _ in pairs), 0, pairs[0][0]
        while u >= (so_far << 64) // total:
            branch += 1
            so_far += pairs[branch][0]
        codes, its, _ = plain[branch]
        code = number >> (48 - pairs[branch][1])
        stream = blocks(secret, b"report", round, its, user, code.to_bytes(16, "little"))
        report = bytes([branch]) + grr(codes, EPSILONS[5 + i], 1, code, stream)
        longest = 1 + max(1 if codes <= 256 else 2 if codes <= 65536 else 3 for codes, _, _ in plain)
        yield {
            "spec": whole,
            "secret": secret.hex(),
            "round": round.hex(),
            "user": user.hex(),
            "value": value,
            "digest": own.hex(),
            "report": report.ljust(longest, bytes(1)).hex(),
        }


def text() -> str:
    """A JSON list, one vector a line, ASCII."""
    return (
        "[\n" + ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in (*vectors(), *branches())) + "\n]\n"
    )


if __name__ == "__main__":
    sys.stdout.write(text())
