"""A real directory for tests: OpenLDAP's server with people, groups, TLS and a referral elsewhere."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.certificates import authority
from tests.debian import need
from tests.ports import free_port

ldap3 = pytest.importorskip("ldap3")
BASE = "dc=lake"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
SERVICE, SERVICE_PASSWORD = f"cn=service,{BASE}", "the service's"
_CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile {home}/pid
TLSCACertificateFile {home}/ca.pem
TLSCertificateFile {home}/server.pem
TLSCertificateKeyFile {home}/server.pem
# Directories that let people in who give a name and no password: so does Active Directory.
allow bind_anon_dn
database mdb
directory {home}/data
suffix "{base}"
rootdn "{service}"
rootpw "{password}"
sizelimit 20
overlay memberof
"""


@dataclass(frozen=True)
class Directory:
    """``referred`` listens where an entry refers to, and counts who comes."""

    plain: str
    tls: str
    ca: Path
    referred: socket.socket


def _install() -> str:
    need("OpenLDAP's server", lambda: shutil.which("slapd") is not None, "slapd")
    return str(shutil.which("slapd"))


@contextmanager
def ldap_server() -> Iterator[Directory]:
    slapd = _install()
    home = Path(tempfile.mkdtemp(prefix="procession-ldap-"))
    (home / "data").mkdir()
    authority(home / "ca.pem").sign(home / "server.pem", "directory")
    (home / "slapd.conf").write_text(
        _CONFIG.format(home=home, base=BASE, service=SERVICE, password=SERVICE_PASSWORD), encoding="utf-8"
    )
    referred = socket.create_server(("127.0.0.1", 0))
    referred.setblocking(False)
    entries = _entries(referred.getsockname()[1])
    plain, tls = (f"{scheme}://127.0.0.1:{free_port()}" for scheme in ("ldap", "ldaps"))
    command = [slapd, "-f", str(home / "slapd.conf"), "-d", "0", "-h", f"{plain} {tls}"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _fill(plain, entries, server, home / "log")
        yield Directory(plain, tls, home / "ca.pem", referred)
    finally:
        server.terminate()
        server.wait(timeout=60)
        referred.close()
        shutil.rmtree(home, ignore_errors=True)


def _entries(port: int) -> list[tuple[str, list[str], dict[str, str | list[str]]]]:
    people = [
        (f"uid={user},{PEOPLE}", ["inetOrgPerson"], {"cn": name, "sn": user, "userPassword": f"{user}'s"})
        for user, name in (("bob", "Bob"), ("carol", "Twin"), ("dave", "Twin"), ("o'neil (jr) *", "Star"))
    ]
    members = {"lake_admins": ["bob"], "Lake_Readers": ["bob", "carol", "o'neil (jr) *"], "other": ["bob"]}
    groups = [
        (f"cn={name},{GROUPS}", ["groupOfNames"], {"member": [f"uid={user},{PEOPLE}" for user in users]})
        for name, users in members.items()
    ]
    many = [(f"cn=many_{n},ou=many,{BASE}", ["groupOfNames"], {"member": f"uid=dave,{PEOPLE}"}) for n in range(30)]
    elsewhere = {"ref": f"ldap://127.0.0.1:{port}/uid=gone,{PEOPLE}", "uid": "gone"}
    units = [(f"ou={name},{BASE}", ["organizationalUnit"], {}) for name in ("people", "groups", "many")]
    top = (BASE, ["dcObject", "organization"], {"o": "lake"})
    referral = (f"uid=gone,{PEOPLE}", ["referral", "extensibleObject"], elsewhere)
    return [top, *units, *people, *groups, *many, referral]  # type: ignore[list-item]


def _fill(
    url: str,
    entries: list[tuple[str, list[str], dict[str, str | list[str]]]],
    server: subprocess.Popen[bytes],
    log: Path,
) -> None:
    deadline = time.monotonic() + 60
    host, _, port = url.removeprefix("ldap://").partition(":")
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection((host, int(port)), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    with ldap3.Connection(ldap3.Server(url), SERVICE, SERVICE_PASSWORD) as connection:
        for name, classes, attributes in entries:
            # An entry that refers elsewhere is made as what it is, not where it refers to.
            controls = [("2.16.840.1.113730.3.4.2", True, None)]
            assert connection.add(name, classes, attributes, controls), (connection.result, log.read_text())
