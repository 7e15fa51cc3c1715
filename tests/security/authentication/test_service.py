"""A whole service over TLS: the clients that people use, with right and wrong credentials of every kind."""

from __future__ import annotations

import re
import socket
import ssl
import time
import warnings
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import jwt
import prestodb
import pyhive.presto
import pytest
import trino
from cryptography.hazmat.primitives.asymmetric import ec

from tests.certificates import authority, pem
from tests.security.authentication.secured import (
    PASSWORD,
    Secured,
    basic,
    http_session,
    presto_cursor,
    trino_cursor,
    until,
    who,
    write_passwords,
)


def test_clients_with_the_right_password(secured: Secured) -> None:
    assert who(presto_cursor(secured, "alice", PASSWORD)) == "alice"
    assert who(trino_cursor(secured, "bob", trino.auth.BasicAuthentication("bob", PASSWORD))) == "bob"
    connection = pyhive.presto.connect(
        "127.0.0.1",
        secured.port,
        username="alice",
        password=PASSWORD,
        protocol="https",
        requests_session=http_session(secured),
    )
    assert who(connection.cursor()) == "alice"


def test_clients_with_a_wrong_password(secured: Secured) -> None:
    with pytest.raises(prestodb.exceptions.HttpError, match=r"401.*Access Denied: Invalid credentials"):
        who(presto_cursor(secured, "alice", "wrong"))
    for user in ("bob", "nobody"):
        with pytest.raises(trino.exceptions.HttpError, match=r"401.*Access Denied: Invalid credentials"):
            who(trino_cursor(secured, user, trino.auth.BasicAuthentication(user, "wrong")))


def test_tokens(secured: Secured) -> None:
    def asked(token: str) -> str:
        return who(trino_cursor(secured, None, trino.auth.JWTAuthentication(token)))

    assert asked(secured.token()) == "carol"
    stranger = pem(ec.generate_private_key(ec.SECP256R1()))
    public = (secured.service.etc / "jwt.pem").read_bytes()
    for token, problem in (
        (secured.token(exp=time.time() - 1), "Signature has expired"),
        (secured.token(iss="https://evil.example"), "Invalid issuer"),
        (secured.token(aud="other"), "Audience doesn't match"),
        (secured.token(aud=None), 'missing the "aud" claim'),
        (secured.token(email=None, sub="carol"), "the token names no principal"),
        (secured.token(email="root@example.com"), "Principal is not allowed"),
        (secured.token(email="carol@evil.example"), "No user mapping patterns match the principal"),
        (secured.token(stranger), "Signature verification failed"),
        (_confused(public), "JWT is signed with HS256, but no HMAC key is configured"),
        (_unsigned(), "JWT is signed with none, but no key is configured"),
        ("nonsense", "Not enough segments"),
    ):
        with pytest.raises(trino.exceptions.HttpError, match=f"401.*{problem}"):
            asked(token)


def _confused(public: bytes) -> str:
    """Signed with the public key as if it were a shared secret."""
    import hmac
    from hashlib import sha256

    def part(content: bytes) -> bytes:
        return b64encode(content, b"-_").rstrip(b"=")

    signed = part(b'{"alg":"HS256"}') + b"." + part(b'{"email":"carol@example.com","aud":"lake"}')
    return (signed + b"." + part(hmac.digest(public, signed, sha256))).decode()


def _unsigned() -> str:
    return jwt.encode({"email": "carol@example.com", "aud": "lake"}, None, "none")


def test_certificates(secured: Secured, tmp_path: Path) -> None:
    known = secured.authority.sign(tmp_path / "dave.pem", "dave", "lake")
    elsewhere = secured.authority.sign(tmp_path / "eve.pem", "eve", "sea")
    auth = trino.auth.CertificateAuthentication(str(known), str(known))
    assert who(trino_cursor(secured, "dave", auth)) == "dave"
    refused = secured.get("/v1/query", cert=elsewhere)
    assert (refused.status_code, refused.text) == (401, "No user mapping patterns match the principal")
    assert secured.get("/v1/query", cert=elsewhere, headers=basic("alice", PASSWORD)).status_code == 200
    forged = authority(tmp_path / "other.pem").sign(tmp_path / "forged.pem", "dave", "lake")
    with pytest.raises((httpx.ReadError, httpx.ConnectError, httpx.RemoteProtocolError)):
        secured.get("/v1/query", cert=forged)


