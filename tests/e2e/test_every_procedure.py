"""Every procedure through HTTP with what is wrong: its code, its place, and nothing left behind. No Spark is needed."""

from __future__ import annotations

import re
from pathlib import Path

import prestodb
import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from shared.properties import Property
from shared.spi.procedure import Argument, ProcedureDeclaration
from tests.e2e.service import ROOT, Service

pytestmark = pytest.mark.slow

_SAMPLES = {"varchar": "'x'", "bigint": "7", "integer": "7", "boolean": "true", "timestamp": "TIMESTAMP '2026-01-01'"}
_MAKE_TABLES = frozenset({"register_table", "snapshot", "migrate"})
"""Their table is one that is not there yet."""
_NO_TABLE_YET = "NOT_FOUND", "SYNTAX_ERROR"


def declarations() -> list[ProcedureDeclaration]:
    values = {"iceberg.catalog.uri": "sqlite://", "iceberg.catalog.warehouse": "file:///nowhere"}
    properties = {k: Property(k, v, Path("lab.properties"), 2) for k, v in values.items()}
    return [procedure.declaration for procedure in IcebergConnector("lab", properties).procedures()]


EVERY = {found.name: found for found in declarations()}


@pytest.fixture(scope="module")
def quiet(quiet_service: Service) -> Service:
    """Its Spark is never started."""
    quiet_service.create("t", [pa.table({"id": pa.array([1, 2, 3], pa.int64())})])
    return quiet_service


def sample(argument: Argument) -> str:
    """Some value of the argument's type."""
    return _SAMPLES.get(argument.type, "NULL")


def given(declaration: ProcedureDeclaration, table: str) -> dict[str, str]:
    """Its required arguments for ``table`` of the schema ``db``."""
    known = {"schema": "'db'", "table_name": f"'{table}'"}
    found = {a.name: known.get(a.name) or sample(a) for a in declaration.arguments if a.required}
    return found | ({"ref": "'main'"} if declaration.name == "set_current_snapshot" else {})


def named(name: str, values: dict[str, str]) -> str:
    return f"CALL iceberg.system.{name}({', '.join(f'{k} => {v}' for k, v in values.items())})"


def refused(service: Service, sql: str) -> tuple[str, str]:
    """Name and text of the error; nothing is left behind."""
    before = left(service)
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as failure:
        service.execute(sql)
    assert left(service) == before
    return failure.value.error_name, failure.value.message


def left(service: Service) -> set[str]:
    home = service.data_dir / "iceberg" / "warehouse"
    return {str(path) for path in home.rglob("*")}


def place(sql: str, text: str) -> str:
    return f"line 1:{sql.index(text) + 1}: "


@pytest.mark.parametrize("name", EVERY)
def test_what_is_wrong_with_its_arguments(quiet: Service, name: str) -> None:
    values = given(EVERY[name], "t")
    sql = named(name, {**values, "nope": "1"})
    assert refused(quiet, sql) == ("SYNTAX_ERROR", f"{place(sql, 'nope')}Unknown argument name: nope")
    for missing in (argument.name for argument in EVERY[name].arguments if argument.required):
        sql = named(name, {k: v for k, v in values.items() if k != missing})
        wanted = f"line 1:1: Required procedure argument '{missing}' is missing"
        assert refused(quiet, sql) == ("SYNTAX_ERROR", wanted)
    for argument in EVERY[name].arguments:
        sql = named(name, {**values, argument.name: "ROW(1, 2)"})
        code, text = refused(quiet, sql)
        assert (code, text.startswith(place(sql, "ROW(")), "Cannot cast type row" in text) == (
            "SYNTAX_ERROR", True, True,
        ), (argument, text)  # fmt: skip
    too_many = ", ".join(["NULL"] * (len(EVERY[name].arguments) + 1))
    code, text = refused(quiet, f"CALL iceberg.system.{name}({too_many})")
    assert (code, text) == ("SYNTAX_ERROR", "line 1:1: Too many arguments for procedure")


