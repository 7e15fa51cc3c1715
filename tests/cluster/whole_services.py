"""Whole coordinators over one PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests import tpch_tables
from tests.e2e.service import Service, start_service, write_etc
from tests.kept_secrets import holding

SECRET = "of-two-coordinators"
PASSWORD = "open-sesame-42"


def new_state(postgres: str) -> str:
    """A database of its own, and a role with a password, as ``state.url`` names it."""
    name = f"state_{uuid.uuid4().hex}"
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    engine.dispose()
    return f"postgresql://{name}:{PASSWORD}@{postgres.split('@')[1].rpartition('/')[0]}/{name}"


@contextmanager
def coordinators(home: Path, state_url: str, names: Sequence[str]) -> Iterator[list[Service]]:
    """One a name, without Spark; afterwards no file has a secret and no log a stack trace."""
    with ExitStack() as stack:
        found = []
        for name in names:
            etc = write_etc(home / name / "etc", spark=False)
            (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
            (etc / "node.properties").write_text(f"node.id={name}\n")
            (etc / "maintenance.properties").write_text("maintenance.enabled=true\nmaintenance.dry-run=true\n")
            with (etc / "config.properties").open("a") as config:
                config.write(f"state.url={state_url}\ninternal-communication.shared-secret={SECRET}\n")
                config.write("cluster.heartbeat-interval=300ms\ncluster.node-timeout=8s\n")
                config.write("shutdown.grace-period=500ms\nshutdown.drain-on-sigterm=true\n")
                config.write("http-server.process-forwarded=true\ncatalog.management=dynamic\naudit-log.enabled=true\n")
                config.write("protocol.spooling.enabled=true\n")
                config.write("precheck.accepted-target=lake\nprecheck.refused-target=lake\n")
            service = start_service(etc, home / name / "data", home / name / "log")
            stack.callback(_stop, service)
            found.append(service)
        yield found
    for name in names:
        files = [file for file in (home / name / "data").rglob("*") if file.is_file()]
        assert holding([*files, home / name / "log"], (PASSWORD, SECRET)) == []
        assert "Traceback" not in (home / name / "log").read_text()


def _stop(service: Service) -> None:
    if service.process.poll() is None:
        assert service.stop() == 0
    elif service.process.stdout is not None:
        service.process.stdout.close()
