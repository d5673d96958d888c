# SPDX-License-Identifier: Apache-2.0
"""The hash family and the reports of local hashing once more, slowly, sharing no code with the library.

Contract: written from the docstrings of hashing.py and local_hash.py in plain Python, one pair at a time; keyed words,
levels and examples come from tests/randomizers/known_answers.py, which imports nothing either.  From the root of the
repository, `python -m tests.randomizers.hashing.slow_hash` rewrites tests/data/hashing_*.json.
"""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.randomizers.known_answers import DEPLOYMENTS, EPSILONS, blocks, choose, level, words

DATA = Path(__file__).resolve().parent.parent.parent / "data"
FAMILY, REPORTS = DATA / "hashing_family_1.json", DATA / "hashing_reports.json"
TWO_64 = 2**64
CELLS = (2, 3, 4, 5, 8, 9, 56, 256, 404, 1098, 65_536, 8_886_111, 485_165_196, 2**32)
EDGES = (0, 1, 2, 255, 16_383, 2**32 - 1, 2**32, 2**63, TWO_64 - 1)


def split_mix(state: int, shifts: tuple[int, ...]) -> int:
    """SplitMix64's finaliser, as many steps of it as there are shifts."""
    factors = (13787848793156543929, 10723151780598845931)
    for step, shift in enumerate(shifts):
        state ^= state // 2**shift
        if step < len(factors):
            state = state * factors[step] % TWO_64
    return state


def cell(seed: int, value: int, g: int) -> int:
    key = split_mix((seed + 11400714819323198485) % TWO_64, (30, 27, 31))
    return split_mix((key + value * 11400714819323198485) % TWO_64, (30, 27)) * g // TWO_64


def size(count: int) -> int:
    """Bytes that hold the numbers below count."""
    return next(width for width in range(1, 9) if count <= 256**width)


def first_seed(round: bytes) -> int:
    """Of a round's pool."""
    return int.from_bytes(hashlib.sha256(b"murmurate/pool/1\n" + round).digest()[:8], "little")


def usual(epsilon_micro: int) -> int:
    """The cells of OLH where none are named: floor(e^epsilon + 3/2), and at least 2."""
    inverse = level(epsilon_micro, 0, 96)  # 2^96 / e^epsilon
    return max(2, (2 * 2**96 + 3 * inverse) // (2 * inverse))


def report(
    name: str, epsilon_micro: int, pool: int, value: int, two_words: tuple[int, int], round: bytes, named: int = 0
) -> bytes:
    g = 2 if name == "blh" else named or usual(epsilon_micro)
    low = level(epsilon_micro, g - 1, 64)
    seed = two_words[0] // 2**32 * pool // 2**32 if pool else two_words[0]
    own = cell((seed + first_seed(round)) % TWO_64 if pool else seed, value, g)
    others = [k for k in range(g) if k != own] if g < 1000 else None
    number = two_words[1] // low
    said = own
    if number < g - 1:
        said = others[number] if others else number + (number >= own)
    return seed.to_bytes(size(pool) if pool else 8, "little") + said.to_bytes(size(g), "little")


def family() -> Iterator[list[int]]:
    """Seed, value, g and cell."""
    for i in range(len(CELLS) * 20):
        g = CELLS[i % len(CELLS)]
        seed = EDGES[i // 7 % len(EDGES)] if i % 2 else int.from_bytes(choose(f"hash seed {i}", 8), "little")
        value = i if i % 3 else int.from_bytes(choose(f"hash value {i}", 3), "little")
        yield [seed, value, g, cell(seed, value, g)]


def reports() -> Iterator[dict[str, str | int]]:
    for i in range(240):
        named = (2, 3, 5, 45, 256, 257, 915, 65_536, 65_537, 1 << 24)[i % 10] if i >= 200 else 0
        name, label = "olh" if named else ("blh", "olh")[i % 2], f"local hashing {i}"
        pool = (16_384, 0, 1, 2, 3, 255, 256, 257, 1000, 65_536)[i // 2 % 10]
        d = (2, 3, 5, 100, 1024, 70_000, 1 << 24)[i % 7]
        epsilon_micro = EPSILONS[i % len(EPSILONS)]
        value = int.from_bytes(choose(label + " value", 8), "little") % d
        spec: dict[str, str | int] = {"d": d, "epsilon_micro": epsilon_micro, "name": name, "pool": pool}
        spec |= {"g": named} if named not in (0, usual(epsilon_micro)) else {}
        text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
        version = b"2" if pool else b"1"
        digest = hashlib.sha256(b"murmurate/mechanism/" + version + b"\n" + text.encode()).digest()
        secret, user, round = (
            choose(f"{label} {what}", n) for what, n in (("secret", 32), ("user", 16), ("round", 32))
        )
        deployment = DEPLOYMENTS[i % len(DEPLOYMENTS)]
        stream = words(blocks(secret, deployment, round, digest, user, value), 64)
        first, second = islice(stream, 2)
        yield spec | {
            "secret": secret.hex(),
            "deployment": deployment,
            "round": round.hex(),
            "user": user.hex(),
            "value": value,
            "digest": digest.hex(),
            "report": report(name, epsilon_micro, pool, value, (first, second), round, named).hex(),
        }


def text(vectors: Iterator[object]) -> str:
    """A JSON list, one vector a line, ASCII."""
    return "[\n" + ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors) + "\n]\n"


if __name__ == "__main__":
    FAMILY.write_text(text(family()), encoding="ascii")
    REPORTS.write_text(text(reports()), encoding="ascii")
