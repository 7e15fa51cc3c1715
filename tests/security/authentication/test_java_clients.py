"""presto-jdbc, trino-jdbc, trino-cli and presto-cli over TLS: right and wrong passwords, certificates and tokens."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.maven import jar
from tests.security.authentication.secured import PASSWORD, Secured
from tests.tiers import some

CLIS = {"trino": ("io.trino", "trino-cli", "476"), "presto": ("com.facebook.presto", "presto-cli", "0.296")}
OF_TRINO = "Presto's own by Java; Trino's Python client logs in by OAuth 2.0 (test_oauth2) and reads in clients/"


def logins(secured: Secured, tmp_path: Path, drivers: list[Path], asked: list[tuple[str, dict[str, str]]]) -> list[str]:
    """What each login ends with, in one JVM."""
    source = Path(__file__).parent / "java" / "LoginProbe.java"
    subprocess.run(["javac", "-d", str(tmp_path), str(source)], check=True, timeout=120, capture_output=True)
    trusted = {"SSL": "true", "SSLTrustStorePath": str(secured.authority.file)}
    lines = [
        "\t".join([f"jdbc:{kind}://127.0.0.1:{secured.port}", *(f"{k}={v}" for k, v in (trusted | given).items() if v)])
        for kind, given in asked
    ]
    path = ":".join(map(str, [tmp_path, *drivers]))
    run = subprocess.run(
        ["java", "-Duser.timezone=UTC", "-cp", path, "LoginProbe"],
        input="\n".join(lines),
        check=False,
        timeout=200,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize("kind", some(["presto"], ["trino"], OF_TRINO))
def test_jdbc_drivers(secured: Secured, request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    if shutil.which("javac") is None:
        pytest.skip("no JDK: javac is not on PATH")
    drivers = [request.getfixturevalue("jdbc_jar") if kind == "presto" else jar("io.trino", "trino-jdbc", "476")]
    provider = secured.provider
    provider.user = "erin"
    cases: list[tuple[dict[str, str], str]] = [
        ({"user": "alice", "password": PASSWORD}, "alice"),
        ({"user": "alice", "password": "wrong"}, "Access Denied: Invalid credentials"),
        ({"user": "nobody", "password": PASSWORD}, "Access Denied: Invalid credentials"),
        ({"user": "carol", "accessToken": secured.token()}, "carol"),
        ({"user": "carol", "accessToken": secured.token(exp=time.time() - 1)}, "Signature has expired"),
        ({"user": "erin", "accessToken": provider.token()}, "erin"),
        ({"user": "erin", "accessToken": provider.token(exp=time.time() - 61)}, "Signature has expired"),
        ({"user": "bob", "accessToken": secured.token()}, "Access Denied"),
        ({"user": "alice", "password": PASSWORD, "SSLTrustStorePath": ""}, "certification path"),
    ]
    asked = [(kind, given) for given, _ in cases]
    found = logins(secured, tmp_path, drivers, asked)
    assert len(found) == len(asked)
    for (kind, given), (_, expected), told in zip(asked, cases, found, strict=True):
        right = told == expected if " " not in expected else told.startswith("error") and expected in told
        assert right, (kind, given, told)
        assert PASSWORD not in told


@pytest.mark.parametrize("kind", some(["presto"], ["trino"], OF_TRINO))
def test_command_lines(secured: Secured, kind: str) -> None:
    group, name, version = CLIS[kind]
    cli = jar(group, name, version, "executable")

    def asked(password: str | None, *options: str) -> subprocess.CompletedProcess[str]:
        trusted = ["--truststore-path", str(secured.authority.file)]
        return subprocess.run(
            ["java", "-jar", str(cli), "--server", secured.url, *trusted, *options, "--execute", "SELECT current_user"],
            env={"PATH": "/usr/bin:/bin", f"{kind.upper()}_PASSWORD": password or ""},
            check=False,
            timeout=100,
            capture_output=True,
            text=True,
        )

    right = asked(PASSWORD, "--user", "alice", "--password")
    assert (right.returncode, right.stdout.strip()) == (0, '"alice"'), right.stderr
    wrong = asked("wrong", "--user", "alice", "--password")
    assert wrong.returncode != 0
    assert "Access Denied: Invalid credentials" in wrong.stderr
    assert asked(None, "--user", "carol", "--access-token", secured.token()).stdout.strip() == '"carol"'
    late = asked(None, "--user", "carol", "--access-token", secured.token(exp=time.time() - 1))
    assert "Signature has expired" in late.stderr
