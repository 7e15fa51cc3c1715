"""A real MariaDB server for tests, reachable by TCP."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

from tests.debian import need
from tests.ports import free_port

PASSWORD = "swordfish"
PACKAGES = ("mariadb-server-core", "mariadb-client-core")


def _installed() -> bool:
    return shutil.which("mariadbd") is not None and shutil.which("my_print_defaults") is not None


@contextmanager
def mariadb_server() -> Iterator[str]:
    """A server with data of its own, as ``host:port``; its user ``reader`` has ``PASSWORD`` and may do anything."""
    need("MariaDB's server", _installed, *PACKAGES)
    home = Path(tempfile.mkdtemp(prefix="procession-mariadb-"))
    data = home / "data"
    me = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
    made = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={me}", "--skip-test-db"]
    subprocess.run(
        [*made, "--auth-root-authentication-method=normal"], check=True, capture_output=True, cwd=home, timeout=240
    )
    port = free_port()
    serve = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--port={port}", f"--socket={home / 'socket'}"]
    serve += ["--bind-address=127.0.0.1", f"--user={me}", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(serve, stdout=log, stderr=log, cwd=home)
    try:
        _wait_for(home / "socket", server, home / "log")
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=120)
        shutil.rmtree(home, ignore_errors=True)


def _wait_for(path: Path, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and server.poll() is None:
        if not path.exists():  # it is made once connections are taken
            time.sleep(0.2)
            continue
        connection = pymysql.connect(unix_socket=str(path), user="root")
        with connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER reader@'%%' IDENTIFIED BY '{PASSWORD}'".replace("%%", "%"))
            cursor.execute("GRANT ALL ON *.* TO reader@'%'")
        return
    raise AssertionError(log.read_text())
