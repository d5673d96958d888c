# SPDX-License-Identifier: Apache-2.0
"""How the brokers are reached, as far as no broker is needed: tokens are read anew, properties arrive, secrets hide."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from murmurate.agents.kafka.app import _credentials, _properties
from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.client.access import access
from murmurate.agents.kafka.client.tokens import LoginError, TokenFile, TokenHook, usable
from murmurate.config.loader import build
from tests.config.deployments import lines, small
from tests.faults.guarded import token

ROOT = Path(__file__).resolve().parents[3]
PASSWORD = {"security": "sasl_plaintext", "username": "anna", "password": {"env": "P"}}


def reached(**kafka: Any) -> Any:
    return access(build(small(kafka=kafka)), {"P": "canary", "T": token()})


def test_a_token_in_a_file_is_read_again_for_each_login(tmp_path: Path) -> None:
    given, (file) = TokenFile(tmp_path / "token"), tmp_path / "token"
    for text in (token(60), token(120)):
        file.write_text(f"{text}\n")
        assert asyncio.run(given.token()) == text
    for _ in range(2):
        file.write_text("")  # somebody is about to write
        assert asyncio.run(given.token()) == text
    for late in (token(-90_000), ""):
        file.write_text(late)
        with pytest.raises(LoginError, match="the token has expired 1 day ago; write a new one into its file"):
            asyncio.run(TokenFile(file).token() if late else expired(file).token())
    file.unlink()
    with pytest.raises(LoginError, match=r"kafka\.token: its file: no such file or directory"):
        asyncio.run(TokenFile(file).token())


def expired(file: Path) -> TokenFile:
    """One that has read a token which has expired since."""
    found = TokenFile(file)
    found._before = token(-90_000)
    return found


@pytest.mark.parametrize("text", ["", "two words", "caf\u00e9", "x" * 70_000, "line\x01auth=Bearer"])
def test_what_could_be_no_token_is_not_sent(text: str) -> None:
    with pytest.raises(LoginError, match="where: found no token; allowed: one line of ASCII"):
        usable(text.encode(), "where", "remedy")


@pytest.mark.parametrize("text", ["opaque", "a.b.c", "a.eyJleHAiOiJsYXRlciJ9.c", "a.W10.c"])
def test_a_token_that_does_not_say_when_it_ends_is_the_brokers_to_judge(text: str) -> None:
    assert usable(text.encode(), "where", "remedy") == text


def test_a_hook_gives_a_text_or_a_tuple_at_once_or_later_and_its_failure_shows_nothing() -> None:
    async def later() -> tuple[str, int]:
        return "later", 7

    def broken() -> str:
        raise ValueError("canary")

    for function, wanted in ((lambda: "now", "now"), (lambda: ("pair", 7), "pair"), (later, "later")):
        assert asyncio.run(TokenHook("signer:token", function).token()) == wanted
    with pytest.raises(LoginError, match=r"signer:token: failed with ValueError; allowed: a token") as caught:
        asyncio.run(TokenHook("signer:token", broken).token())
    assert "canary" not in str(caught.value)


def test_each_login_is_said_to_aiokafka_and_to_faust_alike() -> None:
    for more, protocol in (({}, "SASL_PLAINTEXT"), ({"security": "sasl_ssl"}, "SASL_SSL")):
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            found = reached(**PASSWORD | more, mechanism=mechanism)
            common, (credentials,) = found.common("name", 1000), _credentials(found).values()
            assert (common["security_protocol"], common["sasl_mechanism"]) == (protocol, mechanism)
            assert (credentials.protocol.value, credentials.mechanism.value) == (protocol, mechanism)
            assert common["sasl_plain_password"] == credentials.password == "canary"  # noqa: S105
        found = reached(security=protocol.lower(), mechanism="OAUTHBEARER", token={"env": "T"})
        common, (credentials,) = found.common("name", 1000), _credentials(found).values()
        assert common["sasl_oauth_token_provider"] is credentials.oauth_cb is found.tokens
        assert (credentials.protocol.value, common["security_protocol"]) == (protocol, protocol)
    assert _credentials(reached()) == {}


def test_no_secret_is_in_what_an_access_shows() -> None:
    for found in (reached(**PASSWORD), reached(security="sasl_ssl", mechanism="OAUTHBEARER", token={"env": "T"})):
        assert "canary" not in repr(found)
        assert "eyJ" not in repr(found)


def test_properties_reach_every_client_that_takes_them() -> None:
    given = {"client_id": "shop-7", "request_timeout_ms": 40_000, "session_timeout_ms": 30_000,
             "heartbeat_interval_ms": 3_000, "rebalance_timeout_ms": 20_000, "metadata_max_age_ms": 60_000,
             "connections_max_idle_ms": 50_000, "fetch_max_wait_ms": 300, "fetch_max_bytes": 2 << 20,
             "max_partition_fetch_bytes": 1 << 20, "transaction_timeout_ms": 15_000}  # fmt: skip
    assert given.keys() == build(small(kafka={"client": given})).kafka.client.model_dump().keys()

    async def looked_at() -> None:
        client = Client(reached(client=given))
        reader, producer = client.reader(), cast("Any", client.writer("one")._producer)
        member = client.member("group", ["topic"], "one", object())  # type: ignore[arg-type]
        seen: Any = reader._consumer
        assert (seen._fetch_max_wait_ms, seen._fetch_max_bytes, seen._max_partition_fetch_bytes) == (
            300, 2 << 20, 1 << 20,
        )  # fmt: skip
        assert seen._isolation_level == "read_committed"
        assert producer._txn_manager.transaction_timeout_ms == 15_000
        assert (member._consumer._session_timeout_ms, member._consumer._heartbeat_interval_ms) == (30_000, 3_000)
        assert member._consumer._rebalance_timeout_ms == 20_000
        for each in (seen, producer, member._consumer, client.sender()._producer, client.admin()._admin):
            found: Any = each
            inner = found._client if hasattr(found, "_client") else found.client
            assert (inner._client_id, inner._metadata_max_age_ms) == ("shop-7", 60_000)
            assert inner._connections_max_idle_ms == 50_000

    asyncio.run(looked_at())
    assert _properties(reached(client=given)) == {
        "broker_client_id": "shop-7", "broker_request_timeout": 40.0, "broker_session_timeout": 30.0,
        "broker_heartbeat_interval": 3.0, "broker_rebalance_timeout": 20.0, "consumer_metadata_max_age_ms": 60_000,
        "consumer_connections_max_idle_ms": 50_000, "consumer_max_fetch_size": 1 << 20,
    }  # fmt: skip


def test_what_exactness_or_privacy_rests_on_is_no_property() -> None:
    for name in ("acks", "isolation_level", "compression_type", "transactional_id", "enable_idempotence", "group_id"):
        (line,) = lines(kafka__client={name: 1})
        assert line.startswith(f"t: kafka.client.{name}: found an unknown key; allowed: client_id, request_timeout_ms,")
    assert lines(kafka__client={"session_timeout_ms": 30_000}) == [
        "t: kafka.client.session_timeout_ms: found 30000; allowed: up to request_timeout_ms, 20000"
    ]
    assert lines(kafka__client={"heartbeat_interval_ms": 4_000}) == [
        "t: kafka.client.heartbeat_interval_ms: found 4000; allowed: at most half of session_timeout_ms, 6000"
    ]


@pytest.mark.parametrize(
    ("kafka", "found"),
    [
        ({"security": "sasl_ssl", "mechanism": "OAUTHBEARER"}, "kafka.token: found nothing; allowed: "),
        ({"security": "sasl_ssl", "mechanism": "OAUTHBEARER", "token": {"env": "T"}, "token_hook": "a:b"},
         "kafka.token: found token and token_hook; allowed: "),
        ({"token": {"env": "T"}}, 'kafka.token: found one; allowed: only with mechanism = "OAUTHBEARER" and sasl_'),
        ({"token_hook": "a:b"}, 'kafka.token_hook: found one; allowed: only with mechanism = "OAUTHBEARER" and'),
        ({"token_hook": "a"}, "kafka.token_hook: found 'a'; allowed: a module that Python can import and a function"),
        ({"token": "canary"}, "kafka.token: found (hidden); allowed: "),
        ({"key_password": "canary"}, "kafka.key_password: found (hidden); allowed: "),
        ({"cert_file": "a"}, "kafka.cert_file: found one with plaintext; allowed: only with ssl or sasl_ssl"),
        ({"security": "ssl", "key_file": "a"}, "kafka.key_file: found one without cert_file; allowed: only with"),
        ({"mechanism": "GSSAPI"}, "kafka.mechanism: found 'GSSAPI'; allowed: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OA"),
    ],
)  # fmt: skip
def test_a_login_that_is_not_whole_or_would_not_be_used_is_refused(kafka: dict[str, Any], found: str) -> None:
    (line,) = lines(kafka=kafka)
    assert line.startswith(f"t: {found}")
    assert "canary" not in line


def test_every_command_that_connects_is_given_what_the_deployment_file_says() -> None:
    """Places that have a file make a Client of `access(deployment)`, so no verb comes by settings of its own; who
    subscribes without one comes by the brokers of a `kafka://` address alone.
    """
    found = {
        (f"{path.relative_to(ROOT)}", ast.unparse(node.args[0]))
        for path in sorted((ROOT / "agents").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Client"
    }
    bare = {("agents/library/from_kafka.py", "Access(address.brokers)")}
    assert bare <= found
    assert {made for path, made in found - bare} == {"reached", "access(deployment)"}
    assert "reached = access(deployment)" in (ROOT / "agents/cli/against.py").read_text(encoding="utf-8")
    library = [path for path in (ROOT / "agents").rglob("*.py") if path.parent.name != "client"]
    makers = ("AIOKafkaConsumer(", "AIOKafkaProducer(", "AIOKafkaClient(", "AIOKafkaAdminClient(")
    assert [path for path in library if any(maker in path.read_text(encoding="utf-8") for maker in makers)] == []
