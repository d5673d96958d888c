# SPDX-License-Identifier: Apache-2.0
"""Every way to log in to a guarded broker, as the lines of a [kafka] table, and the same ways gone wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.faults import certificates
from tests.faults.guarded import USER, GuardedBroker, token

HOOK = '''"""What a signer such as that of MSK gives: a token and when it ends."""

from tests.faults.guarded import token as made


def token() -> tuple[str, int]:
    return made(), 0


async def later() -> str:
    return made()


def broken() -> str:
    raise ValueError("canary-of-the-signer")


def nothing() -> None:
    return None
'''


@dataclass(frozen=True)
class Way:
    """A listener, and what a file says to come in there."""

    listener: str
    lines: tuple[str, ...] = ()
    found: str = ""
    """What the one line has to say, as a pattern, where this does not lead in."""
    code: int = 3


def _by_password(mechanism: str, security: str, password: str = "password") -> tuple[str, ...]:  # noqa: S107 - a file
    secret = f'password = {{ file = "@/{password}" }}'
    return (f'security = "{security}"', f'mechanism = "{mechanism}"', f'username = "{USER}"', secret)


def _by_token(security: str, place: str) -> tuple[str, ...]:
    return f'security = "{security}"', 'mechanism = "OAUTHBEARER"', place


TRUSTED, CERTIFICATE = 'ca_file = "@/ca.pem"', 'cert_file = "@/own.pem"'
OF_FILE = 'token = { file = "@/token" }'
WAYS = {
    "PLAIN": Way("LOGIN", _by_password("PLAIN", "sasl_plaintext")),
    "PLAIN over TLS": Way("SECURE", (*_by_password("PLAIN", "sasl_ssl"), TRUSTED)),
    "SCRAM-SHA-256": Way("LOGIN", _by_password("SCRAM-SHA-256", "sasl_plaintext")),
    "SCRAM-SHA-256 over TLS": Way("SECURE", (*_by_password("SCRAM-SHA-256", "sasl_ssl"), TRUSTED)),
    "SCRAM-SHA-512": Way("LOGIN", _by_password("SCRAM-SHA-512", "sasl_plaintext")),
    "SCRAM-SHA-512 over TLS": Way("SECURE", (*_by_password("SCRAM-SHA-512", "sasl_ssl"), TRUSTED)),
    "a token of a file": Way("LOGIN", _by_token("sasl_plaintext", OF_FILE)),
    "a token of a file over TLS": Way("SECURE", (*_by_token("sasl_ssl", OF_FILE), TRUSTED)),
    "a token of a variable": Way("LOGIN", _by_token("sasl_plaintext", 'token = { env = "A_TOKEN" }')),
    "a token of a hook": Way("LOGIN", _by_token("sasl_plaintext", 'token_hook = "a_signer:token"')),
    "a token of a coroutine": Way("SECURE", (*_by_token("sasl_ssl", 'token_hook = "a_signer:later"'), TRUSTED)),
    "certificates": Way("MUTUAL", ('security = "ssl"', TRUSTED, CERTIFICATE, 'key_file = "@/own.key"')),
    "a locked key": Way(
        "MUTUAL",
        (
            'security = "ssl"',
            TRUSTED,
            CERTIFICATE,
            'key_file = "@/own.locked"',
            'key_password = { file = "@/password" }',
        ),
    ),
    "TLS alone": Way("MUTUAL", ('security = "ssl"', TRUSTED, 'cert_file = "@/both.pem"')),
}
"""Those that lead in."""
SHUT = {
    "a wrong password": Way("LOGIN", _by_password("PLAIN", "sasl_plaintext", "wrong"),
                            r"login refused: .*Invalid username or password \(kafka\.username, kafka\.password"),
    "a wrong password of SCRAM": Way("SECURE", (*_by_password("SCRAM-SHA-512", "sasl_ssl", "wrong"), TRUSTED),
                                     r"login refused: .*invalid credentials .* \(kafka\.username, kafka\.password"),
    "another mechanism": Way("SASL_SSL", (*_by_password("PLAIN", "sasl_ssl"), TRUSTED),
                             r"found kafka\.mechanism = PLAIN; allowed: SCRAM-SHA-512$"),
    "no password": Way("LOGIN", _by_password("PLAIN", "sasl_plaintext", "nowhere"),
                       r"^kafka\.password: found no readable file with a password; allowed", 2),
    "an expired token": Way("LOGIN", _by_token("sasl_plaintext", 'token = { file = "@/expired" }'),
                            r"kafka\.token: the token has expired 2 hours ago; write a new one into its file$"),
    "a forged token": Way("LOGIN", _by_token("sasl_plaintext", 'token = { file = "@/wrong" }'),
                          r"login refused: the token was refused: invalid_token \(kafka\.token or"),
    "no token": Way("LOGIN", _by_token("sasl_plaintext", 'token = { file = "@/nowhere" }'),
                    r"^kafka\.token: found no readable file with a token; allowed", 2),
    "a signer that fails": Way("LOGIN", _by_token("sasl_plaintext", 'token_hook = "a_signer:broken"'),
                               r"kafka\.token_hook: a_signer:broken: failed with ValueError; allowed: a token$"),
    "a signer that gives nothing": Way("LOGIN", _by_token("sasl_plaintext", 'token_hook = "a_signer:nothing"'),
                                       r"kafka\.token_hook: a_signer:nothing: found NoneType; allowed: a text"),
    "no signer": Way("LOGIN", _by_token("sasl_plaintext", 'token_hook = "nobody:token"'),
                     r"^kafka\.token_hook: found no such module: nobody; allowed: one that Python can import", 2),
    "no function": Way("LOGIN", _by_token("sasl_plaintext", 'token_hook = "a_signer:absent"'),
                       r"^kafka\.token_hook: found no function absent in a_signer; allowed", 2),
    "TLS to a port without": Way("LOGIN", (*_by_password("PLAIN", "sasl_ssl"), TRUSTED),
                                 r'speaks without TLS: found kafka\.security = "sasl_ssl"; allowed: "sasl_plaintext"$'),
    "no TLS to a port with": Way("SECURE", _by_password("PLAIN", "sasl_plaintext"),
                                 r'speaks TLS: found kafka\.security = "sasl_plaintext"; allowed: "sasl_ssl"$'),
    "TLS to a plain port": Way("PLAINTEXT", ('security = "ssl"', TRUSTED),
                               r'speaks without TLS: found kafka\.security = "ssl"; allowed: "plaintext"$'),
    "nothing to a port with TLS": Way("MUTUAL", (),
                                      r'speaks TLS: found kafka\.security = "plaintext"; allowed: "ssl"$'),
    "no login where there is one": Way("LOGIN", (), r'found no login; allowed: kafka\.security = "sasl_plaintext" and'),
    "a login where there is none": Way("PLAINTEXT", _by_password("PLAIN", "sasl_plaintext"),
                                       r'nobody logs in there; allowed: kafka\.security = "plaintext"$'),
    "no certificate": Way("MUTUAL", ('security = "ssl"', TRUSTED),
                          r"it wants a certificate of ours that it trusts: .* \(kafka\.cert_file, kafka\.key_file\)$"),
    "a stranger's certificate": Way("MUTUAL", ('security = "ssl"', TRUSTED, 'cert_file = "@/stranger.pem"',
                                               'key_file = "@/stranger.key"'),
                                    r"it wants a certificate of ours that it trusts: .* \(kafka\.cert_file"),
    "another's key": Way("MUTUAL", ('security = "ssl"', TRUSTED, CERTIFICATE, 'key_file = "@/stranger.key"'),
                         r"^kafka\.cert_file: found the key of another certificate; allowed: PEM files", 2),
    "a key that stays shut": Way("MUTUAL", ('security = "ssl"', TRUSTED, CERTIFICATE, 'key_file = "@/own.locked"'),
                                 r"^kafka\.cert_file: found no certificates, or a key that key_password does not", 2),
    "no key": Way("MUTUAL", ('security = "ssl"', TRUSTED, CERTIFICATE, 'key_file = "@/nowhere"'),
                  r"^kafka\.key_file: found no readable file; allowed: a readable PEM file$", 2),
    "an authority that did not sign": Way("SECURE", (*_by_password("PLAIN", "sasl_ssl"), 'ca_file = "@/other-ca.pem"'),
                                          r"its certificate is not to be trusted: .* \(kafka\.ca_file\)$"),
}  # fmt: skip
"""Those that do not, with what is said about each."""


def prepare(folder: Path, broker: GuardedBroker) -> None:
    """The files that these ways name, in a folder."""
    stranger = folder / "stranger"
    stranger.mkdir()
    certificates.make(stranger, clients=["stranger"])
    written = {
        "password": broker.password, "wrong": "not-the-secret", "token": token(), "expired": token(-7300),
        "a_signer.py": HOOK, "ca.pem": broker.ca_file.read_text(), "own.pem": broker.certificate.read_text(),
        "own.key": broker.key.read_text(), "both.pem": broker.key.read_text() + broker.certificate.read_text(),
        "stranger.pem": (stranger / "stranger.pem").read_text(), "other-ca.pem": (stranger / "ca.pem").read_text(),
        "stranger.key": (stranger / "stranger.key").read_text(),
    }  # fmt: skip
    for name, text in written.items():
        (folder / name).write_text(text + ("" if text.endswith("\n") else "\n"))
    certificates.locked(folder / "own.key", broker.password)


def kafka_table(way: Way, broker: GuardedBroker, folder: Path) -> str:
    """What the file says about the brokers."""
    lines = (f'brokers = ["{broker.at(way.listener)}"]', *way.lines)
    return "[kafka]\n" + "\n".join(lines).replace("@", str(folder)) + "\n"
