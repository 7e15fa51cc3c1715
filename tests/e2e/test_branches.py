"""Rows of branches: read and changed under Iceberg's names, and published; the recipe of docs/maintenance.md is run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import prestodb
import pytest
from pyiceberg.table import Table

from tests.e2e.service import ROOT, Service
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Run = Callable[[str], Any]
Refused = prestodb.exceptions.PrestoQueryError


@pytest.fixture(scope="module")
def run(service: Service) -> Run:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.branched")
    return lambda sql: service.execute(sql, catalog="iceberg", schema="branched")


def ids(table: Table, reference: str) -> list[int]:
    """What PyIceberg reads."""
    snapshot = table.refresh().snapshot_by_name(reference)
    assert snapshot is not None
    found: list[int] = sorted(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()["id"].to_pylist())
    return found


def test_write_audit_publish_as_the_docs_say(run: Run) -> None:
    (recipe,) = re.findall(
        r"## Write, audit, publish.*?```sql\n(.*?)```", (ROOT / "docs/maintenance.md").read_text(), re.S
    )
    answers = [run(statement) for statement in recipe.strip().rstrip(";").split(";\n")]
    assert answers[1] == [[1]]
    assert answers[3:6] == [[[2]], [[1]], [[0]]]
    assert answers[-1] == [[1], [2]]


@pytest.mark.parametrize("mode", some(["merge-on-read"], ["copy-on-write"], "the other mode"))
def test_every_change_of_rows_goes_to_the_branch_alone(service: Service, run: Run, mode: str) -> None:
    name = f"changed_{mode[:4]}"
    modes = ", ".join(f"\"write.{kind}.mode\" = '{mode}'" for kind in ("delete", "update", "merge"))
    run(f"CREATE TABLE {name} (id bigint, p varchar) WITH (partitioning = ARRAY['p'])")
    run(f"ALTER TABLE {name} SET PROPERTIES {modes}")
    run(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    run(f"CALL iceberg.system.create_branch(table => '{name}', branch => 'Audit')")
    branch, table = f'"{name}.branch_audit"', service.lake().load_table(f"branched.{name}")
    assert run(f"INSERT INTO {branch} (id) VALUES 3, 4") == [[2]]
    assert ids(table, "Audit") == [1, 2, 3, 4]
    assert run(f"UPDATE {branch} SET id = id + 10 WHERE id > 2") == [[2]]
    assert run(f"DELETE FROM {branch} WHERE p = 'a'") == [[1]]
    assert run(f"DELETE FROM {branch} WHERE id IN (SELECT 13)") == [[1]]
    merge = f"MERGE INTO {branch} t USING (VALUES 2, 5) s(n) ON t.id = s.n"
    assert run(f"{merge} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (n)") == [[2]]
    assert run(f"SELECT id FROM {branch} ORDER BY id") == [[5], [14]]
    assert run(f"SELECT id FROM {name} FOR VERSION AS OF 'Audit' ORDER BY id") == [[5], [14]]
    assert ids(table, "main") == [1, 2]
    run(f"CALL iceberg.system.create_tag(table => '{name}', tag => 'kept')")
    with pytest.raises(prestodb.exceptions.PrestoQueryError, match="tags do not change"):
        run(f'TRUNCATE TABLE "{name}.tag_kept"')
    run(f"TRUNCATE TABLE {branch}")
    assert run(f"SELECT count(*) FROM {branch}") == [[0]]
    assert ids(table, "main") == [1, 2]


def test_a_branch_is_rewritten(service: Service, run: Run) -> None:
    run("CREATE TABLE compacted (id bigint)")
    run("INSERT INTO compacted VALUES 0")
    run("CALL iceberg.system.create_branch(table => 'compacted', branch => 'side')")
    for number in (1, 2):
        run(f'INSERT INTO "compacted.branch_side" VALUES {number}')
    table = service.lake().load_table("branched.compacted")
    main = table.current_snapshot()
    call = "CALL iceberg.system.rewrite_data_files(table => 'compacted', branch => '{}', options => 'rewrite-all=true')"
    rewritten = run(call.format("side"))[0]
    assert rewritten[0] >= 3 > rewritten[1]
    assert ids(table, "side") == [0, 1, 2]
    query = "SELECT id FROM iceberg.branched.compacted FOR VERSION AS OF 'side' ORDER BY id"
    assert service.execute(query, session_properties={"engine": "SPARK"}) == [[0], [1], [2]]
    assert table.refresh().current_snapshot() == main
    with pytest.raises(Refused, match="Branch does not exist: nobody"):
        run(call.format("nobody"))


def test_what_is_no_change_of_rows_takes_the_table(service: Service, run: Run) -> None:
    run("CREATE TABLE whole (id bigint)")
    run("INSERT INTO whole VALUES 1")
    run("CALL iceberg.system.create_branch(table => 'whole', branch => 'b')")
    run("CALL iceberg.system.create_tag(table => 'whole', tag => 't')")
    before = service.lake().load_table("branched.whole").metadata
    refusals = {
        'INSERT INTO "whole.tag_t" VALUES 2': "Cannot write to tag t",
        'INSERT INTO "whole.branch_nobody" VALUES 2': "Could not find Iceberg table branch or tag: nobody",
        'ALTER TABLE "whole.branch_b" ADD COLUMN c bigint': "is a branch or tag of table whole",
        'DROP TABLE "whole.branch_b"': "does not exist",
        "CALL iceberg.system.rewrite_data_files('branched', 'whole.branch_b')": "is a branch or tag of table whole",
        "CALL iceberg.system.expire_snapshots('branched', 'whole.branch_b')": "does not exist",
    }
    for sql, message in refusals.items():
        with pytest.raises(Refused) as refused:
            run(sql)
        assert message in refused.value.message, sql
    assert service.lake().load_table("branched.whole").metadata == before


def test_a_session_that_is_sent_to_a_branch_as_the_docs_say(service: Service, run: Run) -> None:
    """The second recipe of the page, after the first: one connection, whose session properties stay."""
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/maintenance.md").read_text(), re.S)
    (recipe,) = [block for block in blocks if "wap_branch" in block]
    run("CREATE SCHEMA IF NOT EXISTS iceberg.audited")
    cursor = service.cursor(catalog="iceberg", schema="audited")

    def told(sql: str) -> Any:
        cursor.execute(sql)
        return cursor.fetchall()

    told("CREATE TABLE orders (id bigint, amount decimal(8, 2))")
    told("INSERT INTO orders VALUES (1, 10.00), (2, 20.00)")
    answers = [told(statement) for statement in recipe.strip().rstrip(";").split(";\n")]
    assert answers[3] == [[3]]
    assert answers[5] == [[2]]
    assert answers[-1] == [[1], [2], [4], [5]]
    told("SET SESSION iceberg.wap_branch = 'rows'")
    for change in ("UPDATE orders SET id = id + 10 WHERE id > 2", "DELETE FROM orders WHERE id IN (SELECT 1)"):
        told(change)
    told("MERGE INTO orders t USING (VALUES 2) s(n) ON t.id = s.n WHEN MATCHED THEN DELETE")
    assert told("SELECT id FROM orders ORDER BY id") == [[14], [15]]
    told("DELETE FROM orders WHERE id = 14")
    told("TRUNCATE TABLE orders")
    assert told("SELECT count(*) FROM orders") == [[0]]
    table = service.lake().load_table("audited.orders")
    assert ids(table, "main") == [1, 2, 4, 5]
    assert ids(table, "rows") == []


STAGED = [
    ("UPDATE staged SET p = 'c' WHERE id = 1", 1, ["b", "c"]),
    ("DELETE FROM staged WHERE p = 'a'", 1, ["b"]),
    ("DELETE FROM staged WHERE id IN (SELECT 2)", 1, ["a"]),
    ("DELETE FROM staged", 2, []),
    ("MERGE INTO staged t USING (VALUES 2, 3) s(n) ON t.id = s.n WHEN MATCHED THEN DELETE "
     "WHEN NOT MATCHED THEN INSERT VALUES (s.n, 'new')", 2, ["a", "new"]),
]  # fmt: skip


def test_every_change_is_staged_under_an_id_and_published(service: Service) -> None:
    """Main stays as it is until then, also where Spark could delete whole files by metadata alone."""
    cursor = service.cursor(catalog="iceberg", schema="branched")

    def told(sql: str) -> Any:
        cursor.execute(sql)
        return cursor.fetchall()

    told("CREATE TABLE staged (id bigint, p varchar) WITH (partitioning = ARRAY['p'])")
    told("CALL iceberg.system.set_table_property(table => 'staged', key => 'write.wap.enabled', value => 'true')")
    told("INSERT INTO staged VALUES (1, 'a'), (2, 'b')")
    table = service.lake().load_table("branched.staged")
    base = table.current_snapshot()
    assert base is not None
    for number, (sql, count, published) in enumerate(STAGED):
        told(f"SET SESSION iceberg.wap_id = 'change-{number}'")
        assert told(sql) == [[count]]
        assert table.refresh().current_snapshot() == base, sql
        told("RESET SESSION iceberg.wap_id")
        told(f"CALL iceberg.system.publish_changes(table => 'staged', wap_id => 'change-{number}')")
        assert told("SELECT p FROM staged ORDER BY 1") == [[each] for each in published]
        told(f"CALL iceberg.system.set_current_snapshot(table => 'staged', snapshot_id => {base.snapshot_id})")
    told("INSERT INTO staged VALUES (9, 'z')")
    told("SET SESSION iceberg.wap_id = 'late'")
    told("DELETE FROM staged WHERE p = 'b'")
    told("RESET SESSION iceberg.wap_id")
    told("INSERT INTO staged VALUES (10, 'z')")
    with pytest.raises(Refused, match="not append, dynamic overwrite, or fast-forward"):
        told("CALL iceberg.system.publish_changes(table => 'staged', wap_id => 'late')")


def test_a_branch_is_planned_and_maintained(service: Service, run: Run) -> None:
    run("CREATE TABLE kept_well (id bigint)")
    run("INSERT INTO kept_well VALUES 0")
    run("CALL iceberg.system.create_branch(table => 'kept_well', branch => 'side')")
    for number in range(1, 6):
        run(f'INSERT INTO "kept_well.branch_side" VALUES {number}')
    table = service.lake().load_table("branched.kept_well")
    main = table.current_snapshot()
    call = "CALL iceberg.system.rewrite_data_files(table => 'kept_well', branch => 'side', dry_run => true)"
    (planned,) = run(call)
    assert 6 in planned
    steps = {row[1]: row for row in run("CALL iceberg.system.auto_maintain(table => 'kept_well', branch => 'side')")}
    assert steps["rewrite_data_files"][2] == "DONE"
    assert steps["rewrite_manifests"][2] == "SKIPPED"
    assert steps["rewrite_manifests"][3].startswith("small manifests: ")
    assert ids(table, "side") == [0, 1, 2, 3, 4, 5]
    files = list(table.refresh().scan(snapshot_id=table.snapshot_by_name("side").snapshot_id).plan_files())
    assert len(files) == 1
    assert table.current_snapshot() == main
    with pytest.raises(Refused, match="Branch does not exist: nobody"):
        run("CALL iceberg.system.auto_maintain(table => 'kept_well', branch => 'nobody')")
