# SPDX-License-Identifier: Apache-2.0
"""What the noise of central streams is drawn under: every key of the file is in it, or no sum depends on that key."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from pydantic import BaseModel

from murmurate.agents.stages.curation import Curation
from murmurate.config.brokers import ClientProperties
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.config.settings import Deployment
from tests.agents.world import FIRST, KEYS

KEY: Final = KEYS.edge.devices.randomness
CENTRAL: Final = {"model": "central", "every": "10s", "share": 0.5, "protects": {"user": 4}}
TILL: Final[dict[str, Any]] = {
    "name": "till",
    "privacy": {"epsilon": 1.0, "window": "1d"},
    "curator": {"epsilon": 1.0, "window": "1d"},
    "kafka": {"password": {"env": "P"}},
    "secrets": {name: {"env": "S"} for name in ("pepper", "randomness", "slots", "split", "state", "shuffle")},
    "streams": {
        "revenue": {
            **CENTRAL, "measure": "total", "range": [0, 500], "step": 0.01, "unit": "EUR",
            "source": {"topic": "shop.sales"},
            "tree": {"fanout": 4, "levels": 4},
        },
        "visits": {**CENTRAL, "measure": "count", "values": ["web", "app"], "source": {"topic": "shop.visits"}},
    },
}  # fmt: skip

IN_IT: Final[dict[str, Any]] = {
    "name": "shop",
    "curator.epsilon": 2.0,
    "curator.window": "2d",
    "time.lateness": "11s",
    "time.clock": "feed",
    "time.future": "6m",
    "streams.*.measure": None,
    "streams.*.every": "20s",
    "streams.*.share": 0.25,
    "streams.*.protects": "event",
    "streams.*.source.topic": "shop.others",
    "streams.*.source.user": "/who",
    "streams.*.source.value": "/what",
    "streams.*.source.time": "/when",
    "streams.*.tree.fanout": 8,
    "streams.*.tree.levels": 3,
    "streams.*.tree.block": 1,
    "streams.*.tree.smoother": "mean",
    "streams.revenue.range": [0, 400],
    "streams.revenue.unit": "USD",
    "streams.revenue.step": 0.02,
    "streams.revenue.threshold": 100,
    "streams.revenue.holdout.periods": 61,
    "streams.revenue.holdout.events": 65_537,
    "streams.revenue.holdout.again": True,
    "streams.revenue.counts": True,
    "streams.visits.values": ["web", "app", "till"],
    "streams.visits.other": True,
}
"""Keys by which the digest changes, each with another value; `*` is each stream."""

NOT_IN_IT: Final[dict[str, tuple[Any, str]]] = {
    "schema": (None, "there is one"),
    "privacy.epsilon": (2.0, "of local streams"),
    "privacy.mixed": ({"epsilon": 0.5}, "of local streams"),
    "privacy.unprotected_locally": (None, "of local streams, some of which need it"),
    "privacy.window": ("2d", "of local streams"),
    "privacy.split": ("budget", "of local streams"),
    "privacy.delta": (1e-9, "of local streams"),
    "privacy.fakes": (5, "of local streams, whose reports are mixed"),
    "privacy.min_batch": (5, "of local streams, whose reports are counted"),
    "privacy.assumed_corrupt": (0.2, "of local streams"),
    "population.partitions": (3, "whatever partition sums an event, it is in the sum of all: test_central_exactness"),
    "population.enrol": (None, "of local streams, whose users are asked"),
    "population.forget_after": ("8d", "of local streams: when a user's events count is kept for curator.window"),
    "population.users": (77, "of local streams: what is planned for"),
    "time.skew": ("1m", "how far a worker's clock may be off: its ticks, not what they close"),
    "time.patience": ("1m", "of rounds: nobody is asked about a central stream, and no period is closed without all"),
    **{f"kafka.{name}": (other, "how records travel, not what they say") for name, other in {
        "brokers": ["other:9092"], "replication": 3, "targets": 2, "security": "ssl", "username": "anna",
        "password.file": None, "password.env": "Q", "ca_file": "ca.pem", "mechanism": "PLAIN", "token": None,
        "token_hook": None, "cert_file": None, "key_file": None, "key_password": None,
        **{f"client.{name}": None for name in ClientProperties.model_fields}, "client.client_id": "other",
    }.items()},
    **{f"secrets.{name}.{form}": (other, "a place; the noise is drawn from the key itself, whatever the digest is")
       for name in TILL["secrets"] for form, other in (("file", None), ("env", "T"))},
    "until": (None, "of local streams: what a central sum holds may not change, `future` neither"),
    "web.listen": ("127.0.0.1:1", "who shows releases"),
    "web.edge": ("127.0.0.1:2", "who shows counts of the edge"),
    "releases.queries": (True, "what local releases say beside their figures"),
    "releases.latest": (True, "where releases stand besides"),
    "streams.*.model": (None, "there is no other where the edge sums"),
    "streams.*.noise": (None, "there is one, and its rate is in the digest"),
    "streams.revenue.thresholds": ({"total": 9.0}, "compared with what is released"),
    "streams.visits.thresholds": ({"web": 3.0}, "compared with what is released"),
}  # fmt: skip
"""Keys on which no sum depends, each with another value, where there is one, and why."""


def keys(model: BaseModel, path: str = "") -> Iterator[str]:
    """Every key that a file could say, by the tables of this one."""
    for name, field in type(model).model_fields.items():
        value, here = getattr(model, name), f"{path}{field.alias or name}"
        if isinstance(value, BaseModel):
            yield from keys(value, f"{here}.")
        elif name == "streams":
            for stream, table in value.items():
                yield from keys(table, f"{here}.{stream}.")
        else:
            yield here


def changed(key: str, other: Any) -> Deployment:
    values = copy.deepcopy(TILL)
    *path, last = key.split(".")
    table = values
    for step in path:
        table = table.setdefault(step, {})
    table[last] = other
    if key == "kafka.security":
        table["ca_file"] = "ca.pem"
    return build(values)


def digests(deployment: Deployment, name: str) -> list[bytes]:
    """Under what the stream's noise is drawn: that of its first tree, and that of its first choice of a threshold."""
    made = plan(deployment)
    stream = next(one for one in made.central if one.name == name)
    one = Curation(made, stream, KEY)
    one.begin(FIRST)
    return [one._noise_digest(), one._digest("murmurate/threshold/1", {})]


