"""The two services that tests share: one with everything, one that never starts Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests import tpch_tables
from tests.e2e.service import Service, open_flight, start_service, write_etc
from tests.jdbc.described import URLS
from tests.kept_secrets import holding
from tests.mariadb import PASSWORD

AWAY = ("sqlserver", "oracle", "db2")
"""Catalogs whose databases do not answer."""
MAINTENANCE = """\
maintenance.enabled=true
maintenance.dry-run=false
maintenance.catalogs=kept
maintenance.scan-interval=2s
"""
"""The tables of one catalog are looked after; those of other tests stay as they are."""


SIGNER = {"AWS_ACCESS_KEY_ID": "signer", "AWS_SECRET_ACCESS_KEY": "signersecret"}
"""What requests to REST catalogs are signed with; no store of the tests knows it."""


@contextmanager
def whole_service(home: Path, postgres: str, mariadb: str | None) -> Iterator[Service]:
    """Catalogs ``iceberg``, ``kept``, ``tpch``, databases, and those that are away; no secret in what it wrote."""
    etc = write_etc(home / "etc", planners=2)
    catalogs = {"tpch": tpch_tables.catalog_file(), "kept": "connector.name=iceberg\n", "pg": _postgres(postgres)}
    if mariadb is not None:
        catalogs["maria"] = _mariadb(mariadb, home / "secret")
    for name in AWAY:
        catalogs[name] = _away(name)
    for name, text in catalogs.items():
        (etc / "catalog" / f"{name}.properties").write_text(text)
    with (etc / "config.properties").open("a") as config:
        config.write("optimizer.inequality-join-pushdown-enabled=true\n")
        config.write("catalog.management=dynamic\ncatalog.refresh-interval=1s\n")
    open_flight(etc)
    (etc / "maintenance.properties").write_text(MAINTENANCE)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SIGNER.items():
            patch.setenv(name, value)
        patch.delenv("AWS_SESSION_TOKEN", raising=False)
        patch.setenv("NO_PROXY", "127.0.0.1")
        service = start_service(etc, home / "data", home / "log", cold=True)
    try:
        yield service
    finally:
        _stop(service, home)
    kept = [file for file in home.rglob("*") if file.is_file() and etc not in file.parents and file.name != "secret"]
    assert holding(kept, ("open-sesame", PASSWORD, SIGNER["AWS_SECRET_ACCESS_KEY"])) == []


@contextmanager
def quiet_service(home: Path) -> Iterator[Service]:
    """Catalogs ``iceberg`` and ``tpch``; Spark is never started. Not cold, as the whole one and the demo are."""
    etc = write_etc(home / "etc", spark=False, planners=2)
    (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
    with (etc / "config.properties").open("a") as config:
        config.write("audit-log.enabled=true\naudit-log.required=true\n")
    service = start_service(etc, home / "data", home / "log")
    try:
        yield service
    finally:
        _stop(service, home)


def _stop(service: Service, home: Path) -> None:
    """By SIGINT: it ends well, and none of its processes is left."""
    family = psutil.Process(service.process.pid).children(recursive=True)
    code, log = service.stop(), (home / "log").read_text()
    assert code == 0, log
    assert len(family) >= 4, "planners, sidecar guard, sidecar, its workers"
    deadline = time.monotonic() + 60
    while left := [process for process in family if _lives(process)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert "Traceback" not in log, log


def _lives(process: psutil.Process) -> bool:
    """What ended without its parent is a zombie until somebody looks after it."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _postgres(url: str) -> str:
    address = url.split("@")[1]
    return (
        f"connector.name=postgresql\nconnection-url=jdbc:postgresql://{address}\n"
        "connection-user=postgres\nconnection-password=open-sesame\n"
    )


def _mariadb(address: str, secret: Path) -> str:
    secret.write_text(f"{PASSWORD}\n")
    return (
        f"connector.name=mariadb\nconnection-url=jdbc:mariadb://{address}/\nconnection-user=reader\n"
        f"connection-password-file={secret}\n"
    )


def _away(name: str) -> str:
    url = URLS[name].replace("db.example.com", "127.0.0.1")
    return f"connector.name={name}\nconnection-url={url}\nconnection-user=reader\nconnection-password=open-sesame\n"
