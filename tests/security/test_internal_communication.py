"""The sidecar's port: who does not share the secret is told how it is, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import psutil
import pytest
from cryptography.hazmat.primitives import serialization

from coordinator.checks.internal_bearer import InternalBearer
from coordinator.checks.native_settings import NativeSettings
from coordinator.checks.sidecar_answers import SidecarUnavailableError
from coordinator.checks.sidecar_client import SidecarClient
from coordinator.config import read_config
from coordinator.room_settings import checker_defaults
from shared.protocol.internal_authentication import BEARER_HEADER, KEY_PASSWORD_VARIABLE, SECRET_VARIABLE, signing_key
from sidecar.app import create_app
from sidecar.settings import SidecarSettings
from tests.certificates import authority
from tests.e2e.service import Service
from tests.processes import command_of, environment_of

pytestmark = pytest.mark.slow

SECRET = "known to two"
PATHS = [
    ("POST", "/v1/velox/plan"),
    ("POST", "/v1/expressions"),
    ("GET", "/v1/functions"),
    ("GET", "/v1/functions/presto"),
    ("GET", "/v1/properties/session"),
    ("GET", "/v1/info/stats"),
    ("PUT", "/v1/info/state"),
    ("GET", "/v1/nowhere"),
]


async def asked(secret: str | None, method: str, path: str, token: str | None) -> httpx.Response:
    transport = httpx.ASGITransport(create_app(SidecarSettings(shared_secret=secret)))
    async with httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
        return await client.request(method, path, headers={} if token is None else {BEARER_HEADER: token})


def tokens() -> dict[str, str | None]:
    good = {"sub": "node", "exp": time.time() + 60}
    return {
        "none": None,
        "empty": "",
        "the secret itself": SECRET,
        "another secret": InternalBearer("unknown").token(),
        "the secret unhashed": jwt.encode(good, SECRET.encode().ljust(32), "HS256"),
        "expired": jwt.encode(good | {"exp": time.time() - 1}, signing_key(SECRET), "HS256"),
        "for ever": jwt.encode({"sub": "node"}, signing_key(SECRET), "HS256"),
        "unsigned": jwt.encode(good, None, "none"),
        "another algorithm": jwt.encode(good, signing_key(SECRET).ljust(64), "HS512"),
    }


@pytest.mark.parametrize("kind", list(tokens()))
def test_strangers_are_told_nothing(kind: str) -> None:
    for method, path in PATHS:
        answer = asyncio.run(asked(SECRET, method, path, tokens()[kind]))
        assert answer.status_code == 401, path
        [failure] = answer.json()["failures"]
        assert failure["errorCode"]["name"] == "PERMISSION_DENIED"
    for path in ("/v1/info/state",):
        assert asyncio.run(asked(SECRET, "GET", path, tokens()[kind])).status_code == 200


def test_who_shares_the_secret_and_sidecars_without_one() -> None:
    for secret, token in ((SECRET, InternalBearer(SECRET).token()), (None, None)):
        assert asyncio.run(asked(secret, "GET", "/v1/properties/session", token)).status_code == 200


def test_tokens_are_made_anew_in_time() -> None:
    now = 1_000_000.0
    bearer = InternalBearer(SECRET, lambda: now)
    first = bearer.token()
    now += 149
    assert bearer.token() == first
    now += 2
    second = bearer.token()
    assert second != first
    now -= 10_000  # the clock was put back
    assert bearer.token() != second


def settings(**properties: str) -> NativeSettings:
    return NativeSettings.model_validate({"native-plan-checker.sidecar-uri": "http://a:1/", **properties})


def test_a_secret_goes_to_the_sidecar_that_it_was_made_for(tmp_path: Path) -> None:
    secret = {"internal-communication.shared-secret": SECRET}
    assert settings().secret is None
    assert settings(**secret).secret == SECRET
    assert settings(**secret, **{"internal-communication.shared-secret-of": "http://a:1"}).secret == SECRET
    assert settings(**secret, **{"internal-communication.shared-secret-of": "http://b:1"}).secret is None
    (tmp_path / "config.properties").write_text(f"internal-communication.shared-secret={SECRET}\n")
    config = read_config(tmp_path)
    assert checker_defaults(config)["native"] == secret
    made = read_config(tmp_path).model_copy(
        update={"internal": config.internal.model_copy(update={"shared_secret": None})}
    )
    made = made.model_copy(
        update={"sidecar_secret": "x", "coordinator": config.coordinator.model_copy(update={"sidecar_url": "http://b"})}
    )
    assert checker_defaults(made)["native"] == {
        "native-plan-checker.sidecar-uri": "http://b",
        "internal-communication.shared-secret": "x",
        "internal-communication.shared-secret-of": "http://b",
    }


@pytest.mark.slow
def test_a_sidecar_by_itself_and_a_coordinator_that_does_not_know_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    command = [sys.executable, "-m", "sidecar", "--port", "0", "--workers", "1", "--shared-secret-file", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]

    async def post(**properties: str) -> Any:
        client = SidecarClient(NativeSettings.model_validate({"native-plan-checker.sidecar-uri": url, **properties}))
        try:
            return await client.post(json.dumps({"no": "fragment"}).encode())
        finally:
            await client.aclose()

    try:
        assert asyncio.run(post(**{"internal-communication.shared-secret": SECRET})).failure is not None
        for wrong in ({}, {"internal-communication.shared-secret": "other"}):
            with pytest.raises(SidecarUnavailableError, match="does not take our internal"):
                asyncio.run(post(**wrong))
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
    file.write_text("")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "sidecar: the shared secret is empty\n")


def test_the_sidecar_of_up_answers_its_coordinator_alone(quiet_service: Service) -> None:
    [sidecar] = [
        child
        for child in psutil.Process(quiet_service.process.pid).children(recursive=True)
        if "sidecar" in (command := command_of(child)) and not any(part.endswith("guard.py") for part in command)
    ]
    command = sidecar.cmdline()
    url = "http://127.0.0.1:" + command[command.index("--port") + 1]
    assert httpx.get(f"{url}/v1/info", timeout=60).status_code == 200
    assert httpx.get(f"{url}/v1/functions", timeout=60).status_code == 401
    assert httpx.post(f"{url}/v1/velox/plan", json={}, timeout=60).status_code == 401
    assert httpx.put(f"{url}/v1/info/state", content='"SHUTTING_DOWN"', timeout=60).status_code == 401
    plan = quiet_service.execute("EXPLAIN (TYPE NATIVE) SELECT count(*) FROM tpch.tiny.nation")
    assert "TableScan" in plan[0][0]
    secret = sidecar.environ()[SECRET_VARIABLE]
    assert len(secret) >= 32
    assert secret not in " ".join(command)
    for process in psutil.Process(quiet_service.process.pid).children(recursive=True):
        known = environment_of(process).get(SECRET_VARIABLE)
        assert known is None or "sidecar" in command_of(process)
    kept = [file for file in quiet_service.data_dir.rglob("*") if file.is_file()]
    assert not any(secret.encode() in file.read_bytes() for file in kept)
    assert os.environ.get(SECRET_VARIABLE) is None


@pytest.mark.anyio
async def test_tls(tmp_path: Path) -> None:
    signer = authority(tmp_path / "ca.pem")
    signer.sign(tmp_path / "server.pem", "sidecar")
    authority(tmp_path / "other.pem")
    encrypted = encrypt(tmp_path / "server.pem", "of the key")
    (tmp_path / "password").write_text("of the key\n")
    flags = ["--port", "0", "--workers", "1", "--https-keystore", str(encrypted)]
    flags += ["--https-keystore-password-file", str(tmp_path / "password")]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "sidecar", *flags, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().split()[-1]
        assert url.startswith("https://127.0.0.1:")
        etc = tmp_path / "etc"
        etc.mkdir()
        for trusted, problem in (
            ("ca.pem", "plan checker: "),
            ("other.pem", "certificate of the sidecar is not trusted"),
        ):
            (etc / "config.properties").write_text(
                f"sidecar.uri={url}\ninternal-communication.https.trust-store-path={tmp_path / trusted}\n"
            )
            defaults = checker_defaults(read_config(etc))["native"]
            client = SidecarClient(NativeSettings.model_validate(defaults | {"native-plan-checker.max-retries": "0"}))
            try:
                answer = await client.post(b"{}")
                told = f"plan checker: {answer.failure}"
            except SidecarUnavailableError as error:
                told = error.message
            finally:
                await client.aclose()
            assert problem in told
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            httpx.get(url.replace("https", "http") + "/v1/info", timeout=60)
    finally:
        process.terminate()
        await process.wait()


def encrypt(file: Path, password: str) -> Path:
    """The key of a PEM file under a password; the certificates stay."""
    content = file.read_bytes()
    key = serialization.load_pem_private_key(content, None)
    form = serialization.BestAvailableEncryption(password.encode())
    kept = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, form)
    file.write_bytes(kept + content[content.index(b"-----BEGIN CERTIFICATE") :])
    return file


def test_a_sidecar_without_its_certificate_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    authority(tmp_path / "ca.pem").sign(tmp_path / "key.pem", "sidecar")
    encrypt(tmp_path / "key.pem", "right")
    for name, password in (("text", None), ("key.pem", None), ("key.pem", "wrong")):
        command = [sys.executable, "-m", "sidecar", "--port", "0", "--https-keystore", str(tmp_path / name)]
        environment = os.environ | ({} if password is None else {KEY_PASSWORD_VARIABLE: password})
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment)
        assert (done.returncode, "no private key with its certificates in PEM" in done.stderr) == (2, True)
