"""Catalogs that come and go while the whole service runs: by statements, and by files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import prestodb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SPARK, EMBEDDED = {"engine": "spark"}, {"engine": "embedded"}
ALL = "options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"
SECRET = "open-sesame-of-a-catalog"


def names(service: Service) -> list[str]:
    return [row[0] for row in service.execute("SHOW CATALOGS")]


@contextmanager
def created(service: Service, name: str, properties: str = "") -> Iterator[None]:
    service.execute(f"CREATE CATALOG {name} USING iceberg{properties}")
    try:
        yield
    finally:
        service.execute(f"DROP CATALOG IF EXISTS {name}")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def rows_of(lake: SqlCatalog, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.load_table(table).scan().to_arrow().sort_by("nationkey").to_pylist()
    return found


def test_a_catalog_by_statements(whole_service: Service) -> None:
    """Both engines, a procedure on executors, and another writer see one catalog."""
    service = whole_service
    with created(service, "fresh"):
        assert "fresh" in names(service)
        assert ["fresh"] in service.execute("SELECT catalog_name FROM system.metadata.catalogs")
        service.execute("CREATE SCHEMA fresh.s")
        service.execute("CREATE TABLE fresh.s.t AS SELECT * FROM tpch.tiny.nation")
        service.execute("INSERT INTO fresh.s.t SELECT * FROM tpch.tiny.nation WHERE nationkey < 5")
        service.execute("DELETE FROM fresh.s.t WHERE nationkey = 3")
        expected = service.execute("SELECT * FROM tpch.tiny.nation")
        expected = sorted([*expected, *expected[:5]])
        expected = [row for row in expected if row[0] != 3]
        call = "CALL fresh.system.rewrite_data_files(schema => 's', table_name => 't', strategy => 'sort', "
        assert service.execute(call + f"sorted_by => ARRAY['name'], {ALL})")[0][0] >= 2
        for engine in (SPARK, EMBEDDED):
            assert sorted(service.execute("SELECT * FROM fresh.s.t", session_properties=engine)) == expected
        assert [list(row.values()) for row in rows_of(service.lake("fresh"), "s.t")] == expected
    assert "fresh" not in names(service)
    assert not (service.etc / "catalog" / "fresh.properties").exists()
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="Catalog fresh does not exist"):
        service.execute("SELECT * FROM fresh.s.t")


@pytest.mark.parametrize("engine", [SPARK, EMBEDDED])
def test_what_runs_keeps_its_catalog(whole_service: Service, engine: dict[str, str]) -> None:
    service = whole_service
    name = f"kept_{engine['engine']}"
    with created(service, name):
        lake = service.lake(name)
        lake.create_namespace("s")
        numbers = pa.table({"n": range(400_000), "text": ["x" * 50] * 400_000})
        lake.create_table("s.t", schema=numbers.schema).append(numbers)
        cursor = service.cursor(session_properties=engine)
        cursor.execute(f"SELECT n, text FROM {name}.s.t")
        first = cursor.fetchone()
        service.execute(f"DROP CATALOG {name}")
        assert {row[0] for row in [first, *cursor.fetchall()]} == set(range(400_000))


def test_a_catalog_of_another_definition_is_another(whole_service: Service) -> None:
    """Spark has its catalogs by session: the old one must not answer for the new one."""
    service = whole_service
    home = service.data_dir.parent
    for number in (1, 2):
        with created(service, "moved", f" WITH (\"iceberg.catalog.uri\" = 'sqlite:///{home}/moved{number}.db')"):
            service.execute("CREATE SCHEMA moved.s")
            service.execute(f"CREATE TABLE moved.s.t AS SELECT {number} AS n")
            for engine in (SPARK, EMBEDDED):
                assert service.execute("SELECT n FROM moved.s.t", session_properties=engine) == [[number]]


def test_files_are_followed(whole_service: Service) -> None:
    service = whole_service
    file = service.etc / "catalog" / "dropped_in.properties"
    file.write_text("connector.name=tpch\n")
    try:
        until(lambda: "dropped_in" in names(service))
        assert service.execute("SELECT count(*) FROM dropped_in.tiny.nation") == [[25]]
        file.write_text("connector.name=nope\n")
        until(lambda: "no connector is named 'nope'" in (service.data_dir.parent / "log").read_text())
        assert service.execute("SELECT count(*) FROM dropped_in.tiny.nation") == [[25]]
    finally:
        file.unlink()
    until(lambda: "dropped_in" not in names(service))


def test_secrets_of_a_statement_are_shown_nowhere(whole_service: Service) -> None:
    """That they are in no log and no file either, the fixture sees at its end: they begin as those of its catalogs."""
    service = whole_service
    address = "\"connection-url\" = 'jdbc:postgresql://127.0.0.1:1/x', \"connection-user\" = 'u'"
    made = f"CREATE CATALOG broken USING postgresql WITH ({address}, \"connection-password\" = '{SECRET}'"
    texts = (
        f"{made})",
        f"{made}, \"odd-name-of-its-connector\" = '{SECRET}')",
        f"EXPLAIN {made})",
        f"EXPLAIN (TYPE VALIDATE) {made})",
        "EXECUTE IMMEDIATE '" + f"{made})".replace("'", "''") + "'",
    )
    before = names(service)
    for text in texts:
        try:
            told = str(service.execute(text))
        except prestodb.exceptions.PrestoQueryError as error:
            told = str(error)
        assert SECRET not in told
    assert names(service) == before
    assert not (service.etc / "catalog" / "broken.properties").exists()
    listed = httpx.get(f"{service.url}/v1/query", timeout=60).raise_for_status()
    mine = [each["queryId"] for each in listed.json() if "CREATE CATALOG broken" in each["query"]]
    assert len(mine) == len(texts)
    shown = [listed.text, *(httpx.get(f"{service.url}/v1/query/{number}", timeout=60).text for number in mine)]
    for table in ("system.runtime.queries", "system.history.queries"):
        shown.append(str(service.execute(f"SELECT * FROM {table}")))
    assert [text for text in shown if SECRET in text] == []
