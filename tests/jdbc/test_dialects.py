"""Every type of every dialect as Presto's, JDBC URLs of every vendor, what the coordinator's own drivers are told."""
# ruff: noqa: E501 - tables of cases

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, mysql, oracle
from sqlalchemy.dialects import postgresql as pg

from coordinator.connectors.jdbc.connector import JdbcConnector
from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.connectors.jdbc.dialects.oracle import collation
from coordinator.connectors.registry import CatalogConfig, Catalogs
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import parse_type
from shared.properties import ConfigurationError, Property
from tests.jdbc.described import URLS

TYPES: dict[str, list[tuple[Any, str | None]]] = {
    "postgresql": [
        (pg.BOOLEAN(), "boolean"), (pg.SMALLINT(), "smallint"), (pg.INTEGER(), "integer"), (pg.BIGINT(), "bigint"),
        (pg.REAL(), "real"), (pg.DOUBLE_PRECISION(), "double"), (pg.NUMERIC(12, 2), "decimal(12,2)"),
        (pg.NUMERIC(38, 38), "decimal(38,38)"), (pg.NUMERIC(), None), (pg.NUMERIC(39, 0), None),
        (pg.NUMERIC(5, -2), None), (pg.NUMERIC(2, 4), None), (pg.CHAR(5), "char(5)"), (pg.VARCHAR(7), "varchar(7)"),
        (pg.VARCHAR(), "varchar"), (pg.TEXT(), "varchar"), (pg.BYTEA(), "varbinary"), (pg.DATE(), "date"),
        (pg.TIME(), "time"), (pg.TIME(timezone=True), None), (pg.TIMESTAMP(), "timestamp"),
        (pg.TIMESTAMP(timezone=True), "timestamp with time zone"), (pg.UUID(), "uuid"), (pg.JSON(), "json"),
        (pg.JSONB(), "json"), (pg.ENUM("a", name="e"), "varchar"), (pg.ARRAY(pg.INTEGER()), None), (pg.INTERVAL(), None),
        (pg.INET(), None), (pg.BIT(3), None), (pg.MONEY(), None), (pg.TSVECTOR(), None), (pg.INT4RANGE(), None),
        (sa.types.NullType(), None),
    ],
    "mysql": [
        (mysql.TINYINT(display_width=1), "boolean"), (mysql.TINYINT(), "tinyint"), (mysql.TINYINT(unsigned=True), "smallint"),
        (mysql.SMALLINT(), "smallint"), (mysql.SMALLINT(unsigned=True), "integer"), (mysql.MEDIUMINT(), "integer"),
        (mysql.INTEGER(), "integer"), (mysql.INTEGER(unsigned=True), "bigint"), (mysql.BIGINT(), "bigint"),
        (mysql.BIGINT(unsigned=True), "decimal(20,0)"), (mysql.FLOAT(), "real"), (mysql.DOUBLE(), "double"),
        (mysql.DECIMAL(12, 2), "decimal(12,2)"), (mysql.DECIMAL(60, 2), None), (mysql.CHAR(5), "char(5)"),
        (mysql.VARCHAR(7), "varchar(7)"), (mysql.TEXT(), "varchar"), (mysql.LONGTEXT(), "varchar"),
        (mysql.BINARY(3), "varbinary"), (mysql.VARBINARY(3), "varbinary"), (mysql.BLOB(), "varbinary"),
        (mysql.DATE(), "date"), (mysql.DATETIME(), "timestamp"), (mysql.TIMESTAMP(), "timestamp with time zone"),
        (mysql.TIME(), None), (mysql.YEAR(), None), (mysql.ENUM("a"), "varchar"), (mysql.SET("a"), "varchar"),
        (mysql.JSON(), "json"), (mysql.BIT(), None), (sa.types.NullType(), None),
    ],
    "sqlserver": [
        (mssql.BIT(), "boolean"), (mssql.TINYINT(), "smallint"), (sa.SMALLINT(), "smallint"), (sa.INTEGER(), "integer"),
        (sa.BIGINT(), "bigint"), (mssql.REAL(), "real"), (sa.FLOAT(53), "double"), (mssql.DOUBLE_PRECISION(), "double"),
        (sa.NUMERIC(12, 2), "decimal(12,2)"), (sa.DECIMAL(38, 0), "decimal(38,0)"), (mssql.MONEY(), "decimal(19,4)"),
        (mssql.SMALLMONEY(), "decimal(10,4)"), (sa.CHAR(5), "char(5)"), (sa.NCHAR(5), "char(5)"),
        (sa.VARCHAR(7), "varchar(7)"), (mssql.NVARCHAR(7), "varchar(7)"), (mssql.NVARCHAR(), "varchar"),
        (mssql.TEXT(), "varchar"), (mssql.NTEXT(), "varchar"), (mssql.VARBINARY(5), "varbinary"),
        (sa.BINARY(5), "varbinary"), (mssql.IMAGE(), "varbinary"), (mssql.ROWVERSION(), "varbinary"), (sa.DATE(), "date"),
        (mssql.TIME(3), "time"), (sa.DATETIME(), "timestamp"), (mssql.DATETIME2(7), "timestamp"),
        (mssql.SMALLDATETIME(), "timestamp"), (mssql.DATETIMEOFFSET(7), "timestamp with time zone"),
        (mssql.UNIQUEIDENTIFIER(), "uuid"), (mssql.XML(), None), (mssql.SQL_VARIANT(), None), (sa.types.NullType(), None),
    ],
    "oracle": [
        (oracle.NUMBER(10, 2), "decimal(10,2)"), (oracle.NUMBER(10, 0), "decimal(10,0)"), (oracle.NUMBER(), None),
        (oracle.NUMBER(5, -2), "decimal(7,0)"), (oracle.NUMBER(2, 5), "decimal(5,5)"), (sa.INTEGER(), "decimal(38,0)"),
        (oracle.NUMBER(38, -10), None), (oracle.FLOAT(), "double"), (oracle.BINARY_FLOAT(), "real"),
        (oracle.BINARY_DOUBLE(), "double"), (oracle.DATE(), "timestamp"), (oracle.TIMESTAMP(), "timestamp"),
        (oracle.TIMESTAMP(timezone=True), "timestamp with time zone"),
        (oracle.TIMESTAMP(local_timezone=True), "timestamp with time zone"), (oracle.VARCHAR2(7), "varchar(7)"),
        (oracle.NVARCHAR2(7), "varchar(7)"), (sa.CHAR(5), "char(5)"), (sa.NCHAR(5), "char(5)"), (oracle.CLOB(), "varchar"),
        (oracle.NCLOB(), "varchar"), (oracle.LONG(), "varchar"), (oracle.RAW(5), "varbinary"), (oracle.BLOB(), "varbinary"),
        (oracle.BFILE(), None), (oracle.INTERVAL(), None), (oracle.ROWID(), None), (sa.types.NullType(), None),
    ],
    "db2": [
        (sa.SMALLINT(), "smallint"), (sa.INTEGER(), "integer"), (sa.BIGINT(), "bigint"), (sa.REAL(), "real"),
        (sa.FLOAT(), "double"), (sa.DOUBLE(), "double"), (sa.DECIMAL(31, 2), "decimal(31,2)"), (sa.CHAR(5), "char(5)"),
        (sa.VARCHAR(7), "varchar(7)"), (sa.CLOB(), "varchar"), (sa.BLOB(), "varbinary"), (sa.DATE(), "date"),
        (sa.TIME(), "time"), (sa.TIMESTAMP(), "timestamp"), (sa.BOOLEAN(), "boolean"), (sa.types.NullType(), None),
    ],
}  # fmt: skip
CASES = [(name, kind, presto) for name, kinds in TYPES.items() for kind, presto in kinds]


