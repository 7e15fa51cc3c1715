"""``procession sql`` where everybody has to say who they are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.security.authentication.secured import PASSWORD, Secured


def asked(secured: Secured, *options: str, server: str | None = None, **environment: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "coordinator", "sql", "--server", server or secured.url, "--output-format", "csv"]
    command += ["--truststore-path", str(secured.authority.file), "-e", "SELECT current_user", *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ | environment, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_passwords_and_tokens(secured: Secured) -> None:
    assert asked(secured, "--user", "alice", "--password", PROCESSION_PASSWORD=PASSWORD) == (0, "_col0\nalice\n")
    code, said = asked(secured, "--user", "alice", "--password", PROCESSION_PASSWORD="wrong")
    assert (code, said) == (1, "Access Denied: Invalid credentials\n")
    assert asked(secured, "--user", "carol", PROCESSION_ACCESS_TOKEN=secured.token()) == (0, "_col0\ncarol\n")
    assert asked(secured, "--user", "alice") == (1, "Unauthorized\n")


def test_secrets_are_not_sent_in_the_open(secured: Secured) -> None:
    options = ("--user", "alice", "--password")
    code, said = asked(secured, *options, server=secured.plain, PROCESSION_PASSWORD=PASSWORD)
    assert code == 2
    assert said.startswith("procession: passwords and tokens are sent over https only")


@pytest.mark.parametrize("file", ["/nowhere", __file__])
def test_a_wrong_trust_store_is_one_line(secured: Secured, file: str) -> None:
    code, said = asked(secured, "--truststore-path", file)
    assert code == 2
    assert said.count("\n") == 1
    assert "holds no certificates in PEM" in said
