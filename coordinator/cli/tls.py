"""Whom a client trusts, and the certificate that it shows: PEM files, and PKCS #12 stores as Java writes them."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

_JKS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")


class StoreError(Exception):
    """A store that cannot be read; the text names its file."""


@dataclass(frozen=True, slots=True)
class Store:
    """A file of certificates, or of a certificate with its key."""

    path: Path
    password: str | None = field(default=None, repr=False)


def client_context(
    truststore: Store | None, keystore: Store | None = None, *, insecure: bool = False
) -> ssl.SSLContext:
    """Trusts what the system trusts, and ``truststore`` besides; shows ``keystore``. Raises StoreError."""
    context = ssl.create_default_context()
    if truststore is not None:
        _trust(context, truststore)
    if keystore is not None:
        _show(context, keystore)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _trust(context: ssl.SSLContext, store: Store) -> None:
    try:
        text = store.path.read_bytes()
        if b"-----BEGIN" in text:
            context.load_verify_locations(cadata=text.decode("ascii", errors="ignore"))
        else:
            context.load_verify_locations(cadata=_certificates(text, store))
    except (OSError, ValueError) as error:
        raise StoreError(_refusal(store, "certificates", error)) from error


def _show(context: ssl.SSLContext, store: Store) -> None:
    try:
        if b"-----BEGIN" in store.path.read_bytes():
            context.load_cert_chain(store.path, password=store.password or "")
        else:
            _show_pem(context, _key_and_chain(store))
    except (OSError, ValueError) as error:
        raise StoreError(_refusal(store, "certificate with its key", error)) from error


def _show_pem(context: ssl.SSLContext, pem: bytes) -> None:
    """Python reads a key from a file only: one that nobody else may read, and that is gone at once."""
    number, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(pem)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def _certificates(text: bytes, store: Store) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    loaded = pkcs12.load_pkcs12(text, _password(store))
    found = [*([loaded.cert] if loaded.cert else []), *loaded.additional_certs]
    return "".join(entry.certificate.public_bytes(Encoding.PEM).decode() for entry in found)


def _key_and_chain(store: Store) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    loaded = pkcs12.load_pkcs12(store.path.read_bytes(), _password(store))
    if loaded.key is None or loaded.cert is None:
        raise ValueError("it has no key")
    key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [loaded.cert, *loaded.additional_certs]
    return key + b"".join(entry.certificate.public_bytes(Encoding.PEM) for entry in chain)


def _password(store: Store) -> bytes | None:
    return None if store.password is None else store.password.encode()


def _refusal(store: Store, what: str, error: Exception) -> str:
    if _is_jks(store.path):
        made = store.path.with_suffix(".p12")
        command = f"keytool -importkeystore -srckeystore {store.path} -destkeystore {made} -deststoretype pkcs12"
        return f"{store.path} is a JKS store, which is not read: {command} makes one that is"
    return f"{store.path} holds no {what} in PEM or PKCS #12: {error}"


def _is_jks(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in _JKS
    except OSError:
        return False
