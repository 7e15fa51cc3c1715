"""Kerberos tickets of a client: ``Authorization: Negotiate``, by the package ``gssapi``. Source: Trino's client."""

from __future__ import annotations

import binascii
import os
import re
import socket
import threading
from base64 import b64decode, b64encode
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import httpx

from coordinator.cli.gss_api import Exchange, GssError, Held, gss_api

_SPNEGO = "1.3.6.1.5.5.2"
_LEAST_SECONDS = 60
"""A ticket that ends earlier is replaced before a request: until the server looks at it, it may have ended."""
_ANSWER = re.compile(r"Negotiate\s+([A-Za-z0-9+/=]+)", re.IGNORECASE)


class KerberosError(Exception):
    """No ticket, or a server that is not the one that it says; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Kerberos:
    """Whose tickets, from where, for which service; what is not named is as the system has it.

    ``pattern`` makes the service's name: of a host with ``@``, or with ``/`` a principal as Kerberos writes it.
    ``canonical`` lets the library look for the host's full name in DNS, if its own configuration does.
    """

    service: str
    principal: str | None = None
    keytab: Path | None = None
    cache: str | None = None
    canonical: bool = True
    pattern: str = "${SERVICE}@${HOST}"


class Tickets:
    """One object for every connection of a shell; may be used by several threads."""

    def __init__(self, asked: Kerberos) -> None:
        """Raises ImportError without the package."""
        self._gssapi = gss_api()
        self._asked = asked
        self._kept: Held | None = None
        self._lock = threading.Lock()

    def user(self) -> str:
        """The principal without its realm, as most services map it. Raises KerberosError when nobody has a ticket."""
        return re.split("[/@]", str(self._credentials().name))[0]

    def begin(self, host: str) -> tuple[Exchange, bytes]:
        """A login at the service on ``host``, and the token that begins it. Raises KerberosError."""
        credentials = self._credentials()
        name = _service(self._asked, host)
        try:
            login = self._gssapi.SecurityContext(
                name=self._name(name),
                creds=credentials,
                mech=self._gssapi.OID.from_int_seq(_SPNEGO),
                usage="initiate",
                flags=[self._gssapi.RequirementFlag.mutual_authentication],
            )
            return login, login.step() or b""
        except self._gssapi.exceptions.GSSError as error:
            raise KerberosError(f"no Kerberos ticket for the service {name.rstrip('@')}: {_reason(error)}") from error

    def finish(self, login: Exchange, answer: bytes) -> None:
        """Raises KerberosError unless ``answer`` shows that the server could read the token."""
        try:
            more = login.step(answer)
        except self._gssapi.exceptions.GSSError as error:
            raise KerberosError(f"the server is not the service that the ticket is for: {_reason(error)}") from error
        if more or not login.complete:
            raise KerberosError("the server is not the service that the ticket is for")

    def _name(self, text: str) -> object:
        types = self._gssapi.NameType
        return self._gssapi.Name(text, types.kerberos_principal if "/" in text else types.hostbased_service)

    def _credentials(self) -> Held:
        with self._lock:
            if self._kept is None or not self._lasts(self._kept):
                self._kept = self._acquired()
            return self._kept

    def _lasts(self, credentials: Held) -> bool:
        try:
            seconds = credentials.lifetime
        except self._gssapi.exceptions.ExpiredCredentialsError:
            return False
        return seconds is None or seconds >= _LEAST_SECONDS

    def _acquired(self) -> Held:
        """From the keytab anew where there is one, else what the cache has by now."""
        asked, errors = self._asked, self._gssapi.exceptions
        store = {}
        if asked.keytab is not None:
            store = {"client_keytab": f"FILE:{asked.keytab}", "ccache": f"MEMORY:procession-{id(self)}"}
        if asked.cache is not None:
            store["ccache"] = asked.cache
        try:
            made = self._gssapi.Credentials(name=self._principal(), usage="initiate", store=store or None)
            made.lifetime  # noqa: B018 raises when a cached ticket has ended
        except errors.ExpiredCredentialsError as error:
            raise KerberosError("the Kerberos ticket has expired: `kinit` gets a new one") from error
        except errors.GSSError as error:
            raise KerberosError(f"no Kerberos ticket: {self._cause(error)}") from error
        except NotImplementedError as error:  # of a library that takes tickets from the system's cache alone
            raise KerberosError(f"no Kerberos ticket: {error}") from error
        return made

    def _principal(self) -> object | None:
        name, kind = self._asked.principal, self._gssapi.NameType.kerberos_principal
        return None if name is None else self._gssapi.Name(name, kind)

    def _cause(self, error: GssError) -> str:
        """The library says of a keytab without the key only that there is no cache either."""
        keytab = self._asked.keytab
        if keytab is None:
            return f"{_reason(error)} (`kinit` gets one; --krb5-keytab-path takes one from a keytab)"
        try:
            self._gssapi.Credentials(name=self._principal(), usage="accept", store={"keytab": f"FILE:{keytab}"})
        except self._gssapi.exceptions.GSSError as missing:
            return f"{keytab}: {_reason(missing)}"
        return f"{_reason(error)} (by {keytab})"


class KerberosAuth(httpx.Auth):
    """A new token for each request to the server, and no request to any other."""

    def __init__(self, tickets: Tickets, server: str) -> None:
        self._tickets = tickets
        self._server = _place(httpx.URL(server))

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Raises KerberosError. What refuses a token says why in its own words."""
        if _place(request.url) != self._server:
            host, port = _place(request.url)
            raise KerberosError(f"no Kerberos ticket is sent to {host}:{port}, which is not the server that was named")
        login, token = self._tickets.begin(request.url.host)
        request.headers["Authorization"] = f"Negotiate {b64encode(token).decode()}"
        response = yield request
        answer = _ANSWER.search(", ".join(response.headers.get_list("WWW-Authenticate")))
        if answer is None or response.status_code == httpx.codes.UNAUTHORIZED:
            return
        try:
            proof = b64decode(answer[1], validate=True)
        except binascii.Error as error:
            raise KerberosError("the server's answer to the Kerberos ticket is no token") from error
        self._tickets.finish(login, proof)


def use_configuration(file: Path) -> None:
    """A ``krb5.conf`` other than the system's: the library looks nowhere else."""
    os.environ["KRB5_CONFIG"] = str(file)


def _service(asked: Kerberos, host: str) -> str:
    """Trino's clients take the machine's own name for ``localhost``, which nobody makes a principal of."""
    if asked.canonical and host == "localhost":
        host = socket.getfqdn()
    name = asked.pattern.replace("${SERVICE}", asked.service).replace("${HOST}", host.lower())
    if asked.canonical or "/" in name:
        return name
    # The name of a host would be looked for in DNS; of a principal without a realm, the key distribution center
    # finds the realm.
    return "{}/{}@".format(*name.split("@", 1))


def _place(url: httpx.URL) -> tuple[str, int]:
    return url.host.lower(), url.port or (443 if url.scheme == "https" else 80)


def _reason(error: GssError) -> str:
    """What the mechanism says, which is more than the code of GSS-API; in one line."""
    said = error.get_all_statuses(error.min_code, False)
    text = " ".join(" ".join(said).replace("\0", "").split())
    if text in ("", "Success"):
        text = " ".join(" ".join(error.get_all_statuses(error.maj_code, True)).split())
    return text
