"""Java's keystores as PEM: PKCS#12, which ``keytool`` has written since Java 9 whatever the file is called."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12
from cryptography.x509 import load_pem_x509_certificates

from shared.properties import ConfigurationError

_JKS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_DER = b"\x30"
_PEM = serialization.Encoding.PEM
_PLAIN_KEY = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()


def load_key(context: ssl.SSLContext, keystore: Path, password: str | None) -> None:
    """The private key and its chain into the context, from PEM or PKCS#12. Raises ConfigurationError, OSError."""
    store = _read(keystore, password)
    if store is None:
        # Without a password of ours the library would ask for one on the terminal.
        context.load_cert_chain(keystore, password=password or "")
        return
    pem = b"".join(_pem_of(store, keystore))
    # The library takes files alone.
    with TemporaryDirectory() as folder:
        file = Path(folder) / "key.pem"
        file.touch(0o600)
        file.write_bytes(pem)
        context.load_cert_chain(file)


def key_and_chain(keystore: Path, password: str | None) -> tuple[bytes, bytes]:
    """The private key without a password, and its chain, in PEM. Raises ConfigurationError, OSError, ValueError."""
    store = _read(keystore, password)
    if store is not None:
        return _pem_of(store, keystore)
    content = keystore.read_bytes()
    key = serialization.load_pem_private_key(content, None if password is None else password.encode())
    chain = b"".join(each.public_bytes(_PEM) for each in load_pem_x509_certificates(content))
    return key.private_bytes(_PEM, *_PLAIN_KEY), chain


def _pem_of(store: PKCS12KeyAndCertificates, keystore: Path) -> tuple[bytes, bytes]:
    if store.key is None or store.cert is None:
        raise ConfigurationError(f"{keystore}: no private key with its certificate is in it")
    chain = [store.cert, *store.additional_certs]
    key = store.key.private_bytes(_PEM, *_PLAIN_KEY)
    return key, b"".join(each.certificate.public_bytes(_PEM) for each in chain)


def load_authorities(context: ssl.SSLContext, truststore: Path, password: str | None) -> None:
    """The certificates that sign others, from PEM or PKCS#12. Raises ConfigurationError, OSError."""
    store = _read(truststore, password)
    if store is None:
        context.load_verify_locations(truststore)
        return
    context.load_verify_locations(cadata=_certificates_of(store, truststore).decode())


def authorities(truststore: Path, password: str | None) -> bytes:
    """The same in PEM. Raises ConfigurationError, OSError, ValueError."""
    store = _read(truststore, password)
    if store is not None:
        return _certificates_of(store, truststore)
    return b"".join(each.public_bytes(_PEM) for each in load_pem_x509_certificates(truststore.read_bytes()))


def _certificates_of(store: PKCS12KeyAndCertificates, truststore: Path) -> bytes:
    found = [each.certificate.public_bytes(_PEM) for each in store.additional_certs]
    if not found:
        raise ConfigurationError(f"{truststore}: no certificate is in it")
    return b"".join(found)


def _read(file: Path, password: str | None) -> PKCS12KeyAndCertificates | None:
    """None for what is no Java keystore."""
    content = file.read_bytes()
    if content.startswith(_JKS):
        raise ConfigurationError(
            f"{file}: JKS and JCEKS are not read: keytool -importkeystore -srckeystore {file.name} -destkeystore x.p12"
            " -deststoretype pkcs12"
        )
    if not content.startswith(_DER):
        return None
    try:
        return load_pkcs12(content, (password or "").encode())
    except ValueError as error:
        raise ConfigurationError(f"{file}: no PKCS#12 keystore, or a wrong password") from error
