"""Files that a scan's domains leave out, against the rows of the files and against PyIceberg's own evaluators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, DoubleType, IntegerType, LongType, NestedField, PrimitiveType, StringType

from coordinator.connectors.iceberg.filters import filter_of
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.scans.domains import predicate_of
from coordinator.connectors.iceberg.scans.needed_files import needed_files
from shared.plan.blocks import encode_constant

TYPES: Mapping[str, PrimitiveType] = {
    "integer": IntegerType(),
    "bigint": LongType(),
    "date": DateType(),
    "varchar": StringType(),
    "double": DoubleType(),
}
NAMES = {"integer": "i", "bigint": "l", "date": "d", "varchar": "s", "double": "x"}
FIRST = date(1998, 9, 1)
WHOLE = UNPARTITIONED_PARTITION_SPEC
Row = Mapping[str, Any]


def _schema(*, required: bool = False) -> Schema:
    fields = [NestedField(n, NAMES[k], t, required=required) for n, (k, t) in enumerate(TYPES.items(), 1)]
    return Schema(*fields)


def _value(kind: str, number: int) -> Any:
    match kind:
        case "date":
            return FIRST + timedelta(days=number)
        case "varchar":
            return "x" * (number + 5)
        case "double":
            return float(number)
        case _:
            return number


def _stored(kind: str, value: Any) -> bytes:
    plain = (value - date(1970, 1, 1)).days if kind == "date" else value
    return to_bytes(TYPES[kind], plain)


def _file(
    rows: Sequence[Row], number: int, *, bounds: bool = True, partition: tuple[Any, ...] = (), count: int | None = None
) -> Candidate:
    """A data file as a writer of ``rows`` describes it."""
    lower, upper, nulls = {}, {}, {}
    for place, kind in enumerate(TYPES, 1):
        values = [row[NAMES[kind]] for row in rows]
        found = [value for value in values if value is not None]
        nulls[place] = len(values) - len(found)
        if found and bounds:
            lower[place], upper[place] = _stored(kind, min(found)), _stored(kind, max(found))
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"/t/{number}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=len(rows) if count is None else count,
        file_size_in_bytes=1,
        value_counts=dict.fromkeys(nulls, len(rows)),
        null_value_counts=nulls,
        nan_value_counts={},
        lower_bounds=lower,
        upper_bounds=upper,
    )
    file.spec_id = 1 if partition else 0
    return Candidate(LiveFile(file, 1), ())


Range = tuple[int | None, bool, int | None, bool]
"""Low end and whether it belongs to the range, then the high end."""


def _layout(domains: Mapping[str, tuple[Sequence[Range], bool]]) -> Mapping[str, Any]:
    """As ``push_predicate_into_table_layout`` writes domains by type of column."""

    def marker(kind: str, number: int | None, inside: bool, outside: str) -> Mapping[str, object]:
        if number is None:
            return {"type": kind, "bound": outside}
        block = encode_constant(_value(kind, number), kind)
        return {"type": kind, "valueBlock": block, "bound": "EXACTLY" if inside else outside}

    entries = []
    for kind, (ranges, nulls) in domains.items():
        written = [
            {"low": marker(kind, low, closed, "ABOVE"), "high": marker(kind, high, ends, "BELOW")}
            for low, closed, high, ends in ranges
        ]
        values = {"@type": "sortable", "type": kind, "ranges": written}
        entries.append({"column": NAMES[kind], "domain": {"values": values, "nullAllowed": nulls}})
    return {"domainPredicate": {"columnDomains": entries}}


def _matches(row: Row, domains: Mapping[str, tuple[Sequence[Range], bool]]) -> bool:
    """Whether a row is wanted, by nothing but Python's comparisons."""
    for kind, (ranges, nulls) in domains.items():
        value = row[NAMES[kind]]
        if value is None:
            if not nulls:
                return False
            continue
        inside = False
        for low, closed, high, ends in ranges:
            above = low is None or value > _value(kind, low) or (closed and value == _value(kind, low))
            below = high is None or value < _value(kind, high) or (ends and value == _value(kind, high))
            inside |= above and below
        if not inside:
            return False
    return True


def _oracle(files: Sequence[Candidate], layout: Mapping[str, Any], schema: Schema, specs: Any) -> list[str]:
    may_match = filter_of(predicate_of(layout, schema), schema, specs)
    return [each.data.path for each in files if may_match(each.data)]


NUMBERS = st.integers(-4, 4)
ROWS = st.lists(
    st.fixed_dictionaries(
        {name: st.none() | NUMBERS.map(lambda n, kind=kind: _value(kind, n)) for kind, name in NAMES.items()}  # type: ignore[misc]
    ),
    max_size=4,
)


def _range(ends: tuple[int | None, int | None, bool, bool]) -> Range:
    low, high, closed, end = ends
    if low is not None and high is not None and low >= high:
        return high, True, high, True
    return low, closed, high, end


