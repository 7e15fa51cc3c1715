"""A real key distribution center, where its programs and the package gssapi are installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HOST = "lake.test.example"
REALM = "TEST.EXAMPLE"


@dataclass
class Center:
    home: Path
    gssapi: Any

    def cache(self, user: str) -> str:
        """A cache with a new ticket of this user."""
        cache = f"FILE:{self.home / user}.cache"
        subprocess.run(["kinit", "-k", "-t", str(self.home / f"{user}.keytab"), "-c", cache, user], check=True)
        return cache

    def header(self, user: str, service: str = "presto") -> dict[str, str]:
        """What a client of this user sends, with a ticket of its own."""
        cache = self.cache(user)
        name = self.gssapi.Name(f"{service}@{HOST}", self.gssapi.NameType.hostbased_service)
        keys = self.gssapi.Credentials(usage="initiate", store={"ccache": cache})
        token = self.gssapi.SecurityContext(name=name, creds=keys, usage="initiate").step()
        return {"authorization": f"Negotiate {b64encode(token).decode()}"}


@contextmanager
def key_distribution_center(home: Path) -> Iterator[Center]:
    """Runs with the environment that points to it; skips the test where something is not installed."""
    gssapi = pytest.importorskip("gssapi", reason="the package gssapi is not installed")
    missing = [name for name in ("krb5kdc", "kdb5_util", "kadmin.local", "kinit") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no Kerberos here: {', '.join(missing)} not on PATH")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        _configure(home, port, patch)
        subprocess.run(["kdb5_util", "create", "-s", "-P", "master", "-r", REALM], check=True, capture_output=True)
        for principal in (f"presto/{HOST}", "presto/localhost", f"other/{HOST}", "alice", "root"):
            keytab = home / f"{principal.partition('/')[0]}.keytab"
            for asked in (f"addprinc -randkey {principal}", f"ktadd -k {keytab} {principal}"):
                subprocess.run(["kadmin.local", "-q", asked], check=True, capture_output=True)
        with subprocess.Popen(["krb5kdc", "-n"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as kdc:
            while f":{port:04X} " not in Path("/proc/net/udp").read_text():  # it does not listen yet
                assert kdc.poll() is None
                time.sleep(0.05)
            try:
                yield Center(home, gssapi)
            finally:
                kdc.terminate()


def _configure(home: Path, port: int, patch: pytest.MonkeyPatch) -> None:
    beside = Path(shutil.which("krb5kdc") or "").parents[1]
    modules = "".join(f" db_module_dir = {found}\n" for found in beside.glob("lib/*/krb5/plugins/kdb"))
    (home / "krb5.conf").write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
        f" rdns = false\n[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
        f"[domain_realm]\n .test.example = {REALM}\n[dbmodules]\n{modules}"
    )
    (home / "kdc.conf").write_text(
        f"[kdcdefaults]\n kdc_ports = {port}\n kdc_tcp_ports = {port}\n[realms]\n {REALM} = {{\n"
        f"  database_name = {home / 'principal'}\n  key_stash_file = {home / 'stash'}\n }}\n"
        f"[logging]\n kdc = FILE:{home / 'kdc.log'}\n"
    )
    for name, value in (("CONFIG", "krb5.conf"), ("KDC_PROFILE", "kdc.conf"), ("RCACHEDIR", ".")):
        patch.setenv(f"KRB5_{name}".replace("KRB5_RCACHEDIR", "KRB5RCACHEDIR"), str(home / value))
