# SPDX-License-Identifier: Apache-2.0
"""Known answers for every mechanism, by a second implementation that shares no code with the library.

Contract: written from the library's docstrings (randomness.py, thresholds.py, grr.py, unary.py), in plain Python: HMAC
and SHA-256 from the standard library, AES-128 from FIPS 197 below, e^epsilon by decimal arithmetic.  It imports neither
NumPy, `cryptography` nor murmurate.  `python tests/randomizers/known_answers.py` rewrites tests/data/known_answers/;
with the name of a mechanism it prints that file.  Where this text and the library disagree, one of them is wrong.
"""

import hashlib
import hmac
import json
import sys
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "data" / "known_answers"
VECTORS = 100  # a mechanism
DIGITS = 150  # of e^epsilon

# ---- AES-128, FIPS 197 ----


def _double(a: int) -> int:
    """The product with x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (section 4.2.1)."""
    return a << 1 ^ (0x11B if a & 0x80 else 0)


def _product(a: int, b: int) -> int:
    total = 0
    while b:
        total ^= a if b & 1 else 0
        a, b = _double(a), b >> 1
    return total


def _substitute(a: int) -> int:
    """The S-box of one byte: its inverse in the field, a^254, then the affine map (section 5.1.1)."""
    inverse, power = 1, a
    for _ in range(7):  # 2 + 4 + ... + 128 = 254
        power = _product(power, power)
        inverse = _product(inverse, power)
    rotations = (inverse << k | inverse >> (8 - k) for k in range(5))
    total = 0x63
    for rotation in rotations:
        total ^= rotation & 0xFF
    return total


SBOX = [_substitute(a) for a in range(256)]
# What SubBytes and MixColumns make of a byte in row 0 of a column, as a big-endian word; rows 1 to 3 are its rotations.
MIXED = [_double(s) << 24 | s << 16 | s << 8 | _double(s) ^ s for s in SBOX]
COLUMNS = [[word >> 8 * row | word << 32 - 8 * row & 0xFFFFFFFF for word in MIXED] for row in range(4)]


def aes(key: bytes) -> Callable[[bytes], bytes]:
    """The cipher under a 16-byte key: one block of 16 bytes to another."""
    words = [int.from_bytes(key[i : i + 4], "big") for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):  # KeyExpansion, section 5.2
        word = words[-1]
        if i % 4 == 0:
            rotated = ((word << 8 | word >> 24) & 0xFFFFFFFF).to_bytes(4, "big")
            word = int.from_bytes(bytes(SBOX[byte] for byte in rotated), "big") ^ constant << 24
            constant = _double(constant)
        words.append(words[i - 4] ^ word)
    t0, t1, t2, t3 = COLUMNS

    def encrypt(block: bytes) -> bytes:
        state = [int.from_bytes(block[4 * c : 4 * c + 4], "big") ^ words[c] for c in range(4)]
        for turn in range(4, 40, 4):
            a, b, c, d = state
            state = [
                t0[w >> 24] ^ t1[x >> 16 & 255] ^ t2[y >> 8 & 255] ^ t3[z & 255] ^ words[turn + i]
                for i, (w, x, y, z) in enumerate(((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c)))
            ]
        out = b""
        for i in range(4):  # the last round mixes no columns
            rows = (state[(i + row) % 4] >> (24 - 8 * row) & 255 for row in range(4))
            out += (int.from_bytes(bytes(SBOX[byte] for byte in rows), "big") ^ words[40 + i]).to_bytes(4, "big")
        return out

    return encrypt


# ---- randomness.py, from its docstring ----


def lp(part: bytes) -> bytes:
    return len(part).to_bytes(4, "little") + part


def blocks(secret: bytes, deployment: str, round: bytes, mechanism: bytes, user: bytes, value: int) -> Iterator[bytes]:
    """B_0, B_1, ... of a report."""
    message = lp(deployment.encode()) + lp(round) + lp(mechanism) + lp(b"report") + lp(b"1")
    encrypt = aes(hmac.new(secret, message, hashlib.sha256).digest()[:16])
    mac = encrypt(bytes(a ^ b for a, b in zip(encrypt(user), value.to_bytes(16, "little"), strict=True)))
    i = 0
    while True:
        yield encrypt(bytes(a ^ b for a, b in zip(mac, i.to_bytes(16, "little"), strict=True)))
        i += 1


