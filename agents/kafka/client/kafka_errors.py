# SPDX-License-Identifier: Apache-2.0
"""What aiokafka raises, as one of our errors: by what the caller does about it, with what was tried."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any

from aiokafka import errors as kafka

from murmurate.agents.kafka.client.tokens import LoginError
from murmurate.agents.kafka.errors import (
    AwayError,
    BrokerError,
    FencedError,
    LostRecordsError,
    RefusedError,
    TopicsError,
)

_AWAY = (
    kafka.KafkaConnectionError, kafka.KafkaTimeoutError, kafka.RequestTimedOutError, kafka.NodeNotReadyError,
    kafka.NotLeaderForPartitionError, kafka.LeaderNotAvailableError, kafka.GroupCoordinatorNotAvailableError,
    kafka.NotCoordinatorForGroupError, kafka.BrokerNotAvailableError, kafka.NotEnoughReplicasError,
    kafka.NotEnoughReplicasAfterAppendError, kafka.KafkaStorageError, kafka.NoBrokersAvailable,
    kafka.ConsumerStoppedError, kafka.ProducerClosed, asyncio.TimeoutError, ConnectionError, kafka.UnknownError,
)  # fmt: skip
"""UnknownError is what brokers answer where they failed inside; one that its controller had given up answered the end
of a transaction so, and was well seconds later.
"""
_REFUSED = (
    kafka.AuthenticationFailedError, kafka.TopicAuthorizationFailedError, kafka.GroupAuthorizationFailedError,
    kafka.ClusterAuthorizationFailedError, kafka.TransactionalIdAuthorizationFailed, kafka.IllegalSaslStateError,
    kafka.UnsupportedSaslMechanismError, kafka.SaslAuthenticationFailed, LoginError,
)  # fmt: skip


@contextlib.contextmanager
def kafka_errors(what: str) -> Iterator[None]:
    """Any failure of aiokafka as one of ours, with what was tried."""
    try:
        yield
    except BrokerError:
        raise
    except (kafka.ProducerFenced, kafka.InvalidProducerEpoch) as error:
        raise FencedError(f"{what}: another instance has taken over") from error
    except kafka.OffsetOutOfRangeError as error:
        raise LostRecordsError(f"{what}: the records are no longer there") from error
    except kafka.UnknownTopicOrPartitionError as error:
        raise TopicsError(f"{what}: no such topic or partition (see `murmurate topics create`)") from error
    except _REFUSED as error:
        raise RefusedError(f"{what}: refused: {_reason(error)}") from error
    except _AWAY as error:
        if _is_refusal(error):
            raise RefusedError(f"{what}: refused: {_reason(error)}") from error
        raise AwayError(f"{what}: {_reason(error)}") from error
    except kafka.KafkaError as error:
        if isinstance(error.__cause__, _AWAY):  # which ended aiokafka's sender routine
            raise AwayError(f"{what}: {_reason(error.__cause__)}") from error
        raise BrokerError(f"{what}: {_reason(error)}") from error


def leaves(consumer: Any) -> None:
    """Have a static member leave its group when it stops: aiokafka sends no word for one by itself, and its partitions
    would be nobody's until the session is over.
    """
    coordinator = getattr(consumer, "_coordinator", None)
    if coordinator is not None:
        coordinator._group_instance_id = None


def check_membership(consumer: Any) -> None:
    """Raise the error that ended a consumer's membership of its group, if any. aiokafka raises it only on fetching."""
    coordinator = getattr(consumer, "_coordinator", None)
    if coordinator is not None and hasattr(coordinator, "check_errors"):  # where there is no group there is none
        coordinator.check_errors()


async def close_within(closing: Coroutine[Any, Any, None], seconds: float = 5.0) -> None:
    """Close a connection, or leave it after so long. What aiokafka cancels inside is no cancellation of ours, and one
    of ours is never swallowed, which `wait_for` may do.
    """
    task = asyncio.ensure_future(closing)
    done, _ = await asyncio.wait((task,), timeout=seconds)
    if not done:
        task.cancel()
    elif not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, kafka.KafkaError):
        raise error


def _reason(error: BaseException) -> str:
    """An error's name and first line: aiokafka's texts show addresses and codes, never what records hold."""
    text = str(error).partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {text}".removesuffix(": ") if name not in text else text


def _is_refusal(error: BaseException) -> bool:
    """Whether a failed connection hides a refused login."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, _REFUSED):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
