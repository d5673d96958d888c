# SPDX-License-Identifier: Apache-2.0
"""What a node of a test's broker is told: server.properties, and where its log goes.

As a broker is out of the box, but for what would make a test wait (transactions are cleaned up, groups balanced and
dead nodes forgotten in seconds), what a cluster of one or three can hold, and topics that nobody made.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.ports import HOST

LOGGING = """log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c: %m%n
"""


@dataclass
class Node:
    """A process to be, and its ports; `id` counts from 1."""

    id: int
    port: int
    controller_port: int
    sasl_port: int
    process: subprocess.Popen[bytes] | None = None
    """None unless it should run."""
    said: int = 0
    """How long the log was when it was started."""
    frozen: bool = False

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def data(self, folder: Path) -> Path:
        """Where it keeps its records."""
        return folder / "data" / str(self.id - 1)


def server_properties(nodes: Sequence[Node], node: Node, folder: Path, *, sasl: bool) -> dict[str, str]:
    """The lines of one of the nodes, whose data and certificates are in `folder`."""
    copies = min(len(nodes), 3)
    listeners = {"PLAINTEXT": node.port} | ({"SASL_SSL": node.sasl_port} if sasl else {})
    told = [f"{name}://{HOST}:{port}" for name, port in listeners.items()]
    lines = {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(f"{one.id}@{HOST}:{one.controller_port}" for one in nodes),
        "listeners": ",".join([*told, f"CONTROLLER://{HOST}:{node.controller_port}"]),
        "advertised.listeners": ",".join(told),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(node.data(folder)),
        "default.replication.factor": str(copies),
        "min.insync.replicas": str(max(copies - 1, 1)),
        "offsets.topic.replication.factor": str(copies),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(max(copies - 1, 1)),
        "transaction.state.log.num.partitions": "4",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "auto.create.topics.enable": "false",
        # A killed node may come back only when its old session has ended: 9 s if it were left as it is.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
    }
    if sasl:
        login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        lines |= {
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": login,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "ca.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin;User:ANONYMOUS",  # who comes by the plaintext listener has no name
            "allow.everyone.if.no.acl.found": "false",
        }
    return lines
