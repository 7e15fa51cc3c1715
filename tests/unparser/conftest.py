"""A catalog of TPC-H's tables with the types of Presto's tpch connector, and their data in DuckDB."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.connectors.objects import CatalogObjects
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.relation import Relation
from shared.spi.session import Session
from tests import tpch_tables
from tests.optimizer.rule_cases import RuleCases
from tests.unparser.written import Written

TABLES = {
    "nation": "n_nationkey bigint,n_name varchar(25),n_regionkey bigint,n_comment varchar(152)",
    "region": "r_regionkey bigint,r_name varchar(25),r_comment varchar(152)",
    "lineitem": "l_orderkey bigint,l_partkey bigint,l_suppkey bigint,l_linenumber integer,l_quantity double,"
    "l_extendedprice double,l_discount double,l_tax double,l_returnflag varchar(1),l_linestatus varchar(1),"
    "l_shipdate date,l_commitdate date,l_receiptdate date,l_shipinstruct varchar(25),l_shipmode varchar(10),"
    "l_comment varchar(44)",
    "orders": "o_orderkey bigint,o_custkey bigint,o_orderstatus varchar(1),o_totalprice double,o_orderdate date,"
    "o_orderpriority varchar(15),o_clerk varchar(15),o_shippriority integer,o_comment varchar(79)",
    "customer": "c_custkey bigint,c_name varchar(25),c_address varchar(40),c_nationkey bigint,c_phone varchar(15),"
    "c_acctbal double,c_mktsegment varchar(10),c_comment varchar(117)",
    "part": "p_partkey bigint,p_name varchar(55),p_mfgr varchar(25),p_brand varchar(10),p_type varchar(25),"
    "p_size integer,p_container varchar(10),p_retailprice double,p_comment varchar(23)",
    "supplier": "s_suppkey bigint,s_name varchar(25),s_address varchar(40),s_nationkey bigint,s_phone varchar(15),"
    "s_acctbal double,s_comment varchar(101)",
    "partsupp": "ps_partkey bigint,ps_suppkey bigint,ps_availqty integer,ps_supplycost double,ps_comment varchar(199)",
}
COLUMNS = {t: [tuple(c.split(" ")) for c in text.split(",") if " " in c] for t, text in TABLES.items()}
DATA = Path(__file__).parent / "data"


class TpchConnector:
    catalog = "tpch"

    def schemas(self) -> list[str]:
        return ["tiny"]

    def tables(self, schema: str) -> list[str]:
        return sorted(TABLES) if schema == "tiny" else []

    def relation(self, scan: TableScanNode) -> Relation:
        return catalog_table(scan)

    def schema_exists(self, schema: str) -> bool:
        return schema == "tiny"

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        if schema != "tiny" or name not in COLUMNS:
            return None
        columns = tuple(ColumnMetadata(c, t, {"@type": "iceberg", "name": c}) for c, t in COLUMNS[name])
        inner = {"tableName": name, "tableType": "DATA", "snapshotId": 7}
        handle = {"@type": "iceberg", "schemaName": schema, "icebergTableName": inner}
        table = TableHandle(connectorId="tpch", connectorHandle=handle)
        return TableMetadata("tpch", schema, name, columns, table, 7)

    def procedures(self) -> list[Any]:
        return []


class OneCatalog(CatalogObjects):
    def names(self) -> tuple[str, ...]:
        return ("tpch",)

    def connector(self, name: str) -> TpchConnector:
        if name != "tpch":
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog {name} does not exist")
        return TpchConnector()


@pytest.fixture(scope="session")
def catalogs() -> OneCatalog:
    return OneCatalog()


@pytest.fixture(scope="session")
def tpch_session() -> Session:
    return Session(user="test", catalog="tpch", schema="tiny")


def read(name: str) -> Any:
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


@pytest.fixture(scope="session")
def statements() -> dict[str, str]:
    return read("statements.json.gz")


@pytest.fixture(scope="session")
def recorded() -> list[dict[str, Any]]:
    return read("recorded.json.gz")


@pytest.fixture(scope="session")
def tpch_data(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("tpch")
    tpch_tables.generate(0.01, folder)
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA tiny")
    for table, columns in COLUMNS.items():
        kinds = [(c, "VARCHAR" if t.startswith("varchar") else t) for c, t in columns]
        shown = ", ".join(f"CAST({c} AS {t}) AS {c}" for c, t in kinds)
        connection.execute(f"CREATE TABLE tiny.{table} AS SELECT {shown} FROM '{folder}/{table}.parquet'")
    connection.execute("SET schema = 'tiny'")
    return connection


@pytest.fixture(scope="session")
def written(rule_cases: RuleCases) -> Written:
    """``written.check(sql, duckdb=…, spark=…)``."""
    return Written(rule_cases)
