"""A small OAuth2 provider with discovery, whose users log in by opening a page; it checks what a real one does."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

CLIENT, SECRET = "procession", "client-secret-of-tests"


class IdentityProvider:
    """``user`` is who logs in next; ``refuses`` the error that they get instead."""

    def __init__(self) -> None:
        self.url = ""
        self.user = "erin"
        self.refuses: str | None = None
        self.lifetime = 60.0
        self.redirects: set[str] = set()
        self.key = generate_private_key(65537, 2048)
        self.codes: dict[str, dict[str, str]] = {}

    def token(self, **claims: Any) -> str:
        good = {"iss": self.url, "aud": [CLIENT], "sub": self.user, "exp": time.time() + self.lifetime}
        return jwt.encode(good | claims, self.key, "RS256", {"kid": "one"})

    def get(self, path: str, asked: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        match path:
            case "/.well-known/openid-configuration":
                places = {name: f"{self.url}/{path}" for name, path in _PLACES.items()}
                return 200, {}, places | {"issuer": self.url}
            case "/keys":
                public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
                return 200, {}, {"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]}
            case "/authorize":
                return self._authorize(asked)
        return 404, {}, {}

    def _authorize(self, asked: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        if not asked["redirect_uri"].endswith("/oauth2/callback"):
            return 400, {}, {"error": "redirect_uri is not registered"}
        code = token_urlsafe(16)
        self.codes[code] = asked
        said = {"error": self.refuses} if self.refuses else {"code": code}
        return 302, {"Location": asked["redirect_uri"] + "?" + urlencode(said | {"state": asked["state"]})}, {}

    def post(self, login: str, form: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        begun = self.codes.pop(form.get("code", ""), None)
        verifier = sha256(form.get("code_verifier", "").encode()).digest()
        right = (
            login == f"{CLIENT}:{SECRET}"
            and begun is not None
            and begun["redirect_uri"] == form["redirect_uri"]
            and begun["code_challenge"] == urlsafe_b64encode(verifier).rstrip(b"=").decode()
        )
        if not right:
            return 400, {}, {"error": "invalid_grant"}
        return 200, {}, {"access_token": self.token(), "token_type": "Bearer"}


_PLACES = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            self._answer(*provider.get(parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            login = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
            self._answer(*provider.post(login, {k: v[0] for k, v in parse_qs(body).items()}))

        def _answer(self, status: int, headers: dict[str, str], content: Any) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
