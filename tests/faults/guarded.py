# SPDX-License-Identifier: Apache-2.0
"""A broker with a listener for each way to come in: every login with and without TLS, and certificates on both sides.

Tokens are JSON web tokens without a signature, which Kafka's own handler takes in tests: the handshake is the real
one.  Who may do what is not the subject here: whoever is let in may do everything.
"""

from __future__ import annotations

import base64
import secrets
import time
from pathlib import Path

import orjson

from tests.faults import certificates
from tests.faults.broker import Broker
from tests.faults.ports import HOST

USER = "shop-worker"
SECURITY = "org.apache.kafka.common.security"
UNSIGNED = f"{SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
LISTENERS = {"LOGIN": "SASL_PLAINTEXT", "SECURE": "SASL_SSL", "MUTUAL": "SSL"}
SESSION_MS = 3_000
"""How long a session of the listener LOGIN lasts until somebody has to log in again."""


class GuardedBroker(Broker):
    """One node. Its listeners are those of a Broker with `sasl`, and LISTENERS, by `at`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, sasl=True, users={USER: secrets.token_hex(12)}, brief=True)
        self.password = self.credentials[USER]
        self._listeners = {name: self._ports.claim() for name in LISTENERS}
        (node,) = self._nodes
        self.folder.mkdir(parents=True, exist_ok=True)
        certificates.make(self.folder, clients=[USER])
        self.certificate, self.key = self.folder / f"{USER}.pem", self.folder / f"{USER}.key"
        plain = {"PLAINTEXT": node.port, "SASL_SSL": node.sasl_port} | self._listeners
        told = [f"{name}://{HOST}:{port}" for name, port in plain.items()]
        kinds = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", "SASL_SSL": "SASL_SSL", **LISTENERS}
        self._settings |= {
            "listeners": ",".join([*told, f"CONTROLLER://{HOST}:{node.controller_port}"]),
            "advertised.listeners": ",".join(told),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in kinds.items()),
            "listener.name.mutual.ssl.client.auth": "required",
            "super.users": f"User:admin;User:ANONYMOUS;User:{USER};User:CN={USER}",
        }
        for name in ("login", "secure"):
            at = f"listener.name.{name}"
            scram = f"{SECURITY}.scram.ScramLoginModule required;"
            self._settings |= {
                f"{at}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
                f"{at}.plain.sasl.jaas.config": (
                    f'{SECURITY}.plain.PlainLoginModule required user_{USER}="{self.password}";'
                ),
                f"{at}.scram-sha-256.sasl.jaas.config": scram,
                f"{at}.scram-sha-512.sasl.jaas.config": scram,
                f"{at}.oauthbearer.sasl.jaas.config": (
                    f'{SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
                ),
                f"{at}.oauthbearer.sasl.server.callback.handler.class": UNSIGNED,
            }
        self._settings["listener.name.login.oauthbearer.connections.max.reauth.ms"] = str(SESSION_MS)

    def at(self, listener: str) -> str:
        """The address of a listener."""
        port = {"PLAINTEXT": self._nodes[0].port, "SASL_SSL": self._nodes[0].sasl_port} | self._listeners
        return f"{HOST}:{port[listener]}"


def token(seconds: float = 3600.0, user: str = USER) -> str:
    """A token that lasts for so long from now on; a negative length has passed."""
    now = time.time_ns() / 1e9
    claims = {"sub": user, "iat": now - 7200, "exp": now + seconds}
    parts = (base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=") for part in ({"alg": "none"}, claims))
    return b".".join((*parts, b"")).decode()
