"""Tables whose catalog lends the keys of its store: what the coordinator and the kernels do with them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from coordinator.connectors.iceberg.connector import IcebergConnector
from shared.properties import Property
from tests.iceberg.rest_catalog import serving
from tests.iceberg.rest_habits import Credentials, Habits
from tests.iceberg.vending_store import ROOT, VendingStore, vending_store

ROWS = 50


def numbers(first: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + ROWS), pa.int64()), "p": pa.array([first] * ROWS, pa.int64())})


@pytest.fixture(scope="module")
def store() -> Iterator[VendingStore]:
    with pytest.MonkeyPatch.context() as patch, vending_store() as running:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield running


class Vended:
    """A lake behind a REST server that lends keys; ``home`` holds journals alone."""

    def __init__(self, lake: Any, store: VendingStore, schema: str) -> None:
        self.store, self.lake = store, lake
        self.other = SqlCatalog(
            "lab", uri=lake.uri, warehouse=f"s3://lake/{schema}", **ROOT, **store.addresses,
        )  # fmt: skip
        self.habits = Habits(vend=self.vend)
        lake.other = self.other

    def vend(self, table: Table) -> tuple[dict[str, str], Credentials]:
        keys = self.store.lend(table.location())
        return dict(self.store.addresses), [{"prefix": table.location(), "config": keys.config()}]

    def connect(self, address: str) -> None:
        values = {
            "iceberg.catalog.type": "rest",
            "iceberg.rest.uri": address,
            "iceberg.journal.file": f"{self.lake.home}/rest.journal.db",
        }
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        self.lake.connector = IcebergConnector("lab", properties)


@pytest.fixture
def vended(lake: Any, store: VendingStore, request: pytest.FixtureRequest) -> Iterator[Vended]:
    store.life, store.delay, store.told_life = 30.0, 0.0, 1e9
    store.refused.clear()
    made = Vended(lake, store, request.node.name.partition("[")[0])
    with serving(made.other, made.habits) as address:
        made.connect(address)
        yield made
    written = [file.read_bytes() for file in lake.home.rglob("*") if file.is_file()]
    assert not any(secret.encode() in raw for secret in store.secrets() for raw in written)


def test_a_rewrite_takes_the_keys_of_its_table(vended: Vended) -> None:
    lake = vended.lake
    lake.create("t", [numbers(i * 50) for i in range(6)])
    before = lake.rows("t")
    assert lake.rewrite("t")["added_data_files_count"] == 1
    assert lake.rows("t") == before
    assert vended.store.refused == {}


def test_each_file_by_the_longest_prefix(vended: Vended) -> None:
    """Data beside the table, under keys of its own; the table's config has some that ended."""
    lake = vended.lake
    elsewhere = "s3://lake/elsewhere/t"
    lake.create("t", [numbers(i * 50) for i in range(6)], properties={"write.data.path": elsewhere})

    def vend(table: Table) -> tuple[dict[str, str], Credentials]:
        stale = vended.store.lend("s3://lake")
        stale.ends_at = 0.0
        parts = [(place, vended.store.lend(place)) for place in (table.location(), elsewhere)]
        wrong = {"prefix": "s3://lake/", "config": stale.config()}
        return vended.store.addresses | stale.config(), [
            wrong,
            *({"prefix": p, "config": k.config()} for p, k in parts),
        ]

    vended.habits.vend = vend
    before = lake.rows("t")
    assert lake.rewrite("t")["added_data_files_count"] == 1
    lake.call("compute_table_stats", schema="db", table_name="t")
    assert lake.rows("t") == before
    assert vended.store.refused == {}


def test_tasks_whose_keys_ended_run_again_with_newer_ones(vended: Vended) -> None:
    lake = vended.lake
    lake.create("t", [numbers(i * 50) for i in range(6)])
    before = lake.rows("t")
    ended: list[str] = []

    def end(kernel: str, number: int) -> None:
        if len(ended) < 2:
            ended.append(kernel)
            vended.store.end_all()

    lake.workers.before = end
    assert lake.rewrite("t")["added_data_files_count"] == 1
    assert lake.rows("t") == before
    assert ended and vended.store.refused["ExpiredToken"] > 0


@pytest.mark.parametrize("habit", ["path", "no path", "failing", "empty"])
def test_keys_are_renewed_before_they_end(vended: Vended, habit: str) -> None:
    lake, habits, store = vended.lake, vended.habits, vended.store
    store.told_life = 0.5
    habits.has_credentials_path = habit != "no path"
    lake.create("t", [numbers(i * 50) for i in range(2)])
    table = lake.connector.tables_of.load("db", "t")
    loaded = habits.count("GET /v1/namespaces/db/tables/t 200")
    habits.renewal_failures = [503] if habit == "failing" else []
    habits.empty_renewals = 1 if habit == "empty" else 0
    time.sleep(0.5)
    assert len(list(table.scan().plan_files())) == 2  # a failed renewal keeps the old keys
    time.sleep(0.5)
    store.told_life = 1e9
    assert len(list(table.scan().plan_files())) == 2
    store.end_all()
    again = lake.connector.tables_of.load("db", "t")
    assert len(list(again.scan().plan_files())) == 2
    assert len(list(table.scan().plan_files())) == 2  # which shares its keys
    assert store.refused == {}
    asked = habits.count("GET /v1/namespaces/db/tables/t/credentials")
    assert (asked > 0) == (habit != "no path")
    assert (habits.count("GET /v1/namespaces/db/tables/t 200") > loaded + 1) == (habit == "no path")


def test_keys_that_end_before_their_time_are_renewed_once_refused(vended: Vended) -> None:
    """A store, or a clock, by which keys end sooner than the catalog told."""
    vended.lake.create("t", [numbers(0)])
    table = vended.lake.connector.tables_of.load("db", "t")
    place = f"{table.location()}/metadata/note"
    output = table.io.new_output(place)
    vended.store.end_all()
    with output.create() as stream:
        stream.write(b"kept")
    vended.store.end_all()
    assert output.exists()
    vended.store.end_all()
    written = output.to_input_file()
    assert len(written) == 4
    vended.store.end_all()
    with written.open() as stream:
        assert stream.read() == b"kept"
    vended.store.end_all()
    assert len(list(table.scan().plan_files())) == 1
    vended.store.end_all()
    table.io.delete(place)
    vended.store.end_all()
    assert not output.exists()
    vended.habits.renewal_failures = [503, 503]
    vended.store.end_all()
    with pytest.raises(OSError, match=r"400|ExpiredToken|EXPIRED"):
        written.open()


def test_other_keys_than_lent_ones_open_nothing(vended: Vended) -> None:
    """The store of these tests is strict: without this the others would say nothing."""
    vended.lake.create("t", [numbers(0)])
    vended.habits.vend = lambda _table: (
        vended.store.addresses | {"s3.access-key-id": "x", "s3.secret-access-key": "y"},
        [],
    )
    table = vended.lake.connector.tables_of.load("db", "t")
    with pytest.raises(OSError, match=r"ACCESS_DENIED|INVALID_ACCESS_KEY|403"):
        list(table.scan().plan_files())
