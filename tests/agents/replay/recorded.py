# SPDX-License-Identifier: Apache-2.0
"""Small replays that together touch every measure, method, mechanism, clip, division, split, filter, revision, shape
and way to miss a value, as the file allows them; and a digest of what each releases, twice.

Contract: known keys and fixed sources, so that the same code gives the same digests.  `releases` is the SHA-256 of
releases.jsonl, byte for byte; `measured` that of what was asked and answered alone (period, decision, reports,
mechanism, unbiased), which a filter, a projection or an error bar does not touch.  `python -m
tests.agents.replay.recorded` writes tests/data/replays.json anew, and says what differs from the one there.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import load
from murmurate.config.planning import plan as planned

RECORD = Path(__file__).resolve().parents[2] / "data" / "replays.json"
SCREENS = ("home", "search", "basket", "help")
START_MS = 1_794_992_400_000
MINUTE_MS = 60_000

BIT = 'measure = "frequency"\nvalues = ["0", "1"]\nevery = "1m"\n'
SCREEN = 'measure = "frequency"\nvalues = ["home", "search", "basket", "help"]\nevery = "1m"\n'
MEAN = 'measure = "mean"\nrange = [0, 100]\nunit = "EUR"\nevery = "1m"\n'
TOTAL = MEAN.replace('"mean"', '"total"')
SPREAD = 'measure = "distribution"\nrange = [0, 100]\ncells = 12\nevery = "1m"\n'
ITEMS = 'measure = "items"\nitems = 24\nmost = 4\npad = 3\nevery = "1m"\n'
RATINGS = 'measure = "vector"\nitems = 12\nmost = 3\nevery = "1m"\n'
TABLES = (
    'measure = "marginals"\nevery = "1m"\nattributes = { plan = ["free", "pro"], age = { whole = [0, 99], cells = 4 },'
)
TABLES += " spent = { range = [0, 50], cells = 3 } }\n"
WORDS = 'measure = "strings"\nbits = 24\nevery = "1m"\n'
BITS, TEXTS, NUMBERS = "synthetic:lns,n=1500,periods=24,seed=3", "texts.jsonl", "numbers.npy"
SETS, ROWS, STRINGS, VECTORS = (
    f"synthetic:{kind},n=900,periods=12,seed=3" for kind in ("sets", "rows", "strings", "vectors")
)
SHORT = "short.jsonl"
ALWAYS = 'missing = { carry = "always" }\n'

CASES: dict[str, tuple[str, str, str]] = {
    "lpa, filter": ("", BIT + 'method = "lpa"\n', BITS),
    "lpu, no filter": ("", BIT + 'method = { name = "lpu", filter = "off" }\nmechanism = "olh"\n', BITS),
    "lpd, as in the paper": (
        "window = { periods = 5 }",
        BIT + 'method = { name = "lpd", variance = "paper" }\nmissing = { carry = "always" }\n',
        BITS,
    ),
    "lbu, subsets, other": ("", SCREEN + 'other = true\nmethod = "lbu"\nmechanism = "subset"\n', TEXTS),
    "lba, a value that stands": ("", SCREEN + 'method = "lba"\nmechanism = "oue"\nmissing = { carry = "2m" }\n', TEXTS),
    "lpu, revised, thresholds": (
        "", SCREEN + 'method = { name = "lpu", revise = 4 }\nmechanism = "hr"\nthresholds = { home = 0.3 }\n', TEXTS
    ),
    "fast and pegasus, split by budget": (
        'split = "budget"',
        SCREEN + 'method = "lp-pegasus"\nmechanism = "sue"\nshare = 0.5\n[streams.second]\n' + SCREEN
        + 'method = "lb-fast"\nmechanism = "blh"\nshare = 0.5\n',
        TEXTS,
    ),
    "rescuedp and dsat, split by users": (
        "", SCREEN + 'method = "lp-rescuedp"\nshare = 0.5\n[streams.second]\n' + SCREEN
        + 'method = "lb-dsat"\nshare = 0.5\n', TEXTS
    ),
    "mean": ("", MEAN + 'method = "lpu"\n', NUMBERS),
    "total, revised, with errors of its own": (
        "", TOTAL + 'model = "local"\nmethod = { name = "lpu", revise = 2 }\nthresholds = { total = 10 }\n', NUMBERS
    ),
    "total of everybody, a threshold that is found": ("", TOTAL + 'method = "lba"\nclip = "found"\n' + ALWAYS, NUMBERS),
    "mean, a threshold that is found": ("", MEAN + 'method = "lba"\nclip = "found"\n', NUMBERS),
    "mean, no threshold could pay": ("", MEAN + 'method = "lpa"\nclip = "found"\n', NUMBERS),
    "mean of everybody": ("", MEAN + 'method = "lsp"\nmissing = { carry = "always" }\n', NUMBERS),
    "distribution": ("", SPREAD + 'method = "lpu"\n', NUMBERS),
    "lbd, dsat, rescuedp and fast": (
        'split = "budget"',
        "[streams.second]\n".join(
            SCREEN + f'share = 0.5\nmethod = "{method}"\nmechanism = "{mechanism}"\n'
            for method, mechanism in (("lbd", "grr"), ("lp-dsat", "she"))
        ),
        SHORT,
    ),
    "rescuedp and fast, the other division": (
        'split = "budget"',
        "[streams.second]\n".join(
            SCREEN + f'share = 0.5\nmethod = "{method}"\nmechanism = "{mechanism}"\n'
            for method, mechanism in (("lb-rescuedp", "the"), ("lp-fast", "auto"))
        ),
        SHORT,
    ),
    "pegasus with paid groups, lpd with seasons": (
        "window = { periods = 6 }",
        SCREEN + 'share = 0.5\nmethod = { name = "lb-pegasus", grouping = "paid" }\nprefer = "bytes"\n'
        + 'several = "first"\n[streams.second]\n' + SCREEN + 'share = 0.5\nseason = "4m"\n'
        + 'post = { name = "base-cut", alpha = 1 }\n'
        + 'method = { name = "lpd", first_share = 0.3, revise = 2 }\ninitial = "basket"\n' + ALWAYS,
        SHORT,
    ),
    "lba and a shape that is chosen": (
        "delta = 1e-6\nassumed_corrupt = 0.2",
        SCREEN + 'method = { name = "lba", first_share = 0.25 }\npost = "auto"\nother = true\n' + ALWAYS, SHORT
    ),
    "mean by pm, found, without a filter": (
        "", MEAN + 'method = { name = "lbu", filter = "off" }\nclip = "found"\nmechanism = "pm"\n' + ALWAYS, NUMBERS
    ),
    "mean by sr, from a number on": (
        "", MEAN + 'method = { name = "lpa", revise = 3 }\nmechanism = "sr"\ninitial = 40\nthresholds = { mean = 20 }\n'
        + ALWAYS, NUMBERS
    ),
    "items": ("", ITEMS + 'method = "lpu"\n', SETS),
    "items of everybody, by olh": (
        "", ITEMS + 'method = { name = "lbd", filter = "off" }\nmechanism = "olh"\n' + ALWAYS, SETS
    ),
    "marginals": ("", TABLES + 'tables = [["plan", "age"], ["spent"]]\nmethod = "lpa"\n', ROWS),
    "marginals, one table of everybody": (
        "", TABLES + 'tables = [["spent", "age", "plan"]]\nmethod = { name = "lpu", revise = 2 }\n' + ALWAYS, ROWS
    ),
    "strings": (
        "", WORDS + 'prefix = 6\nmethod = { name = "lpd", revise = 2 }\nthresholds = { 0b011000 = 0.1 }\n', STRINGS
    ),
    "strings of everybody, by digits": (
        "", WORDS + 'form = "hex"\nprefix = 4\nmethod = "lb-fast"\nmechanism = "hr"\n' + ALWAYS, STRINGS
    ),
    "strings that are found": ("", WORDS + 'find = "strings"\ntop = 8\npool = 512\n', STRINGS),
    "strings that are found, one length a period": (
        "", WORDS + 'find = "strings"\ntop = 8\npool = 512\nmethod = "pem_rounds"\n', STRINGS
    ),
    "items that are found": (
        "", 'measure = "items"\nfind = "items"\nitems = 24\nmost = 4\ntop = 4\nevery = "1m"\n', SETS
    ),
    "itemsets that are found": (
        "", 'measure = "items"\nfind = "itemsets"\nitems = 24\nmost = 4\ntop = 4\nevery = "1m"\n', SETS
    ),
    "items, told whole": (
        "", ITEMS + 'method = { name = "lpd", revise = 2 }\nmechanism = "collision"\nthresholds = { 3 = 0.2 }\n', SETS
    ),
    "vector": (
        "", RATINGS + 'method = { name = "lpu", revise = 2 }\nthresholds = { 0 = 0.1 }\n', VECTORS
    ),
    "vector of everybody": (
        "", RATINGS + 'method = { name = "lbd", filter = "off" }\nshares = false\n' + ALWAYS, VECTORS
    ),
    "distribution of everybody": ("", SPREAD + 'method = "lpd"\n' + ALWAYS, NUMBERS),
}  # fmt: skip
"""By name: a line of [privacy], the streams' tables (the first one's header left out), the source."""


def sources(folder: Path) -> None:
    """Texts with silence, undeclared and repeated values; numbers with silence, most of them small."""
    rng = np.random.default_rng(14)
    users, periods = 1_200, 24
    short(folder / SHORT)
    with (folder / TEXTS).open("wb") as file:
        for t in range(periods):
            for u in np.flatnonzero(rng.random(users) < 0.8).tolist():
                kind = int(rng.integers(0, 6 if t < 12 else 3))
                said = {
                    "stream": "one" if u % 3 else "second",
                    "user": f"u-{u}",
                    "time": START_MS + t * MINUTE_MS + int(rng.integers(0, MINUTE_MS)),
                    "value": [*SCREENS, "elsewhere", "home"][kind],
                }
                file.write(orjson.dumps(said) + b"\n")
    numbers = np.minimum(rng.gamma(2, 6 + np.arange(periods)[:, None] / 4, (periods, users)), 120)
    np.save(folder / NUMBERS, np.where(rng.random((periods, users)) < 0.25, np.nan, numbers))


def short(path: Path) -> None:
    """Texts of fewer users and periods, of two streams each; some users say two things in a period."""
    rng = np.random.default_rng(15)
    with path.open("wb") as file:
        for t in range(14):
            for u in np.flatnonzero(rng.random(500) < 0.9).tolist():
                for said in rng.integers(0, 4 if t < 7 else 2, 1 + (u % 5 == 0)).tolist():
                    at = START_MS + t * MINUTE_MS + int(rng.integers(0, MINUTE_MS))
                    for stream in ("one", "second"):
                        event = {"stream": stream, "user": f"u-{u}", "time": at, "value": SCREENS[said]}
                        file.write(orjson.dumps(event) + b"\n")


def replayed(name: str, folder: Path) -> list[bytes]:
    """The releases of a case, whose sources are in the folder."""
    privacy, streams, source = CASES[name]
    window = "" if "window" in privacy else 'window = "4m"\n'
    if source == TEXTS and "[streams.second]" not in streams:
        streams += "[streams.second]\n" + SCREEN + 'method = "lpu"\nshare = 0.3\n'
        streams = streams.replace(SCREEN, SCREEN + "share = 0.7\n", 1)
    population = "users = 500\n" if source == SHORT else ""
    return _released(privacy, window, streams, _place(source, folder), folder, population)


def _place(source: str, folder: Path) -> str:
    return source if source.startswith("synthetic:") else str(folder / source)


def replayed_text(stream: str, *, users: int) -> list[bytes]:
    """The releases of a stream of two values, whose table this is, over six periods of so many users."""
    with tempfile.TemporaryDirectory() as folder:
        source = f"synthetic:lns,n={users},periods=6,seed=3"
        return _released("", 'window = "4m"\n', stream, source, Path(folder), population=f"users = {users}\n")


def _released(privacy: str, window: str, streams: str, source: str, folder: Path, population: str = "") -> list[bytes]:
    text = f'schema = 1\nname = "recorded"\n[privacy]\nepsilon = 4.0\n{window}min_batch = 20\n{privacy}\n'
    text += f"[population]\npartitions = 2\n{population}[streams.one]\n{streams}"
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()}.toml"
    file.write_text(text, encoding="utf-8")
    plan = planned(load(file))
    outcome = Replay(plan, open_source(source, plan, None), keys(known_secrets(plan.name), plan.name)).run()
    if outcome.over_budget or not outcome.releases:
        raise AssertionError(f"{text}: {outcome.over_budget} over budget, {len(outcome.releases)} releases")
    return outcome.releases


def digests() -> Iterator[tuple[str, dict[str, str]]]:
    """Of every case."""
    with tempfile.TemporaryDirectory() as folder:
        sources(Path(folder))
        for name in CASES:
            yield name, digest(replayed(name, Path(folder)))


def digest(releases: list[bytes]) -> dict[str, str]:
    """What the record holds of these releases."""
    whole = b"".join(record + b"\n" for record in releases)
    measured = b"".join(_measured(orjson.loads(record)) + b"\n" for record in releases)
    return {
        "releases": hashlib.sha256(whole).hexdigest(),
        "measured": hashlib.sha256(measured).hexdigest(),
    }


def _measured(release: dict[str, Any]) -> bytes:
    kept = ("stream", "t", "revision", "measured_t", "reports", "mechanism", "unbiased")
    told = {key: release.get(key) for key in kept}
    if told["measured_t"] is None:
        told["unbiased"] = None  # nothing was measured
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)


def main() -> None:
    """Write the record, and say what is new in it."""
    before = orjson.loads(RECORD.read_bytes()) if RECORD.exists() else {}
    found = dict(digests())
    for name, told in found.items():
        differs = [part for part, value in told.items() if before.get(name, {}).get(part) != value]
        sys.stdout.write(f"{name}: {', '.join(differs) + ' differ' if differs else 'as before'}\n")
    RECORD.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
