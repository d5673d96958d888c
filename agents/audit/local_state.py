# SPDX-License-Identifier: Apache-2.0
"""What an audit of local streams has to remember, as one nested value for a checkpoint, and back.

Contract: an audit that goes on from its state finds what one finds that never stopped.  What follows from other parts
is made anew: questions from their rounds.  Not here: bytes (packed.py), files (checkpoint.py).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurate.agents.audit.answers import ContributorAnswer
from murmurate.agents.audit.asked import AskedRound, unpacked
from murmurate.agents.audit.expected import ExpectedReports
from murmurate.agents.audit.findings import Audit
from murmurate.randomizers import question as built
from murmurate.randomizers.errors import ParameterError
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import Round

if TYPE_CHECKING:
    from murmurate.agents.audit.local_audit import LocalAudit


def state_of(audit: LocalAudit) -> dict[str, Any]:
    """Everything that it knows."""
    return {
        "slots": {name: one.state() for name, one in audit.slots.items()},
        "people": {at: one.state() for at, one in audit.people.items()},
        "transcripts": {at: one.state() for at, one in audit.transcripts.items()},
        "asked": [
            (one.number, encode(one.round), np.packbits(one.allowed), np.packbits(one.refused), one.known, one.silent)
            for one in audit.asked.values()
        ],
        "answers": {at: _state_of_answer(one) for at, one in audit.answers.items()},
        "mixed": audit.mixed.state(),
        "touched": list(audit.touched),
        "before": vars(audit.before),
        "since": audit.known.since,
        "begun": audit.known.begun,
        "skipped": audit.known.skipped,
    }


def load_state(audit: LocalAudit, state: dict[str, Any]) -> None:
    """Make a new audit what the other one was."""
    for name, one in state["slots"].items():
        audit.slots[name].load(one)
    for at, one in state["people"].items():
        audit.people[at].load(one)
    for at, one in state["transcripts"].items():
        audit.transcripts[at].load(one)
    for number, record, allowed, refused, *flags in state["asked"]:
        asked = _asked(audit, number, record, allowed, refused, *flags)
        audit.asked[asked.digest] = asked
        audit.of_period[asked.round.stream][asked.round.t].append(asked.digest)
    audit.answers = {at: _answer_of(one) for at, one in state["answers"].items()}
    audit.mixed.load(state["mixed"])
    audit.touched = set(state["touched"])
    audit.before = Audit(**state["before"])
    audit.known.begun = state["begun"]
    audit.known.since, audit.known.skipped = state["since"], state["skipped"]


def _asked(
    audit: LocalAudit, number: int, record: bytes, allowed: Any, refused: Any, known: bool, silent: bool
) -> AskedRound:
    round_ = decode(record)
    assert isinstance(round_, Round)  # noqa: S101 - what `state_of` wrote
    size = audit.plan.stream(round_.stream).slots
    question = None
    try:
        if not silent:
            question = built(round_.mechanism).of_round(round_.digest)
    except ParameterError:
        pass
    targets = min(round_.targets, audit.plan.targets)
    return AskedRound(
        number, round_, question, unpacked(allowed, size), unpacked(refused, size), targets, known, silent
    )


def _state_of_answer(answer: ContributorAnswer) -> dict[str, Any]:
    return vars(answer) | {
        "told": answer.told and tuple(answer.told),
        "verdict": dict(answer.verdict),
        "tried": dict(answer.tried),
    }


def _answer_of(state: dict[str, Any]) -> ContributorAnswer:
    told: Any = state["told"] and ExpectedReports(*state["told"])
    verdicts: dict[str, Any] = {name: Counter(state[name]) for name in ("verdict", "tried")}
    return ContributorAnswer(**(state | {"told": told} | verdicts))
