# SPDX-License-Identifier: Apache-2.0
"""The ports of a broker on this machine: found, held, and asked who is there.

Contract: a port that `Ports` gives is no other broker's and no client's until `release`, also while its broker is dead.
`listed` asks as a client does; a broker that is starting does not answer.
"""

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.faults.jars import BrokerError

HOST = "127.0.0.1"
PORTS = range(20_000, 32_000)  # below 32768, where Linux takes the ports of outgoing connections from: a client that
# connects to a dead broker again and again would otherwise now and then be given the broker's own port
PROBE_S = 5.0


@dataclass
class Ports:
    """Ports nobody else takes: each is also held as a UDP socket, of which there can be one, until `release`."""

    _held: list[socket.socket] = field(default_factory=list)

    def claim(self, port: int = 0) -> int:
        first = os.getpid() * 97 % len(PORTS)  # two processes seldom look at the same ports
        for one in [port] if port else [*PORTS[first:], *PORTS[:first]]:
            holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                holder.bind((HOST, one))
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a closed connection is no obstacle
                    probe.bind((HOST, one))
            except OSError:
                holder.close()
                continue
            self._held.append(holder)
            return one
        raise BrokerError(f"port {port} is taken" if port else f"no port of {PORTS} is free")

    def release(self) -> None:
        while self._held:
            self._held.pop().close()


def listed(host: str, port: int) -> set[str]:
    """The addresses of the brokers that the one here knows; none where nobody answers.

    A Metadata request, version 1, for no topics: size, key 3, version, correlation, client, an empty array.
    """
    body = struct.pack(">hhih4si", 3, 1, 0, 4, b"test", 0)
    try:
        with socket.create_connection((host, port), PROBE_S) as line, line.makefile("rb") as answer:
            line.sendall(struct.pack(">i", len(body)) + body)
            return set(_addresses(answer.read(*struct.unpack(">i", answer.read(4)))))
    except (OSError, struct.error):
        return set()


def _addresses(answer: bytes) -> Iterator[str]:
    """The brokers in the answer: each a number, host, port, and rack, where a rack of length -1 is none."""
    (count,), at = struct.unpack_from(">i", answer, 4), 8
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, at + 4)
        host = answer[at + 6 : at + 6 + length].decode()
        (port,) = struct.unpack_from(">i", answer, at + 6 + length)
        (rack,) = struct.unpack_from(">h", answer, at + 10 + length)
        at += 12 + length + max(rack, 0)
        yield f"{host}:{port}"
