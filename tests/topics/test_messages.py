# SPDX-License-Identifier: Apache-2.0
import json
import re
from typing import Any

import pytest

from murmurate.topics import Release, Round, decode, encode
from murmurate.topics.block import COUNTS_PER_BLOCK
from murmurate.topics.errors import MessageError
from murmurate.topics.messages import MAX_CELLS, MESSAGE_CELLS
from tests.cases import every
from tests.topics.samples import MESSAGES, RELEASES, ROUND, put, tables

BY_NAME = {message.tag.split("/")[1]: message for message in MESSAGES[::-1]}


def refusal(name: str, **changes: object) -> str:
    with pytest.raises(MessageError) as caught:
        decode(json.dumps({**tables(BY_NAME[name]), **changes}).encode())
    return str(caught.value)


# ---- rounds ----


def test_a_round_is_named_by_everything_it_asks() -> None:
    table = tables(ROUND)
    others = {
        "stream": "fare", "t": 1, "slots": {"of": 64, "asked": "all"}, "purpose": "dissimilarity", "contributors": 9,
        "targets": 5, "patience_ms": 1, "config": "0" * 16, "revision": 2, "mechanism": {"name": "oue", "d": 8},
    }  # fmt: skip
    assert set(others) == set(Round.model_fields)
    digests = {ROUND.digest}
    for key, value in others.items():
        changed = decode(json.dumps({**table, key: value}).encode())
        assert isinstance(changed, Round)
        digests.add(changed.digest)
    assert len(digests) == len(others) + 1


def test_a_changed_copy_of_a_round_has_a_digest_of_its_own() -> None:
    before = ROUND.digest
    changed = ROUND.model_copy(update={"t": ROUND.t + 1})
    assert changed.digest != before
    assert changed.digest == decode(encode(changed)).digest  # type: ignore[attr-defined]
    assert len({ROUND, changed}) == 2


def test_a_round_keeps_its_name_on_the_way() -> None:
    sent = decode(json.dumps(tables(ROUND), indent=1).encode())
    assert isinstance(sent, Round)
    assert sent.digest == ROUND.digest
    assert len(ROUND.digest) == 32


def test_a_round_holds_no_instant_and_no_host() -> None:
    assert not {
        name for name in Round.model_fields if re.search("time|date|instant|start|end|deadline|host|broker|topic", name)
    }


@every(
    "spec", [{"d": 7}, {}, {"name": "oue", "p": 0.5}, {"name": 7}, {"name": "oue", "D": 7}, {"name": "oue", "d": True}]
)
def test_a_mechanism_is_a_flat_table_of_words_and_whole_numbers(spec: dict[str, object]) -> None:
    assert "mechanism" in refusal("round", mechanism=spec)


def test_a_mechanism_cannot_be_changed_in_a_round() -> None:
    with pytest.raises(TypeError):
        ROUND.mechanism["d"] = 3  # type: ignore[index]


def test_a_close_names_rising_contributors() -> None:
    assert "rising" in refusal("close", contributors=[3, 2])
    assert "rising" in refusal("close", contributors=[2, 2])
    assert "contributors.0" in refusal("close", contributors=[-1])


# ---- counts ----


def test_a_contributor_sends_a_part_of_its_whole() -> None:
    assert "sent above total" in refusal("done", sent=5, total=4)


@every("name", ["seal", "tally"])
def test_every_report_that_was_received_is_counted_or_rejected_once(name: str) -> None:
    assert "every report once" in refusal(name, received=10**6)


def test_a_tally_is_of_one_target_and_has_as_many_counts_as_fit() -> None:
    assert "targets" in refusal("tally", q=4, targets=4)
    assert "counts" in refusal("tally", counts=[0] * (MESSAGE_CELLS + 1))
    assert "counts" in refusal("tally", counts=[])


