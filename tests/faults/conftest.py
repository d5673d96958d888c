# SPDX-License-Identifier: Apache-2.0
"""One broker for all tests of a process, started when the first one asks; where there is none they fail with the line
that says what to install.  It is down while tests of other folders run.  A test that wants a cluster, SASL or its own
settings starts a Broker in its tmp_path.
"""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.guarded import GuardedBroker
from tests.faults.jars import BrokerError
from tests.faults.recordings import deployment

STARTED: list[Broker] = []
"""The broker of this process, once a test has asked for it."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Start the broker again where tests of other folders came between."""
    for broker in STARTED:
        broker.mend()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """A broker that idles takes 3 to 13 % of a core, so it ends where tests of other folders follow; its data stays."""
    yield
    if nextitem is not None and Path(__file__).parent not in nextitem.path.parents:
        for broker in STARTED:
            broker.rest()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One node that runs; a test may kill or freeze it, and it runs again before the next test."""
    found: Broker | str
    try:
        found = Broker(tmp_path_factory.mktemp("broker"), brief=True)
        found.start()
    except BrokerError as error:
        found = str(error)
    if isinstance(found, str):
        pytest.fail(found, pytrace=False)  # not inside the except: one line, no chain of causes
    STARTED.append(found)
    yield found
    STARTED.remove(found)
    found.close()


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    """One node that lets nobody in without a login or a certificate, but by its plaintext listener."""
    found = GuardedBroker(tmp_path_factory.mktemp("guarded"))
    with found:
        STARTED.append(found)
        yield found
        STARTED.remove(found)


@pytest.fixture(autouse=True)
def mended(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test broke and did not repair, even because it failed, is not the next one's trouble."""
    used = request.getfixturevalue("broker") if "broker" in request.fixturenames else None
    yield
    if used:
        used.mend()


@pytest.fixture
def deployed(
    request: pytest.FixtureRequest, broker: Broker, deployment_name: str, tmp_path: Path
) -> Iterator[Deployed]:
    """A deployment with its topics, and everything that was started for it ended; a module's DEPLOYMENT is its text."""
    text = getattr(request.module, "DEPLOYMENT", deployment())
    found = Deployed(tmp_path, deployment_name, broker.bootstrap, text)
    found.create()
    yield found
    found.close()


@pytest.fixture
def deployment_name(request: pytest.FixtureRequest) -> str:
    """A valid name that no other test has, nor the same test in another run: tests share a broker."""
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return f"t-{words[:20]}-{secrets.token_hex(4)}"
