"""``procession sql`` where everybody has to say who they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from coordinator.cli.client import ClientSession, ServerUnreachableError, StatementClient
from coordinator.cli.login import ExternalLogin, Login, LoginError
from coordinator.cli.tls import Store
from tests.security.authentication.secured import PASSWORD, Secured
from tests.security.authentication.test_oauth2 import browser


def asked(secured: Secured, *options: str, server: str | None = None, **environment: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "coordinator", "sql", "--server", server or secured.url]
    command += ["--truststore-path", str(secured.authority.file), "-e", "SELECT current_user", *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ | environment, check=False
    )
    return done.returncode, done.stdout + done.stderr


def user_of(secured: Secured, login: Login, user: str) -> object:
    """In this process: a start of Python is saved."""
    with StatementClient(secured.url, ClientSession(user), login) as client:
        [[found]] = [row for page in client.execute("SELECT current_user") for row in page.rows]
        return found


def test_passwords_and_tokens(secured: Secured) -> None:
    assert asked(secured, "--user", "alice", "--password", TRINO_PASSWORD=PASSWORD) == (0, '"alice"\n')
    code, said = asked(secured, "--user", "alice", "--password", PROCESSION_PASSWORD="wrong")
    assert (code, said) == (1, "Access Denied: Invalid credentials\n")
    assert asked(secured, "--user", "carol", PROCESSION_ACCESS_TOKEN=secured.token()) == (0, '"carol"\n')
    assert asked(secured, "--user", "alice") == (1, "Unauthorized\n")


def test_certificates_in_either_form(secured: Secured, tmp_path: Path) -> None:
    file = secured.authority.sign(tmp_path / "dave.pem", "dave", "lake")
    trust = Store(secured.authority.file)
    assert user_of(secured, Login(trust=trust, keystore=Store(file)), "dave") == "dave"
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    key = load_pem_private_key(file.read_bytes(), None)
    encryption = BestAvailableEncryption(b"of the store")
    made = pkcs12.serialize_key_and_certificates(b"dave", key, certificate, None, encryption)  # type: ignore[arg-type]
    store, trusts = tmp_path / "dave.p12", tmp_path / "trust.p12"
    store.write_bytes(made)
    trusts.write_bytes(
        pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(secured.authority.certificate, b"ca")], encryption)
    )
    both = Login(trust=Store(trusts, "of the store"), keystore=Store(store, "of the store"))
    assert user_of(secured, both, "dave") == "dave"
    with pytest.raises(ServerUnreachableError, match=r"dave\.p12 holds no certificate with its key in PEM or PKCS #12"):
        user_of(secured, Login(trust=trust, keystore=Store(store, "wrong")), "dave")
    with pytest.raises(ServerUnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
        user_of(secured, Login(keystore=Store(file)), "dave")
    assert user_of(secured, Login(insecure=True, keystore=Store(file)), "dave") == "dave"


def test_somebody_logs_in_with_a_browser_once(secured: Secured) -> None:
    opened: list[str] = []

    def open_page(address: str) -> None:
        def visit() -> None:
            with browser(secured) as client:
                assert client.get(address).status_code == 200

        opened.append(address)
        threading.Thread(target=visit).start()

    external = ExternalLogin(open_page)
    login = Login(trust=Store(secured.authority.file), external=external)
    secured.provider.user = "erin"
    assert [user_of(secured, login, "erin") for _ in range(2)] == ["erin", "erin"]
    assert len(opened) == 1
    assert re.match(rf"{secured.url}/oauth2/token/initiate/", opened[0])


def test_a_login_that_nobody_completes(secured: Secured) -> None:
    import httpx

    with httpx.Client(verify=secured.context(), timeout=60) as http:
        refused = http.post(f"{secured.url}/v1/statement", content=b"SELECT 1")
        challenge = ", ".join(refused.headers.get_list("WWW-Authenticate"))
        with pytest.raises(LoginError, match="nobody logged in"):
            ExternalLogin(lambda _: None, seconds=0).answer(http, challenge)
        with pytest.raises(LoginError, match="is not https"):
            ExternalLogin(lambda _: None).answer(http, 'Bearer x_token_server="http://127.0.0.1:1/"')
        assert not ExternalLogin(lambda _: None).answer(http, 'Basic realm="x"')


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