def test_a_tally_in_blocks_announces_each_block_of_more_counts_than_a_message_holds() -> None:
    name = "tally_in_blocks"
    assert "found 2 blocks; allowed: 1 for 65528 counts" in refusal(name, cells=COUNTS_PER_BLOCK)
    assert "found 2 blocks; allowed: 3 for 131072 counts" in refusal(name, cells=1 << 17)
    assert "found a block twice" in refusal(name, blocks=["a" * 64] * 2)
    assert "cells" in refusal(name, cells=MESSAGE_CELLS)
    assert "cells" in refusal(name, cells=MAX_CELLS + 1)
    assert "blocks.0" in refusal(name, blocks=["no digest", "0" * 64])
    assert "targets" in refusal(name, q=4, targets=4)


def test_that_a_round_was_undersized_is_written_only_where_it_was() -> None:
    assert tables(BY_NAME["tally"])["rejected"] == {"malformed": 0, "undersized": True}
    assert tables(BY_NAME["seal"])["rejected"] == {"malformed": 3}


@every("name", ["seal", "tally"])
@every("undersized", [900, 0, 1, "true", None])
def test_of_an_undersized_round_nobody_says_how_many_came(name: str, undersized: object) -> None:
    assert "rejected.undersized" in refusal(name, rejected={"malformed": 0, "undersized": undersized})
    small = {"rejected": {"malformed": 0, "undersized": True}}
    assert "undersized sub-batch; allowed: none" in refusal(name, **small, received=4, counted=4)
    ill = {"rejected": {"malformed": 4, "undersized": True}}
    assert "undersized sub-batch; allowed: none" in refusal(name, **ill, received=4, counted=0)


# ---- releases ----


@every("record", RELEASES)
def test_a_release_of_the_design_is_read_and_written_as_it_stands(record: bytes) -> None:
    release = decode(record)
    assert isinstance(release, Release)
    assert json.loads(encode(release)) == json.loads(record)


def test_shuffled_is_null_where_nothing_is_claimed() -> None:
    release = tables(decode(RELEASES[1]))
    assert release["privacy"]["shuffled"] is None
    with pytest.raises(MessageError, match=r"privacy\.shuffled: found nothing"):
        decode(
            json.dumps(
                put(release, ("privacy",), {k: v for k, v in release["privacy"].items() if k != "shuffled"})
            ).encode()
        )


def test_statistics_are_rounded_to_six_places() -> None:
    table = put(tables(BY_NAME["release"]), ("stderr", "home"), 0.0138381)
    with pytest.raises(MessageError, match="stderr: found a number with more places; allowed: rounded to 6"):
        decode(json.dumps(table).encode())


def test_each_statistic_has_an_error() -> None:
    assert "the same names" in refusal("release", stderr={"home": 0.1})


def test_a_release_speaks_of_its_period_or_one_before() -> None:
    table = tables(BY_NAME["release"])
    assert "at most t" in refusal("release", measured_t=table["t"] + 1)


def unmeasured(table: dict[str, Any], **changes: object) -> bytes:
    nulls = {key: dict.fromkeys(table["estimate"]) for key in ("estimate", "stderr", "unbiased")}
    return json.dumps({**table, **nulls, "decision": "unmeasured", "measured_t": None, **changes}).encode()


@every("record", RELEASES)
def test_before_the_first_answer_every_name_stands_with_null_and_nothing_else_may(record: bytes) -> None:
    table = json.loads(record)
    found = decode(unmeasured(table))
    assert isinstance(found, Release)
    assert json.loads(encode(found)) == json.loads(unmeasured(table))
    names = list(table["estimate"])
    some = dict.fromkeys(names) | {names[0]: 0.0}
    sides = {names[0]: {"threshold": 0.3, "side": "below", "confidence": 0.5}}
    for wrong in (
        {"decision": "approximated"}, {"decision": "published"}, {"measured_t": table["t"]}, {"estimate": some},
        {"estimate": some, "stderr": some}, {"unbiased": some}, {"thresholds": sides},
        {"estimate": table["estimate"], "stderr": table["stderr"]}, {"unbiased": table["unbiased"]},
    ):  # fmt: skip
        with pytest.raises(MessageError, match=r"found .*; allowed: "):
            decode(unmeasured(table, **wrong))


