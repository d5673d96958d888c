# SPDX-License-Identifier: Apache-2.0
"""From a checked Deployment to the Plan that stages consume: w, slots, limits, and a digest of what releases mean.

Contract: two deployments that promise the same give equal plans; a stream's `config` changes with anything that
changes what its releases mean.  Not in it, since it changes how releases come and not what they say: Kafka, secrets,
the page, partitions, lateness, future, patience, min_batch, delta, assumed_corrupt; nor what a reader may change for
himself, thresholds and post; nor what releases hold for queries.  Not here: words (explain.py), central streams, whose
`config` has more in it (planning_central.py).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.aggregators.accounting.claim import MixedClaim
from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.aggregators.accounting.fakes import FakesClaim
from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.aggregators.accounting.worst import worst_window
from murmurate.aggregators.batches import worth_asking
from murmurate.aggregators.faked_questions import question_with_fakes
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import kind_of, method
from murmurate.aggregators.postprocess.selection import POSSIBLE, Selection, among, by_shape
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping, context_of
from murmurate.config.measures.stream import StreamTable
from murmurate.config.mixed import mixed
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning_central import digest_of, source_of
from murmurate.config.settings import Deployment
from murmurate.config.until import HeldUntil
from murmurate.randomizers import Faked, Question
from murmurate.randomizers.fakes import fakes_variance
from murmurate.randomizers.terms import MAX_SLOTS
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.events import Fields

MOST_TARGETS: Final = 8
"""The most partitions of reports where the file does not say how many: batches stay large, and a mixing zone has no
more instances.
"""
TALLIES: Final = 1
"""The partitions of tallies and releases: a tally is small, and one publish instance keeps up with all streams."""
FEWEST_SLOTS: Final = 4096
FILTERED: Final = 4
"""Rounds' worth of reports that estimates of the filter are taken to rest on, where post = "auto" is decided."""


def plan(deployment: Deployment) -> Plan:
    """What the stages need to know. Streams stand in the order of their names."""
    privacy, population, time = deployment.privacy, deployment.population, deployment.time
    made = Plan(
        name=deployment.name,
        epsilon_micro=privacy.epsilon_micro,
        split=privacy.split,
        window_ms=privacy.window.ms,
        delta=privacy.delta,
        min_batch=privacy.min_batch,
        assumed_corrupt=privacy.assumed_corrupt,
        partitions=population.partitions,
        targets=deployment.kafka.targets or min(population.partitions, MOST_TARGETS),
        enrol=population.enrol,
        forget_after_ms=population.forget_after,
        lateness_ms=time.lateness,
        future_ms=time.future,
        patience_ms=time.patience,
        skew_ms=time.skew_ms,
        streams=tuple(_stream(deployment, name) for name in sorted(deployment.local)),
        mixed=None if privacy.mixed is None else privacy.mixed.epsilon,
        fakes=privacy.fakes if deployment.local else 0,
        tallies=TALLIES,
        users=population.users,
        central=tuple(deployment.central_plan(name) for name in sorted(deployment.central)),
        latest=deployment.releases.latest,
        until=None if (u := deployment.until) is None else HeldUntil(u.time, u.min_batch, u.future, u.patience),
    )
    made.terms({})  # they cannot be built if they could spend more than epsilon
    made = replace(made, streams=tuple(_at_target(made, one) for one in made.streams))
    return replace(made, streams=tuple(replace(one, post=_post(deployment, made, one)) for one in made.streams))


