"""Secrets of configuration, statements and properties: in no answer that others see, and not in the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.service import Service, start_service, write_etc

OF_CONFIGURATION = "hunter2-of-the-store"
OF_STATEMENT = "hunter2-of-a-statement"
ADDRESS = f"postgresql://me:{OF_STATEMENT}@host/db"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def service(home: Path) -> Iterator[Service]:
    etc = write_etc(home / "etc", spark=False)
    with (etc / "catalog" / "iceberg.properties").open("a") as config:
        config.write(f"s3.secret-access-key={OF_CONFIGURATION}\ns3.access-key-id=testing\n")
    running = start_service(etc, home / "data", home / "log")
    yield running
    running.stop()


def failed(service: Service, sql: str, **headers: str) -> dict[str, Any]:
    with httpx.Client(headers={"X-Presto-User": "tester", **headers}, timeout=60) as client:
        answer = client.post(f"{service.url}/v1/statement", content=sql).json()
        while "nextUri" in answer:
            answer = client.get(answer["nextUri"]).json()
    return dict(answer["error"])


def test_no_text_that_others_see_holds_a_secret(service: Service, home: Path) -> None:
    service.execute(f"SELECT 'token', '{OF_STATEMENT}', '{OF_CONFIGURATION}', '{ADDRESS}'")
    key = f"'s3.secret-access-key', '{OF_STATEMENT}'"
    told = [failed(service, f"CALL iceberg.system.set_table_property('db', 't', {key})")]
    told.append(
        failed(service, f"SELECT {OF_CONFIGURATION.replace('-', '_')}, '{OF_CONFIGURATION}' AS x FROM nope.a.b")
    )
    prepared = {"X-Presto-Prepared-Statement": f"p=SELECT+password+%3D+%27{OF_STATEMENT}%27"}
    told.append(failed(service, "EXECUTE p", **prepared, **{"X-Presto-Session": f"iceberg.token={OF_STATEMENT}"}))
    listed = service.execute("SELECT query FROM system.runtime.queries")
    assert any("'***'" in row[0] for row in listed)
    pages = [service.get("/v1/query"), listed, told]
    pages += [service.get(f"/v1/query/{query['queryId']}") for query in service.get("/v1/query")]
    pages += [httpx.get(f"{service.url}/ui/", timeout=60).text, (home / "log").read_text()]
    for page in pages:
        assert OF_STATEMENT not in str(page)
        assert OF_CONFIGURATION not in str(page)


EXPLAINED = f"""SELECT * FROM (VALUES ('{OF_STATEMENT}', 1), ('b', 2)) AS t (password, n)
WHERE password <> '{OF_STATEMENT}' AND password NOT IN ('x', '{OF_STATEMENT}') AND random() < 2
AND '{OF_CONFIGURATION}' <> password AND n + random() < 9 AND '{ADDRESS}' <> password"""


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "",
            "(TYPE LOGICAL)",
            "(TYPE LOGICAL, FORMAT JSON)",
            "VERBOSE",
            "(FORMAT GRAPHVIZ)",
            "ANALYZE",
        ),
        *("(TYPE DISTRIBUTED, FORMAT JSON)", "(TYPE NATIVE)", "(TYPE NATIVE, FORMAT JSON)", "ANALYZE (FORMAT JSON)"),
    ],
)
def test_what_explain_says(service: Service, kind: str) -> None:
    asked = f"EXPLAIN {kind} {EXPLAINED}"
    ((text,),) = service.execute(asked)
    assert OF_STATEMENT not in text
    assert OF_CONFIGURATION not in text
    assert "***" in text
    if "JSON" in kind:
        json.loads(text)


def test_what_others_see_of_statements_that_change_the_session(service: Service) -> None:
    service.execute(f"PREPARE p FROM SELECT 1 WHERE 'a' <> '{ADDRESS}' AND 'password' = '{OF_STATEMENT}'")
    failed(service, f"SET SESSION iceberg.token = '{OF_STATEMENT}'")
    failed(service, f"SET SESSION query_max_run_time = '{OF_CONFIGURATION}'")
    pages = [service.get(f"/v1/query/{query['queryId']}") for query in service.get("/v1/query")]
    pages += [
        service.get("/v1/queryState"),
        service.get("/v1/resourceGroupState/global"),
        httpx.get(f"{service.url}/metrics", timeout=60).text,
    ]
    assert OF_STATEMENT not in str(pages)
    assert OF_CONFIGURATION not in str(pages)


def test_properties_of_others_are_shown_without_their_secrets(service: Service) -> None:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    service.execute("CREATE TABLE iceberg.db.kept (id bigint)")
    table = service.lake().load_table("db.kept")
    with table.transaction() as change:
        change.set_properties({"s3.secret-access-key": OF_STATEMENT, "s3.access-key-id": "AKIA"})
    shown = dict(service.execute('SELECT key, value FROM iceberg.db."kept$properties"'))
    assert (shown["s3.secret-access-key"], shown["s3.access-key-id"]) == ("***", "AKIA")
    assert OF_STATEMENT not in str(service.execute("SHOW CREATE TABLE iceberg.db.kept"))
    ((_, before, after),) = service.execute(
        "CALL iceberg.system.set_table_property('db', 'kept', 's3.secret-access-key')"
    )
    assert (before, after) == ("***", None)


def test_a_property_of_a_catalog_that_is_not_there_is_an_error(service: Service) -> None:
    error = failed(service, "SELECT 1", **{"X-Presto-Session": "nope.password=x"})
    assert (error["errorName"], error["message"]) == ("NOT_FOUND", "Session property catalog does not exist: nope")
