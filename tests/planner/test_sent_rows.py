"""Statements over rows that come along: what they read, who is asked, what Velox sees, and that nobody else reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.worker_form import why_not_checked, worker_form
from coordinator.connectors.registry import Catalogs, read_catalog
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import WriteRows
from shared.errors import ProcessionError
from shared.plan.nodes import TableScanNode, ValuesNode
from shared.plan.traversal import walk
from shared.spi.accesses import CreateTable, DropTable
from shared.spi.relation import SentRelation
from shared.spi.session import Session

CREATE = 'CREATE TABLE made AS SELECT "a", "b" FROM "$sent_rows"'
PLAIN = Session("tester", catalog="iceberg", schema="db")
SESSION = replace(PLAIN, sent_columns=(("a", "bigint"), ("b", "varchar")))


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory):
    home = tmp_path_factory.mktemp("lake")
    (home / "iceberg.properties").write_text("connector.name=iceberg\n")
    (home / "iceberg").mkdir()
    lake = SqlCatalog(
        "iceberg", uri=f"sqlite:///{home}/iceberg/catalog.db", warehouse=f"file://{home}/iceberg/warehouse"
    )
    lake.create_namespace("db")
    return Catalogs([replace(read_catalog(home / "iceberg.properties"), data_dir=home)])


def planned(catalogs, text=CREATE, session=SESSION):
    return plan_statement(text, session, catalogs, PlanCheckers())


def test_the_engine_is_given_the_rows_by_their_names(catalogs):
    work = planned(catalogs).work
    assert isinstance(work, WriteRows)
    ((given,),) = ([each.relation for each in work.inputs],)
    assert given == SentRelation(("a", "b"))
    assert work.inputs[0].name in work.write.after


def test_only_the_table_is_asked_for(catalogs):
    assert [type(asked.access) for asked in planned(catalogs).accesses] == [CreateTable]
    replacing = planned(catalogs, CREATE.replace("CREATE TABLE", "CREATE OR REPLACE TABLE"))
    assert [type(asked.access) for asked in replacing.accesses] == [DropTable, CreateTable]
    assert planned(catalogs).inputs == ()


def test_velox_sees_what_is_computed_of_them(catalogs):
    text = 'CREATE TABLE made AS SELECT CAST("a" AS varchar) AS t FROM "$sent_rows"'
    subplan = planned(catalogs, text).subplan
    fragments = [subplan.fragment, *(child.fragment for child in subplan.children)]
    checked = [each for each in fragments if why_not_checked(each) is None]
    assert [each for each in checked if any(isinstance(n, TableScanNode) for n in walk(each.root))]
    nodes = [node for each in checked for node in walk(worker_form(each).root)]
    assert not [node for node in nodes if isinstance(node, TableScanNode)]
    assert [node.rows for node in nodes if isinstance(node, ValuesNode)] == [()]


@pytest.mark.parametrize(
    "text",
    [
        'SELECT * FROM "$sent_rows"',
        'SELECT * FROM iceberg.db."$sent_rows"',
        'SELECT * FROM "$sent_rows"."db"."t"',
        CREATE,
    ],
)
def test_nobody_else_reads_rows_of_that_name(catalogs, text):
    with pytest.raises(ProcessionError):
        planned(catalogs, text, PLAIN)
