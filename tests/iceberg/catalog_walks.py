"""What has to work over every kind of catalog, whoever commits beside."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import LessThan

from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.test_concurrency import conflict, ids, meanwhile, numbers


def made_of_files_and_of_metadata(lake: Any, table: str) -> None:
    """``snapshot`` of Parquet files, and a table that goes and comes back by its metadata."""
    folder = lake.home / f"{table}_files"
    folder.mkdir()
    pq.write_table(numbers(0), folder / "numbers.parquet")
    made = {"schema": "db", "table_name": f"{table}_made"}
    lake.call("snapshot", source_table=f"`parquet`.`{folder}`", **made)
    assert ids(lake, made["table_name"]) == [*range(50)]
    lake.table(made["table_name"]).append(numbers(50))
    (moved,) = lake.call("unregister_table", **made).rows[0]
    assert made["table_name"] not in lake.connector.tables("db")
    lake.call("register_table", metadata_file=moved, **made)
    assert ids(lake, made["table_name"]) == [*range(100)]
    with pytest.raises(ProcessionError) as failure:
        lake.call("snapshot", source_table=f"`parquet`.`{folder}`", schema="db", table_name=table)
    assert failure.value.code is ErrorCode.ALREADY_EXISTS


def append_is_kept_and_delete_a_conflict(lake: Any, table: str) -> None:
    """Of a table of five files with the ids up to 250, while a rewrite is under way."""
    meanwhile(lake, lambda: lake.table(table).append(numbers(1000)))
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    assert ids(lake, table) == [*range(250), *range(1000, 1050)]
    assert lake.orphans(table) == set()
    for start in range(2000, 2250, 50):
        lake.table(table).append(numbers(start))
    meanwhile(lake, lambda: lake.table(table).delete(LessThan("id", 2050)))
    conflict(lake, table)
    assert ids(lake, table) == [*range(2050, 2250)]
    assert lake.orphans(table) == set()
