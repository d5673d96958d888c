# SPDX-License-Identifier: Apache-2.0
"""Known answers for questions of searches among strings, by a second implementation that shares no code.

Contract: written from the docstrings of string_views.py, hash_counts.py, hashing.py and local_hash.py, in plain Python,
on known_questions.py.  `python tests/randomizers/known_searches.py` prints tests/data/known_answers/searches.json.
Where this text and the library disagree, one of them is wrong.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from known_answers import EPSILONS, choose, digest, level, words  # type: ignore[import-not-found]
from known_questions import NONE, Value, blocks, grr, json_of  # type: ignore[import-not-found]

VECTORS = 24
TWO_64 = 1 << 64
GOLDEN, A, B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def string(label: str, m: int, silent: bool) -> tuple[int, Value]:
    """A string of m bits as a number, and its words; or no value."""
    number = int.from_bytes(choose(label + " value", 32), "little") % (1 << m)
    count = m // 32 + 1
    if silent:
        return number, [NONE] + [0] * (count - 1)
    line = number << (32 * count - 1 - m)
    return number, [line >> 32 * (count - 1 - j) & 0xFFFFFFFF for j in range(count)]


def long_prefix(m: int, bits: int, number: int, silent: bool) -> tuple[dict[str, object], int, int]:
    """View, number of codes, code: the bits themselves, from 53 on 52 bits of a hash of them."""
    view: dict[str, object] = {"name": "long_prefix", "layout": ["bits", m, 1], "bits": bits}
    codes, code = (1 << min(bits, 52)) + 1, number >> (m - bits)
    if bits > 52:
        view["fold"] = 1
        size, state = bits // 32 + 1, bits
        kept = code << (32 * size - 1 - bits)
        for j in range(size):
            state = (state + GOLDEN) % TWO_64 ^ (kept >> 32 * (size - 1 - j)) % (1 << 32)
            state = (state ^ state >> 30) * A % TWO_64
            state = (state ^ state >> 27) * B % TWO_64
            state ^= state >> 31
        code = state >> 12
    return view, codes, codes - 1 if silent else code


def olh_counts(
    d: int, epsilon_micro: int, pool: int, named: int, secret: bytes, round: bytes, user: bytes, code: int
) -> tuple[dict[str, object], bytes, bytes]:
    """Spec, digest and report."""
    inverse = level(epsilon_micro, 0, 96)  # 2^96 / e^epsilon
    usual = max(2, (2 * 2**96 + 3 * inverse) // (2 * inverse))
    g = named or usual
    spec: dict[str, object] = {"name": "olh_counts", "d": d, "epsilon_micro": epsilon_micro, "pool": pool}
    if g != usual:
        spec["g"] = g
    own = hashlib.sha256(b"murmurate/mechanism/2\n" + json_of(spec)).digest()
    stream = words(blocks(secret, b"report", round, own, user, code.to_bytes(16, "little")), 64)
    first, second = next(stream), next(stream)
    number = (first >> 32) * pool >> 32
    start = int.from_bytes(hashlib.sha256(b"murmurate/pool/1\n" + round).digest()[:8], "little")
    z = (start + number + GOLDEN) % TWO_64
    z = (z ^ z >> 30) * A % TWO_64
    z = (z ^ z >> 27) * B % TWO_64
    z = ((z ^ z >> 31) + code * GOLDEN) % TWO_64
    z = (z ^ z >> 30) * A % TWO_64
    z = (z ^ z >> 27) * B % TWO_64
    cell, other = z * g >> 64, second // level(epsilon_micro, g - 1, 64)
    if other < g - 1:
        cell = [k for k in range(g) if k != cell][other]
    width = 1 if pool <= 256 else 2
    return spec, own, number.to_bytes(width, "little") + cell.to_bytes(1 if g <= 256 else 2, "little")


def said(label: str) -> tuple[bytes, bytes, bytes]:
    """Secret, round and user."""
    return choose(label + " secret", 32), choose(label + " round", 32), choose(label + " user", 16)


def vector(label: str, spec: object, whole: bytes, value: Value, report: bytes) -> dict[str, object]:
    secret, round, user = said(label)
    return {
        "spec": spec,
        "secret": secret.hex(),
        "round": round.hex(),
        "user": user.hex(),
        "value": value,
        "digest": whole.hex(),
        "report": report.hex(),
    }


def viewed(view: object, mechanism: object, own: bytes) -> tuple[dict[str, object], bytes]:
    """The spec of a mechanism behind a view, and its digest."""
    spec: dict[str, object] = {"name": "viewed", "view": view, "mechanism": mechanism}
    return spec, hashlib.sha256(b"murmurate/question/1\n" + json_of(spec) + b"\n" + own).digest()


def prefixes() -> Iterator[dict[str, object]]:
    """Long prefixes by counted hashes."""
    for i in range(VECTORS):
        label = f"searches prefix {i}"
        m = (8, 31, 48, 52, 64, 100, 128, 256)[i % 8]
        bits, silent = min(m, (8, 27, 48, 52, 53, 64, 100)[i % 7]), i % 6 == 5
        number, value = string(label, m, silent)
        view, codes, code = long_prefix(m, bits, number, silent)
        epsilon, pool, named = EPSILONS[4 + i % 12], (16_400, 300, 2, 64)[i % 4], (0, 0, 5)[i % 3]
        spec, own, report = olh_counts(codes, epsilon, pool, named, *said(label), code)
        whole, its = viewed(view, spec, own)
        yield vector(label, whole, its, value, report)


def extensions() -> Iterator[dict[str, object]]:
    """Extensions of some parents, by GRR."""
    for i in range(VECTORS):
        label = f"searches extensions {i}"
        m = (16, 48, 64, 100, 256)[i % 5]
        bits_from = min(m - 4, (0, 8, 13, 31, 32, 62, 129)[i % 7])
        bits_to, silent = bits_from + (1, 3, 4)[i % 3], i % 8 == 7
        number, value = string(label, m, silent)
        parents = {number >> (m - bits_from)} if i % 4 else set()
        parents |= {int.from_bytes(choose(f"{label} {j}", 40), "little") % (1 << bits_from) for j in range(1 + i % 6)}
        digits = -(-bits_from // 4)
        listed = [f"{parent:0{digits}x}" if digits else "" for parent in sorted(parents)]
        view = {
            "name": "extensions",
            "layout": ["bits", m, 1],
            "parents": listed,
            "bits_from": bits_from,
            "bits_to": bits_to,
        }
        more = bits_to - bits_from
        candidates = [parent << more | rest for parent in sorted(parents) for rest in range(1 << more)]
        prefix, codes = number >> (m - bits_to), len(candidates) + 2
        code = candidates.index(prefix) if prefix in candidates else codes - 2
        code = codes - 1 if silent else code
        epsilon = EPSILONS[i % len(EPSILONS)]
        secret, round, user = said(label)
        mechanism, own = {"name": "grr", "d": codes, "epsilon_micro": epsilon}, digest("grr", codes, epsilon)
        whole, its = viewed(view, mechanism, own)
        stream = blocks(secret, b"report", round, own, user, code.to_bytes(16, "little"))
        yield vector(label, whole, its, value, grr(codes, epsilon, 1, code, stream))


def leaves() -> Iterator[dict[str, object]]:
    """Which open prefix of a trie begins a string, by counted hashes and by GRR."""
    for i in range(VECTORS):
        label = f"searches leaves {i}"
        m, step = (16, 20, 48, 100, 256)[i % 5], (4, 8, 8, 12)[i % 4]
        number, value = string(label, m, silent=i % 8 == 7)
        nodes = {""}
        for j in range(1 + i % 6):  # some way down the string itself, or another one
            line = number if j < 2 else int.from_bytes(choose(f"{label} {j}", 40), "little") % (1 << m)
            lengths = range(step, min(m, (1 + (i + j) % 4) * step + 1), step)
            nodes |= {f"{line >> (m - bits):0{bits // 4}x}" for bits in lengths if bits < m}
        ordered, opened = sorted(nodes, key=lambda node: (len(node), node)), []
        for node in ordered:
            bits, start = min(step, m - 4 * len(node)), int(node or "0", 16)
            for more in range(1 << bits):
                end = 4 * len(node) + bits
                one = start << bits | more
                if end == m or f"{one:0{end // 4}x}" not in nodes:
                    opened.append((end, one))
        code = (
            len(opened) if i % 8 == 7 else next(c for c, (end, one) in enumerate(opened) if number >> (m - end) == one)
        )
        view = {"name": "trie_leaf", "layout": ["bits", m, 1], "grown": ordered, "step": step}
        secret, round, user = said(label)
        d, epsilon = len(opened) + 1, EPSILONS[4 + i % 12]
        if i % 2:
            spec, own, report = olh_counts(d, epsilon, 300, 0, secret, round, user, code)
        else:
            spec, own = {"name": "grr", "d": d, "epsilon_micro": epsilon}, digest("grr", d, epsilon)
            stream = blocks(secret, b"report", round, own, user, code.to_bytes(16, "little"))
            report = grr(d, epsilon, 1, code, stream)
        whole, its = viewed(view, spec, own)
        yield vector(label, whole, its, value, report)


def groups() -> Iterator[dict[str, object]]:
    """Groups of users, each for prefixes of another length."""
    for i in range(VECTORS // 3):
        label = f"searches groups {i}"
        secret, round, user = said(label)
        number, value = string(label, 48, False)
        of, plain, reports = [], [], []
        for bits in (13, 20, 27, 34, 41, 48):
            view, codes, code = long_prefix(48, bits, number, False)
            spec, own, report = olh_counts(codes, EPSILONS[8 + i], 16_400, 0, secret, round, user, code)
            whole, its = viewed(view, spec, own)
            of.append([1, whole])
            plain.append(its)
            reports.append(report)
        spec = {"name": "branches", "of": of}
        own = hashlib.sha256(b"murmurate/question/1\n" + json_of(spec) + b"\n" + b"".join(plain)).digest()
        u = next(words(blocks(secret, b"branch", round, own, user, bytes(16)), 64))
        branch = next(k for k in range(6) if u < (k + 1) * TWO_64 // 6)
        yield vector(label, spec, own, value, bytes([branch]) + reports[branch])


def text() -> str:
    """A JSON list, one vector a line, ASCII."""
    found = (*prefixes(), *extensions(), *groups(), *leaves())
    return "[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in found) + "\n]\n"


if __name__ == "__main__":
    sys.stdout.write(text())
