# SPDX-License-Identifier: Apache-2.0
"""Over SASL_SSL: the same releases, one clear line for a password that is wrong, and no password in any log."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmurate.config.loader import load
from tests.faults import certificates
from tests.faults.deployed import RUN, Deployed, Process
from tests.faults.guarded import USER, GuardedBroker
from tests.faults.recordings import deployment, recording

PERIODS = 6


@pytest.fixture
def deployed(guarded: GuardedBroker, deployment_name: str, tmp_path: Path) -> Iterator[Deployed]:
    found = Deployed(tmp_path, deployment_name, guarded.bootstrap, deployment(periods=4, partitions=2))
    found.create()  # by the door that is open to everybody: who may make topics is not the subject here
    (tmp_path / "password").write_text(guarded.credentials[USER] + "\n")
    how = f'security = "sasl_ssl"\nusername = "{USER}"\nca_file = "{guarded.ca_file}"\n'
    how += f'password = {{ file = "{tmp_path / "password"}" }}\n'
    text = found.file.read_text().replace(guarded.bootstrap, guarded.sasl_bootstrap)
    found.file.write_text(text.replace("replication = 1\n", f"replication = 1\n{how}"))
    assert load(found.file, {}).kafka.security == "sasl_ssl"
    yield found
    found.close()


def test_over_tls_with_a_password_the_releases_are_the_same(
    deployed: Deployed, guarded: GuardedBroker, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=PERIODS))
    wanted = deployed.expected(source)
    assert len(wanted) >= PERIODS
    worker, feed = deployed.worker(), deployed.feed(source)
    assert deployed.releases(len(wanted)) == wanted
    assert feed.wait() == 0
    worker.terminate()
    assert worker.wait() == 0
    for process in (worker, feed):
        assert guarded.credentials[USER] not in process.said()


@pytest.mark.parametrize("command", ["worker", "feed"])
def test_a_wrong_password_is_one_line_and_exit_3(
    deployed: Deployed, guarded: GuardedBroker, tmp_path: Path, command: str
) -> None:
    wrong = secrets.token_hex(12)
    (tmp_path / "password").write_text(wrong + "\n")
    if command == "worker":
        process = deployed.worker()
    else:
        process = deployed.feed(str(recording(tmp_path / "clicks.jsonl", users=5, periods=2)))
    assert process.wait() == 3
    said = process.said()
    if command == "worker":
        (line,) = [line["message"] for line in process.lines() if "logger" not in line]
    else:
        line = said.splitlines()[-1]
    assert re.search(r"refused|[Aa]uthentication", line)
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 4  # aiokafka may have its own word; nobody tries again and again
    assert wrong not in said
    assert guarded.credentials[USER] not in said


def test_an_authority_that_did_not_sign_the_brokers_certificate_is_not_trusted(
    deployed: Deployed, tmp_path: Path
) -> None:
    stranger, _ = certificates.make(tmp_path)
    text = deployed.file.read_text()
    deployed.file.write_text(re.sub(r'ca_file = ".*"', f'ca_file = "{stranger}"', text))
    worker = deployed.worker()
    assert worker.wait() == 3
    (line,) = [line["message"] for line in worker.lines() if "logger" not in line]
    assert "its certificate is not to be trusted" in line
    assert "Traceback" not in worker.said()


def test_a_password_that_cannot_be_read_is_named_by_its_key(deployed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "password").unlink()
    process = Process([*RUN, "worker", "-c", str(deployed.file)], tmp_path / "none.log", {})
    deployed.others.append(process)
    assert process.wait() == 2
    (line,) = process.said().splitlines()
    assert line.startswith("kafka.password: found no readable file")
