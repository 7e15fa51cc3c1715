"""Names and literals stay what they are in the SQL that is made of them."""

from __future__ import annotations

import pytest

from tests.e2e.service import Service

PAYLOADS = [
    "'; DROP TABLE nation; --",
    "' OR '1'='1",
    '"; DROP TABLE nation; --',
    '" || (SELECT 1) || "',
    "`; DROP TABLE nation; --",
    "\\'; SELECT 1; --",
    "\\",
    "'' \\' \\\\'",
    "/* */ -- ' \"",
    "${env:HOME} ${spark.sql.x} $1",
    "%s {0} {{x}} #{y}",
    "a\nb\tc",
    "é☃\U0001f600",
    "); SELECT read_text('/etc/hostname'); --",
]


@pytest.fixture(scope="module")
def service(quiet_service: Service) -> Service:
    return quiet_service


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_is_a_value_and_a_name(service: Service, payload: str) -> None:
    literal, name = "'" + payload.replace("'", "''") + "'", '"' + payload.replace('"', '""') + '"'
    cursor = service.cursor()
    query = (
        f"SELECT {literal} AS {name}, x.{name} || {literal} AS y, count(*) AS n "
        f"FROM (SELECT CAST({literal} AS varchar) AS {name} FROM tpch.tiny.nation) AS x "
        f"WHERE x.{name} = {literal} GROUP BY x.{name}"
    )
    cursor.execute(query)
    assert cursor.fetchall() == [[payload, payload + payload, 25]]
    assert cursor.description[0][0].lower() == payload.lower()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_in_a_place_of_a_name_or_header_finds_nothing(service: Service, payload: str) -> None:
    name = '"' + payload.replace('"', '""') + '"'
    for statement in (f"SELECT * FROM tpch.tiny.{name}", f"SELECT {name} FROM tpch.tiny.nation"):
        with pytest.raises(Exception, match=r"does not exist|cannot be resolved"):
            service.execute(statement)
    assert service.execute("SELECT count(*) FROM tpch.tiny.nation") == [[25]]