def default_slots(w: int) -> int:
    """S: the smallest multiple of 2 w that is at least 32 w and at least 4 096, or the largest up to 65 536.

    A multiple of 2 w, because a method's unit is S / 2w slots and a rest would never be asked. 32 w gives a unit of 16
    slots (ARCHITECTURE section 5.6); 4 096 keeps the sizes of units even where w is small. A bitmap of 65 536 slots
    is the largest that a round carries.

    >>> default_slots(61), default_slots(20), default_slots(5_000)
    (4148, 4120, 60000)
    """
    step = 2 * w
    return min(-(-max(32 * w, FEWEST_SLOTS) // step) * step, MAX_SLOTS // step * step)


def answer_micro(made: Plan, name: str) -> int:
    """What its smallest answer spends, in micro-nats: all under population division; a w-th under lbu."""
    stream = made.stream(name)
    limit = made.spent_micro(name)
    if stream.division == "population":
        return limit
    return int(limit * kind_of(stream.method.name).smallest(stream.w, stream.method))


def resolve(made: Plan, name: str) -> Question:
    """The question that an answer of this stream uses, at the epsilon that it really spends."""
    stream = made.stream(name)
    if issubclass(kind_of(stream.method.name), HorizonMethod | FindingMethod):
        method(stream.method, stream.setting(made, 0))  # whose filter may have a mistake of its own
        return kind_of(stream.method.name)(stream.setting(made, 0), **stream.method.own).standing.mechanism
    epsilon = Fraction(answer_micro(made, name), MICRO)
    name = stream.mechanism if stream.mixed is None else stream.mixed.mechanism
    return question_with_fakes(stream.measure, name, epsilon, stream.prefer, made.fakes, worth_asking(made.min_batch))


def smallest_claim(made: Plan, stream: StreamPlan) -> MixedClaim | FakesClaim:
    """What a window of rounds is claimed to have if each of them is a smallest batch."""
    if stream.mixed is not None:
        return stream.mixed.claim
    if made.fakes:
        window, most = _smallest_window(made, stream)
        found = window.claim(0, most)
        assert isinstance(found, MixedClaim | FakesClaim)  # noqa: S101 - of frequencies it is always claimed
        return found
    most = method(stream.method, stream.setting(made, 0)).most_rounds()
    try:
        return worst_window(most, made.min_batch, made.delta, made.assumed_corrupt)
    except AccountingError:  # a report of so small a batch has nobody to hide it
        return MixedClaim(most.total / MICRO, 0.0, "local", 1)


def claim_alone(made: Plan, stream: StreamPlan) -> FakesClaim | None:
    """What such a window has against whoever knows all other users' reports; None without fakes."""
    window, most = _smallest_window(made, stream)
    return window.against_users(0, most)


def _smallest_window(made: Plan, stream: StreamPlan) -> tuple[MixedWindow, WindowRounds]:
    """A window whose smallest round is a smallest batch, and all that may be asked in it."""
    window = MixedWindow(stream.w, stream.division, made.delta, made.assumed_corrupt)
    window.take(0, resolve(made, stream.name), made.min_batch)
    return window, method(stream.method, stream.setting(made, 0)).most_rounds()


def chosen_post(made: Plan, name: str, users: int, shares: np.ndarray | None = None) -> Selection:
    """What post = "auto" means for so many users: a function of the file alone, never of what is released.

    A round has the users that the method usually asks; the filter is taken to know as much as FILTERED of them.
    shares: a truth to choose for, float64[d], where there is a recording; post = "auto" knows none.
    """
    stream = made.stream(name)
    used = resolve(made, name)
    share = Fraction(1) if made.split == "budget" else Fraction(stream.share_micro, MICRO)
    part = kind_of(stream.method.name).usual(stream.w) if stream.division == "population" else Fraction(1)
    rounds = FILTERED if stream.method.filtered else 1
    n = max(1, int(users * share * part) * rounds)
    noise = float(used.noise(np.zeros(stream.d))[0]) / n
    if isinstance(used, Faked):  # each of the rounds has its own
        noise += fakes_variance(used.inner, n, used.fakes * rounds)
    plain = np.full(stream.d, noise)
    context = context_of(used, plain)
    return by_shape(context) if shares is None else among([shares], context, POSSIBLE)


def _stream(deployment: Deployment, name: str) -> StreamPlan:
    stream = deployment.local[name]
    w = deployment.w(stream)
    topic, fields = source_of(deployment.name, stream)
    slots = stream.slots or default_slots(w)
    return StreamPlan(
        name=name,
        measure=stream.statistic(),
        every_ms=stream.every,
        w=w,
        share_micro=stream.share_micro,
        slots=slots,
        method=_method(deployment, stream),
        mechanism=stream.mechanism,
        several=stream.several,
        carry_ms=stream.missing.carry_ms,
        topic=topic,
        fields=fields,
        config=digest_of(_meaning(deployment, name, stream, slots, topic, fields)),
        prefer=stream.preference,
        season=None if stream.season is None else stream.season // stream.every,
        thresholds=stream.thresholds,
        initial=stream.initial_code,
        stated_model=stream.stated_model or (stream.of_model if deployment.releases.queries else None),
    )


def _method(deployment: Deployment, stream: StreamTable) -> MethodOptions:
    """The stream's method. One that deals users to levels takes the number that the file expects."""
    options, users = stream.method_options(), deployment.population.users
    if users is None or "users" not in kind_of(options.name).takes():
        return options
    mine = users if deployment.privacy.split == "budget" else users * stream.share_micro // MICRO
    return replace(options, users=str(mine))


def _at_target(made: Plan, stream: StreamPlan) -> StreamPlan:
    """The stream as a central target makes it: its digest has the question that devices are asked."""
    found = mixed(made, stream)
    if found is None:
        return stream
    digest = digest_of({"schema": "murmurate/mixed/1", "stream": stream.config, "question": found.question})
    return replace(stream, mixed=found, config=digest)


def _post(deployment: Deployment, made: Plan, stream: StreamPlan) -> Shaping:
    said = deployment.local[stream.name].shaping()
    if said is None:
        return NORM_SUB
    if said.name == AUTO:
        return Shaping(chosen_post(made, stream.name, made.users or 1).name)
    return Shaping(said.name, said.k, said.alpha)


def _meaning(
    deployment: Deployment, name: str, stream: StreamTable, slots: int, topic: str, fields: Fields
) -> dict[str, Any]:
    """Everything that gives a stream's releases their meaning, in whole numbers and words, defaults written out."""
    privacy, population = deployment.privacy, deployment.population
    limit = privacy.epsilon_micro
    return {
        "schema": "murmurate/stream/1",
        "name": name,
        "measure": stream.measured.name,
        **stream.meaning(),
        "every_ms": stream.every,
        "several": stream.several,
        "carry_ms": stream.missing.carry_ms,
        "source": {"topic": topic, **asdict(fields)},
        "population": {"enrol": population.enrol, "forget_after_ms": population.forget_after},
        "epsilon_micro": limit if privacy.split == "users" else limit * stream.share_micro // MICRO,
        "window": {"ms": privacy.window.ms, "w": deployment.w(stream)},
        "split": privacy.split,
        "share_micro": stream.share_micro,
        "slots": slots,
        "method": _method(deployment, stream).described(),
        "mechanism": stream.mechanism,
        **({} if stream.preference == "accuracy" else {"prefer": stream.preference}),
        **({} if stream.season is None else {"season_ms": stream.season}),
        **({"fakes": privacy.fakes} if privacy.fakes else {}),
        **({"initial": stream.initial_code} if stream.initial_code else {}),
    }
