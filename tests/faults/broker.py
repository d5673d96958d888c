# SPDX-License-Identifier: Apache-2.0
"""A real Kafka broker that a test may kill: one node or a cluster, KRaft, from Apache Kafka's own jars.

Contract: `start` returns when every node knows every other; a node keeps its ports and its data over kill and restart;
`close`, the end of the interpreter and the death of this process (on Linux) all end it.  Only processes started here
are signalled.  With MURMURATE_BROKERS set it is those brokers instead, which can be used but not stopped.
Not here: topics, records, access rules (`acl` hands a command to Kafka's own tool).  `make broker` runs one by hand.
"""

import argparse
import atexit
import base64
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from tests.faults import certificates
from tests.faults.jars import VERSIONS, BrokerError, compiles, jars, java
from tests.faults.ports import HOST, Ports, listed
from tests.faults.properties import LOGGING, Node, server_properties

ENDING = (signal.SIGINT, signal.SIGTERM)
NEEDS_OWN = "needs a broker of its own: unset MURMURATE_BROKERS"
START_S, STOP_S = 90.0, 20.0
LOOK_S = 0.05
STARTED = b"Kafka Server started"
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # half the work to start; slower after some minutes
TOOL_JVM = (*QUICK_JVM, "-Xmx128m")
NODE_JVM = ("-Xms256m", "-Xmx768m")
REPEATED = Path(__file__).parent.parent / "foreign" / "Repeated.java"
ACL_COMMAND = {"3": "kafka.admin.AclCommand", "4": "org.apache.kafka.tools.AclCommand"}
# A node dies with the thread that started it: this one lives as long as the process, a test's own might not.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="starter-of-brokers")
_LAUNCHER = """
import ctypes, os, sys
try:
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: there is no such thing outside Linux
except (AttributeError, OSError, TypeError):
    pass
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent died before the broker started")
os.execv(sys.argv[2], sys.argv[2:])
"""