def words(stream: Iterator[bytes], bits: int) -> Iterator[int]:
    """Little-endian words of this width, cut from the blocks."""
    for block in stream:
        for start in range(0, 16, bits // 8):
            yield int.from_bytes(block[start : start + bits // 8], "little")


# ---- thresholds.py: the low level is 2^bits / (e^epsilon + more), rounded up ----


def level(epsilon_micro: int, more: int, bits: int) -> int:
    """Decimal's exp is correctly rounded; one unit in its last place each way encloses e^epsilon.

    The library may use anything from e^epsilon - 2^-180 up, so the whole of that has to round up to the same level.
    """
    context = Context(prec=DIGITS)
    power = context.exp(Decimal(epsilon_micro).scaleb(-6))
    below = Fraction(power.next_minus(context)) - Fraction(1, 1 << 180)
    above = Fraction(power.next_plus(context))
    levels = {-(-(1 << bits) * e.denominator // (e.numerator + more * e.denominator)) for e in (below, above)}
    assert len(levels) == 1, f"{epsilon_micro} micro-nats: the level sits on a knife's edge"
    return levels.pop()


# ---- the mechanisms ----


def digest(name: str, d: int, epsilon_micro: int) -> bytes:
    spec = {"d": d, "epsilon_micro": epsilon_micro, "name": name}
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"murmurate/mechanism/1\n" + text.encode()).digest()


def grr(d: int, epsilon_micro: int, value: int, stream: Iterator[bytes]) -> bytes:
    low = level(epsilon_micro, d - 1, 64)
    u = next(words(stream, 64))
    report = value
    if u < (d - 1) * low:
        k = u // low  # counted from 0 among the values that are not the true one
        report = k if k < value else k + 1
    size = 1
    while d - 1 >= 256**size:
        size += 1
    return report.to_bytes(size, "little")


def oue(d: int, epsilon_micro: int, value: int, stream: Iterator[bytes]) -> bytes:
    bits = 32 if level(epsilon_micro, 1, 32) >= 65536 else 64
    low = level(epsilon_micro, 1, bits)
    out = bytearray((d + 7) // 8)
    for cell, u in zip(range(d), words(stream, bits), strict=False):
        if u < (2 ** (bits - 1) if cell == value else low):
            out[cell // 8] |= 1 << cell % 8
    return bytes(out)


REPORT = {"grr": grr, "oue": oue}
EPSILONS = (
    1, 2, 10, 999, 25_000, 100_000, 333_333, 500_000, 693_147, 693_148, 1_000_000, 1_098_612, 1_500_001, 2_000_000,
    3_141_593, 4_000_000, 5_545_177, 8_000_000, 10_999_999, 11_090_354, 11_090_355, 13_000_000, 19_999_999, 20_000_000,
)  # fmt: skip
DOMAINS = {
    "grr": (2, 3, 4, 5, 7, 8, 16, 77, 128, 255, 256, 257, 1000, 1024, 65_535, 65_536, 65_537, 70_000, 1 << 24),
    "oue": (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 77, 100, 128, 250, 255, 257, 512, 777, 1000, 1023, 1024),
}
DEPLOYMENTS = ("shop", "s", "\u0161kola", "\u6771\u4eac-1", "\U0001f426 flock", "a" * 300, "shop\x00", "Grüße")


def choose(what: str, size: int) -> bytes:
    """Bytes to make an example of, the same in every run."""
    return hashlib.shake_256(f"murmurate known answers: {what}".encode()).digest(size)


def vectors(name: str) -> Iterator[dict[str, str | int]]:
    for i in range(VECTORS):
        label = f"{name} {i}"
        d = DOMAINS[name][i % len(DOMAINS[name])]
        epsilon_micro = EPSILONS[i % len(EPSILONS)]
        if i >= 4 * len(DOMAINS[name]):  # any domain and any epsilon
            d = 2 + int.from_bytes(choose(label + " d", 8), "little") % 1023
            epsilon_micro = 1 + int.from_bytes(choose(label + " epsilon", 8), "little") % 20_000_000
        value = (0, d - 1, int.from_bytes(choose(label + " value", 8), "little") % d)[min(i % 4, 2)]
        secret = choose(label + " secret", (32, 32, 48, 64, 65, 131)[i % 6])
        user = {0: bytes(16), 1: b"\xff" * 16}.get(i % 10, choose(label + " user", 16))
        round = choose(label + " round", 32)
        deployment = DEPLOYMENTS[i % len(DEPLOYMENTS)]
        mechanism = digest(name, d, epsilon_micro)
        stream = blocks(secret, deployment, round, mechanism, user, value)
        yield {
            "d": d,
            "epsilon_micro": epsilon_micro,
            "secret": secret.hex(),
            "deployment": deployment,
            "round": round.hex(),
            "user": user.hex(),
            "value": value,
            "digest": mechanism.hex(),
            "report": REPORT[name](d, epsilon_micro, value, stream).hex(),
        }


def text(name: str) -> str:
    """The file of a mechanism: a JSON list, one vector a line, ASCII."""
    return "[\n" + ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors(name)) + "\n]\n"


for key, plain, cipher in (  # FIPS 197, appendices B and C.1
    ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
):
    assert aes(bytes.fromhex(key))(bytes.fromhex(plain)).hex() == cipher

if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write(text(sys.argv[1]))
    else:
        for name in REPORT:
            (FOLDER / f"{name}.json").write_text(text(name), encoding="ascii")
