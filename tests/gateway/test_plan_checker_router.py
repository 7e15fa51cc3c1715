"""Presto's plan-checker router in front of a whole Procession with a real sidecar.

Source: ``PlanCheckerRouterPluginPrestoClient`` and the ``StatementClientV1`` that it uses (Presto, Apache 2.0). The
router sends the statement behind ``EXPLAIN (TYPE …)`` with the session of the client's headers, reads all pages, and
chooses the cluster of native workers when the last page has no error. As docs/gateways.md says, the checker's mode is
veto, here by the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_plus, urlsplit

import httpx
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow
NATIVE, JAVA = "http://native-router:8080", "http://java-router:8080"
CLIENT = {
    "X-Presto-User": "ann",
    "X-Presto-Source": "superset",
    "X-Presto-Catalog": "tpch",
    "X-Presto-Schema": "tiny",
    "X-Presto-Client-Tags": "nightly,etl",
    "X-Presto-Client-Info": "a dashboard",
    "X-Presto-Language": "en-US",
    "X-Presto-Time-Zone": "Europe/Warsaw",
    "X-Presto-Session": "native_plan_checker_mode=veto",
}


@pytest.fixture(scope="module")
def service(quiet_service: Service) -> Service:
    return quiet_service


class Router:
    """What the plugin does with one statement of a client."""

    def __init__(self, checker: str, explain: str = "EXPLAIN (TYPE DISTRIBUTED) ") -> None:
        self._checker = checker
        self._explain = explain
        self.error: dict[str, object] | None = None

    def destination(self, statement: str, headers: Mapping[str, str] = CLIENT) -> str:
        """The cluster; the statement client raises on anything but 200 and 503, and so does this."""
        sent = [*headers.items(), ("X-Presto-Transaction-Id", "NONE"), ("Content-Type", "text/plain; charset=utf-8")]
        own = {"User-Agent": "StatementClientV1/0.296", "Accept-Encoding": "identity"}
        with httpx.Client(headers=own, timeout=60) as client:
            url = f"{self._checker}/v1/statement"
            page = self._results(client.post(url, content=self._explain + statement, headers=sent))
            while "nextUri" in page:
                following, about = urlsplit(str(page["nextUri"])), urlsplit(str(page["infoUri"]))
                assert (following.hostname, following.port) == (about.hostname, about.port)
                asked = client.get(str(page["nextUri"]), headers={"X-Presto-User": headers["X-Presto-User"]})
                page = self._results(asked)
        found = page.get("error")
        self.error = found if isinstance(found, dict) else None
        return NATIVE if found is None else JAVA

    @staticmethod
    def _results(response: httpx.Response) -> dict[str, object]:
        assert response.status_code == 200, response.text
        page: dict[str, object] = response.json()
        assert isinstance(page["id"], str) and isinstance(page["stats"], dict)
        return page


GOOD = (
    "SELECT r.name, count(*) FROM nation n JOIN region r ON n.regionkey = r.regionkey GROUP BY r.name",
    "CREATE TABLE iceberg.db.copied AS SELECT * FROM nation",
    "INSERT INTO iceberg.db.kept SELECT nationkey FROM nation",
)
BAD = {
    "a column": ("SELECT nope FROM nation", {"lineNumber": 1, "columnNumber": 35}),
    "a table": ("SELECT * FROM nowhere", None),
    "grammar": ("SELEC 1", {"lineNumber": 1, "columnNumber": 28}),
}
ONLY_VELOX_REFUSES = "SELECT CAST(name AS char(3)) FROM nation"


@pytest.fixture(scope="module")
def router(service: Service) -> Router:
    service.lake().create_namespace_if_not_exists("db")
    service.lake().create_table("db.kept", schema=pa.schema([("nationkey", pa.int64())]))
    return Router(service.url)


@pytest.mark.parametrize("statement", GOOD)
def test_what_native_workers_can_run_goes_to_them(router: Router, statement: str) -> None:
    assert router.destination(statement) == NATIVE, router.error


@pytest.mark.parametrize(("statement", "place"), BAD.values(), ids=list(BAD))
def test_what_is_wrong_goes_to_the_other_cluster(router: Router, statement: str, place: object) -> None:
    assert router.destination(statement) == JAVA
    assert router.error is not None
    assert router.error["errorName"] == "SYNTAX_ERROR"
    assert router.error.get("errorLocation") == place


def test_what_velox_refuses_goes_to_the_other_cluster(router: Router) -> None:
    assert router.destination(ONLY_VELOX_REFUSES) == JAVA
    assert router.error is not None
    assert "Error from native plan checker" in str(router.error["message"])


def test_the_session_of_the_client_counts(router: Router) -> None:
    prepared = {"X-Presto-Prepared-Statement": f"q={quote_plus('SELECT name FROM nation WHERE nationkey = ?')}"}
    assert router.destination("EXECUTE q USING 3", CLIENT | prepared) == NATIVE, router.error
    assert router.destination("EXECUTE q USING 3") == JAVA
    off = {"X-Presto-Session": "native_plan_checker_enabled=false"}
    assert router.destination(ONLY_VELOX_REFUSES, CLIENT | off) == NATIVE, router.error
    elsewhere = CLIENT | {"X-Presto-Schema": "nowhere"}
    assert router.destination("SELECT name FROM nation", elsewhere) == JAVA


def test_type_validate_looks_at_the_statement_alone(service: Service, router: Router) -> None:
    """As on a real Presto, whose EXPLAIN (TYPE VALIDATE) passes whatever the sidecar says."""
    validating = Router(service.url, "EXPLAIN (TYPE VALIDATE) ")
    for statement in (*GOOD, ONLY_VELOX_REFUSES):
        assert validating.destination(statement) == NATIVE, validating.error
    for statement, _ in BAD.values():
        assert validating.destination(statement) == JAVA


def test_nothing_ran(service: Service, router: Router) -> None:
    tables = service.execute("SHOW TABLES FROM iceberg.db")
    assert ["kept"] in tables
    assert ["copied"] not in tables
    assert service.lake().load_table("db.kept").current_snapshot() is None
