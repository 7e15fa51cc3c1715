"""Casts within arrays, maps and rows on both engines, as Presto casts single values; nested values without JSON."""

from __future__ import annotations

from uuid import uuid4

import prestodb
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENGINES = ("EMBEDDED", "SPARK")
CASTS = [
    ("CAST(ARRAY[x, -x] AS array(integer))", [3, -3]),
    ("CAST(ARRAY[x] AS array(varchar))", ["2.5"]),
    ("CAST(ROW(t, x) AS row(t varchar, x bigint))", ["2020-01-01 00:00:00.000", 3]),
    ("CAST(ARRAY[ROW(d)] AS array(row(d integer)))", [[3]]),
    ("CAST(ARRAY[d] AS array(decimal(3,0)))", ["3"]),
    ("CAST(ARRAY[k] AS array(bigint))", [1]),
    ("CAST(ARRAY[CAST(t AS date)] AS array(timestamp))", ["2020-01-01 00:00:00.000"]),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_inside_is_cast_as_it_is_alone(whole_service: Service, engine: str) -> None:
    name = f"iceberg.db.casts_{uuid4().hex[:8]}"
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    values = "SELECT 1 AS k, 2.5e0 AS x, TIMESTAMP '2020-01-01 00:00:00' AS t, DECIMAL '2.5' AS d, X'01' AS b"
    whole_service.execute(f"CREATE TABLE {name} AS {values}")
    properties = {"engine": engine}
    try:
        shown = ", ".join(text for text, _ in CASTS)
        (found,) = whole_service.execute(f"SELECT {shown} FROM {name}", session_properties=properties)
        assert found == [expected for _, expected in CASTS]
        with pytest.raises(prestodb.exceptions.PrestoUserError, match=r"Cannot cast array\(varbinary\) to JSON") as bad:
            whole_service.execute(f"SELECT CAST(ARRAY[b] AS json) FROM {name}", session_properties=properties)
        assert bad.value.error_name == "INVALID_CAST_ARGUMENT"
    finally:
        whole_service.execute(f"DROP TABLE {name}")
