"""Kerberos in the shell, with a library in place of gssapi that counts: what needs no key distribution center."""

from __future__ import annotations

import socket
import sys
from base64 import b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from typer.testing import CliRunner

from coordinator.cli.client import ClientSession, ServerUnreachableError, StatementClient
from coordinator.cli.kerberos import Kerberos, KerberosAuth, KerberosError, Tickets
from coordinator.cli.login import Login
from coordinator.cli.main import app

SERVER = "https://lake.example:8443"


class GSSError(Exception):
    maj_code, min_code = 851968, 100006

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        return ["Unspecified GSS failure."] if is_major else [str(self)]


class ExpiredCredentialsError(GSSError):
    pass


class Library:
    """``lifetimes`` are of the credentials that are acquired, in turn; 0 is one that has ended."""

    NameType = SimpleNamespace(kerberos_principal="principal", hostbased_service="host")
    RequirementFlag = SimpleNamespace(mutual_authentication="mutual")
    exceptions = SimpleNamespace(GSSError=GSSError, ExpiredCredentialsError=ExpiredCredentialsError)
    OID = SimpleNamespace(from_int_seq=str)

    def __init__(self, *lifetimes: int | None) -> None:
        self.lifetimes = list(lifetimes) or [3600]
        self.acquired: list[dict[str, Any]] = []
        self.tokens: list[tuple[str, str]] = []

    def Name(self, text: str, kind: str) -> tuple[str, str]:
        return kind, text

    def Credentials(self, **given: Any) -> Any:
        self.acquired.append(given)
        lifetime = self.lifetimes[min(len(self.acquired), len(self.lifetimes)) - 1]
        return Held(lifetime)

    def SecurityContext(self, **given: Any) -> Any:
        assert (given["mech"], given["usage"], given["flags"]) == ("1.3.6.1.5.5.2", "initiate", ["mutual"])
        self.tokens.append(given["name"])
        return Exchange(f"token {len(self.tokens)}".encode())


class Held:
    name = "alice/admin@EXAMPLE.COM"

    def __init__(self, lifetime: int | None) -> None:
        self._lifetime = lifetime

    @property
    def lifetime(self) -> int | None:
        if self._lifetime == 0:
            raise ExpiredCredentialsError("Ticket expired")
        return self._lifetime


class Exchange:
    """Only ``proof of`` its token is the server's answer; ``more`` asks for a further step."""

    complete = False

    def __init__(self, token: bytes) -> None:
        self._token = token

    def step(self, answer: bytes | None = None) -> bytes | None:
        if answer is None:
            return self._token
        if answer == b"more":
            return b"a further token"
        if answer != b"proof of " + self._token:
            raise GSSError("A token was invalid")
        self.complete = True
        return None


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setitem(sys.modules, "gssapi", cast(Any, made))
    return made


def negotiate(token: str) -> str:
    return "Negotiate " + b64encode(token.encode()).decode()


def client(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
    auth = KerberosAuth(Tickets(Kerberos("presto")), SERVER)
    return httpx.Client(transport=httpx.MockTransport(answer), auth=auth)


def test_every_request_has_a_token_of_its_own(library: Library) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200)

    with client(answer) as http:
        for _ in range(3):
            http.get(f"{SERVER}/v1/info")
    assert seen == [negotiate(f"token {number}") for number in (1, 2, 3)]
    assert library.tokens == [("host", "presto@lake.example")] * 3
    assert len(library.acquired) == 1


def test_no_other_server_gets_a_ticket(library: Library) -> None:
    asked: list[str] = []
    told: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        if "Authorization" in request.headers:
            told.append(request.url.host)
        location = {"Location": "https://thief.example:8443/v1/x"} if request.url.host == "lake.example" else {}
        return httpx.Response(307 if location else 200, headers=location)

    with client(answer) as http:
        assert http.get(SERVER).status_code == 307
        assert http.get("HTTPS://LAKE.example:8443/elsewhere").status_code == 307
        for address in ("https://thief.example:8443/v1/x", "https://lake.example/v1/x", "https://lake.example:8444"):
            with pytest.raises(KerberosError, match=r"no Kerberos ticket is sent to .*, which is not the server"):
                http.get(address)
        assert asked == ["lake.example"] * 2
        assert http.get(SERVER, follow_redirects=True).status_code == 200, "which the shell does not do"
    assert told == ["lake.example"] * 3


@pytest.mark.parametrize("theirs", ["nextUri", "partialCancelUri"])
def test_pages_of_another_server_are_not_asked_for_nor_canceled(library: Library, theirs: str) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url}")
        page = {"id": "q", "infoUri": "", "stats": {"state": "RUNNING"}, "nextUri": SERVER, "partialCancelUri": SERVER}
        return httpx.Response(200, json=page | {theirs: "https://thief.example/v1/q/1"})

    login = Login(kerberos=Tickets(Kerberos("presto")))
    with StatementClient(SERVER, ClientSession("alice"), login) as statements:
        statements._http._transport = httpx.MockTransport(answer)
        statements._http._mounts = {}
        pages = statements.execute("SELECT 1")
        next(pages)
        statements.end_early()
        with pytest.raises(ServerUnreachableError, match=r"no Kerberos ticket is sent to thief\.example:443"):
            list(pages)
    assert asked == [f"POST {SERVER}/v1/statement", f"DELETE {SERVER}"], "which ends it early, or cancels it"


