"""A configuration of authentication or TLS that cannot work stops the start, in words that say what to do."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from coordinator.config import read_config
from coordinator.exposure import check_exposure
from coordinator.room_settings import secrets_in
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.authentication.load import load_authentication
from coordinator.security.settings import HttpsSettings
from coordinator.server.tls import load_tls
from shared.properties import ConfigurationError
from tests.certificates import authority

TYPE = "http-server.authentication.type"


def start(etc: Path, text: str) -> None:
    (etc / "config.properties").write_text(text)
    config = read_config(etc)
    check_exposure(config.coordinator, config.https, config.authentication)
    load_tls(etc, config.https)
    load_authentication(etc, config.authentication, config.oauth2, config.coordinator.principal_header, AllowAll())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{TYPE}=KERBEROS", r"type=KERBEROS needs http-server\.authentication\.krb5\.keytab"),
        (
            f"{TYPE}=KERBEROS\nhttp-server.authentication.krb5.keytab=text",
            "needs the package gssapi|krb5.keytab: .*text",
        ),
        (f"{TYPE}=CUSTOM", "properties:1: .*CUSTOM is not offered"),
        (f"{TYPE}=OAUTH2", "type=OAUTH2 needs http-server.authentication.oauth2.issuer, client-id and client-secret"),
        (f"{TYPE}=JWT,jwt", "a type stands twice"),
        (f"{TYPE}=LDAP", "properties:1: invalid value 'LDAP'"),
        (f"{TYPE}=JWT", "type=JWT needs http-server.authentication.jwt.key-file"),
        (f"{TYPE}=HEADER", "type=HEADER needs http-server.authentication.principal-header"),
        (f"{TYPE}=PASSWORD", "no such file: .*password-authenticator.properties"),
        (f"{TYPE}=CERTIFICATE", "type=CERTIFICATE needs http-server.https.truststore.path"),
        ("http-server.https.enabled=true", "needs http-server.https.keystore.path"),
        ("http-server.https.enabled=true\nhttp-server.https.keystore.path=x", "no such file: x"),
        ("http-server.https.enabled=true\nhttp-server.https.keystore.path=text", "no private key .*PEM or PKCS#12"),
        ("http-server.https.enabled=true\nhttp-server.https.keystore.path=jks", "JKS .*keytool -importkeystore"),
        ("http-server.https.enabled=true\nhttp-server.https.keystore.path=der", "no PKCS#12 keystore, or a wrong"),
        ("http-server.http.enabled=false", "are both false"),
        ("http-server.http.host=0.0.0.0", "does not authenticate"),
        (
            f"http-server.http.host=0.0.0.0\n{TYPE}=JWT\nhttp-server.authentication.allow-insecure-over-http=true",
            "does not authenticate over plain HTTP",
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "jks").write_bytes(b"\xfe\xed\xfe\xed\x00")
    (tmp_path / "der").write_bytes(b"\x30\x82\x00")
    with pytest.raises(ConfigurationError, match=problem):
        start(tmp_path, text)


def test_taken(tmp_path: Path) -> None:
    signer = authority(tmp_path / "ca.pem")
    signer.sign(tmp_path / "server.pem", "server")
    (tmp_path / "key").write_bytes(b"a" * 44)
    start(
        tmp_path,
        f"{TYPE}=jwt, certificate\nhttp-server.authentication.jwt.key-file=key\nhttp-server.http.host=0.0.0.0\n"
        "http-server.https.enabled=true\nhttp-server.https.keystore.path=server.pem\n"
        "http-server.https.truststore.path=ca.pem\n",
    )


def test_keystores_of_java(tmp_path: Path) -> None:
    signer = authority(tmp_path / "ca.pem")
    signer.sign(tmp_path / "server.pem", "server")
    if shutil.which("keytool") is None or shutil.which("openssl") is None:
        pytest.skip("no keytool or no openssl on PATH")
    made = ["openssl", "pkcs12", "-export", "-in", "server.pem", "-out", "server.p12", "-passout", "pass:changeit"]
    trusted = ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", "ca.pem", "-keystore", "ca.p12"]
    for command in (made, [*trusted, "-storetype", "PKCS12", "-storepass", "changeit"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    text = (
        "http-server.https.enabled=true\nhttp-server.https.keystore.path=server.p12\n"
        "http-server.https.keystore.key={}\n"
        "http-server.https.truststore.path=ca.p12\nhttp-server.https.truststore.key=changeit\n"
    )
    start(tmp_path, text.format("changeit"))
    with pytest.raises(ConfigurationError, match=r"server\.p12: no PKCS#12 keystore, or a wrong password"):
        start(tmp_path, text.format("wrong"))
    server = load_tls(
        tmp_path,
        HttpsSettings.model_validate(
            {
                "http-server.https.enabled": "true",
                "http-server.https.keystore.path": "server.p12",
                "http-server.https.keystore.key": "changeit",
            }
        ),
    )
    assert server is not None
    client = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    assert handshake(client, server) == "TLSv1.3"


def handshake(client: ssl.SSLContext, server: ssl.SSLContext) -> str | None:
    """Without a network; raises what the client says of the certificate."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there, server_hostname="localhost")
    answering = server.wrap_bio(there, back, server_side=True)
    for side in (asking, answering, asking, answering):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return asking.version()


def test_secrets_of_logins_are_known_as_such(tmp_path: Path) -> None:
    """By their values, wherever they show; and no other words of these files."""
    (tmp_path / "config.properties").write_text(
        "spark.remote=sc://host:1/;use_ssl=true;token=of-spark\n"
        "http-server.authentication.oauth2.refresh-tokens.secret-key=of-refresh\n"
    )
    (tmp_path / "password-authenticator.properties").write_text(
        "password-authenticator.name=ldap\nldap.bind-password=of-passwords\n"
    )
    (tmp_path / "group-provider.properties").write_text("group-provider.name=ldap\nldap.admin-password=of-groups\n")
    assert secrets_in(read_config(tmp_path)) == {"of-spark", "of-refresh", "of-passwords", "of-groups"}
