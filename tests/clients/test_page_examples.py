"""The examples of docs/ are run against the shared service, over tables that are prepared for them.

``docs/tutorial.md`` and the recipes of docs/maintenance.md are run, and compared, by tests of their own. What is not
run here says why, and is planned all the same: names, arguments and types have to fit.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import prestodb
import pytest

from tests.deploy.test_examples import examples
from tests.e2e.service import Service
from tests.tiers import FULL

pytestmark = [pytest.mark.spark, pytest.mark.slow]
DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("engines", "history", "late-materialization", "metadata-tables", "procedures", "statements", "system-tables")
TYPED = re.compile(r"^> ((?:SELECT|EXPLAIN|CREATE|CALL) .*)$", re.MULTILINE)
"""Statements after the prompt."""
SCHEMAS = re.compile(r"\b(sales|staging|db)\b(?!\s*=>)")
SNAPSHOTS = re.compile(r"7301223049553291011|8954597067493422955")
RUN = re.compile(
    r"show_(?!savepoints)|ancestors_of|commits_compare|(create|replace|drop)_(branch|tag)|file_size|table_storage|"
    r"write_amplification|flush|invalidate|help|set_table_property|drop_extended"
)
"""Procedures whose examples are run. The others would take Spark, end what other tests do, or name places and moments
of the reader's lake: tests/e2e/test_every_procedure.py calls them, and here they are planned."""
READS = re.compile(
    r"SELECT|CALL [\w.]*?(show_|ancestors_of|commits_compare|file_size|table_storage|write_amplification|help)"
)
"""Of these examples two of three are planned only, but in a full run: they change nothing."""
YOUNG = "No history found based on timestamp"
"""The tables are younger than what an example asks for."""
TABLES = """
CREATE SCHEMA IF NOT EXISTS sales;
CREATE SCHEMA IF NOT EXISTS staging;
CREATE SCHEMA IF NOT EXISTS db;
CREATE TABLE staging.orders AS SELECT BIGINT '1' id, DATE '2026-01-01' day, 'Ann' customer, DECIMAL '1.00' price;
CREATE TABLE staging.changes AS SELECT BIGINT '1' id, DATE '2026-01-01' day, DECIMAL '2.00' price, false gone;
CREATE TABLE db.t WITH (partitioning = ARRAY['p']) AS SELECT 1 p, 2 n;
INSERT INTO db.t VALUES (2, 3);
CREATE TABLE db.orders AS SELECT orderkey, totalprice price FROM tpch.tiny.orders LIMIT 10;
CALL iceberg.system.create_branch(table => 'db.t', branch => 'audit')
"""
SECOND = "ALTER TABLE sales.orders ADD COLUMN region varchar; INSERT INTO sales.orders (id, region) VALUES (2, 'EU')"


def own(text: str) -> str:
    """In schemas that no other test has, and over few rows."""
    return SCHEMAS.sub(r"pages_\1", text).replace("sf1.", "tiny.")


def of_page(name: str) -> list[str]:
    page = DOCS / f"{name}.md"
    return examples(page) + TYPED.findall(page.read_text())


def procedure(text: str) -> str:
    found = re.match(r"CALL [\w.]*?(\w+)\(", text)
    return "" if found is None else found[1]


def place(text: str) -> int:
    """The pages are alphabetical; what is made is made first, and dropped last."""
    return {"create": 0, "drop": 2, "delete": 2}.get(procedure(text).partition("_")[0], 1)


def test_every_example_runs(whole_service: Service) -> None:
    service = whole_service
    failed: dict[str, str] = {}

    def run(text: str, schema: str) -> object:
        return service.execute(text.rstrip().rstrip(";"), catalog="iceberg", schema=schema)

    def tried(text: str, snapshot: object, schema: str) -> None:
        text = SNAPSHOTS.sub(str(snapshot), own(text))
        called = procedure(text)
        planned = called and RUN.match(called) is None
        if not FULL and READS.match(text) and zlib.crc32(text.encode()) % 3:
            planned = True
        try:
            run(f"EXPLAIN (TYPE VALIDATE) {text}" if planned else text, schema)
        except prestodb.exceptions.PrestoQueryError as error:
            if not error.message.startswith(YOUNG):
                failed[text] = error.message

    for statement in own(TABLES).strip().split(";\n"):
        run(statement, "pages_db")
    for text in of_page("statements"):
        tried(text, 0, "pages_db")
    for statement in own(SECOND).split("; "):
        run(statement, "pages_db")
    for page in PAGES:
        if page == "statements":
            continue
        name, schema = ("orders", "pages_sales") if page == "procedures" else ("t", "pages_db")
        newest = f'SELECT max_by(snapshot_id, committed_at) FROM iceberg.{schema}."{name}$snapshots"'
        ((snapshot,),) = service.execute(newest)
        for text in sorted(of_page(page), key=place):
            tried(text, snapshot, schema)
    assert not failed, "\n".join(f"{text[:90]!r}: {message[:150]}" for text, message in failed.items())