MOSTLY_PLAIN = st.sampled_from(["integer", "bigint", "date", "varchar"] * 3 + ["double"])
RANGE = st.tuples(st.none() | NUMBERS, st.none() | NUMBERS, st.booleans(), st.booleans()).map(_range)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(ROWS, min_size=1, max_size=4),
    st.dictionaries(MOSTLY_PLAIN, st.tuples(st.lists(RANGE, max_size=3), st.integers(0, 5).map(lambda n: n == 5))),
    st.booleans(),
)
def test_files_are_left_out_as_pyiceberg_would_and_never_with_a_wanted_row(
    contents: list[list[Row]], domains: Mapping[str, tuple[Sequence[Range], bool]], bounds: bool
) -> None:
    schema, layout = _schema(), _layout(domains)
    files = [_file(rows, number, bounds=bounds) for number, rows in enumerate(contents)]
    needed = [each.data.path for each in needed_files(files, layout, schema, lambda: {0: WHOLE})]
    assert needed == _oracle(files, layout, schema, {0: WHOLE})
    wanted = {f"/t/{n}.parquet" for n, rows in enumerate(contents) if any(_matches(row, domains) for row in rows)}
    assert wanted <= set(needed)


@pytest.mark.parametrize("kind", ["integer", "bigint", "date", "varchar"])
@pytest.mark.parametrize(
    ("ranges", "kept"),
    [
        ([(0, True, 0, True)], [1]),
        ([(1, False, None, True)], [2]),
        ([(1, True, None, True)], [1, 2]),
        ([(None, True, -1, False)], [0]),
        ([(-1, True, -1, True), (3, True, 3, True)], [0, 1, 2]),
        ([(None, True, None, True)], [0, 1, 2]),
        ([], []),
    ],
)
def test_plain_ranges_ask_nothing_of_specs(kind: str, ranges: list[Range], kept: list[int]) -> None:
    """Files of -3 to -1, of -1 to 1 and of 2 to 4; the fourth has NULL alone."""
    contents = [[_value(kind, n + at) for n in range(3)] for at in (-3, -1, 2)] + [[None]]
    rows = [[{**dict.fromkeys(NAMES.values()), NAMES[kind]: value} for value in values] for values in contents]

    def specs() -> Mapping[int, PartitionSpec]:
        raise AssertionError("no expression of PyIceberg's is needed")

    files = [_file(each, number) for number, each in enumerate(rows)]
    needed = needed_files(files, _layout({kind: (ranges, False)}), _schema(), specs)
    assert [int(each.data.path[3:-8]) for each in needed] == kept


def test_many_single_values_are_one_range() -> None:
    files = [_file([{**dict.fromkeys(NAMES.values()), "l": n}], n) for n in (-1, 0, 1, 150, 400, 401)]
    layout = _layout({"bigint": ([(n, True, n, True) for n in range(0, 402, 2)] + [(401, True, None, True)], False)})
    needed = [each.data.path for each in needed_files(files, layout, _schema(), lambda: {0: WHOLE})]
    assert needed == [f"/t/{n}.parquet" for n in (0, 1, 150, 400, 401)]
    assert needed == _oracle(files, layout, _schema(), {0: WHOLE})


def test_partition_values_count() -> None:
    """Files without bounds, of which the partition tells all that is known."""
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "l"), spec_id=1)
    files = [_file([{**dict.fromkeys(NAMES.values()), "l": n}], n, bounds=False, partition=(n,)) for n in range(3)]
    layout = _layout({"bigint": ([(1, True, 1, True)], False)})
    assert [each.data.path for each in needed_files(files, layout, _schema(), lambda: {1: spec})] == ["/t/1.parquet"]


def test_broken_bounds_and_unknown_counts_tell_nothing() -> None:
    rows = [{**dict.fromkeys(NAMES.values()), "i": 7}]
    broken, unknown, empty = (_file(rows, n, count=count) for n, count in enumerate((1, -1, 0)))
    broken.data.file.lower_bounds[1] = b"\x01"
    layout = _layout({"integer": ([(1, True, 1, True)], False)})
    files = [broken, unknown, empty]
    needed = [each.data.path for each in needed_files(files, layout, _schema(), lambda: {0: WHOLE})]
    assert needed == ["/t/0.parquet", "/t/1.parquet"] == _oracle(files, layout, _schema(), {0: WHOLE})


def test_a_required_column_has_no_nulls_whatever_a_file_says() -> None:
    files = [_file([dict.fromkeys(NAMES.values())], 0)]
    layout = _layout({"integer": ([(None, True, None, True)], False)})
    for required in (False, True):
        schema = _schema(required=required)
        needed = [each.data.path for each in needed_files(files, layout, schema, lambda: {0: WHOLE})]
        assert needed == _oracle(files, layout, schema, {0: WHOLE}) == ["/t/0.parquet"] * required
