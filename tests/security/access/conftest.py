"""A lake and tpch in this process, and statements of users under rules: planned as in a planner process, and run."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.dispatch.access import admitted
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.security.access_control.file_rules import FileRules
from coordinator.security.access_control.load import load_access_policy
from coordinator.security.access_control.policy import AccessPolicy
from coordinator.security.access_control.rules import read_rules
from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ProcessionError
from shared.properties import Property
from shared.spi.access_control import SystemAccessControl
from shared.spi.catalog_changes import ViewCreation
from shared.spi.connector import ViewColumn, ViewMetadata
from shared.spi.session import Session
from tests import tpch_tables
from tests.execution import FakeExecution
from tests.iceberg.conftest import Lake

PEOPLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "name": ["ada", "bob", "cyd", "dan"],
        "salary": pa.array([10, 20, 30, 40], pa.int64()),
        "day": [date(2026, 1, 1)] * 4,
    }
)


class NoSpark:
    """Where none is needed."""

    def workers(self, _execution: object) -> None:
        return None


class Ruled:
    """Catalogs ``lab`` (Iceberg: db.people, db.others, views db.v of alice and db.w as whoever asks) and ``tpch``."""

    def __init__(self, home: Path, **said: str) -> None:
        """``said``: further properties of ``lab``, with ``__`` for a point."""
        self.home = home
        self.lake = Lake(home)
        for name in ("people", "others"):
            self.lake.create(name, [PEOPLE])
        self.lake.other.create_namespace("hidden")
        for name, security in (("v", "DEFINER"), ("w", "INVOKER")):
            columns = (ViewColumn("id", "bigint"), ViewColumn("salary", "bigint"))
            definition = "SELECT id, salary FROM people"
            view = ViewMetadata("lab", "db", name, definition, columns, "lab", "db", "alice", security)
            self.lake.change(ViewCreation(view, False))
        values = {"iceberg.catalog.uri": self.lake.uri, "iceberg.catalog.warehouse": f"file://{home}/wh"}
        values |= {name.replace("__", ".").replace("_", "-"): value for name, value in said.items()}
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        self.catalogs = Catalogs(
            [
                CatalogConfig("lab", "iceberg", properties, home),
                CatalogConfig("tpch", "tpch", tpch_tables.catalog_properties(), home),
            ]
        )
        self.catalogs.managed = True
        self.local = LocalEngine()
        self.executor = Executor(self.catalogs, self.local, NoSpark(), lambda _: "")  # type: ignore[arg-type]
        self._groups: Mapping[str, tuple[str, ...]] = {}

    def rules(self, groups: Mapping[str, tuple[str, ...]] | None = None, **sections: Any) -> None:
        """From now on."""
        file = self.home / "rules.json"
        file.write_text(json.dumps(sections))
        read = read_rules(file)
        self.control(FileRules(lambda: read), groups)

    def control(self, control: SystemAccessControl, groups: Mapping[str, tuple[str, ...]] | None = None) -> None:
        known = self._groups = groups or {}
        self.catalogs.access = AccessPolicy(control, lambda user: known.get(user, ()))

    def session(self, user: str, **options: Any) -> Session:
        options = {"catalog": "lab", "schema": "db", "groups": self._groups.get(user, ()), **options}
        session = Session(user=user, **options)
        return admitted(self.catalogs.access.control, session, self.catalogs.names())

    def plan(self, user: str, sql: str, **options: Any) -> PlannedStatement:
        session = self.session(user, **options)
        with acting_for(session):
            return plan_statement(sql, session, self.catalogs, PlanCheckers())

    def rows(self, user: str, sql: str, **options: Any) -> list[tuple[Any, ...]]:
        """Sorted by nothing."""
        planned = self.plan(user, sql, properties={"engine": "embedded"}, **options)
        session = self.session(user, **options)
        with acting_for(session):
            batches = list(self.executor.execute(planned, FakeExecution(session=session)))
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def refused(self, user: str, sql: str, **options: Any) -> str:
        """The error's message; empty when the statement is planned."""
        try:
            self.plan(user, sql, **options)
        except ProcessionError as error:
            return error.message
        return ""


@pytest.fixture(scope="session")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ruled]:
    made = Ruled(tmp_path_factory.mktemp("ruled"))
    yield made
    made.local.close()


ADMIN = {"roles": {"lab": "ROLE{admin}"}}


@pytest.fixture(scope="session")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ruled]:
    home = tmp_path_factory.mktemp("roles")
    made = Ruled(home, iceberg__security="sql-standard", hive__users__in__admin__role="root")
    (home / "etc").mkdir()
    made.catalogs.access = load_access_policy(home / "etc", made.catalogs, authenticated=False)
    yield made
    made.local.close()


@pytest.fixture
def lab(keeping: Ruled) -> Ruled:
    """With nothing granted."""
    with sqlite3.connect(keeping.lake.uri.removeprefix("sqlite:///")) as database:
        for table in ("procession_roles", "procession_role_grants", "procession_table_grants"):
            there = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            if there:
                database.execute(f"DELETE FROM {table}")
        if there:
            database.execute("UPDATE procession_grant_versions SET version = version + 1")
    return keeping


def root(lab: Ruled, *texts: str) -> None:
    for text in texts:
        lab.rows("root", text, **ADMIN)
