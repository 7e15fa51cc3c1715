"""help and docs/procedures.md print what the declarations say."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.connectors.system.procedures.help import DECLARATION, Help, default_text
from coordinator.connectors.system.registered import all_procedures, find_procedure
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureContext
from shared.spi.session import Session
from tools.procedure_reference import reference


def call(catalogs: Any, procedure: str | None) -> list[tuple[Any, ...]]:
    helper = find_procedure(cast(Catalogs, catalogs), "system", "help")
    assert isinstance(helper, Help)
    context = ProcedureContext(Session(user="t"), "system", cast(Any, None), datetime.now(UTC))
    return [tuple(row) for row in helper.call(context, {"procedure": procedure}).rows]


def test_every_procedure_by_name(catalogs: Any) -> None:
    rows = call(catalogs, None)
    assert [row[0] for row in rows] == [
        "iceberg.system.rewrite_data_files",
        "iceberg.system.rollback_to_snapshot",
        "lake.system.rewrite_data_files",
        "lake.system.rollback_to_snapshot",
        "system.clean_data_cache",
        "system.explain_maintenance",
        "system.help",
        "system.kill_job",
        "system.kill_query",
        "system.maintain",
        "system.pause",
        "system.resume",
        "system.show_jobs",
    ]
    assert {len(row) for row in rows} == {len(DECLARATION.output)}
    assert rows[1][3] == (
        "schema varchar, table_name varchar, snapshot_id bigint, dry_run boolean = false, older_than timestamp = NULL"
    )


@pytest.mark.parametrize("name", ["iceberg.system.rewrite_data_files", "ICEBERG.system.Rewrite_Data_Files"])
def test_one_procedure_with_the_docs_of_its_arguments(catalogs: Any, name: str) -> None:
    ((_, kind, _, arguments, returns, example),) = call(catalogs, name)
    assert kind == "TABLE_DATA_REWRITE"
    assert "strategy varchar = 'binpack': How.\n" in arguments
    assert returns.startswith("rewritten_data_files_count integer: Files read.\n")
    assert example.startswith("CALL iceberg.system.")


def test_a_bare_name_is_found_in_every_catalog(catalogs: Any) -> None:
    assert len(call(catalogs, "rollback_to_snapshot")) == 2


def test_an_unknown_name_is_answered_with_near_ones(catalogs: Any) -> None:
    with pytest.raises(ProcessionError) as caught:
        call(catalogs, "rewrite_file")
    assert caught.value.code is ErrorCode.PROCEDURE_NOT_FOUND
    assert caught.value.message == "Procedure not registered: rewrite_file. Did you mean rewrite_data_files?"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        ("it's", "'it''s'"),
        (5, "5"),
        ({}, "MAP()"),
        ({"a": "b"}, "MAP(ARRAY['a'], ARRAY['b'])"),
        ((1, None), "ARRAY[1, NULL]"),
    ],
)
def test_defaults_are_written_as_sql(value: object, text: str) -> None:
    assert default_text(value) == text


def test_the_reference_has_every_procedure_and_argument(catalogs: Any) -> None:
    pairs = all_procedures(cast(Catalogs, catalogs))
    page = reference(pairs)
    for catalog, procedure in pairs:
        name = procedure.declaration.name
        assert f"\n## {'system' if catalog == 'system' else f'{catalog}.system'}.{name}\n" in page
        for argument in procedure.declaration.arguments:
            assert f"| {argument.name} | {argument.type} | " in page


def test_the_page_in_docs_is_that_of_the_iceberg_connector(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog"
    catalog.mkdir()
    (catalog / "iceberg.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.uri=sqlite:///{tmp_path}/c.db\n"
        f"iceberg.catalog.warehouse=file://{tmp_path}/warehouse\niceberg.journal.file={tmp_path}/journal.db\n"
    )
    page = reference(all_procedures(Catalogs(read_catalogs(catalog))))
    file = Path(__file__).parents[2] / "docs" / "procedures.md"
    if os.environ.get("BLESS") == "1":
        file.write_text(page, encoding="utf-8")
    assert page == file.read_text(encoding="utf-8")