@pytest.mark.parametrize(("dialect", "kind", "presto"), CASES, ids=[f"{n}-{k!r}" for n, k, _ in CASES])
def test_remote_types_as_prestos(dialect: str, kind: Any, presto: str | None) -> None:
    found = DIALECTS[dialect].map_type(kind)
    assert (None if found is None else found.presto) == presto
    if found is not None:
        parse_type(found.presto)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_prestos_types_as_remote_ones(dialect: str) -> None:
    """A CAST to a remote type and back is a type that holds every value of the first."""
    syntax = DIALECTS[dialect].syntax
    named = {base: syntax.type_name(base) for base in ("smallint", "integer", "bigint", "double", "timestamp")}
    assert all(named.values())
    assert syntax.type_name("decimal", (12, 2)) in ("decimal(12,2)", "NUMBER(12,2)", "DECIMAL(12,2)")
    for unknown in ("varchar", "char", "uuid", "json", "time", "array", "varbinary"):
        assert syntax.type_name(unknown) is None


def catalog(dialect: str, url: str, **more: str) -> JdbcConnector:
    values = {"connection-url": url, "connection-user": "reader", "connection-password": "open-sesame"} | more
    properties = {n: Property(n, v, Path("db.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    made = Catalogs([CatalogConfig("db", dialect, properties)]).connector("db")
    assert isinstance(made, JdbcConnector)
    return made


@pytest.mark.parametrize(
    ("dialect", "url", "address"),
    [
        ("postgresql", "jdbc:postgresql://h:5433/crm?sslmode=require", ("h", 5433, "crm", {})),
        ("mariadb", "jdbc:mariadb://h:3307/", ("h", 3307, None, {})),
        ("mysql", "jdbc:mysql://h/crm?useSSL=true", ("h", None, "crm", {})),
        ("sqlserver", "jdbc:sqlserver://h:1433;databaseName=crm;encrypt=true", ("h", 1433, "crm", {})),
        ("sqlserver", "jdbc:sqlserver://;serverName=h;portNumber=1;database=crm", ("h", 1, "crm", {})),
        ("oracle", "jdbc:oracle:thin:@//h:1521/crm", ("h", 1521, None, {"service_name": "crm"})),
        ("oracle", "jdbc:oracle:thin:@h:1521/crm", ("h", 1521, None, {"service_name": "crm"})),
        ("oracle", "jdbc:oracle:thin:@h:1521:orcl", ("h", 1521, "orcl", {})),
        ("oracle", "jdbc:oracle:thin:@tcps://h:2484/crm", ("h", 2484, None, {"service_name": "crm"})),
        ("db2", "jdbc:db2://h:50000/crm:currentSchema=SHOP;", ("h", 50000, "crm", {})),
    ],
)
def test_urls_of_every_vendor(dialect: str, url: str, address: tuple[object, ...]) -> None:
    found = catalog(dialect, url).settings.url
    assert (found.host, found.port, found.database, dict(found.query)) == address


@pytest.mark.parametrize(
    ("dialect", "url", "problem"),
    [
        ("postgresql", "jdbc:postgresql://h/d?password=x", "credentials belong into"),
        ("postgresql", "jdbc:postgresql://h/d?sslpassword=x", "credentials belong into"),
        ("postgresql", "jdbc:postgresql://h/d?user=x", "credentials belong into"),
        ("postgresql", "jdbc:postgresql://h/d?connectTimeout=soon", "no number of seconds"),
        ("postgresql", "jdbc:postgresql:d", "has no host"),
        ("mysql", "jdbc:mysql://u:p@h/d", "credentials belong into"),
        ("mysql", "jdbc:mysql://h/d?sslMode=SOMETIMES", "unknown sslMode"),
        ("sqlserver", "jdbc:sqlserver://h;user=x;password=y", "credentials belong into"),
        ("sqlserver", "jdbc:sqlserver://h;encrypt=maybe", "unknown value of encrypt"),
        ("sqlserver", "jdbc:sqlserver://h;database", "name=value should be"),
        ("oracle", "jdbc:oracle:thin:scott/tiger@h:1521:orcl", "credentials belong into"),
        ("oracle", "jdbc:oracle:oci:@orcl", "must be jdbc:oracle:thin"),
        ("db2", "jdbc:db2://h:50000/d:user=x;password=y;", "credentials belong into"),
        ("db2", "jdbc:oracle:thin:@h:1521:orcl", "must begin with jdbc:db2:"),
    ],
)
def test_wrong_urls_name_file_and_line_and_no_secret(dialect: str, url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"db\.properties:1: .*{problem}") as caught:
        catalog(dialect, url)
    assert "tiger" not in str(caught.value)


@pytest.mark.parametrize(
    ("dialect", "url", "told"),
    [
        ("postgresql", "jdbc:postgresql://h/d?sslmode=verify-full&sslrootcert=/ca.pem",
         {"sslmode": "verify-full", "sslrootcert": "/ca.pem", "connect_timeout": 10}),
        ("postgresql", "jdbc:postgresql://h/d?ssl=true&connectTimeout=3", {"sslmode": "verify-full", "connect_timeout": 3}),
        ("mysql", "jdbc:mysql://h/d?sslMode=REQUIRED",
         {"ssl": {"ca": None, "check_hostname": False, "verify_mode": "none"}}),
        ("mariadb", "jdbc:mariadb://h/d?sslMode=verify-full&serverSslCert=/ca.pem&connectTimeout=2500",
         {"ssl": {"ca": "/ca.pem", "check_hostname": True, "verify_mode": "required"}, "connect_timeout": 3}),
        ("mysql", "jdbc:mysql://h/d?useSSL=false", {"ssl_disabled": True}),
        ("sqlserver", "jdbc:sqlserver://h;encrypt=true", {"encryption": "require", "login_timeout": 10}),
        ("oracle", "jdbc:oracle:thin:@tcps://h:2484/crm", {"protocol": "tcps", "tcp_connect_timeout": 10.0}),
    ],
)  # fmt: skip
def test_the_url_s_parameters_reach_the_coordinator_s_own_connections(
    dialect: str, url: str, told: dict[str, object]
) -> None:
    given = catalog(dialect, url).database.connect_arguments()
    assert {name: given.get(name) for name in told} == told


@pytest.mark.parametrize("dialect", ["sqlserver", "oracle", "db2"])
def test_a_driver_that_is_not_installed_is_told_by_its_extra(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pymssql", "oracledb", "ibm_db_sa", "ibm_db"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ProcessionError, match=rf"Catalog db: .*pip install 'procession\[{dialect}\]'") as caught:
        catalog(dialect, URLS[dialect]).schemas()
    assert caught.value.code is ErrorCode.JDBC_ERROR


def test_drivers_come_from_maven_or_a_path(tmp_path: Path) -> None:
    jar = tmp_path / "driver.jar"
    jar.write_bytes(b"PK")
    for dialect in DIALECTS:
        url = Property("connection-url", URLS[dialect], Path("db.properties"), 1)
        path = Property("driver-path", str(jar), Path("db.properties"), 2)
        factory = Catalogs([])._factories[dialect]
        (package,) = factory.drivers("db", {"connection-url": url}).packages  # type: ignore[attr-defined]
        assert package.count(":") == 2
        given = factory.drivers("db", {"connection-url": url, "driver-path": path})  # type: ignore[attr-defined]
        assert (given.jars, given.packages) == ((str(jar),), ())


def test_oracle_compares_bytes_unless_a_column_says_otherwise() -> None:
    def kind(*given: Any) -> tuple[bool, bool]:
        found = collation(*given)
        return found.deterministic, found.binary

    assert kind("VARCHAR2", "USING_NLS_COMP", "AL32UTF8") == (True, True)
    assert kind("VARCHAR2", None, "AL32UTF8") == (True, True)
    assert kind("VARCHAR2", "BINARY", "WE8MSWIN1252") == (True, False)
    assert kind("NVARCHAR2", "BINARY", "AL32UTF8") == (True, False)
    assert kind("VARCHAR2", "BINARY_CI", "AL32UTF8") == (False, False)
    assert kind("CLOB", "USING_NLS_COMP", "AL32UTF8") == (False, False)
