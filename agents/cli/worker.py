# SPDX-License-Identifier: Apache-2.0
"""`murmurate worker`: the stages of one zone, or of all, on Kafka, until it is told to stop.

Contract: whatever ends it is one log line that says what and where.  Brokers that are away are waited for; a worker
that lost them while it ran begins anew in the same process, with nothing of its old connections.  SIGTERM: flush,
commit, leave the groups, exit 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click
import uvloop

from murmurate.agents.cli.deployment import MISTAKES, Opened, config_option, opened
from murmurate.agents.kafka.agreement import Agreed, compare, judged, sources_at_first
from murmurate.agents.kafka.agreement_watch import AgreementWatch
from murmurate.agents.kafka.errors import AwayError, BrokerError, FencedError, TopicsError
from murmurate.agents.kafka.provision import faults, sources
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.topology import Topology, ZoneKeys, zone_keys
from murmurate.agents.kafka.worker import Worker, collect_garbage_rarely
from murmurate.agents.observe.logs import configure
from murmurate.agents.observe.metrics import Metrics
from murmurate.agents.web.serving import serve_waiting, serve_worker
from murmurate.config.errors import ConfigError, Mistake
from murmurate.config.secrets import ZONE_SECRETS, load, present
from murmurate.config.settings import SecretName
from murmurate.errors import MurmurateError, UsageError
from murmurate.topics.names import ZONES, Zone, topic

FAILED, BROKER = 1, 3
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 8.0
STOP_S = 18.0
log = logging.getLogger("murmurate.worker")


@click.command("worker")
@config_option
@click.option(
    "--zone", "zones", type=click.Choice(ZONES), multiple=True, help="Run this zone's stages only; all by default."
)
@click.option("--instance", help="The worker's name in its groups, which it keeps after a restart; any by default.")
def command(config: Path, zones: Sequence[Zone], instance: str | None) -> None:
    """Run the stages of a zone on Kafka. Exit 0 after SIGTERM, 1 failed, 2 config, secrets or a name that another
    worker has, 3 broker, or another worker has its partitions.
    """
    zones = tuple(zone for zone in ZONES if zone in zones) or ZONES
    configure()
    this = opened(config)
    try:
        secrets = load(this.deployment, zones)
        _hold_no_others(this, zones)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)
    name = instance or f"{socket.gethostname()}-{os.getpid()}"
    collect_garbage_rarely()
    sys.exit(uvloop.run(_run(this, zones, secrets, name)))


def _hold_no_others(this: Opened, zones: Sequence[Zone]) -> None:
    """A worker that could read another zone's secrets is no zone of its own."""
    others: list[tuple[Zone, SecretName]] = [
        (zone, name) for zone in ZONES if zone not in zones for name in ZONE_SECRETS[zone]
    ]
    found = [
        Mistake(
            f"secrets.{name}", f"a secret of the {zone} zone within reach", f"none in a worker of {' and '.join(zones)}"
        )
        for zone, name in others
        if present(this.deployment, name)
    ]
    if found:
        raise ConfigError(found)


def _stopping() -> asyncio.Event:
    """An event that a signal to end sets."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def _run(this: Opened, zones: Sequence[Zone], secrets: dict[str, bytes], instance: str) -> int:
    """The exit code, after a line that says why it ends."""
    stop = _stopping()
    try:
        await _work(this, zones, zone_keys(secrets, this.plan.name), instance, stop)
        return 0
    except AwayError as error:
        log.error("brokers lost: %s; beginning anew", error)
        if stop.is_set():
            return BROKER
        os.execv(sys.executable, [sys.executable, "-m", "murmurate", *sys.argv[1:]])  # noqa: S606 - the same command
    except UsageError as error:
        log.error("%s", error)
        return MISTAKES
    except TopicsError as error:
        log.error("%s", error)
        return BROKER
    except FencedError as error:
        log.error("%s, since this worker was not heard of for longer than a session: start it again", error)
        return BROKER
    except MurmurateError as error:
        log.error("%s: %s", type(error).__name__, error)
        return BROKER if isinstance(error, BrokerError) else FAILED
    except Exception as error:
        log.error("unexpected %s at %s", type(error).__name__, _place(error))
        return FAILED


async def _work(this: Opened, zones: Sequence[Zone], keys: ZoneKeys, instance: str, stop: asyncio.Event) -> None:
    """Until it is told to stop: any error leaves."""
    found = await _begin(this, zones, keys.fingerprints, stop)
    if found is None:
        return
    where, agreed = found
    fed = this.deployment.time.clock == "feed"
    metrics, watched = Metrics(this.plan, zones, now_ms=_now_ms), TopicWatch(this.client, this.plan, zones)
    topology = Topology(
        this.plan, keys, where, fed=fed, agreed=agreed.number, ids=await watched.begin(), record=agreed.record
    )
    holds = partial(judged, plan=this.plan, secrets=keys.fingerprints, fed=fed)
    worker = Worker(
        this.plan, this.client, topology, where, zones,
        instance=instance, observer=metrics, now_ms=_now_ms, fed=fed,
        compare=partial(compare, this.client, this.plan, keys.fingerprints, fed=fed, now_ms=_now_ms), watched=watched,
        agreement=AgreementWatch(this.client, topic(this.plan.name, "rounds"), agreed, holds, fed=fed),
    )  # fmt: skip
    serving = await serve_worker(worker, this.deployment, this.plan, this.client, metrics, watched)
    try:
        await worker.run(stop)
    finally:
        await serving.stop()

    log.info("stopped", extra={"zones": zones})


async def _begin(
    this: Opened, zones: Sequence[Zone], fingerprints: Mapping[str, str], stop: asyncio.Event
) -> tuple[dict[str, int], Agreed] | None:
    """The first partitions of each source, and which config record was compared, once the brokers answer and every
    topic is as it has to be; None to stop. Who differs from the record does not get further than here.
    """
    async with contextlib.AsyncExitStack() as meanwhile:
        for wait in _waits():
            try:
                await this.client.answers()
                where = await sources(this.client, this.plan) if "edge" in zones else {}  # nobody else may see them
                wrong = await faults(this.client, this.deployment, this.plan, zones)
                if wrong:
                    if not any(one.startswith(f"{this.plan.name}.rounds:") for one in wrong):
                        await compare(this.client, this.plan, fingerprints, fed=this.deployment.time.clock == "feed")
                    raise TopicsError("; ".join(wrong) + " (see `murmurate topics create`)")
                fed = this.deployment.time.clock == "feed"
                agreed = await compare(this.client, this.plan, fingerprints, fed=fed, now_ms=_now_ms)
                return sources_at_first(agreed.record, this.plan, where), agreed
            except AwayError as error:
                log.warning("waiting for brokers: %s; next try in %g s", error, wait)
            if wait == FIRST_WAIT_S:
                meanwhile.push_async_callback((await serve_waiting(this.deployment, zones)).stop)
            with contextlib.suppress(asyncio.TimeoutError):
                async with asyncio.timeout(wait):
                    await stop.wait()
                return None
    return None


def _waits() -> Iterator[float]:
    wait = FIRST_WAIT_S
    while True:
        yield wait
        wait = min(2 * wait, LONGEST_WAIT_S)


def _place(error: BaseException) -> str:
    """Where an error came from: file and line; its text may quote what a record holds."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at is not None else "nowhere"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
