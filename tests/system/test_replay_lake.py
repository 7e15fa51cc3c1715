"""Recorded conversations that need the recorded server's catalogs and tables: sent again, in their order.

Its ``memory`` is an Iceberg catalog here, ``tpcds`` and ``blackhole`` are there by name; tables that conversations take
for granted are made by PyIceberg. What runs through Spark is not here (tests/e2e has INSERT and reads).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.e2e.service import Service, start_service
from tests.system.conftest import write_etc
from tests.system.test_replay import LAKE, ours, statements, theirs

pytestmark = pytest.mark.slow

RECORDED = {entry["name"]: entry for entry in statements()}


@pytest.fixture(scope="module")
def recorded_like(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose catalogs are named as the recorded server's."""
    home = tmp_path_factory.mktemp("replay")
    etc = write_etc(home / "etc")
    for name, connector in (("memory", "iceberg"), ("blackhole", "iceberg"), ("tpcds", "tpch")):
        (etc / "catalog" / f"{name}.properties").write_text(f"connector.name={connector}\n")
    running = start_service(etc, home / "data", home / "log")
    yield running
    assert running.stop() == 0, (home / "log").read_text()


def make_lab(service: Service) -> None:
    """``lab.nation``, and ``lab.mor`` after one append and one delete."""
    lake = service.lake()
    lake.create_namespace("lab")
    lake.create_table("lab.nation", pa.schema([("n_nationkey", pa.int64())]))
    keys = [pa.table({"c_custkey": pa.array([k], pa.int64())}) for k in (1, 2)]
    made = lake.create_table("lab.mor", keys[0].schema, properties={"format-version": "2"})
    with made.update_spec() as spec:
        spec.add_identity("c_custkey")
    made.append(pa.concat_tables(keys))
    made.delete("c_custkey = 2")


def memory(service: Service) -> SqlCatalog:
    home = service.data_dir / "memory"
    return SqlCatalog("memory", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse")


def prepare(service: Service) -> dict[str, Callable[[], object]]:
    """What must be there, or not, before a conversation; the recording leaves it out."""
    w2 = pa.schema([("a", pa.int64())])
    return {
        "explain_ddl": lambda: memory(service).create_namespace("default"),
        "rename_table": lambda: memory(service).create_table("default.w2", w2),
        "drop_table_missing": lambda: memory(service).drop_table("default.w"),
        "drop_schema": lambda: memory(service).create_namespace("s2"),
        "iceberg_delete": lambda: make_lab(service),
    }


def test_same_answers_in_order(recorded_like: Service) -> None:
    steps, found = prepare(recorded_like), {}
    with httpx.Client(base_url=recorded_like.url, timeout=60) as client:
        for name in LAKE:
            steps.get(name, lambda: None)()
            found[name] = ours(client, RECORDED[name])
    assert found == {name: theirs(RECORDED[name]) for name in LAKE}
