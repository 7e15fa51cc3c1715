"""What this server can do, by Flight SQL's numbers. Source: SqlInfo of FlightSql.proto."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version as package_version

import pyarrow as pa

_VALUE = pa.dense_union(
    [
        pa.field("string_value", pa.string()),
        pa.field("bool_value", pa.bool_()),
        pa.field("bigint_value", pa.int64()),
        pa.field("int32_bitmask", pa.int32()),
        pa.field("string_list", pa.list_(pa.field("string_data", pa.string()))),
        pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
    ]
)
SQL_INFO = pa.schema([pa.field("info_name", pa.uint32(), nullable=False), pa.field("value", _VALUE)])
_TEXT, _FLAG, _LONG, _NUMBER = range(4)
Info = str | bool | int
_LOWER_CASE = 3
"""Names are stored in lower case, and found in any."""
_NULLS_AT_END = 3
_JOINS_IN_FULL = 2


def sql_info(version: str, prepared_idle: float) -> dict[int, Info]:
    """By number."""
    return {
        0: "Procession",
        1: version,
        2: package_version("pyarrow"),
        3: False,  # read only
        4: True,  # SQL
        5: False,  # Substrait
        8: 0,  # no transactions by Flight SQL's own actions
        9: True,  # cancel
        10: True,  # bulk ingestion
        11: False,  # in transactions
        100: int(prepared_idle * 1000),
        101: 0,
        500: False,
        501: True,
        502: True,
        503: _LOWER_CASE,
        504: '"',
        505: _LOWER_CASE,
        506: True,
        507: _NULLS_AT_END,
        513: "\\",
        514: "",
        515: True,
        516: True,
        518: True,
        519: False,
        520: True,
        521: True,
        523: True,
        524: True,
        528: _JOINS_IN_FULL,
        529: "schema",
        530: "procedure",
        531: "catalog",
        532: True,
    }


def sql_info_batch(known: Mapping[int, Info], codes: Sequence[int]) -> pa.RecordBatch:
    """Those that are asked for, or all of them; a number that nobody knows is left out."""
    chosen = [(code, known[code]) for code in (codes or sorted(known)) if code in known]
    values: list[list[Info]] = [[], [], [], []]
    types, offsets = [], []
    for _, value in chosen:
        child = _child(value)
        types.append(child)
        offsets.append(len(values[child]))
        values[child].append(value)
    children = [pa.array(found, _VALUE.field(i).type) for i, found in enumerate(values)]
    children += [pa.array([], _VALUE.field(i).type) for i in (4, 5)]
    union = pa.UnionArray.from_dense(
        pa.array(types, pa.int8()), pa.array(offsets, pa.int32()), children, [field.name for field in _VALUE]
    )
    numbers = pa.array([code for code, _ in chosen], pa.uint32())
    return pa.RecordBatch.from_arrays([numbers, union], schema=SQL_INFO)


def _child(value: Info) -> int:
    match value:
        case bool():
            return _FLAG
        case str():
            return _TEXT
        case _:
            return _NUMBER
