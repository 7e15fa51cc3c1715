"""A service with TLS, every kind of authentication and rules, and how clients talk to it."""

from __future__ import annotations

import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import jwt
import prestodb
import requests
import trino
from cryptography.hazmat.primitives.asymmetric import ec

from tests.certificates import Authority, pem
from tests.e2e.service import Service
from tests.security.authentication.identity_provider import IdentityProvider

PASSWORD = "correct horse"
CONFIG = """
http-server.https.enabled=true
http-server.https.port=0
http-server.https.keystore.path=server.pem
http-server.https.truststore.path=ca.pem
http-server.https.ssl-context.refresh-time=100ms
http-server.authentication.type=CERTIFICATE,PASSWORD,JWT,OAUTH2
http-server.authentication.oauth2.client-id=procession
http-server.authentication.oauth2.client-secret=client-secret-of-tests
http-server.authentication.oauth2.refresh-tokens=true
http-server.authentication.oauth2.userinfo-cache-ttl=1s
http-server.authentication.certificate.user-mapping.pattern=CN=([^,]+),OU=lake
http-server.authentication.jwt.key-file=etc/jwt.pem
http-server.authentication.jwt.required-issuer=https://id.example
http-server.authentication.jwt.required-audience=lake
http-server.authentication.jwt.principal-field=email
http-server.authentication.jwt.user-mapping.file=mapping.json
"""
MAPPING = '{"rules": [{"pattern": "root@.*", "allow": false}, {"pattern": "(.*)@example.com", "case": "lower"}]}'
RULES = """{
  "catalogs": [
    {"user": "bob", "catalog": "iceberg", "allow": "read-only"},
    {"user": "carol", "catalog": "tpch", "allow": "none"},
    {"user": "alice|bob|carol|dave|erin", "allow": "all"}
  ],
  "queries": [
    {"user": "alice", "allow": ["execute", "view", "kill"]},
    {"user": "bob|carol|dave|erin", "allow": ["execute"]}
  ],
  "impersonation": [{"original_user": "gateway", "new_user": "(alice|bob)"}],
  "system_information": [{"user": "alice", "allow": ["read", "write"]}],
  "system_session_properties": [{"user": "bob", "property": "query_priority"}, {"allow": true}]
}"""


@dataclass
class Secured:
    """A service with its second address, and what clients of it need."""

    service: Service
    plain: str
    port: int
    authority: Authority
    home: Path
    key: ec.EllipticCurvePrivateKey
    provider: IdentityProvider
    silent: Future[tuple[bytes, float]]
    """Of a connection that began when the service did and said nothing: what came, and after how many seconds."""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def token(self, key: Any = None, algorithm: str = "ES256", **claims: Any) -> str:
        good = {"email": "Carol@example.com", "iss": "https://id.example", "aud": "lake", "exp": time.time() + 60}
        return jwt.encode({k: v for k, v in (good | claims).items() if v is not None}, key or pem(self.key), algorithm)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.file))

    def get(self, path: str, *, cert: Path | None = None, **options: Any) -> httpx.Response:
        context = self.context()
        if cert is not None:
            context.load_cert_chain(cert)
        with httpx.Client(verify=context, timeout=60) as client:
            return client.request(options.pop("method", "GET"), self.url + path, **options)


def write_passwords(file: Path, **passwords: str) -> None:
    hashed = {user: bcrypt.hashpw(word.encode(), bcrypt.gensalt(8, b"2a")) for user, word in passwords.items()}
    lines = [f"{user}:$2y${text.decode().removeprefix('$2a$')}\n" for user, text in hashed.items()]
    file.write_text("".join(lines))


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "condition never held"
        time.sleep(0.1)


def said_nothing(port: int) -> tuple[bytes, float]:
    """What a connection is told that begins and waits, and how long that takes."""
    with socket.create_connection(("127.0.0.1", port), 60) as silent:
        begun = time.monotonic()
        return silent.recv(1), time.monotonic() - begun


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}


def who(cursor: Any) -> str:
    cursor.execute("SELECT current_user")
    [[user]] = cursor.fetchall()
    return str(user)


def http_session(secured: Secured) -> requests.Session:
    """Trusts the signer of the tests, whatever the environment says."""
    session = requests.Session()
    session.trust_env, session.verify = False, str(secured.authority.file)
    return session


def trino_cursor(secured: Secured, user: str | None, auth: Any, **options: Any) -> Any:
    return trino.dbapi.connect(
        host="127.0.0.1",
        port=secured.port,
        user=user,
        http_scheme="https",
        auth=auth,
        verify=str(secured.authority.file),
        http_session=http_session(secured),
        max_attempts=1,
        **options,
    ).cursor()


def presto_cursor(secured: Secured, user: str, password: str) -> Any:
    connection = prestodb.dbapi.connect(
        host="127.0.0.1",
        port=secured.port,
        user=user,
        http_scheme="https",
        auth=prestodb.auth.BasicAuthentication(user, password),
    )
    connection._http_session.trust_env, connection._http_session.verify = False, str(secured.authority.file)
    return connection.cursor()
