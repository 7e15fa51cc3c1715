"""Which columns get a dictionary: beside the sizes of files that pyarrow writes both ways."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.kernels import rewrite
from coordinator.kernels.dictionary_choice import with_dictionary
from coordinator.kernels.tasks import Output
from coordinator.kernels.writer_columns import writer_options
from tests.kernels.test_kernels import field, local, with_ids, write

pytestmark = pytest.mark.slow

ROWS = 120_000
OPTIONS = writer_options(Output("", ""), [], [])
FIELDS = [
    field(1, "key", "long"), field(2, "part", "long"), field(3, "city", "int"), field(4, "few", "string"),
    field(5, "comment", "string"), field(6, "price", "decimal(15, 2)"), field(7, "day", "date"),
    field(8, "ratio", "double"),
]  # fmt: skip


def sample(rows: int, seed: int = 0) -> pa.Table:
    """Keys that ascend in fours, of 200,000 and of 3,000 values, words, texts, prices, days and numbers."""
    of = random.Random(seed)
    some = [None if of.random() < 0.1 else 1 for _ in range(rows)]
    columns: dict[str, tuple[list[Any], pa.DataType]] = {
        "key": ([(seed * rows + i) // 4 for i in range(rows)], pa.int64()),
        "part": ([one and of.randint(0, 200_000) for one in some], pa.int64()),
        "city": ([one and of.randint(0, 3_000) for one in some], pa.int32()),
        "few": ([one and of.choice("abc") for one in some], pa.string()),
        "comment": ([one and of.randbytes(12).hex() for one in some], pa.string()),
        "price": ([of.randint(0, 10**7) for _ in some], pa.decimal128(15, 2)),
        "day": ([one and of.randint(8_000, 10_500) for one in some], pa.date32()),
        "ratio": ([of.choice([0.5, 1.5, float("nan")]) for _ in some], pa.float64()),
    }
    return pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})


def size(table: pa.Table, name: str, coded: bool, options: dict[str, Any] = OPTIONS) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(table.select([name]), sink, **{**options, "use_dictionary": coded})
    chunk = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0).column(0)
    return int(chunk.total_compressed_size)


def test_the_choice_is_the_smaller_one_of_both() -> None:
    table = sample(ROWS)
    chosen = with_dictionary(table, [], OPTIONS)
    assert set(chosen) == {n for n in table.column_names if size(table, n, True) < size(table, n, False)}
    assert {"city", "day", "few", "ratio"} == set(chosen)
    assert set(with_dictionary(table, table.column_names, OPTIONS)) == set(chosen), "whatever the inputs told"


def test_a_small_table_and_columns_that_are_dictionaries_keep_what_the_inputs_told() -> None:
    table = sample(ROWS)
    assert with_dictionary(table.slice(0, 19_999), ["key", "part"], OPTIONS) == ["key", "part"]
    coded = table.select(["few", "comment"]).set_column(0, "few", table["few"].dictionary_encode())
    assert with_dictionary(coded, ["few", "tags.list.element"], OPTIONS) == ["few", "tags.list.element"]
    assert with_dictionary(coded, [], OPTIONS) == []


def test_of_a_page_of_nulls_nothing_is_known() -> None:
    table = pa.table({"n": pa.concat_arrays([pa.nulls(20_000, pa.int64()), sample(40_000)["part"].combine_chunks()])})
    assert with_dictionary(table, ["n"], OPTIONS) == ["n"]
    assert with_dictionary(table, [], OPTIONS) == []


@pytest.mark.parametrize(
    "kind",
    [
        pa.float32(), pa.time64("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.binary(), pa.decimal128(30, 2),
        pa.binary(16), pa.uuid(), pa.bool_(), pa.list_(pa.int64()), pa.struct([("a", pa.int32())]), pa.null(),
    ],
    ids=str,
)  # fmt: skip
def test_columns_of_any_type(kind: pa.DataType) -> None:
    """Those that are not looked at keep what the inputs told."""
    value: Any = {"list": [1], "struct": {"a": 1}, "null": None, "bool": True}.get(str(kind).split("<")[0], 1)
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind) or kind == pa.uuid():
        value = b"0123456789abcdef"
    table = pa.table({"n": pa.array([value] * 20_000, kind)})
    looked = (pa.types.is_primitive(kind) and kind != pa.bool_()) or kind in (pa.binary(), pa.decimal128(30, 2))
    assert with_dictionary(table, [], OPTIONS) == (["n"] if looked else [])
    assert with_dictionary(table, ["n"], OPTIONS) == ["n"]


def test_a_dictionary_that_would_not_fit_is_not_begun() -> None:
    table = sample(ROWS)
    assert "city" not in with_dictionary(table, ["city"], {**OPTIONS, "dictionary_pagesize_limit": 10_000})
    assert "city" in with_dictionary(table, [], {**OPTIONS, "dictionary_pagesize_limit": 20_000})


@settings(max_examples=30, deadline=None)
@given(
    values=st.integers(1, 1 << 17), run=st.integers(1, 50), sort=st.booleans(), nulls=st.sampled_from([0.0, 0.2, 1.0]),
    codec=st.sampled_from(["zstd", "snappy", None]), seed=st.integers(0, 1 << 30),
)  # fmt: skip
def test_the_choice_is_never_much_worse_than_the_other(
    values: int, run: int, sort: bool, nulls: float, codec: str | None, seed: int
) -> None:
    of = random.Random(seed)
    drawn = [of.randint(0, values) for _ in range(ROWS // run + 1)]
    rows = [None if of.random() < nulls else n for n in (sorted(drawn) if sort else drawn) for _ in range(run)]
    table = pa.table({"n": pa.array(rows, pa.int64())})
    options = {**OPTIONS, "compression": codec}
    coded = "n" in with_dictionary(table, [], options)
    chosen, other = (size(table, "n", is_coded, options) for is_coded in (coded, not coded))
    # Runs, which both ways make some 25 times smaller, differ most from one page to the next.
    assert chosen <= other * 1.25 + table.nbytes / 25


def test_the_rewritten_file_has_the_rows_and_is_smaller_than_what_the_inputs_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [with_ids(sample(15_000, seed), [one["id"] for one in FIELDS]) for seed in range(8)]
    inputs = [write(tmp_path, f"{i}.parquet", table) for i, table in enumerate(tables)]
    output = {"directory": str(tmp_path / "out"), "name": "made"}
    task = json.dumps({"fields": FIELDS, "inputs": inputs, "output": output}).encode()
    made = json.loads(rewrite.run(task))
    path, rows = local(made["path"]), pa.concat_tables(tables)
    assert repr(pq.read_table(path).to_pylist()) == repr(rows.to_pylist())
    with duckdb.connect() as connection:
        connection.register("expected", rows)
        read, expected = (connection.sql(f"FROM {of}").fetchall() for of in (f"'{path}'", "expected"))
    assert repr(read) == repr(expected)
    monkeypatch.setattr(rewrite, "with_dictionary", lambda _table, worth, _options: list(worth))
    before = json.loads(rewrite.run(task))
    for of in ("value_counts", "null_counts", "nan_counts", "lower_bounds", "upper_bounds"):
        assert made["metrics"][of] == before["metrics"][of]
    assert made["size"] < before["size"]
