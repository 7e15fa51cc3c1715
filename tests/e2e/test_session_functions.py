"""Temporary functions with a whole service: made by one statement, called by the next, gone after DROP."""

from __future__ import annotations

import pytest

from coordinator.cli.client import ClientSession, StatementClient, StatementError
from tests.e2e.service import Service

pytestmark = pytest.mark.slow


def test_a_session_has_functions_of_its_own(quiet_service: Service) -> None:
    def rows(sql: str) -> list[tuple[object, ...]]:
        return [row for page in client.execute(sql) for row in page.rows]

    with StatementClient(quiet_service.url, ClientSession("tester", catalog="tpch", schema="tiny")) as client:
        rows(
            "CREATE TEMPORARY FUNCTION price_class(p double) RETURNS varchar DETERMINISTIC "
            "RETURN CASE WHEN p < 100000 THEN 'low' WHEN p >= 100000 THEN 'high' END"
        )
        rows("CREATE TEMPORARY FUNCTION price_class(p date) RETURNS varchar RETURN 'no price'")
        asked = "SELECT price_class(totalprice) c, count(*) FROM orders GROUP BY price_class(totalprice) ORDER BY 1"
        plain = asked.replace("price_class(totalprice)", "if(totalprice < 100000, 'low', 'high')")
        assert rows(asked) == rows(plain)
        assert rows("SELECT DISTINCT price_class(orderdate) FROM orders WHERE price_class(totalprice) = 'low'") == [
            ("no price",)
        ]
        assert rows("SELECT price_class(sum(totalprice)), max(price_class(totalprice)) FROM orders") == [
            ("high", "low")
        ]
        rows("PREPARE p FROM SELECT price_class(?)")
        assert rows("EXECUTE p USING 1e0") == [("low",)]
        with pytest.raises(StatementError, match="line 1:57: Function price_class not registered"):
            rows("CREATE VIEW iceberg.information.with_function AS SELECT price_class(1e0) AS x")
        rows("DROP TEMPORARY FUNCTION price_class(date)")
        rows("DROP TEMPORARY FUNCTION price_class")
        assert client.session.functions == {}
        with pytest.raises(StatementError, match="Function price_class not registered"):
            rows("SELECT price_class(1e0)")
