"""KERBEROS against a real key distribution center: what the service takes, and the shell as its client."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from coordinator.cli.kerberos import Kerberos, KerberosAuth, KerberosError, Tickets
from coordinator.cli.main import app
from coordinator.security.authentication.authenticator import AuthenticationError, Credentials
from coordinator.security.authentication.kerberos_authenticator import KerberosAuthenticator
from coordinator.security.authentication.user_mapping import user_mapping
from tests.certificates import authority
from tests.cli.shell.terminal import Terminal
from tests.e2e.service import start_service, write_etc
from tests.security.authentication.key_distribution_center import (
    HOST,
    REALM,
    Center,
    key_distribution_center,
)

CONFIG = """
http-server.https.enabled=true
http-server.https.port=0
http-server.https.keystore.path=server.pem
http-server.authentication.type=KERBEROS
http-server.authentication.krb5.service-name=presto
http-server.authentication.krb5.principal-hostname=localhost
http-server.authentication.krb5.user-mapping.pattern=(.*)@TEST.EXAMPLE
"""
AS_TYPED = "--krb5-disable-remote-service-hostname-canonicalization"


@pytest.fixture(scope="module")
def center(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Center]:
    with key_distribution_center(tmp_path_factory.mktemp("kerberos")) as running:
        yield running


@dataclass
class Lake:
    """A service that takes tickets, and what a shell that asks it always says."""

    center: Center
    url: str
    context: ssl.SSLContext
    options: list[str]

    def asked(self, *options: str, sql: str = "SELECT current_user") -> tuple[int, str]:
        """In this process: a start of Python is saved."""
        ran = CliRunner().invoke(app, ["sql", *self.options, "-e", sql, *options])
        return ran.exit_code, ran.output


@pytest.fixture(scope="module")
def lake(center: Center, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    home = tmp_path_factory.mktemp("kerberos-lake")
    etc = write_etc(home / "etc", spark=False)
    signer = authority(etc / "ca.pem")
    signer.sign(etc / "server.pem", "localhost")
    with (etc / "config.properties").open("a") as config:
        config.write(f"{CONFIG}http-server.authentication.krb5.keytab={center.home / 'presto.keytab'}\n")
    service = start_service(etc, home / "data", home / "log")
    assert service.process.stdout is not None
    port = service.process.stdout.readline().rpartition(":")[2].strip()
    url, context = f"https://localhost:{port}", ssl.create_default_context(cafile=str(signer.file))
    options = ["--server", url, "--truststore-path", str(signer.file), AS_TYPED]
    yield Lake(center, url, context, [*options, "--krb5-remote-service-name", "presto"])
    assert service.stop() == 0, (home / "log").read_text()
    assert "Traceback" not in (home / "log").read_text()


def who(authenticator: KerberosAuthenticator, headers: dict[str, str]) -> tuple[str, str]:
    said: list[str] = []
    found = asyncio.run(authenticator.authenticate(Credentials(headers, say=said.append)))
    assert [each.partition(" ")[0] for each in said] == ["Negotiate"]
    return found.principal, found.user


def test_tickets(center: Center) -> None:
    mapping = user_mapping(f"(.*)@{REALM}", None, "krb5")
    authenticator = KerberosAuthenticator(center.home / "presto.keytab", "presto", HOST, mapping)
    sent = center.header("alice")
    assert who(authenticator, sent) == (f"alice@{REALM}", "alice")
    with pytest.raises(AuthenticationError, match="Kerberos login failed"):
        who(authenticator, sent)  # somebody has listened
    for headers in (
        center.header("alice", "other"),
        {"authorization": "Negotiate " + b64encode(b"nonsense").decode()},
        {"authorization": "Negotiate ***"},
        {"authorization": "Negotiate"},
    ):
        with pytest.raises(AuthenticationError, match="Kerberos") as told:
            who(authenticator, headers)
        assert told.value.challenge == "Negotiate"
    with pytest.raises(AuthenticationError) as asked:
        who(authenticator, {"authorization": "Basic x"})
    assert (asked.value.message, asked.value.challenge) == ("", "Negotiate")


def test_a_keytab_of_another_service(center: Center) -> None:
    mapping = user_mapping(None, None, "krb5")
    with pytest.raises(ValueError, match=r"other\.keytab: "):
        KerberosAuthenticator(center.home / "other.keytab", "presto", HOST, mapping)


def test_the_shell_with_a_keytab(lake: Lake) -> None:
    """As a user types it: each of the statements takes several requests, and no token is taken twice."""
    keytab = ["--krb5-principal", "alice", "--krb5-keytab-path", str(lake.center.home / "alice.keytab")]
    command = [sys.executable, "-m", "coordinator", "sql", *lake.options, *keytab]
    told = subprocess.run(
        [*command, "--execute", "SELECT current_user; SELECT count(*) FROM system.runtime.queries"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"KRB5CCNAME": f"FILE:{lake.center.home}/none"},
        check=False,
    )
    assert (told.returncode, told.stdout.splitlines()[0], told.stderr) == (0, '"alice"', "")


def test_the_shell_with_tickets_of_kinit_and_a_configuration_file(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KRB5CCNAME", lake.center.cache("alice"))
    assert lake.asked() == (0, '"alice"\n')
    assert lake.asked("--krb5-service-principal-pattern", "${SERVICE}/${HOST}@TEST.EXAMPLE") == (0, '"alice"\n')
    file = tmp_path / "config"
    cache = lake.center.cache("root").removeprefix("FILE:")
    file.write_text(f"krb5-credential-cache-path={cache}\nkrb5-config-path={os.environ['KRB5_CONFIG']}\n")
    monkeypatch.setenv("PROCESSION_CONFIG", str(file))
    assert lake.asked() == (0, '"root"\n')
    code, told = lake.asked("--user", "alice")
    assert code == 1
    assert "cannot become user alice" in told


def test_the_prompt_completes_names_with_the_same_tickets(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KRB5CCNAME", lake.center.cache("alice"))
    terminal = Terminal(tmp_path, *lake.options)
    try:
        terminal.expect("procession>")
        terminal.type("SELECT 12 AS a FROM sys\t")
        terminal.expect("system")
        terminal.enter(".runtime.nodes;")
        terminal.expect(r"\n +12")
    finally:
        terminal.close()
    code, told = lake.asked(sql="SELECT DISTINCT user FROM system.runtime.queries WHERE source LIKE '%-completion'")
    assert (code, told) == (0, '"alice"\n')


def test_what_the_shell_says_without_a_ticket(lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
    monkeypatch.setenv("KRB5_CONFIG", os.environ["KRB5_CONFIG"])  # which an option replaces for the process
    keytab = ["--krb5-keytab-path", str(lake.center.home / "alice.keytab")]
    elsewhere = tmp_path / "krb5.conf"
    elsewhere.write_text(f"[libdefaults]\n default_realm = {REALM}\n[realms]\n {REALM} = {{\n kdc = 127.0.0.1:9\n }}\n")
    for options, problem in (
        (
            [],
            f"no Kerberos ticket: No Kerberos credentials available (default cache: FILE:{tmp_path}/none) (`kin",
        ),
        (
            ["--krb5-credential-cache-path", f"{tmp_path}/none"],
            "no Kerberos ticket: No credentials cache found (`kinit`",
        ),
        ([*keytab, "--krb5-principal", "zoe"], f"no Kerberos ticket: {keytab[1]}: No key table entry found for zoe@"),
        ([*keytab, "--krb5-remote-service-name", "hive"], "no Kerberos ticket for the service hive/localhost: Server"),
        ([*keytab, "--krb5-config-path", str(elsewhere)], "no Kerberos ticket: Cannot contact any KDC for realm"),
    ):
        code, told = lake.asked(*options)
        assert (code, told.count("\n")) == (2, 1), told
        assert told.startswith(f"procession: {problem}"), told


def test_the_service_shows_who_it_is(lake: Lake) -> None:
    """KerberosAuth looks at the proof; the one of the next response is another."""
    tickets = Tickets(Kerberos("presto", "alice", lake.center.home / "alice.keytab", canonical=False))
    with httpx.Client(verify=lake.context, auth=KerberosAuth(tickets, lake.url)) as http:
        shown = [http.get(f"{lake.url}/v1/query").raise_for_status().headers["WWW-Authenticate"] for _ in range(2)]
    assert shown[0] != shown[1]
    assert all(each.startswith("Negotiate ") for each in shown)


def test_the_server_is_the_one_that_the_ticket_is_for(center: Center) -> None:
    tickets = Tickets(Kerberos("presto", "alice", center.home / "alice.keytab"))
    assert tickets.user() == "alice"

    def answered(token: bytes) -> bytes:
        store = {"keytab": f"FILE:{center.home / 'presto.keytab'}"}
        context: Any = center.gssapi.SecurityContext(
            creds=center.gssapi.Credentials(usage="accept", store=store), usage="accept"
        )
        answer: bytes = context.step(token)
        return answer

    first, token = tickets.begin(HOST)
    answer = answered(token)
    tickets.finish(first, answer)
    _, again = tickets.begin(HOST)
    assert again != token
    for wrong in (answer, b"nonsense", answered(again)[:-1]):
        login, _ = tickets.begin(HOST)
        with pytest.raises(KerberosError, match="the server is not the service that the ticket is for"):
            tickets.finish(login, wrong)
