"""The files of a scan that the catalog's server planned, as those that are read from manifests.

The server tells neither sequence numbers nor bounds of columns. Which delete files apply to a data file is its word.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.conversions import from_json
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import PrimitiveType
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros, time_to_micros

from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.manifests.reader import ManifestDataFile
from coordinator.connectors.iceberg.rest.filter_json import filter_json
from coordinator.connectors.iceberg.rest.plan_messages import ContentFile, JsonValue, ScanTasks
from coordinator.connectors.iceberg.rest.rest_catalog import ServedCatalog
from coordinator.connectors.iceberg.rest.scan_planning import NotPlannedError, asks_for_server
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.scans.domains import Layout, predicate_of

_UNKNOWN = 0
"""The sequence number of all files: who asks for it does not come here."""
_CONTENT = {
    "data": DataFileContent.DATA,
    "position-deletes": DataFileContent.POSITION_DELETES,
    "equality-deletes": DataFileContent.EQUALITY_DELETES,
}
_EXTRAS = ("first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes")
_UNTOLD = frozenset({"$data_sequence_number", "_last_updated_sequence_number"})


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """``table`` has the keys that came with the plan."""

    table: Table
    files: tuple[Candidate, ...]


def is_planned_by_server(table: Table) -> bool:
    """Whether the table's manifests are not for us to read."""
    return isinstance(table.catalog, ServedCatalog) and asks_for_server(table.catalog.properties, table.config)


def planned_files(
    table: Table, snapshot_id: int, schema: Schema, layout: Layout, names: Sequence[str], most: int
) -> PlannedFiles | str:
    """The files of at most ``most`` that may hold rows of the layout's domains, or why they are not read here.

    Raises what the catalog's client raises, and ValueError for answers that cannot be.
    """
    assert isinstance(table.catalog, ServedCatalog)
    if asked := sorted(_UNTOLD & set(names)):
        return f"the catalog's server plans its scans and tells nothing for {asked[0]}"
    now = table.schema()
    request: dict[str, object] = {"snapshot-id": snapshot_id, "case-sensitive": True, "use-snapshot-schema": False}
    wanted = filter_json(predicate_of(layout, schema), schema, now)
    if wanted is not True:
        request["filter"] = wanted
    ids = {field.name: field.field_id for field in schema.fields}
    columns = [now.find_column_name(ids[name]) for name in names if name in ids]
    if columns and None not in columns:
        request["select"] = columns
    try:
        lent, parts = table.catalog.planned(table, request, most)
    except NotPlannedError as error:
        return str(error)
    files = tuple(_candidates(parts, lent))
    if "_row_id" in names and any(each.data.first_row_id is None for each in files):
        return "the catalog's server plans its scans and tells no row ids"
    return PlannedFiles(lent, files)


def _candidates(parts: Iterable[ScanTasks], table: Table) -> Iterator[Candidate]:
    """Each data file once: a large one may come in several tasks, which say no ranges."""
    specs, schema = table.specs(), table.schema()
    known: set[str] = set()
    for part in parts:
        deletes = [_live(file, specs, schema) for file in part.delete_files or ()]
        for task in part.file_scan_tasks or ():
            data = _live(task.data_file, specs, schema)
            if data.key not in known:
                known.add(data.key)
                yield Candidate(data, tuple(deletes[i] for i in task.delete_file_references or ()))


def _live(file: ContentFile, specs: Mapping[int, PartitionSpec], schema: Schema) -> LiveFile:
    if file.spec_id not in specs:
        raise ValueError(f"{file.file_path} is of partition spec {file.spec_id}, which the table does not have")
    found = ManifestDataFile.from_args(
        content=_CONTENT[file.content],
        file_path=file.file_path,
        file_format=FileFormat(file.file_format.upper()),
        partition=_partition(file.partition, specs[file.spec_id], schema),
        record_count=file.record_count,
        file_size_in_bytes=file.file_size_in_bytes,
        column_sizes=None if file.column_sizes is None else file.column_sizes.by_id(),
        key_metadata=None if file.key_metadata is None else bytes.fromhex(file.key_metadata),
        equality_ids=file.equality_ids,
        sort_order_id=file.sort_order_id,
    )
    found.spec_id = file.spec_id
    found.__dict__["extras"] = {name: value for name in _EXTRAS if (value := getattr(file, name)) is not None}
    return LiveFile(found, _UNKNOWN)


def _partition(given: Sequence[JsonValue], spec: PartitionSpec, schema: Schema) -> Record:
    """Values as manifests have them; those that are not told are NULL."""
    types = [field.field_type for field in spec.partition_type(schema).fields]
    if len(given) > len(types):
        raise ValueError(f"{len(given)} partition values of spec {spec.spec_id}, which has {len(types)} fields")
    values = [*given, *[None] * (len(types) - len(given))]
    return Record(*(_stored(kind, value) for kind, value in zip(types, values, strict=True)))


def _stored(kind: object, given: JsonValue) -> object:
    if given is None or not isinstance(kind, PrimitiveType):
        return None
    try:
        value: object = from_json(kind, given)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"{given!r} is no partition value of type {kind}") from error
    match value:
        case datetime.datetime():
            return datetime_to_micros(value)
        case datetime.date():
            return date_to_days(value)
        case datetime.time():
            return time_to_micros(value)
        case _:
            return value
