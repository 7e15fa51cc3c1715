"""Certificates for tests: a signer, and what it signs, as PEM files."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    """Signs certificates; ``file`` is what those who trust it are given."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    file: Path

    def sign(self, file: Path, name: str, unit: str | None = None) -> Path:
        """Key and certificate of ``name`` in one PEM file; good for 127.0.0.1 and localhost, and for clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        addresses = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
        built = (
            _builder(_name(name, unit), self.certificate.subject, key)
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        file.write_bytes(pem(key) + built.public_bytes(serialization.Encoding.PEM))
        return file


def authority(file: Path, name: str = "Test CA") -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    usage = {"digital_signature", "key_cert_sign", "crl_sign"}
    other = {"content_commitment", "key_encipherment", "data_encipherment", "key_agreement"}
    flags = dict.fromkeys(usage, True) | dict.fromkeys(other, False)
    built = (
        _builder(_name(name), _name(name), key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**flags, encipher_only=False, decipher_only=False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    return Authority(key, built, file)


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _name(name: str, unit: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)] if unit else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
    )
