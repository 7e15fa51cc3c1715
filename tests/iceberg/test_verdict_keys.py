"""Statements that differ in literals alone share the verdicts of their fragments: most of what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coordinator.checks.fragment_keys import fresh_key
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.planning.plan_statement import plan_statement
from shared.properties import Property
from shared.spi.session import Session
from tests.iceberg.embedded_reader import NoCheckers
from tests.iceberg.test_rewrite import numbers

SHARED = (
    "CALL lab.system.rewrite_data_files(schema => 'db', table_name => 't', filter => 'id > {}')",
    "CALL lab.system.rewrite_data_files(schema => 'db', table_name => 't', filter => 'id IN ({}, 3) AND x < 5')",
    "SELECT name, count(*) FROM t WHERE id > {} AND x <> 2 GROUP BY name",
    "SELECT a.id FROM t a JOIN t b ON a.id = b.id + {} WHERE b.id IN (1, {})",
)
APART = ("SELECT id FROM t WHERE name LIKE '{}%'", "SELECT id / {} FROM t", "SELECT id FROM t LIMIT {}")


def keys(lake: Any, text: str) -> list[bytes]:
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    found = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    catalogs = Catalogs([CatalogConfig("lab", "iceberg", found, lake.home)])
    planned = plan_statement(text, Session(user="test", catalog="lab", schema="db"), catalogs, NoCheckers())
    assert planned.subplan is not None
    return [k.key for k in map(fresh_key, planned.subplan.fragments()) if k.not_checked is None]


@pytest.mark.parametrize("text", SHARED)
def test_literals_that_cannot_matter_do_not(lake: Any, text: str) -> None:
    lake.create("t", [numbers(0)])
    first = keys(lake, text.replace("{}", "7"))
    assert first == keys(lake, text.replace("{}", "4711"))
    assert len(first) > 0


@pytest.mark.parametrize("text", APART)
def test_others_do(lake: Any, text: str) -> None:
    lake.create("t", [numbers(0)])
    assert keys(lake, text.replace("{}", "7")) != keys(lake, text.replace("{}", "4711"))
