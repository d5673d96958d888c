# SPDX-License-Identifier: Apache-2.0
"""What other packages add, tried out: reports are measured, methods asked period by period, measures replayed.

Contract: each function gives what is wrong, or None; `shown_by` says beside it what was compared.  A method must never
ask anybody for more than epsilon in a window, end every period, and go on from its own state as if nothing had
happened.  A measure's example is replayed through every stage, and its releases are compared with the truth.  Not here:
what is checked before a package may be used at all (config/plugin_checks.py), the verb (cli/audit_plugins.py).
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from murmurate.agents.embedded.runtime import Keys
from murmurate.agents.replay.run import Outcome, Replay
from murmurate.agents.replay.sources import open_source
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.config import samples
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.config.plugin_checks import examples_of
from murmurate.randomizers import GRR, Key
from murmurate.randomizers.audit import measure, trials_for
from murmurate.randomizers.question import Question
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.viewed import Viewed

ALPHA: Final = 1e-6
EXCESS: Final = 0.1
"""The part above the claim that a measurement sees."""
MOST_TRIALS: Final = 2_000_000
PERIODS: Final = 48
USERS: Final = 4_096
FAR: Final = 6.0
"""The number of standard errors that an unbiased figure may lie from the truth."""
_W, _EPSILON, _SLOTS, _D = 8, 1_000_000, 512, 4
_EXAMPLE: Final = "seen"


def measured(kind: type[Any], key: Key) -> tuple[str | None, str]:
    """Whether reports that are really sent show more than the claim, of one example of a question (the one with
    the largest epsilon, which takes the fewest users) or view.
    """
    one = max(examples_of(kind), key=lambda made: getattr(made, "epsilon_micro", 0))
    question: Question = one if isinstance(one, Question) else Viewed(one, GRR(d=one.d, epsilon=1.0))
    trials = min(MOST_TRIALS, trials_for(question, EXCESS, alpha=ALPHA))
    found = measure(question, key, trials=trials, alpha=ALPHA)
    said = f"{question!r}: claimed {found.claimed:.3f}, measured at least {found.at_least:.3f} from {trials} users"
    return (None if found.holds else f"sends reports that show epsilon {found.at_least:.3f} at least", said)


def asked(name: str) -> tuple[str | None, str]:
    """Whether a method keeps the promise over PERIODS, and the contract of its state. 1. a period is opened, answered
    until it is decided, with the state loaded into a new instance at every turn; 2. what each user spent is added up in
    every window.
    """
    setting = Setting(
        Frequency.of_size(_D), epsilon_micro=_EPSILON, w=_W, slots=_SLOTS, first_t=1, seed=bytes(32), min_batch=8
    )
    options = MethodOptions(name, filter="off")
    one, other = method(options, setting), method(options, setting)
    said = f"{PERIODS} periods of {USERS} users, w = {_W}"
    spent = np.zeros((PERIODS + 1, USERS), np.int64)
    for t in range(1, PERIODS + 1):
        foretold = one.later(t)
        first, second = one.open(t), other.open(t)
        if foretold is not None and _same(foretold, first) is not None:
            return f"asks otherwise than it said before (`later`) (period {t})", said
        for turn in range(PERIODS):
            if (fault := _same(first, second)) is not None:
                return f"{fault} (period {t})", said
            if isinstance(first, Decision):
                break
            reply, who = _answer(first, t, turn)
            spent[t, who] += first.question.epsilon_micro
            restored = method(options, setting)
            restored.load(other.state())
            other = restored
            first, second = one.tally(reply), other.tally(reply)
        if not isinstance(first, Decision) or first.t != t:
            return f"does not end period {t}", said
        if (fault := _finite(first)) is not None:
            return f"{fault} (period {t})", said
        window = int(spent[max(0, t - _W + 1) : t + 1].sum(axis=0).max())
        if window > _EPSILON:
            return f"asks users for {window / 1e6:g} of epsilon {_EPSILON / 1e6:g} in the window up to period {t}", said
    return None, said


def _answer(request: Request, t: int, turn: int) -> tuple[Answer, np.ndarray]:
    """What the users of the asked slots answer, and who they are."""
    users = np.arange(USERS)
    who = users if request.asked is None else users[np.asarray(request.asked)[users % _SLOTS]]
    values = (who + t // 8) % (_D - 1)
    key = Key(hashlib.sha256(b"murmurate asked").digest(), deployment="asked")
    draw = key.draw(contexts(who, 2), round=b"%31d" % (t * 1_000 + turn) + b"!")
    support = request.question.support(request.question.perturb(values, draw))
    return Answer(support, len(who)), who


def _same(one: Request | Decision, other: Request | Decision) -> str | None:
    said = "goes on in another way from its own state"
    if isinstance(one, Request) and isinstance(other, Request):
        everybody = one.asked is None and other.asked is None
        alike = everybody or np.array_equal(np.asarray(one.asked), np.asarray(other.asked))
        return None if alike and one.question == other.question and one.purpose == other.purpose else said
    if isinstance(one, Decision) and isinstance(other, Decision):
        alike = np.array_equal(one.vector.unbiased, other.vector.unbiased, equal_nan=True)
        return None if alike and one.published == other.published else said
    return said


def _finite(decision: Decision) -> str | None:
    told = decision.vector
    if decision.measured_t is None:
        return None
    if not np.isfinite(told.unbiased).all():
        return "releases numbers that are not finite"
    return None if (told.variance >= 0).all() else "releases negative variances"


def replayed(table: type[Any], keys: Keys) -> tuple[str | None, str]:
    """Whether releases of a measure's first example hold what its truth has, through every stage."""
    if not hasattr(table, "examples"):
        return "has no `examples`: a class method that gives keys of a stream's table", "nothing was replayed"
    stream: Mapping[str, Any] = next(iter(table.examples()))
    made = planned(build({
        "name": _EXAMPLE, "privacy": {"epsilon": 4.0, "window": "4m", "min_batch": 20},
        "kafka": {"brokers": ["localhost:9092"]}, "streams": {_EXAMPLE: {"every": "1m", **stream}},
    }))  # fmt: skip
    outcome = _replay(made, keys)
    said = f"{len(outcome.releases)} releases of its example, compared with the truth"
    if outcome.over_budget:
        return f"has {outcome.over_budget} reports over budget", said
    truths = {
        period.t: period.record(made.any_stream(_EXAMPLE).measure.true_names)["truth"] for period in outcome.truth
    }
    far = figures = 0
    for release in map(orjson.loads, outcome.releases):
        truth = truths.get(release["t"])
        if release["decision"] != "published" or not isinstance(truth, Mapping):
            continue
        for name, value in release["unbiased"].items():
            error = release.get("stderr_unbiased", release["stderr"]).get(name)
            if value is None or truth.get(name) is None or error is None:
                continue
            figures += 1
            far += abs(value - truth[name]) > FAR * error
    if not figures:
        return "has no release that could be compared with the truth", said
    if far > figures // 20:
        return f"has {far} of {figures} figures more than {FAR:g} standard errors from the truth", said
    return None, f"{said}: {figures} figures, {far} of them more than {FAR:g} standard errors off"


def _replay(made: Plan, keys: Keys) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_bytes(b"".join(samples.events(made)))
        return Replay(made, open_source(str(path), made), keys).run()


def fault_in(kind: str, found: type[Any], keys: Keys, key: Key) -> tuple[str | None, str]:
    """What a trial finds wrong with a class that is in use, or None; and what was compared."""
    if kind in ("mechanism", "view"):
        return measured(found, key)
    if kind == "method":
        assert issubclass(found, MethodBase)  # noqa: S101 - it is in the registry
        return asked(found.name)
    return replayed(found, keys)
