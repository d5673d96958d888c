# SPDX-License-Identifier: Apache-2.0
"""A certificate authority and a server's certificate for 127.0.0.1, made for one test and good for a day."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make(folder: Path, clients: Sequence[str] = ()) -> tuple[Path, Path]:
    """The authority's certificate, and the server's key and certificates in one file, as PEM. Of each client NAME.pem
    has its certificate, and NAME.key its key.
    """
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("the authority of a test")
    ca = _certificate(issuer, authority.public_key(), issuer).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
    leaf = _certificate(_name("localhost"), server.public_key(), issuer).add_extension(
        x509.SubjectAlternativeName(addresses), critical=False
    )
    key = _written(server, None)
    signed = [one.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM) for one in (leaf, ca)]
    ca_file, server_file = folder / "ca.pem", folder / "server.pem"
    ca_file.write_bytes(signed[1])
    server_file.touch(mode=0o600)
    server_file.write_bytes(key + b"".join(signed))
    for client in clients:
        own = ec.generate_private_key(ec.SECP256R1())
        shown = _certificate(_name(client), own.public_key(), issuer).sign(authority, hashes.SHA256())
        (folder / f"{client}.pem").write_bytes(shown.public_bytes(serialization.Encoding.PEM))
        (folder / f"{client}.key").write_bytes(_written(own, None))
    return ca_file, server_file


def locked(key_file: Path, password: str) -> Path:
    """The same key behind a password."""
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    (made := key_file.with_suffix(".locked")).write_bytes(_written(key, password))
    return made


def _written(key: ec.EllipticCurvePrivateKey, password: str | None) -> bytes:
    shut = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, shut)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(subject: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name) -> x509.CertificateBuilder:
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
    )
