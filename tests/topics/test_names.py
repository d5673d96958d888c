# SPDX-License-Identifier: Apache-2.0
import hashlib

import pytest

from murmurate.topics.errors import TopicError
from murmurate.topics.names import (
    STAGES,
    TOPICS,
    ZONES,
    batch_partition,
    deployment_name,
    stream_hash,
    stream_id,
    stream_name,
    stream_partition,
    topic,
)


def test_a_topic_is_called_after_its_deployment() -> None:
    assert topic("shop", "raw") == "shop.raw"
    assert topic("a", "dead.mixing") == "a.dead.mixing"
    assert topic("x-9", "state.perturb") == "x-9.state.perturb"


def test_every_zone_has_dead_letters_and_every_stage_has_state() -> None:
    assert {f"dead.{zone}" for zone in ZONES} | {f"state.{stage}" for stage in STAGES} < TOPICS.keys()
    assert all(TOPICS[f"state.{stage}"].zone == zone for stage, zone in STAGES.items())


def test_the_control_log_has_one_order_and_keeps_a_window_and_a_horizon() -> None:
    rounds = TOPICS["rounds"]
    assert rounds.cleanup == "delete"
    assert rounds.partitions.startswith("1")
    assert rounds.retention.ms(window_ms=3_600_000, horizon_ms=7_200_000) == 10_800_000


def test_raw_rows_leave_the_edge_zone_by_no_topic() -> None:
    readers = {reader for row in TOPICS.values() if row.zone == "edge" for reader in row.readers}
    assert readers <= {"door", "perturb", "curate", "operator", "auditor"}


def test_only_releases_state_and_the_users_own_topic_have_a_key() -> None:
    keyed = {name for name, row in TOPICS.items() if row.key is not None}
    assert keyed == {"events", "releases", "releases.latest"} | {f"state.{stage}" for stage in STAGES}


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        TOPICS["raw"].zone = "mixing"  # type: ignore[misc]
    with pytest.raises(TypeError):
        TOPICS["mine"] = TOPICS["raw"]  # type: ignore[index]


def test_the_sub_batches_of_a_stream_spread_over_all_partitions() -> None:
    assert sorted(batch_partition("screen", q, 8) for q in range(8)) == list(range(8))
    assert batch_partition("screen", 3, 8) == (stream_hash("screen") + 3) % 8
    assert stream_partition("screen", 8) == batch_partition("screen", 0, 8)


def test_the_hash_of_a_stream_is_eight_bytes_of_sha_256() -> None:
    digest = hashlib.sha256(b"screen").digest()
    assert stream_id("screen") == digest
    assert stream_hash("screen") == int.from_bytes(digest[:8], "little")


@pytest.mark.parametrize("bad", ["", "Shop", "1shop", "shop.eu", "shop\n", "a" * 33, "é", "shop_1"])
def test_a_deployment_with_another_name_is_refused(bad: str) -> None:
    with pytest.raises(TopicError, match=r"deployment name: found .*; allowed: \^"):
        deployment_name(bad)


def test_a_stream_may_have_an_underscore_and_no_dot() -> None:
    assert stream_name("fare_eur-2") == "fare_eur-2"
    with pytest.raises(TopicError, match="stream name"):
        stream_name("fare.eur")
    with pytest.raises(TopicError, match="found int"):
        stream_name(5)  # type: ignore[arg-type]


def test_a_topic_that_is_not_in_the_table_has_no_name() -> None:
    with pytest.raises(TopicError, match="allowed: events, raw, rounds"):
        topic("shop", "secrets")


def test_partitions_and_retentions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(TopicError, match="at least 1 partition"):
        batch_partition("screen", 0, 0)
    with pytest.raises(TopicError, match="q >= 0"):
        batch_partition("screen", -1, 4)
    with pytest.raises(TopicError, match="at least 1 ms"):
        TOPICS["raw"].retention.ms(0, 1)
    assert TOPICS["state.publish"].retention.ms(1, 1) is None