def test_a_user_is_nobody_else_unless_a_rule_says_so(secured: Secured) -> None:
    auth = trino.auth.BasicAuthentication
    with pytest.raises(trino.exceptions.HttpError, match=r"403.*Access Denied: User alice cannot impersonate user bob"):
        who(trino_cursor(secured, "bob", auth("alice", PASSWORD)))
    assert who(trino_cursor(secured, "bob", auth("gateway", PASSWORD))) == "bob"
    with pytest.raises(trino.exceptions.HttpError, match=r"403"):
        who(trino_cursor(secured, "root", auth("gateway", PASSWORD)))


def test_challenges_are_lines_of_their_own(secured: Secured) -> None:
    refused = secured.get("/v1/statement", method="POST", content="SELECT 1", headers={"X-Presto-User": "alice"})
    assert (refused.status_code, refused.text) == (401, "Unauthorized")
    *known, login = refused.headers.get_list("www-authenticate")
    assert known == ['Basic realm="Presto"', 'Bearer realm="Presto", token_type="JWT"']
    base = f"{secured.url}/oauth2/token/"
    expected = rf'Bearer x_redirect_server="{base}initiate/\w{{64}}", x_token_server="{base}[\w-]{{36}}"'
    assert re.fullmatch(expected, login)


def test_plain_http_takes_nobody_but_says_how_it_is(secured: Secured) -> None:
    for headers in ({}, basic("alice", PASSWORD), {"X-Forwarded-Proto": "https"} | basic("alice", PASSWORD)):
        refused = httpx.get(f"{secured.plain}/v1/query", headers=headers, timeout=60)
        assert (refused.status_code, refused.text) == (403, "Authentication over HTTP is not enabled")
    for path in ("/v1/info", "/v1/info/state", "/v1/info/coordinator", "/v1/status"):
        assert httpx.get(secured.plain + path, timeout=60).status_code == 200
        assert secured.get(path).status_code == 200


def shown(secured: Secured) -> tuple[str | None, str]:
    """The version of TLS, and the name in the certificate."""
    context = ssl.create_default_context(cafile=str(secured.authority.file))
    with (
        socket.create_connection(("127.0.0.1", secured.port)) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as connection,
    ):
        certificate: Any = connection.getpeercert()
        return connection.version(), certificate["subject"][0][0][1]


def test_old_tls_is_refused(secured: Secured) -> None:
    assert shown(secured)[0] == "TLSv1.3"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", secured.port)) as raw, pytest.raises((ssl.SSLError, OSError)):
        context.wrap_socket(raw)


def test_files_are_read_again(secured: Secured) -> None:
    etc = secured.service.etc

    def served() -> str:
        return shown(secured)[1]

    def status(user: str) -> int:
        return secured.get("/v1/query", headers=basic(user, PASSWORD)).status_code

    assert (served(), status("late")) == ("first", 401)
    (etc / "server.pem").write_text("nonsense")
    time.sleep(0.3)
    assert served() == "first"
    secured.authority.sign(etc / "server.pem", "second")
    until(lambda: served() == "second")
    write_passwords(etc / "passwords", late=PASSWORD, bob=PASSWORD, gateway=PASSWORD)
    until(lambda: status("late") == 200)
    assert status("alice") == 401, "a password that was right is forgotten with its user"
    (etc / "passwords").write_text("nonsense\n")
    time.sleep(0.3)
    assert status("late") == 200
    write_passwords(etc / "passwords", alice=PASSWORD, bob=PASSWORD, gateway=PASSWORD)
    until(lambda: status("alice") == 200)
