# SPDX-License-Identifier: Apache-2.0
"""Which of aiokafka's errors are brokers that are away, so that a worker begins anew, and which end it."""

from __future__ import annotations

import pytest
from aiokafka import errors as kafka

from murmurate.agents.kafka.client.kafka_errors import kafka_errors
from murmurate.agents.kafka.errors import AwayError, BrokerError, RefusedError


def hidden(cause: Exception) -> kafka.KafkaError:
    """As aiokafka's sender routine tells what ended it."""
    error = kafka.KafkaError("Unexpected error during batch delivery")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (kafka.UnknownError(), "transaction: [Error -1] UnknownError"),
        (hidden(kafka.UnknownError()), "transaction: [Error -1] UnknownError"),
        (hidden(kafka.NotLeaderForPartitionError()), "transaction: [Error 6] NotLeaderForPartitionError"),
    ],
)
def test_a_broker_that_failed_inside_is_away(error: Exception, said: str) -> None:
    with pytest.raises(AwayError) as found, kafka_errors("transaction"):
        raise error
    assert str(found.value) == said


@pytest.mark.parametrize("error", [hidden(ValueError("a mistake")), kafka.InvalidTxnState()])
def test_what_would_fail_again_is_not(error: Exception) -> None:
    with pytest.raises(BrokerError) as found, kafka_errors("transaction"):
        raise error
    assert not isinstance(found.value, AwayError | RefusedError)