def test_what_is_known_before_the_first_publication_is_an_estimate_without_unbiased_figures() -> None:
    table = json.loads(RELEASES[0]) | {"decision": "approximated", "measured_t": None}
    found = decode(json.dumps(table | {"unbiased": dict.fromkeys(table["unbiased"])}).encode())
    assert isinstance(found, Release)
    with pytest.raises(MessageError, match="measured_t or unbiased without the other"):
        decode(json.dumps(table).encode())


def test_of_what_was_measured_a_statistic_alone_may_be_null_with_its_error_and_without_a_threshold() -> None:
    fare = json.loads(RELEASES[1])
    nobody: dict[str, Any] = {key: fare[key] | {"mean": None} for key in ("estimate", "stderr", "unbiased")}
    assert isinstance(decode(json.dumps(fare | nobody).encode()), Release)
    assert isinstance(decode(json.dumps(fare | {"unbiased": nobody["unbiased"]}).encode()), Release)
    held = {"mean": {"threshold": 12.5, "side": "below", "confidence": 0.8}}
    for wrong in (
        fare | {"estimate": nobody["estimate"]}, fare | {"stderr": nobody["stderr"]},
        fare | nobody | {"thresholds": held},
    ):  # fmt: skip
        with pytest.raises(MessageError, match=r"found .*null|found .*not known|found an estimate"):
            decode(json.dumps(wrong).encode())


@every(
    ("path", "value"),
    [
        (("privacy", "window"), "1 hour"), (("privacy", "epsilon"), 0), (("privacy", "epsilon"), -1.0),
        (("start",), "today"),
        (("privacy", "shuffled", "delta"), 1), (("range",), [3, 3]), (("range",), [1, 2, 3]),
        (("reports", "received"), 1),
        (("mechanism", "digest"), "short"), (("mechanism", "name"), 3), (("method",), {}), (("decision",), "guessed"),
        (("deployment",), "Shop"), (("estimate",), {}),
    ],
)  # fmt: skip
def test_a_release_that_says_less_or_else_is_refused(path: tuple[str, ...], value: object) -> None:
    with pytest.raises(MessageError, match=path[0] if path[0] not in ("range", "reports") else "release"):
        decode(json.dumps(put(tables(BY_NAME["release"]), path, value)).encode())


def test_the_model_and_the_error_of_unbiased_come_together_with_the_names_and_nulls_of_unbiased() -> None:
    fare = json.loads(RELEASES[1])
    stated = fare | {"model": "local", "stderr_unbiased": {"mean": 2.5, "present": 0.02}}
    found = decode(json.dumps(stated).encode())
    assert isinstance(found, Release)
    assert json.loads(encode(found))["stderr_unbiased"] == stated["stderr_unbiased"]
    null = {"unbiased": {"mean": None, "present": 0.3}, "stderr_unbiased": {"mean": None, "present": 0.02}}
    assert isinstance(decode(json.dumps(stated | null).encode()), Release)
    for wrong in (
        fare | {"model": "local"}, fare | {"stderr_unbiased": stated["stderr_unbiased"]},
        stated | {"model": "shuffled"}, stated | {"stderr_unbiased": {"mean": 2.5}},
        stated | {"stderr_unbiased": null["stderr_unbiased"]},
        stated | {"stderr_unbiased": {"mean": 2.5, "present": 0.0200001}},
        stated | {"stderr_unbiased": {"mean": 2.5, "present": 0.02, "none": None}},
    ):  # fmt: skip
        with pytest.raises(MessageError, match=r"model|stderr_unbiased"):
            decode(json.dumps(wrong).encode())


def test_a_window_may_be_a_number_of_periods() -> None:
    release = decode(json.dumps(put(tables(BY_NAME["release"]), ("privacy", "window"), {"periods": 20})).encode())
    assert json.loads(encode(release))["privacy"]["window"] == {"periods": 20}
