"""A whole service, as shipped, whose native checker is told of a sidecar that is not there."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service, start_service, write_etc

pytestmark = pytest.mark.slow
QUERY = "SELECT max(a) FROM iceberg.db.kept WHERE a < 3"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("alone")
    etc = write_etc(home / "etc", spark=False)
    with (etc / "plan-checker-providers" / "native.properties").open("a") as file:
        file.write("native-plan-checker.sidecar-uri=http://127.0.0.1:1\n")
    service = start_service(etc, home / "data", home / "log")
    service.create("kept", [pa.table({"a": pa.array([1, 2, 3], pa.int64())})])
    yield service
    assert service.stop() == 0, (home / "log").read_text()


def test_queries_run_with_a_warning(alone: Service) -> None:
    page = httpx.post(f"{alone.url}/v1/statement", content=QUERY, headers={"X-Presto-User": "ann"}, timeout=60).json()
    rows = []
    while "nextUri" in page:
        page = httpx.get(page["nextUri"], timeout=60).json()
        rows += page.get("data", [])
    assert rows == [[2]], page
    assert [told["warningCode"]["name"] for told in page["warnings"]] == ["NATIVE_PLAN_CHECKER_UNAVAILABLE"]


@pytest.mark.parametrize(
    ("statement", "session"),
    [
        ("CALL iceberg.system.rewrite_data_files('db', 'kept')", {}),
        ("CALL iceberg.system.compute_table_stats('db', 'kept')", {}),
        (QUERY, {"native_execution_enabled": "true"}),
        (QUERY, {"native_plan_checker_unavailable": "fail-closed"}),
    ],
)
def test_procedures_and_what_native_workers_would_run_fail(
    alone: Service, statement: str, session: dict[str, str]
) -> None:
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as refused:
        alone.execute(statement, session_properties=session)
    assert refused.value.error_name == "NATIVEPLANCHECKER_CONNECTION_ERROR"