def of_streams(key: str) -> list[tuple[str, str]]:
    """The key for each stream that it is of, with the stream; one of all is looked at in the first."""
    names = [key.split(".")[1]] if key.startswith("streams.") else ["revenue"]
    return [(key.replace("*", name), name) for name in (TILL["streams"] if names == ["*"] else names)]


def test_every_key_of_the_file_is_in_the_digest_or_among_those_on_which_no_sum_depends() -> None:
    known = [each for key in (*IN_IT, *NOT_IN_IT) for each, _ in of_streams(key)]
    assert sorted(known) == sorted(keys(build(TILL)))
    assert all(why for _, why in NOT_IN_IT.values())


@pytest.mark.parametrize("name", TILL["streams"])
def test_each_key_that_shapes_a_sum_gives_another_noise(name: str) -> None:
    usual, seen = digests(build(TILL), name), dict[str, bytes]()
    for key, other in IN_IT.items():
        for each, of in of_streams(key):
            if other is not None and (of == name or not key.startswith("streams.")):
                found = digests(changed(each, other), name)
                assert all(one != another for one, another in zip(found, usual, strict=True)), each
                seen[each] = found[0]
    assert len(set(seen.values())) == len(seen)  # and each another one
    measures = {name: digests(build(TILL), name)[0] for name in TILL["streams"]}
    assert len(set(measures.values())) == len(measures)


@pytest.mark.parametrize("name", TILL["streams"])
def test_no_other_key_changes_the_noise(name: str) -> None:
    usual = digests(build(TILL), name)
    for key, (other, _) in NOT_IN_IT.items():
        for each, of in of_streams(key):
            if other is not None and (of == name or not key.startswith("streams.")):
                assert digests(changed(each, other), name) == usual, each


def test_another_lateness_or_future_gives_other_noise_to_the_same_sums() -> None:
    def said(**times: str) -> object:
        made = plan(build({**copy.deepcopy(TILL), "time": times}))
        stream = next(one for one in made.central if one.name == "visits")
        one = Curation(made, stream, KEY)
        one.begin(FIRST)
        return [one.period(np.zeros(stream.measure.cells, np.int64)).sums for _ in range(8)]

    usual = said()
    assert usual == said(lateness="10s", future="5m")  # what holds without them
    assert usual != said(lateness="9s")
    assert usual != said(future="4m")
    assert said(lateness="9s") != said(future="4m")