def test_tickets_are_sent_over_https_only(library: Library) -> None:
    ran = CliRunner().invoke(
        app, ["sql", "http://lake.example", "--krb5-remote-service-name", "presto", "-e", "SELECT 1"]
    )
    assert ran.exit_code == 2
    assert ran.stderr.startswith("procession: Kerberos tickets are sent over https only, not to http://lake.example")
    assert library.tokens == []


@pytest.mark.parametrize(
    ("status", "told", "problem"),
    [
        (200, negotiate("proof of token 1"), None),
        (200, f'Basic realm="x", {negotiate("proof of token 1")}', None),
        (200, "Negotiate", None),
        (401, negotiate("somebody else"), None),
        (200, negotiate("proof of token 2"), "not the service that the ticket is for: A token was invalid"),
        (200, negotiate("more"), "not the service that the ticket is for$"),
        (200, "Negotiate x", "is no token"),
    ],
)
def test_the_proof_of_a_server_that_gives_one(library: Library, status: int, told: str, problem: str | None) -> None:
    with client(lambda _: httpx.Response(status, headers={"WWW-Authenticate": told})) as http:
        if problem is None:
            assert http.get(SERVER).status_code == status
        else:
            with pytest.raises(KerberosError, match=problem):
                http.get(SERVER)


@pytest.mark.parametrize(("lifetimes", "acquired"), [((3600,), 1), ((None,), 1), ((59, 3600), 2), ((30,), 3)])
def test_a_ticket_that_ends_soon_is_replaced(library: Library, lifetimes: tuple[int, ...], acquired: int) -> None:
    library.lifetimes = list(lifetimes)
    tickets = Tickets(Kerberos("presto"))
    for _ in range(3):
        tickets.begin("lake.example")
    assert len(library.acquired) == acquired


def test_a_ticket_that_has_ended(library: Library) -> None:
    library.lifetimes = [0]
    with pytest.raises(KerberosError, match=r"the Kerberos ticket has expired: `kinit` gets a new one"):
        Tickets(Kerberos("presto")).begin("lake.example")


def test_where_tickets_come_from(library: Library) -> None:
    command = ["sql", "http://lake.example", "--krb5-remote-service-name", "presto", "-e", "SELECT 1"]
    for options in (
        [],
        ["--krb5-credential-cache-path", "/run/tickets"],
        ["--krb5-credential-cache-path", "KCM:1000", "--krb5-principal", "bob@EXAMPLE.COM"],
        ["--krb5-keytab-path", __file__],
    ):
        CliRunner().invoke(app, [*command, *options])
    stores = [given["store"] for given in library.acquired]
    assert stores[:3] == [None, {"ccache": "FILE:/run/tickets"}, {"ccache": "KCM:1000"}]
    assert stores[3]["client_keytab"] == f"FILE:{__file__}"
    assert stores[3]["ccache"].startswith("MEMORY:"), "the user's own cache stays as it is"
    assert [given["name"] for given in library.acquired] == [None, None, ("principal", "bob@EXAMPLE.COM"), None]


@pytest.mark.parametrize(
    ("asked", "host", "name"),
    [
        (Kerberos("presto"), "Lake.Example", ("host", "presto@lake.example")),
        (Kerberos("presto"), "localhost", ("host", "presto@this.example")),
        (Kerberos("presto", canonical=False), "localhost", ("principal", "presto/localhost@")),
        (Kerberos("HTTP", pattern="${SERVICE}@lb.example"), "lake.example", ("host", "HTTP@lb.example")),
        (
            Kerberos("presto", canonical=False, pattern="${SERVICE}/${HOST}@LAKE.EXAMPLE"),
            "lake.example",
            ("principal", "presto/lake.example@LAKE.EXAMPLE"),
        ),
    ],
)
def test_names_of_services(
    library: Library, monkeypatch: pytest.MonkeyPatch, asked: Kerberos, host: str, name: tuple[str, str]
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "This.Example")
    Tickets(asked).begin(host)
    assert library.tokens == [name]


def test_statements_are_the_principals(library: Library) -> None:
    assert Tickets(Kerberos("presto")).user() == "alice"


SWITCH = ["--krb5-remote-service-name", "presto"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--krb5-principal", "a"], "--krb5-principal is for Kerberos, which --krb5-remote-service-name switches on"),
        ([*SWITCH, "--access-token", "x"], "--krb5-remote-service-name and other ways to log in do not go together"),
        ([*SWITCH, "--password"], "--krb5-remote-service-name and other ways to log in do not go together"),
        ([*SWITCH, "--krb5-keytab-path", "/nowhere"], "--krb5-keytab-path: /nowhere cannot be read: No such file"),
        ([*SWITCH, "--krb5-config-path", "/nowhere"], "--krb5-config-path: /nowhere cannot be read: No such file"),
        ([*SWITCH, "--krb5-service-principal-pattern", "x"], "--krb5-service-principal-pattern is a name such as "),
    ],
)
def test_options_that_cannot_be(library: Library, options: list[str], problem: str) -> None:
    ran = CliRunner().invoke(app, ["sql", SERVER, *options, "-e", "SELECT 1"])
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert ran.stderr.startswith(f"procession: {problem}")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    ran = CliRunner().invoke(app, ["sql", SERVER, *SWITCH, "-e", "SELECT 1"])
    assert ran.exit_code == 2
    assert ran.stderr.startswith("procession: --krb5-remote-service-name needs pip install 'procession[kerberos]': ")
