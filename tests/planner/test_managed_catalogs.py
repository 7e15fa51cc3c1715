"""CREATE CATALOG and DROP CATALOG through the whole line."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import (
    CatalogDefinition,
    CatalogEdit,
    ManageCatalog,
    PlannedStatement,
    ReturnRows,
)
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session


def planned(text: str, *, managed: bool = True, **session: str) -> PlannedStatement:
    catalogs = Catalogs([CatalogConfig("tpch", "tpch", {}, Path())])
    catalogs.managed = managed
    return plan_statement(text, Session(user="t", **session), catalogs, PlanCheckers())


def refused(text: str, *, managed: bool = True, **session: str) -> ProcessionError:
    with pytest.raises(ProcessionError) as raised:
        planned(text, managed=managed, **session)
    return raised.value


def test_create() -> None:
    text = """CREATE CATALOG Lake USING iceberg
        WITH ("s3.endpoint" = 'http://a' || ':1', "iceberg.catalog.type" = 'rest')"""
    made = planned(text)
    properties = (("iceberg.catalog.type", "rest"), ("s3.endpoint", "http://a:1"))
    assert made.work == ManageCatalog("lake", CatalogDefinition("iceberg", properties), lenient=False)
    assert (made.query_type, made.update_type) == ("DATA_DEFINITION", "CREATE CATALOG")
    assert "rest" not in repr(made.work)


def test_drop() -> None:
    made = planned("DROP CATALOG IF EXISTS tpch RESTRICT")
    assert (made.work, made.update_type) == (ManageCatalog("tpch", None, lenient=True), "DROP CATALOG")


@pytest.mark.parametrize(
    "listed", ["a = 'x', \"b.c\" = NULL", "(a = 'x', \"b.c\" = NULL)", "a = 'x', \"b.c\" = DEFAULT"]
)
def test_alter(listed: str) -> None:
    made = planned(f"ALTER CATALOG TPCH SET PROPERTIES {listed}")
    assert made.work == ManageCatalog("tpch", CatalogEdit((("a", "x"), ("b.c", None))), lenient=False)
    assert made.update_type == "ALTER CATALOG"
    assert "x" not in repr(made.work).partition("definition")[2]


def test_nothing_to_do() -> None:
    assert isinstance(planned("CREATE CATALOG IF NOT EXISTS tpch USING tpch").work, ReturnRows)
    assert isinstance(planned("DROP CATALOG IF EXISTS none").work, ReturnRows)


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("CREATE CATALOG tpch USING tpch", ErrorCode.ALREADY_EXISTS, "Catalog 'tpch' already exists"),
        ("CREATE CATALOG system USING tpch", ErrorCode.ALREADY_EXISTS, "Catalog 'system' already exists"),
        ("ALTER CATALOG none SET PROPERTIES a = 'b'", ErrorCode.NOT_FOUND, "Catalog 'none' does not exist"),
        ("ALTER CATALOG system SET PROPERTIES a = 'b'", ErrorCode.NOT_SUPPORTED, "Cannot alter catalog system"),
        ("ALTER CATALOG tpch SET PROPERTIES \"connector.name\" = 'b'", ErrorCode.INVALID_ARGUMENTS, "is what USING"),
        ('ALTER CATALOG tpch SET PROPERTIES "a b" = NULL', ErrorCode.INVALID_ARGUMENTS, "Invalid name of a catalog"),
        ("DROP CATALOG none", ErrorCode.NOT_FOUND, "Catalog 'none' does not exist"),
        ("DROP CATALOG system", ErrorCode.NOT_SUPPORTED, "Cannot drop catalog system"),
        ("DROP CATALOG tpch CASCADE", ErrorCode.NOT_SUPPORTED, "DROP CATALOG with CASCADE is not supported"),
        ("CREATE CATALOG a USING b COMMENT 'c'", ErrorCode.NOT_SUPPORTED, "CREATE CATALOG with COMMENT"),
        ('CREATE CATALOG "../a" USING b', ErrorCode.SYNTAX_ERROR, "Invalid name of a catalog: '../a'"),
        ('CREATE CATALOG "$info_schema@a" USING b', ErrorCode.SYNTAX_ERROR, "Invalid name of a catalog"),
        (
            "CREATE CATALOG a USING b WITH (\"x y\" = '1')",
            ErrorCode.INVALID_ARGUMENTS,
            "Invalid name of a catalog prop",
        ),
        ("CREATE CATALOG a USING b WITH (\"#x\" = '1')", ErrorCode.INVALID_ARGUMENTS, "Invalid name of a catalog prop"),
        (
            "CREATE CATALOG a USING b WITH (\"x=y\" = '1')",
            ErrorCode.INVALID_ARGUMENTS,
            "Invalid name of a catalog prop",
        ),
        ("CREATE CATALOG a USING b WITH (\"connector.name\" = 'c')", ErrorCode.INVALID_ARGUMENTS, "what USING says"),
        ("CREATE CATALOG a USING b WITH (x = 'line\nother=1')", ErrorCode.INVALID_ARGUMENTS, "line breaks"),
        ("CREATE CATALOG a USING b WITH (x = U&'a\\2028b')", ErrorCode.INVALID_ARGUMENTS, "line breaks"),
        ("CREATE CATALOG a USING b WITH (x = 1)", ErrorCode.INVALID_ARGUMENTS, "it is not a varchar"),
        ("CREATE CATALOG a USING b WITH (x = NULL)", ErrorCode.INVALID_ARGUMENTS, "it is not a varchar"),
        ("CREATE CATALOG a WITH (x = 'y')", ErrorCode.SYNTAX_ERROR, "Expecting: 'USING'"),
    ],
)
def test_refused(text: str, code: ErrorCode, told: str) -> None:
    error = refused(text)
    assert error.code is code
    assert told in error.message


@pytest.mark.parametrize("text", ["CREATE CATALOG a USING b", "DROP CATALOG tpch", "DROP CATALOG IF EXISTS none"])
def test_static_is_the_default(text: str) -> None:
    error = refused(text, managed=False)
    assert error.code is ErrorCode.NOT_SUPPORTED
    assert "catalog.management is static" in error.message


def test_not_in_a_transaction() -> None:
    assert refused("CREATE CATALOG a USING b", transaction_id="t").code is ErrorCode.AUTOCOMMIT_WRITE_CONFLICT