@pytest.mark.parametrize("name", sorted(name for name in set(EVERY) - _MAKE_TABLES if EVERY[name].takes_table))
def test_a_table_that_is_not_there(quiet: Service, name: str) -> None:
    values = given(EVERY[name], "nope")
    by_name = named(name, values)
    required = [values[a.name] for a in EVERY[name].arguments if a.required]
    optional = ["7"] if name == "set_current_snapshot" else []
    by_position = f"CALL iceberg.system.{name}({', '.join([*required, *optional])})"
    dotted = {"table": "'db.nope'", **{k: v for k, v in values.items() if k not in ("schema", "table_name")}}
    for sql, argument in ((by_name, "table_name"), (by_position, "'nope'"), (named(name, dotted), "table =>")):
        code, text = refused(quiet, sql)
        assert code in _NO_TABLE_YET, (sql, code, text)
        assert text.endswith("db.nope does not exist")
        assert text.startswith(place(sql, argument)), (sql, text)


@pytest.mark.parametrize(
    ("argument", "value", "code"),
    [
        ("strategy", "'fast'", "NOT_SUPPORTED"),
        ("strategy", "'sort'", "INVALID_PROCEDURE_ARGUMENT"),
        ("sorted_by", "ARRAY['id']", "NOT_SUPPORTED"),
        ("options", "map(ARRAY['nope'], ARRAY['1'])", "INVALID_PROCEDURE_ARGUMENT"),
        ("options", "map(ARRAY['min-input-files'], ARRAY[NULL])", "INVALID_PROCEDURE_ARGUMENT"),
        ("options", "map(ARRAY['output-spec-id'], ARRAY['9'])", "INVALID_PROCEDURE_ARGUMENT"),
    ],
)
def test_a_value_that_a_rewrite_cannot_use_is_told_at_its_place(
    quiet: Service, argument: str, value: str, code: str
) -> None:
    sql = f"CALL iceberg.system.rewrite_data_files(table => 'db.t', {argument} => {value})"
    found, text = refused(quiet, sql)
    assert (found, text.startswith(place(sql, argument))) == (code, True), text


def documented() -> list[str]:
    """Every CALL of the pages, as it is printed."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [
        call
        for page in pages
        for call in re.findall(r"^(?:    )?(CALL (?:[^`']|'[^']*'|`)*?\))$", page.read_text(), re.M)
    ]
    return [call for call in dict.fromkeys(found) if "sales" in call]


def test_every_documented_call_is_well_formed(quiet: Service) -> None:
    """The tables of the pages are not there; whatever else is wrong would be the page."""
    calls = documented()
    assert len(calls) > len(EVERY) * 0.9
    for sql in calls:
        code, text = refused(quiet, sql)
        assert "mixed" not in text, sql
        if "The maintenance service is off" in text:
            continue
        assert code in ("NOT_FOUND", "SYNTAX_ERROR", "PERMISSION_DENIED", "INVALID_PROCEDURE_ARGUMENT"), (
            sql,
            code,
            text,
        )
        # Folders of the pages are not those of this catalog.
        assert "does not exist" in text or "Access Denied: Location" in text, (sql, code, text)


def test_a_filter_is_analyzed_whatever_the_procedure(quiet: Service) -> None:
    for name in ("rewrite_data_files", "rewrite_position_delete_files"):
        sql = f"CALL iceberg.system.{name}(table => 'db.t', where => 'n = 1', dry_run => true)"
        assert refused(quiet, sql) == ("SYNTAX_ERROR", f"{place(sql, 'n = 1')}Column 'n' cannot be resolved")
        for text in ("id = 1", "TRUE", "id IN (1, 7) OR id IS NULL"):
            quiet.execute(f"CALL iceberg.system.{name}(table => 'db.t', where => '{text}', dry_run => true)")
