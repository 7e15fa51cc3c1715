"""A small OAuth2 provider with discovery, whose users log in by opening a page; it checks what a real one does."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections import Counter
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
    """``user`` is who logs in next; ``refuses`` the error that they get instead.

    ``opaque`` makes access tokens that say nothing themselves; ``refreshes`` gives tokens for new ones, each good once.
    ``down`` answers 503 to all but browsers. ``asked`` counts requests by path.
    """

    def __init__(self) -> None:
        self.url = ""
        self.user = "erin"
        self.refuses: str | None = None
        self.lifetime = 60.0
        self.redirects: set[str] = set()
        self.key = generate_private_key(65537, 2048)
        self.codes: dict[str, dict[str, str]] = {}
        self.opaque = self.refreshes = self.down = False
        self.asked: Counter[str] = Counter()
        self.live: dict[str, dict[str, Any]] = {}
        self.refreshing: dict[str, str] = {}

    def token(self, **claims: Any) -> str:
        good = {"iss": self.url, "aud": [CLIENT], "sub": self.user, "exp": time.time() + self.lifetime}
        return jwt.encode(good | claims, self.key, "RS256", {"kid": "one"})

    def opaque_token(self, client: str = CLIENT) -> str:
        token = token_urlsafe(24)
        self.live[token] = {"sub": self.user, "exp": time.time() + self.lifetime, "client_id": client}
        return token

    def get(self, path: str, asked: dict[str, str], login: str = "") -> tuple[int, dict[str, str], Any]:
        match path:
            case "/userinfo":
                told = self._told(login.removeprefix("Bearer "))
                return (401, {}, {"error": "invalid_token"}) if told is None else (200, {}, {"sub": told["sub"]})
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

    def post(self, path: str, login: str, form: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        if login != f"{CLIENT}:{SECRET}":
            return 401, {}, {"error": "invalid_client"}
        if path == "/introspect":
            told = self._told(form["token"])
            return 200, {}, {"active": False} if told is None else told | {"active": True}
        if form["grant_type"] == "refresh_token":
            user = self.refreshing.pop(form["refresh_token"], None)
            return (400, {}, {"error": "invalid_grant"}) if user is None else self._tokens(user)
        begun = self.codes.pop(form.get("code", ""), None)
        verifier = sha256(form.get("code_verifier", "").encode()).digest()
        right = (
            begun is not None
            and begun["redirect_uri"] == form["redirect_uri"]
            and begun["code_challenge"] == urlsafe_b64encode(verifier).rstrip(b"=").decode()
        )
        return self._tokens(self.user) if right else (400, {}, {"error": "invalid_grant"})

    def _tokens(self, user: str) -> tuple[int, dict[str, str], Any]:
        given = {"access_token": self.opaque_token() if self.opaque else self.token(sub=user), "token_type": "Bearer"}
        if self.refreshes:
            given["refresh_token"] = token_urlsafe(24)
            self.refreshing[given["refresh_token"]] = user
        return 200, {}, given | {"expires_in": int(self.lifetime)}

    def _told(self, token: str) -> dict[str, Any] | None:
        told = self.live.get(token)
        return told if told is not None and told["exp"] > time.time() else None


_PLACES = {
    "authorization_endpoint": "authorize",
    "token_endpoint": "token",
    "jwks_uri": "keys",
    "userinfo_endpoint": "userinfo",
}


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {k: v[0] for k, v in parse_qs(parts.query).items()}
            self._answer(parts.path, provider.get(parts.path, asked, self.headers.get("Authorization", "")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            login = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
            self._answer(self.path, provider.post(self.path, login, {k: v[0] for k, v in parse_qs(body).items()}))

        def _answer(self, path: str, answer: tuple[int, dict[str, str], Any]) -> None:
            provider.asked[path] += 1
            status, headers, content = answer if not provider.down or path == "/authorize" else (503, {}, {})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