class Broker:
    """One node, or `nodes` of them, numbered from 0; what it writes is in `folder`.

    `sasl` adds a SASL_SSL listener (SCRAM-SHA-512) for `users` (name -> password) where nothing is allowed but by
    access rules; on the plaintext listener everything is.  `settings` are lines of server.properties.  `keep` leaves
    the data in the folder, where the next Broker of that folder finds it.  `brief`: it is not for long, and starts
    with less work.
    """

    def __init__(
        self,
        folder: Path,
        *,
        version: str = "4.2.0",
        nodes: int = 1,
        sasl: bool = False,
        users: Mapping[str, str] = {},
        settings: Mapping[str, str] = {},
        port: int = 0,
        keep: bool = False,
        brief: bool = False,
    ) -> None:
        self.version, self.sasl, self.folder = version, sasl, folder.resolve()
        self.credentials = dict(users)
        self.ca_file = self.folder / "ca.pem"
        self.data = self.folder / "data"
        """One folder per node, named by its number."""
        self._settings, self._ports, self._nodes = dict(settings), Ports(), list[Node]()
        self._keep, self._owner = keep, os.getpid()
        self._jvm = (*NODE_JVM, *QUICK_JVM) if brief else NODE_JVM
        self._outside = os.environ.get("MURMURATE_BROKERS", "")
        if unfit := [f"{name}:{secret}" for name, secret in users.items() if re.search(r"[\s,=\[\]]", name + secret)]:
            raise BrokerError(f"{len(unfit)} of the users hold a space, a comma, an equals sign or a bracket")
        if self.external:
            if (version, nodes, sasl, self._settings, port) != ("4.2.0", 1, False, {}, 0):
                raise BrokerError(NEEDS_OWN)
            return
        for number in range(nodes):
            plain = self._ports.claim(port if number == 0 else 0)
            self._nodes.append(Node(number + 1, plain, self._ports.claim(), self._ports.claim()))
        atexit.register(self.close)

    @property
    def external(self) -> bool:
        """Whether MURMURATE_BROKERS named brokers that run already, when this was made."""
        return bool(self._outside)

    @property
    def bootstrap(self) -> str:
        """The plaintext addresses, separated by commas."""
        return self._outside or ",".join(f"{HOST}:{node.port}" for node in self._nodes)

    @property
    def sasl_bootstrap(self) -> str:
        """The SASL_SSL addresses, separated by commas."""
        if not self.sasl:
            raise BrokerError("this broker has no SASL_SSL listener: say sasl=True")
        return ",".join(f"{HOST}:{node.sasl_port}" for node in self._nodes)

    def __enter__(self) -> "Broker":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start every node that does not run, and return when all of them answer."""
        if self.external:
            for address in self.bootstrap.split(","):
                host, _, port = address.strip().rpartition(":")
                if not listed(host, int(port)):
                    raise BrokerError(f"MURMURATE_BROKERS names {address.strip()}, where no broker answers")
            return
        try:
            self._format()
            self._launch(node for node in self._nodes if not node.runs)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End every node cleanly; the data stays, and `start` goes on with it."""
        self._own()
        going = [node for node in self._nodes if node.runs]
        for node in going:
            assert node.process
            node.process.terminate()
            node.process.send_signal(signal.SIGCONT)  # a frozen node hears nothing before
        end = time.monotonic() + STOP_S
        for node in going:
            assert node.process
            try:
                node.process.wait(max(end - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:  # the last of a cluster waits for the others to take over its partitions
                node.process.kill()
                node.process.wait()
            node.process, node.frozen = None, False

    def wait(self) -> None:
        """Wait until a node ends by itself."""
        process = self._running(0)
        while process.poll() is None:
            time.sleep(LOOK_S)  # not process.wait(): a signal that another thread is given does not wake it

    def kill(self, node: int = 0) -> None:
        """End a node at once, as a crash does."""
        process = self._running(node)
        process.kill()
        process.wait()
        self._nodes[node].process, self._nodes[node].frozen = None, False

    def restart(self, node: int = 0) -> None:
        """Start a node again, with its ports and data, after ending it if it runs; return when it answers."""
        self._own()
        if self._nodes[node].runs:
            self.kill(node)
        self._launch([self._nodes[node]])

    def freeze(self, node: int = 0) -> None:
        """Stop a node in its tracks; its connections stay open."""
        process = self._running(node)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # NOWAIT: an exit is Popen's to hear
        self._nodes[node].frozen = True

    def thaw(self, node: int = 0) -> None:
        """Let a frozen node go on."""
        self._running(node).send_signal(signal.SIGCONT)
        self._nodes[node].frozen = False

    def mend(self) -> None:
        """Thaw what is frozen and start what is down, for the next test."""
        unwell = [(number, node) for number, node in enumerate(self._nodes) if node.frozen or not node.runs]
        for number, node in unwell:
            if node.runs:
                self.thaw(number)
        if unwell:
            self._launch(node for _, node in unwell if not node.runs)

    def rest(self) -> None:
        """End every node at once, until `mend` starts it again; the data stays."""
        for number in [number for number, node in enumerate(self._nodes) if node.runs]:
            self.kill(number)

    def close(self) -> None:
        """End it, give the ports back, and remove the data unless it is to be kept; logs and settings stay."""
        if self.external or os.getpid() != self._owner:  # a fork leaves by atexit too
            return
        if self._keep:
            self.stop()
        else:  # nobody reads the data again: no need to wait until it is in order
            self.rest()
            shutil.rmtree(self.data, ignore_errors=True)
        self._ports.release()
        atexit.unregister(self.close)

    def log(self, node: int = 0) -> str:
        """What a node has said, over all its restarts."""
        self._own()
        return self._heard(self._nodes[node]).decode(errors="replace")

    def acl(self, *commands: Sequence[str]) -> str:
        """What Kafka's own tool says to e.g. `["--add", "--allow-principal", "User:edge", "--topic", "t", ...]`."""
        self._own()
        name, whole = ACL_COMMAND[self.version[0]], [["--bootstrap-server", self.bootstrap, *one] for one in commands]
        if len(whole) > 1 and compiles():
            return self._tool(str(REPEATED), name, typed="".join("\t".join(one) + "\n" for one in whole))
        return "".join(self._tool(name, *one) for one in whole)

    def _own(self) -> None:
        if self.external:
            raise BrokerError(NEEDS_OWN)

    def _running(self, number: int) -> subprocess.Popen[bytes]:
        self._own()
        node = self._nodes[number]
        if node.process is None or not node.runs:
            raise BrokerError(f"node {number} does not run")
        return node.process

    def _launch(self, chosen: Iterable[Node]) -> None:
        for node in chosen:
            command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *self._java(*self._jvm)]
            command += ["kafka.Kafka", str(self._properties(node))]
            node.said = len(self._heard(node))
            node.process, node.frozen = _STARTER.submit(_open, command, self._log(node)).result(), False
        self._until_known()

    def _until_known(self) -> None:
        """Wait until every node that should run says that it started, answers, and lists all of those.

        One alone is too early: a restarted node lists itself from its old data before it is let in again, and one that
        is let in may not yet have heard of the others.
        """
        end = time.monotonic() + START_S
        awake = [node for node in self._nodes if node.process and not node.frozen]
        addresses = {f"{HOST}:{node.port}" for node in awake}
        for node in awake:
            while not (STARTED in self._heard(node)[node.said :] and addresses <= listed(HOST, node.port)):
                if node.process and node.process.poll() is not None:
                    raise BrokerError(f"node {node.id - 1} ended with {node.process.returncode}:\n{self._tail(node)}")
                if time.monotonic() > end:
                    raise BrokerError(f"node {node.id - 1} did not start within {START_S:g} s:\n{self._tail(node)}")
                time.sleep(LOOK_S)  # a broker offers no event for this but its log and its answer

    def _format(self) -> None:
        """Write the settings, and make the data folders of nodes that have none."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.sasl and not self.ca_file.exists():
            certificates.make(self.folder)
        (self.folder / "log4j.properties").write_text(LOGGING)
        for node in self._nodes:
            lines = server_properties(self._nodes, node, self.folder, sasl=self.sasl) | self._settings
            self._properties(node).write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        bare = [node for node in self._nodes if not (node.data(self.folder) / "meta.properties").exists()]
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        users = [f"[name={name},password={secret}]" for name, secret in self.credentials.items()]
        scram = [f"SCRAM-SHA-{bits}={user}" for user in users for bits in (256, 512)]
        more = [part for one in scram for part in ("--add-scram", one)]
        for node in bare:
            where = str(self._properties(node))
            self._tool("kafka.tools.StorageTool", "format", "-t", f"m{cluster[1:]}", "-c", where, *more)

    def _java(self, *options: str) -> list[str]:
        told = [f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}"]  # 3.9; 4 says it without
        told += ["-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss,SSS"]
        return [str(java()), *options, *told, "-cp", f"{jars(self.version)}/*"]

    def _tool(self, name: str, *arguments: str, typed: str = "") -> str:
        command = [*self._java(*TOOL_JVM), name, *arguments]
        ended = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=START_S, check=False)
        if ended.returncode:
            raise BrokerError(f"{name} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def _properties(self, node: Node) -> Path:
        return self.folder / f"node-{node.id - 1}.properties"

    def _log(self, node: Node) -> Path:
        return self.folder / f"node-{node.id - 1}.log"

    def _heard(self, node: Node) -> bytes:
        return log.read_bytes() if (log := self._log(node)).exists() else b""

    def _tail(self, node: Node) -> str:
        return "\n".join(self._heard(node).decode(errors="replace").splitlines()[-20:])


def _open(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        # A session of its own: a Ctrl-C in the terminal is for this process, which then stops the node cleanly.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )


def main() -> int:
    """Run one node in the foreground until Ctrl-C; what it holds is there again at the next start."""
    reader = argparse.ArgumentParser(prog="make broker", description=main.__doc__)
    reader.add_argument("--version", default="4.2.0", choices=VERSIONS)
    reader.add_argument("--port", type=int, default=9092, help="0: a free one")
    reader.add_argument("--folder", type=Path, default=Path("build/broker"))
    chosen = reader.parse_args()
    folder: Path = chosen.folder / chosen.version  # a version does not read another's data
    for number in ENDING:
        signal.signal(number, _interrupt)
    try:
        broker = Broker(folder, version=chosen.version, port=chosen.port, keep=True)
        if broker.external:
            raise BrokerError(f"MURMURATE_BROKERS is set: there is a broker at {broker.bootstrap} already")
        print(f"Kafka {chosen.version} starts ...", flush=True)
        with broker:
            print(f"bootstrap: {broker.bootstrap}\nstop:      Ctrl-C\nlog:       {folder / 'node-0.log'}")
            print(f"data:      {folder / 'data'}; remove it for an empty broker", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                broker.wait()
                raise BrokerError(f"the broker ended by itself; its last words are in {folder / 'node-0.log'}")
            print("the broker stops ...", flush=True)
    except BrokerError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # while it started; it is stopped
        pass
    return 0


def _interrupt(_: int, __: FrameType | None) -> None:
    for number in ENDING:
        signal.signal(number, _ignore)  # a second one would come in the middle of the clean stop
    raise KeyboardInterrupt


def _ignore(_: int, __: FrameType | None) -> None:
    """Python 3.11 raises an OSError if a signal that waits meets SIG_IGN."""


if __name__ == "__main__":
    sys.exit(main())
